package upstream

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// ParseServer reads one entry of mcpServers, or of what other clients call it:
// raw is the entry as standard JSON, env looks variables up. The spellings of
// Claude, Cursor, VS Code, Copilot, Gemini CLI, OpenCode and Codex are all
// understood. The warnings are sentences about what has no meaning here.
//
// A variable without a value, in an entry that is not disabled, is no error:
// it sets [Server.Problem], so that the other servers of the file work. An
// error means that the entry itself is wrong.
func ParseServer(name string, raw json.RawMessage, env func(string) (string, bool)) (Server, []string, error) {
	s, p := readEntry(name, raw, env)
	var warnings []string
	for _, m := range p.doubts {
		warnings = append(warnings, fmt.Sprintf("server %q: %s", name, m.text()))
	}
	if len(p.wrong) > 0 {
		return Server{}, warnings, fmt.Errorf("server %q: %w", name, p.wrong)
	}
	if !s.Disabled && len(p.missing) > 0 {
		s.Problem = fmt.Sprintf("server %q cannot be started: %s", name, strings.Join(p.missing, "; "))
	}
	return s, warnings, nil
}

func readEntry(name string, raw json.RawMessage, env func(string) (string, bool)) (Server, *entry) {
	p := &entry{name: name, expander: expander{env: env}, used: map[string]bool{}}
	if err := json.Unmarshal(raw, &p.keys); err != nil || p.keys == nil {
		p.wrong = Mistakes{{nil, false, `want an object such as {"command": "npx", "args": ["-y", "package"]}`, ""}}
		return Server{}, p
	}
	s := p.server()
	p.unknown()
	return s, p
}

// meaningless are keys of other clients that change nothing about what a
// server is, so that a person need not hear of them.
var meaningless = map[string]bool{
	"$schema": true, "description": true, "alwaysLoad": true, "dev": true, "icon": true, "name": true, "note": true, "comment": true,
	"autoApprove": true, "alwaysAllow": true, "codemode": true,
	"outputValidation": true, // ours, and read elsewhere
}

// An entry is read key by key, and never stops at a mistake: whoever mends the file wants to see all of them.
type entry struct {
	name    string
	keys    map[string]json.RawMessage
	used    map[string]bool
	wrong   Mistakes
	doubts  []Mistake
	lost    bool // how to reach the server is not known, so neither is which keys mean something
	without bool // that is because nothing says it
	expander
}

func (p *entry) server() Server {
	s := Server{Name: p.name, Transport: p.transport()}
	switch s.Transport {
	case Stdio:
		command := p.command()
		if len(command) > 0 {
			s.Command, s.Args = p.expand(command[0]), p.expandAll(command[1:])
		}
		s.Env = p.variables()
		s.Dir = p.expand(p.text("cwd"))
		s.EnvFile = p.expand(p.text("envFile"))
	case HTTP, SSE:
		s.URL = p.expand(p.oneOf("httpUrl", "url", "serverUrl"))
		s.Headers = p.headers()
		s.OAuth = p.oauth()
		p.address(&s)
	default: // what is wrong is said all the same
		p.list("args")
		p.variables()
		p.text("cwd")
		p.text("envFile")
		p.headers()
		p.oauth()
	}
	s.Disabled = p.flag("disabled")
	if p.keys["enabled"] != nil && !p.flag("enabled") {
		s.Disabled = true
	}
	s.Include = p.names("includeTools", "enabled_tools", "enabledTools", "tools")
	s.Exclude = p.names("excludeTools", "disabled_tools", "disabledTools")
	if slices.Equal(s.Include, []string{"*"}) { // as Copilot CLI writes "all"
		s.Include = nil
	}
	s.TrustAnnotations = p.flag("trustAnnotations")
	p.times(&s)
	if p.flag("trust") {
		p.warn("trust", `"trust" has no effect: what is allowed without asking is for the profiles to say`)
	}
	if p.keys["headersHelper"] != nil {
		p.used["headersHelper"] = true
		p.warn("headersHelper", `"headersHelper" has no effect: no program is run for headers; log in with %s, `+
			`or give the server an Authorization header`, loginCommand(p.name))
	}
	sandboxed := false
	for _, key := range []string{"sandbox", "sandboxEnabled"} {
		p.used[key] = true
		if p.keys[key] != nil && !sandboxed {
			p.warn(key, `"sandbox" has no effect: the server's process is not confined`)
			sandboxed = true
		}
	}
	return s
}

