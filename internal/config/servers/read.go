package servers

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Read reads the entry n of mcpServers in the file of r, and reports to r what is wrong with it and what has no effect.
// env looks variables up; nil knows none.
//
// A variable without a value, in an enabled entry, is no problem of the file: it sets [Server.Problem], so that the
// other servers of the file work. If r has new problems, callers must not use the Server.
func Read(r *settings.Reader, name string, n strictjson.Value, env func(string) (string, bool)) Server {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	if off(n) { // nobody starts it, so nobody needs its secrets
		env = settings.Unread(env)
	}
	e := &entry{Reader: r, name: name, value: n, Expander: settings.Expander{Env: env}, used: map[string]bool{},
		bad: map[string]bool{}}
	if n.Kind() != strictjson.Object {
		e.Wrong(n, `write {"command": "..."} or {"url": "..."}`,
			"the server %q must be an object, this is %s", e.name, n.Kind())
		return Server{}
	}
	e.sources()
	s := e.server()
	e.unknown()
	if !s.Disabled && len(e.Missing) > 0 {
		s.Problem = fmt.Sprintf("server %q cannot be started: %s", e.name, strings.Join(e.Missing, "; "))
	}
	return s
}

// Parse reads an entry outside of our files; raw is JSON. The warnings are sentences about keys without effect.
// It runs no command and reads no file for a value: nobody knows who wrote the entry.
func Parse(name string, raw []byte, env func(string) (string, bool)) (s Server, warnings []string, err error) {
	root, bad := settings.ParseFile(string(raw))
	if bad != nil {
		return Server{}, nil, fmt.Errorf("server %q: %w", name, bad)
	}
	r := &settings.Reader{File: name, Src: string(raw), Root: root}
	r.UniqueBelow(root)
	s = Read(r, name, root, settings.Unread(env))
	warnings = sentences(r.Warnings)
	if len(r.Problems) > 0 {
		return Server{}, warnings, errors.New(strings.Join(sentences(r.Problems), "; "))
	}
	return s, warnings, nil
}

// off reports whether an entry says that its server is disabled.
func off(n strictjson.Value) bool {
	return n.Kind() == strictjson.Object && (settings.Member(n, "disabled").Kind() == strictjson.True ||
		settings.Member(n, "enabled").Kind() == strictjson.False)
}

func sentences(problems settings.Problems) []string {
	var all []string
	for _, p := range problems {
		if p.Hint != "" {
			p.Message += " (" + p.Hint + ")"
		}
		all = append(all, p.Message)
	}
	return all
}

func (e *entry) server() Server {
	s := Server{Name: e.name, Transport: e.transport()}
	switch s.Transport {
	case Stdio:
		if command := e.command(); len(command) > 0 {
			s.Command, s.Args = e.Expand(command[0]), e.expandAll(command[1:])
		}
		if settings.Member(e.value, "oauth").Kind() == strictjson.Object && e.oauth("").PerPrincipal() {
			e.fail("oauth", `give it a "url", or leave "per" out`, "it is a process on this machine, which all principals share: "+
				"it has no login for each of them")
		}
	case HTTP, SSE:
		e.at("url", e.value)
		s.URL = e.Expand(e.oneOf("httpUrl", "url", "serverUrl"))
		s.Headers = e.headers()
		s.OAuth = e.oauth(s.URL)
		e.address(&s)
		if s.OAuth.PerPrincipal() && s.Headers.Get("Authorization") != "" {
			e.fail("headers", "leave the Authorization header out", "its header Authorization would be sent with the calls of "+
				"all principals, and its entry says that each has a login of its own")
		}
	case OpenAPI:
		apiReader{e, &s}.read()
	case CLI:
		readCLI(e, &s)
	default: // check the keys of both all the same
		e.list("args")
		e.variables()
		e.text("cwd")
		e.text("envFile")
		e.headers()
		e.oauth("")
	}
	e.rest(&s)
	return s
}

// rest reads what many transports have.
func (e *entry) rest(s *Server) {
	if s.OwnProcess() {
		s.Env = e.variables()
		s.Dir = e.Expand(e.text("cwd"))
		s.EnvFile = e.Expand(e.text("envFile"))
	}
	s.Disabled = e.flag("disabled")
	if e.has("enabled") && !e.flag("enabled") {
		s.Disabled = true
	}
	s.Include = e.names("includeTools", "enabled_tools", "enabledTools", "tools")
	s.Exclude = e.names("excludeTools", "disabled_tools", "disabledTools")
	if slices.Equal(s.Include, []string{"*"}) { // as Copilot CLI writes "all"
		s.Include = nil
	}
	s.TrustAnnotations = e.flag("trustAnnotations") ||
		(s.Transport == OpenAPI || s.Transport == CLI) && !e.has("trustAnnotations") // not the words of a server
	e.times(s)
	e.withoutEffect()
}

// withoutEffect warns of keys of other clients that seem to do something here.
func (e *entry) withoutEffect() {
	if e.flag("trust") {
		e.doubt("trust", `"trust" has no effect: profiles say what is allowed without asking`)
	}
	e.used["headersHelper"] = true
	if e.has("headersHelper") {
		e.doubt("headersHelper", `"headersHelper" has no effect: codemode runs no program for headers; log in with %s, `+
			`or give the server an Authorization header`, LoginCommand(e.name))
	}
	sandboxed := false
	for _, key := range []string{"sandbox", "sandboxEnabled"} {
		e.used[key] = true
		if e.has(key) && !sandboxed {
			e.doubt(key, `"sandbox" has no effect: codemode serve --confine lets a server's process reach what its entry names`)
			sandboxed = true
		}
	}
}

