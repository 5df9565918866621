//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/testwait"
)

// The tenants of the tests, and the principals that each of them has: the names are the same everywhere.
var (
	tenantNames    = []string{"acme", "bolt"}
	principalNames = []string{"anna", "bert"}
)

// A household is a process with tenants.
type household struct {
	*served
	home        string
	environment []string // of commands beside it
	base        string   // of the listener
	operators   map[string]*actor
	everybody   []*actor
	heard       map[*thing]map[listener]bool // see hears
}

// tokenOf is the token of a principal that runs programs, or that answers.
func tokenOf(tenant, principal, use string) string {
	return strings.Join([]string{"the-token-of", tenant, principal, use}, "-")
}

// tenantConfig is a configuration of a tenant. All have the same profiles, and tools of their own.
func tenantConfig(tenant, more string) string {
	var tokens []string
	for _, p := range principalNames {
		tokens = append(tokens, fmt.Sprintf(`{"token": "${%s}", "principal": %q}`, variableOf(tenant, p, "runs"), p),
			fmt.Sprintf(`{"token": "${%s}", "principal": %q, "answers": true}`, variableOf(tenant, p, "answers"), p))
	}
	return fmt.Sprintf(`{
		"mcpServers": {"%[1]sonly": {"command": %[2]q, "env": {"%[3]s": "upstream"}}},
		"sessions": true,
		"console": {"people": {"anna": {}, "bert": {}}},
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["*only__pid"], "asklist": ["time__now"],
			"ask": {"timeout": "20m"}}}},
		"http": {"tokens": [%[4]s]}%[5]s}`, tenant, os.Args[0], asCommand, strings.Join(tokens, ", "), more)
}

func variableOf(parts ...string) string { return strings.ToUpper(strings.Join(parts, "_")) }

// newHousehold writes the files of all tenants.
func newHousehold(t *testing.T) *household {
	t.Helper()
	endToEnd(t)
	home, err := os.MkdirTemp("", "cm") // sockets have short paths
	checktest.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	h := &household{home: home, environment: append(os.Environ(), asCommand+"=codemode", "HOME="+home,
		"XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+cachetest.Dir(), "CODEMODE_CONFIG=")}
	listed := map[string]any{}
	for _, tenant := range tenantNames {
		checktest.OK(t, os.Mkdir(filepath.Join(home, tenant), 0o700))
		write(t, h.configOf(tenant), tenantConfig(tenant, ""))
		listed[tenant] = map[string]string{"config": tenant + "/codemode.json"}
		for _, p := range principalNames {
			for _, use := range []string{"runs", "answers"} {
				h.environment = append(h.environment, variableOf(tenant, p, use)+"="+tokenOf(tenant, p, use))
			}
		}
	}
	h.list(t, map[string]any{"tenants": listed})
	return h
}

func (h *household) configOf(tenant string) string {
	return filepath.Join(h.home, tenant, "codemode.json")
}

func (h *household) stateOf(tenant string) string {
	return filepath.Join(h.home, "codemode", "tenants", tenant)
}

// list writes the file of tenants.
func (h *household) list(t *testing.T, file any) {
	t.Helper()
	text, err := json.Marshal(file)
	checktest.OK(t, err)
	write(t, filepath.Join(h.home, "tenants.json"), string(text))
}

func (h *household) command(flags ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append([]string{"serve", "--http", "127.0.0.1:0", "--tenants",
		filepath.Join(h.home, "tenants.json")}, flags...)...)
	cmd.Env = h.environment
	return cmd
}

// start starts the process.
func (h *household) start(t *testing.T, flags ...string) {
	t.Helper()
	h.served = startServing(t, h.command(flags...))
	h.base, _, _ = strings.Cut(h.url, "/t/")
}

// refuses starts a process that must not start, and returns what it says.
func (h *household) refuses(t *testing.T, flags ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], h.command(flags...).Args[1:]...)
	cmd.Env = h.environment
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() < 1 || ctx.Err() != nil {
		t.Fatalf("it starts, or ends with %v:\n%s", err, out)
	}
	return string(out)
}

// An actor is somebody who tries something.
type actor struct {
	tenant    string // "" is a stranger
	principal string // "" is the operator: who started the process
	// how they show who they are
	credential string // runs, answers, session, none, made-up
	token      string
	at         *person // of a session: its path and cookie
}

func (a *actor) String() string {
	switch {
	case a.tenant == "":
		return "a stranger (" + a.credential + ")"
	case a.principal == "":
		return "the operator of " + a.tenant
	}
	return fmt.Sprintf("%s of %s (%s)", a.principal, a.tenant, a.credential)
}