// address looks at the URL of a server.
func (p *entry) address(s *Server) {
	key := starting[1]
	for _, k := range starting[1:] {
		if p.keys[k] != nil {
			key = k
			break
		}
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		p.fail(key, "its url cannot be read: write http:// or https:// and a host")
		return
	}
	s.SSEFirst = s.Transport == HTTP && p.keys["httpUrl"] == nil && path.Base(u.Path) == "sse"
	if len(p.missing) == 0 && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") && !p.failed(key) {
		p.fail(key, "its url has to begin with http:// or https:// and a host")
	}
}

func (p *entry) transport() Transport {
	key, kind := "type", p.text("type")
	if kind == "" && !p.failed("type") {
		key, kind = "transport", p.text("transport")
	}
	p.used["transport"] = true
	if p.failed(key) {
		p.lost = true
		return ""
	}
	switch strings.ToLower(kind) {
	case "stdio", "local":
		if p.keys["command"] == nil {
			p.lost = true
			p.fail(key, "its type is %q, which needs a command", kind)
			return ""
		}
		return Stdio
	case "http", "streamable-http", "streamablehttp", "streamable_http", "remote":
		return p.needsURL(key, kind, HTTP)
	case "sse":
		return p.needsURL(key, kind, SSE)
	case "ws", "websocket":
		p.fail(key, "WebSocket servers (type %q) are not supported: use the server's http address", kind)
	case "":
		switch {
		case p.keys["command"] != nil:
			return Stdio
		case p.keys["httpUrl"] != nil, p.keys["url"] != nil, p.keys["serverUrl"] != nil:
			return HTTP
		}
		p.without = true
	default:
		p.fail(key, `its type %q is unknown: use "stdio", "http" or "sse"`, kind)
	}
	p.lost = true
	return ""
}

func (p *entry) needsURL(key, kind string, t Transport) Transport {
	if p.keys["httpUrl"] == nil && p.keys["url"] == nil && p.keys["serverUrl"] == nil {
		p.lost = true
		p.fail(key, `its type is %q, which needs a "url"`, kind)
		return ""
	}
	return t
}