// LoginCommand is the command with which a person logs in at a server.
func LoginCommand(server string) string {
	if strings.ContainsFunc(server, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		server = strconv.Quote(server)
	}
	return "codemode login " + server
}

// address checks the URL of a server. No message shows it: it may hold a secret.
func (e *entry) address(s *Server) {
	key := starting[1]
	for _, k := range starting[1:] {
		if e.has(k) {
			key = k
			break
		}
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		e.fail(key, "write http:// or https:// and a host", "its URL cannot be parsed")
		return
	}
	s.SSEFirst = s.Transport == HTTP && !e.has("httpUrl") && path.Base(u.Path) == "sse"
	if len(e.Missing) == 0 && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") && !e.bad[key] {
		e.fail(key, `write it as "https://mcp.example.com/mcp"`, "its URL must begin with http:// or https:// and a host")
	}
}

func (e *entry) transport() Transport {
	key, kind := "type", e.text("type")
	if kind == "" && !e.bad["type"] {
		key, kind = "transport", e.text("transport")
	}
	e.used["transport"] = true
	if e.bad[key] {
		e.lost = true
		return ""
	}
	switch strings.ToLower(kind) {
	case "stdio", "local":
		if !e.has("command") {
			e.lost = true
			e.fail(key, `add "command", or remove the type`, "its type is %q, which needs a command", kind)
			return ""
		}
		return Stdio
	case "http", "streamable-http", "streamablehttp", "streamable_http", "remote":
		return e.needsURL(key, kind, HTTP)
	case "sse":
		return e.needsURL(key, kind, SSE)
	case "ws", "websocket":
		e.fail(key, "use the server's http address", "WebSocket servers (type %q) are not supported", kind)
	case "":
		switch {
		case e.has("command"):
			return Stdio
		case e.has("openapi"):
			return OpenAPI
		case e.has("cli"):
			return CLI
		case e.hasURL():
			return HTTP
		}
		e.without = true
	default:
		e.fail(key, `write "stdio", "http" or "sse"`, "its type %q is unknown", kind)
	}
	e.lost = true
	return ""
}

func (e *entry) hasURL() bool { return e.has("httpUrl") || e.has("url") || e.has("serverUrl") }

func (e *entry) needsURL(key, kind string, t Transport) Transport {
	if !e.hasURL() {
		e.lost = true
		e.fail(key, `add "url", or remove the type`, `its type is %q, which needs a "url"`, kind)
		return ""
	}
	return t
}

// command is the command with its arguments: a string and args, or one list of all.
func (e *entry) command() []string {
	var line []string
	if n := e.get("command"); n.Kind() == strictjson.Array {
		line = e.list("command")
	} else if c := e.text("command"); c != "" {
		line = []string{c}
	}
	if !e.bad["command"] && (len(line) == 0 || line[0] == "") {
		e.fail("command", `write the program, such as "npx"`, "its command is empty")
	}
	if len(line) == 0 {
		e.list("args")
		return nil
	}
	if len(line) == 1 && strings.ContainsAny(line[0], " \t") && !e.has("args") && !strings.ContainsAny(line[0], `/\`) {
		e.doubt("command", "its command %q has spaces in it and is taken as the name of one program: "+
			"put the arguments into \"args\"", line[0])
	}
	return append(line, e.list("args")...)
}

// variables is the environment to add: env or environment, and the names that
// Codex takes over from its own environment.
func (e *entry) variables() map[string]string {
	vars := map[string]string{}
	add := func(key string, at strictjson.Value, k, v string) {
		vars[k] = v
		if strings.EqualFold(k, ChildVariable) {
			e.doubt(key, "the variable %s has no effect: codemode sets it for every server", k)
		}
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(v, "\x00") {
			e.failAt(key, at, `a name has no "=", and neither name nor value has a NUL byte`,
				"its environment has the impossible variable %q", k)
		}
	}
	for _, key := range []string{"environment", "env"} {
		for _, s := range e.strings(key) {
			e.at(key+"."+s.key, s.at)
			add(key, s.at, s.key, e.ExpandValue(s.text))
		}
	}
	for _, name := range e.list("env_vars") {
		if v, ok := e.Variable(name); ok {
			add("env_vars", e.get("env_vars"), name, v)
		} else {
			e.Miss("the variable %s is not set (env_vars)", name)
		}
	}
	if len(vars) == 0 {
		return nil
	}
	return vars
}

// times reads timeout in milliseconds, or its parts, and Codex's in seconds.
func (e *entry) times(s *Server) {
	if n := e.get("timeout"); n.Kind() == strictjson.Object {
		s.StartTimeout = e.span("timeout", settings.Member(n, "startup"), time.Millisecond)
		s.Timeout = e.span("timeout", settings.Member(n, "execution"), time.Millisecond)
	} else {
		s.Timeout = e.duration("timeout", time.Millisecond)
	}
	if d := e.duration("tool_timeout_sec", time.Second); d > 0 {
		s.Timeout = d
	}
	if d := e.duration("startup_timeout_sec", time.Second); d > 0 {
		s.StartTimeout = d
	}
	if d := e.duration("startup_timeout_ms", time.Millisecond); d > 0 {
		s.StartTimeout = d
	}
}