// actors lists everybody, with each of their credentials.
func (h *household) actors(t *testing.T) (all []*actor) {
	t.Helper()
	h.operators = map[string]*actor{}
	for _, tenant := range tenantNames {
		for _, p := range principalNames {
			for _, use := range []string{"runs", "answers"} {
				all = append(all, &actor{tenant, p, use, tokenOf(tenant, p, use), nil})
			}
			all = append(all, &actor{tenant, p, "session", "", h.enters(t, tenant, p)})
		}
		h.operators[tenant] = &actor{tenant, "", "session", "", h.enters(t, tenant, "")}
		all = append(all, h.operators[tenant])
	}
	h.everybody = append(all, &actor{credential: "none"}, &actor{credential: "made-up", token: "a-token-that-nobody-has"})
	h.heard = map[*thing]map[listener]bool{}
	return h.everybody
}

// enters logs a person in at the page of a tenant.
func (h *household) enters(t *testing.T, tenant, name string) *person {
	t.Helper()
	flags := []string{"--state", h.stateOf(tenant)}
	if name != "" {
		flags = append(flags, "--as", name)
	}
	p := atThePage(t, h.environment, flags...)
	if want := h.base + "/t/" + tenant + "/console"; p.base != want {
		t.Errorf("the link leads to %s, want %s", p.base, want)
	}
	return p
}

// A thing is what a principal of a tenant has, and what others must not reach.
type thing struct {
	tenant, principal string
	mark              string // in the values of programs; nobody else has it
	session           string // name; every principal has a session "work" too
	sessionID         string
	handle            string // of a kept result
	asked             console.Asked
	state             string // requestState of the run that asks
	protocolSession   string // in which a call waits, and
	request           int    // its id
	cancels           console.Asked
}

func (x *thing) String() string { return x.principal + " of " + x.tenant }

// request sends a request and returns its status and body. A response that does not end is cut off after a while.
func (h *household) request(method, address string, body any, headers map[string]string) (status int, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case url.Values:
		content = strings.NewReader(b.Encode())
		headers = with(headers, "Content-Type", "application/x-www-form-urlencoded")
	default:
		js, err := json.Marshal(b)
		if err != nil {
			panic(err)
		}
		content = bytes.NewReader(js)
		headers = with(headers, "Content-Type", "application/json")
	}
	r, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		panic(err)
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	res, err := noRedirects.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	if strings.HasSuffix(address, "/api/events") && res.StatusCode == http.StatusOK {
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && strings.Contains(data, "pending") {
				return res.StatusCode, data
			}
		}
		return res.StatusCode, ""
	}
	all, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(all)
}

var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func with(headers map[string]string, name, value string) map[string]string {
	headers = maps.Clone(headers)
	if headers == nil {
		headers = map[string]string{}
	}
	headers[name] = value
	return headers
}

// headers are what an actor sends to show who they are.
func (a *actor) headers() map[string]string {
	h := map[string]string{}
	if a.token != "" {
		h["Authorization"] = "Bearer " + a.token
	}
	if a.at != nil {
		h["Cookie"], h["X-CSRF-Token"] = a.at.cookie, a.at.csrf
	}
	return h
}

// mcp sends a request of MCP 2026-07-28, which needs no session, to a tenant.
func (h *household) mcp(a *actor, tenant, method string, params map[string]any) (status int, text string) {
	headers := a.headers()
	headers["Accept"], headers["Mcp-Protocol-Version"] = "application/json, text/event-stream", "2026-07-28"
	headers["Mcp-Method"] = method
	for _, key := range []string{"name", "uri"} {
		if name, ok := params[key].(string); ok {
			headers["Mcp-Name"] = name
		}
	}
	params = maps.Clone(params)
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "tester", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}},
	}
	return h.request("POST", h.base+"/t/"+tenant+"/mcp",
		map[string]any{"jsonrpc": "2.0", "id": messages.Add(1), "method": method, "params": params}, headers)
}

// tool calls a tool of a tenant.
func (h *household) tool(a *actor, tenant, name string, arguments map[string]any, more map[string]any) (int, string) {
	params := map[string]any{"name": name, "arguments": arguments}
	maps.Copy(params, more)
	return h.mcp(a, tenant, "tools/call", params)
}