// command is the command with its arguments: a string and args, or one list of all.
func (p *entry) command() []string {
	p.used["command"] = true
	var line []string
	raw := p.keys["command"]
	if len(raw) > 0 && raw[0] == '[' {
		line = p.list("command")
	} else if c := p.text("command"); c != "" {
		line = []string{c}
	}
	if !p.failed("command") && (len(line) == 0 || line[0] == "") {
		p.fail("command", "its command is empty")
	}
	if len(line) == 0 {
		p.list("args")
		return nil
	}
	if len(line) == 1 && strings.ContainsAny(line[0], " \t") && p.keys["args"] == nil && !strings.ContainsAny(line[0], `/\`) {
		p.warn("command", "its command %q has spaces in it and is taken as the name of one program: "+
			"put the arguments into \"args\"", line[0])
	}
	return append(line, p.list("args")...)
}

// variables is the environment to add: env or environment, and the names that
// Codex takes over from its own environment.
func (p *entry) variables() map[string]string {
	vars := map[string]string{}
	add := func(key, k, v string) {
		vars[k] = v
		if strings.EqualFold(k, ChildVariable) {
			p.warn(key, "the variable %s has no effect: codemode sets it for every server", k)
		}
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(v, "\x00") {
			p.failAt([]string{key, k}, "its environment has the impossible variable %q", k)
		}
	}
	for _, key := range []string{"environment", "env"} {
		for k, v := range inOrder(p.strings(key)) {
			add(key, k, p.expandValue(v))
		}
	}
	for _, name := range p.list("env_vars") {
		if v, ok := p.env(name); ok {
			add("env_vars", name, v)
		} else {
			p.miss("the variable %s is not set (env_vars)", name)
		}
	}
	if len(vars) == 0 {
		return nil
	}
	return vars
}

// headers is what goes with every request: headers, and the bearer token and
// the headers that Codex takes out of variables.
func (p *entry) headers() http.Header {
	h := http.Header{}
	set := func(path []string, k, v string) {
		h.Set(k, v)
		impossible := textproto.TrimString(k) != k || k == "" || strings.ContainsAny(k, " \t\r\n:\x00")
		if impossible || strings.ContainsAny(v, "\r\n\x00") {
			p.failAt(path, "its header %q cannot be sent: a name has no spaces or colons, a value no line breaks", k)
		}
	}
	for _, key := range []string{"http_headers", "headers"} {
		for k, v := range inOrder(p.strings(key)) {
			set([]string{key, k}, k, p.expandValue(v))
		}
	}
	fromEnv := func(path []string, header, prefix, name string) {
		if v, ok := p.env(name); ok {
			set(path, header, prefix+v)
		} else {
			p.miss("the variable %s is not set (for the header %s)", name, header)
		}
	}
	for k, name := range inOrder(p.strings("env_http_headers")) {
		fromEnv([]string{"env_http_headers", k}, k, "", name)
	}
	for _, key := range []string{"bearerTokenEnvVar", "bearer_token_env_var"} { // the last one counts
		if name := p.text(key); name != "" {
			fromEnv([]string{key}, "Authorization", "Bearer ", name)
		}
	}
	if len(h) == 0 {
		return nil
	}
	return h
}

// oauth reads how to log in: "oauth" as most write it, "auth" as Cursor does.
// What the server says itself about its authorization server is believed over
// what is written here, so the addresses in it have no effect.
func (p *entry) oauth() *OAuth {
	for _, key := range []string{"oauth", "auth"} {
		p.used[key] = true
		raw := p.keys[key]
		if len(raw) == 0 || raw[0] != '{' {
			continue // false is for clients that would log in by themselves
		}
		in := &entry{name: p.name, used: map[string]bool{}, expander: expander{env: p.env}}
		if json.Unmarshal(raw, &in.keys) != nil {
			p.fail(key, "%q must be an object", key)
			return nil
		}
		o := &OAuth{
			ClientID:     in.expand(in.oneOf("clientId", "client_id", "CLIENT_ID")),
			ClientSecret: in.expandValue(in.oneOf("clientSecret", "client_secret", "CLIENT_SECRET")),
		}
		if scopes := in.keys["scopes"]; len(scopes) > 0 && scopes[0] == '[' {
			o.Scopes = in.list("scopes")
		} else {
			o.Scopes = strings.Fields(in.oneOf("scope", "scopes"))
		}
		o.Port = int(in.duration("callbackPort", 1))
		p.missing = append(p.missing, in.missing...)
		for _, m := range in.wrong {
			p.failAt(append([]string{key}, m.Path...), "%q: %s", key, m.Message)
		}
		if o.Port > 65535 {
			p.failAt([]string{key, "callbackPort"}, `%q: "callbackPort" must be at most 65535`, key)
		}
		return o
	}
	return nil
}

// times reads timeout in milliseconds, or its parts, and Codex's in seconds.
func (p *entry) times(s *Server) {
	raw := p.keys["timeout"]
	if len(raw) > 0 && raw[0] == '{' {
		p.used["timeout"] = true
		var parts map[string]float64
		if json.Unmarshal(raw, &parts) != nil {
			p.fail("timeout", `"timeout" must be milliseconds, or an object of them`)
		}
		s.StartTimeout = p.span([]string{"timeout", "startup"}, parts["startup"], time.Millisecond)
		s.Timeout = p.span([]string{"timeout", "execution"}, parts["execution"], time.Millisecond)
	} else {
		s.Timeout = p.duration("timeout", time.Millisecond)
	}
	if d := p.duration("tool_timeout_sec", time.Second); d > 0 {
		s.Timeout = d
	}
	if d := p.duration("startup_timeout_sec", time.Second); d > 0 {
		s.StartTimeout = d
	}
	if d := p.duration("startup_timeout_ms", time.Millisecond); d > 0 {
		s.StartTimeout = d
	}
}