// old sends a message of MCP 2025-11-25.
func (h *household) old(a *actor, tenant, session string, message map[string]any) (int, string, http.Header) {
	js, _ := json.Marshal(message)
	r, err := http.NewRequest("POST", h.base+"/t/"+tenant+"/mcp", bytes.NewReader(js))
	if err != nil {
		panic(err)
	}
	for name, value := range a.headers() {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer res.Body.Close()
	all, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(all), res.Header
}

// page sends a request to the page of a tenant, or to its API.
func (h *household) page(a *actor, tenant, method, path string, body any) (int, string) {
	base := h.base + "/t/" + tenant + "/console"
	if a.at != nil {
		base += a.at.path
	}
	if form, ok := body.(url.Values); ok && a.at != nil {
		form.Set("csrf", a.at.csrf)
	}
	return h.request(method, base+path, body, a.headers())
}

// program asks a person, and then tells the mark of its principal.
func (x *thing) program() string {
	return fmt.Sprintf(`await codemode.time__now({}); return %q`, x.mark)
}

var (
	handleIn = regexp.MustCompile(`codemode://results/([A-Za-z0-9]{26})`)
	stateIn  = regexp.MustCompile(`"requestState":"([^"]+)"`)
)

// ask makes a run that waits for a person, with the state with which its client comes back.
func (h *household) ask(t *testing.T, x *thing, operator *actor) (console.Asked, string) {
	t.Helper()
	before := h.open(t, operator)
	status, text := h.tool(x.runner(), x.tenant, "codemode_eval", map[string]any{"code": x.program()}, nil)
	state := stateIn.FindStringSubmatch(text)
	if status != http.StatusOK || state == nil {
		t.Fatalf("%s: the program does not ask: %d %s\n%s", x, status, text, h.log)
	}
	return h.newly(t, operator, before), state[1]
}

// call makes a call that waits for a person, on a session of the protocol.
func (h *household) call(t *testing.T, x *thing, operator *actor) (asked console.Asked, session string, request int) {
	t.Helper()
	before := h.open(t, operator)
	_, text, header := h.old(x.runner(), x.tenant, "", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize",
		"params": map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
			"clientInfo": map[string]any{"name": "tester", "version": "1"}}})
	session, request = header.Get("Mcp-Session-Id"), 77
	if session == "" {
		t.Fatalf("%s: no session: %s", x, text)
	}
	go h.old(x.runner(), x.tenant, session, map[string]any{"jsonrpc": "2.0", "id": request, "method": "tools/call",
		"params": map[string]any{"name": "codemode_eval", "arguments": map[string]any{"code": x.program()}}})
	return h.newly(t, operator, before), session, request
}

// open lists the questions that the operator of a tenant sees.
func (h *household) open(t *testing.T, operator *actor) (all []console.Asked) {
	t.Helper()
	status, text := h.page(operator, operator.tenant, "GET", "/api/pending", nil)
	var got struct{ Pending []console.Asked }
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK {
		t.Fatalf("%s lists the questions: %d %s", operator, status, text)
	}
	return got.Pending
}

func has(all []console.Asked, id string) bool {
	return slices.ContainsFunc(all, func(a console.Asked) bool { return a.ID == id })
}

// newly waits for the one question that was not there before.
func (h *household) newly(t *testing.T, operator *actor, before []console.Asked) (found console.Asked) {
	t.Helper()
	if !testwait.Holds(func() bool {
		for _, a := range h.open(t, operator) {
			if !has(before, a.ID) {
				found = a
				return true
			}
		}
		return false
	}) {
		t.Fatalf("%s sees no new question\n%s", operator, h.log)
	}
	return found
}

// gone waits until a question is not open any more.
func (h *household) gone(t *testing.T, operator *actor, id string) bool {
	t.Helper()
	return testwait.Holds(func() bool { return !has(h.open(t, operator), id) })
}

// runner is the principal of a thing as one that runs programs.
func (x *thing) runner() *actor {
	return &actor{x.tenant, x.principal, "runs", tokenOf(x.tenant, x.principal, "runs"), nil}
}

// makes makes all that a principal has.
func (h *household) makes(t *testing.T, tenant, principal string, operator *actor) *thing {
	t.Helper()
	x := &thing{tenant: tenant, principal: principal, mark: "MARK-" + tenant + "-" + principal,
		session: "s-" + tenant + "-" + principal}
	run := func(code, session string) string {
		arguments := map[string]any{"code": code}
		if session != "" {
			arguments["session"] = session
		}
		status, text := h.tool(x.runner(), tenant, "codemode_eval", arguments, nil)
		if status != http.StatusOK || strings.Contains(text, `"isError":true`) {
			t.Fatalf("%s runs %s: %d %s", x, code, status, text)
		}
		return text
	}
	run(fmt.Sprintf("const secret = %q", x.mark), "work")
	run(fmt.Sprintf("const secret = %q", x.mark), x.session)
	kept := run(fmt.Sprintf(`return Array.from({length: 9000}, (_, i) => %q + i)`, x.mark), "")
	handle := handleIn.FindStringSubmatch(kept)
	if handle == nil {
		t.Fatalf("%s: nothing is kept: %.300s", x, kept)
	}
	x.handle = handle[1]
	_, sessions := h.page(operator, tenant, "GET", "/sessions", nil)
	id := regexp.MustCompile(`/sessions/([A-Za-z0-9]+)"[^>]*>` + x.session + `<`).FindStringSubmatch(sessions)
	if id == nil {
		t.Fatalf("%s: the page does not list the session %s: %s", x, x.session, sessions)
	}
	x.sessionID = id[1]
	x.asked, x.state = h.ask(t, x, operator)
	x.cancels, x.protocolSession, x.request = h.call(t, x, operator)
	return x
}
