package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/checktest"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/server"
)

const (
	initializeBody = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "tester", "version": "1"}}}`
	callBody       = `{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "codemode_eval", "arguments": {"code": %q}}}`
)

// A knock is one HTTP request.
type knock struct {
	method, path, body string
	host               string
	header             map[string]string
}

// send sends it and returns the status, the body and the session that was opened.
func (k knock) send(t *testing.T, url string) (status int, body, session string) {
	t.Helper()
	if k.method == "" {
		k.method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), k.method, url+k.path, strings.NewReader(k.body))
	checktest.OK(t, err)
	r.Host = k.host
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range k.header {
		if value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, value)
		}
	}
	res, err := http.DefaultClient.Do(r)
	checktest.OK(t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	checktest.OK(t, err)
	return res.StatusCode, string(data), res.Header.Get("Mcp-Session-Id")
}

// THREATS.md W01, W02, W18 and G13: only requests that are meant for this server are served, and no page of another
// origin sends any.
func TestWhoMayKnock(t *testing.T) {
	h := open(t, `{"evaluation": {"profiles": {"p": {}}}, "http": {"hosts": ["codemode.example.com"], "origins": ["https://front.example.com"]}}`, server.Options{})
	url := h.listen()
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), server.Path)
	_, port, _ := net.SplitHostPort(address)
	const served = http.StatusOK
	for _, test := range []struct {
		name   string
		knock  knock
		status int
	}{
		{"by its address", knock{}, served},
		{"by name", knock{host: "localhost:" + port}, served},
		{"by name without a port", knock{host: "localhost"}, served},
		{"by name in capitals", knock{host: "LOCALHOST:" + port}, served},
		{"by the other loopback address", knock{host: "[::1]:" + port}, served},
		{"by a configured name", knock{host: "codemode.example.com"}, served},
		{"by a configured name with a port", knock{host: "codemode.example.com:8443"}, served},
		{"by a rebound name", knock{host: "evil.test:" + port}, http.StatusForbidden},
		{"by a rebound name without a port", knock{host: "evil.test"}, http.StatusForbidden},
		{"by a name that begins well", knock{host: "localhost.evil.test"}, http.StatusForbidden},
		{"by a name that ends well", knock{host: "evil-localhost"}, http.StatusForbidden},
		{"by a name below a configured one", knock{host: "x.codemode.example.com"}, http.StatusForbidden},
		{"by a name with a dot behind it", knock{host: "localhost.:" + port}, http.StatusForbidden},
		{"by the address of nobody", knock{host: "0.0.0.0:" + port}, http.StatusForbidden},
		{"by the address of nobody, version 6", knock{host: "[::]:" + port}, http.StatusForbidden},
		{"by an address of the network", knock{host: "192.168.1.5:" + port}, http.StatusForbidden},
		{"by a public address", knock{host: "203.0.113.9"}, http.StatusForbidden},
		{"by an address in one number", knock{host: "2130706433"}, http.StatusForbidden},
		{"by an address in octal", knock{host: "0177.0.0.1"}, http.StatusForbidden},

		{"a page of its own", knock{header: map[string]string{"Origin": "http://" + address}}, served},
		{"a page of its own, as browsers mark it", knock{header: map[string]string{"Origin": "http://" + address,
			"Sec-Fetch-Site": "same-origin"}}, served},
		{"a page that the configuration names", knock{header: map[string]string{"Origin": "https://front.example.com"}},
			served},
		{"such a page, as browsers mark it", knock{header: map[string]string{"Origin": "https://front.example.com",
			"Sec-Fetch-Site": "cross-site"}}, served},
		{"a foreign page", knock{header: map[string]string{"Origin": "https://evil.test"}}, http.StatusForbidden},
		{"a foreign page that looks near", knock{header: map[string]string{"Origin": "http://localhost.evil.test:" + port}},
			http.StatusForbidden},
		{"a page on another port of this machine", knock{header: map[string]string{"Origin": "http://127.0.0.1:1"}},
			http.StatusForbidden},
		{"a page without an origin", knock{header: map[string]string{"Origin": "null"}}, http.StatusForbidden},
		{"a page of a file", knock{header: map[string]string{"Origin": "file://"}}, http.StatusForbidden},
		{"a page of an extension", knock{header: map[string]string{"Origin": "chrome-extension://" + address}},
			http.StatusForbidden},
		{"an origin that is none", knock{header: map[string]string{"Origin": "%%"}}, http.StatusForbidden},
		{"a foreign page without the header", knock{header: map[string]string{"Sec-Fetch-Site": "cross-site"}},
			http.StatusForbidden},
		{"a page of a sister site", knock{header: map[string]string{"Sec-Fetch-Site": "same-site"}}, http.StatusForbidden},
		{"a foreign page that streams", knock{method: http.MethodGet,
			header: map[string]string{"Origin": "https://evil.test"}}, http.StatusForbidden},
		{"a foreign page that ends a session", knock{method: http.MethodDelete,
			header: map[string]string{"Origin": "https://evil.test"}}, http.StatusForbidden},
		{"a foreign page that asks whether it may", knock{method: http.MethodOptions,
			header: map[string]string{"Origin": "https://evil.test", "Access-Control-Request-Method": "POST"}},
			http.StatusForbidden},

		{"a form", knock{header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}},
			http.StatusUnsupportedMediaType},
		{"plain text", knock{header: map[string]string{"Content-Type": "text/plain"}}, http.StatusUnsupportedMediaType},
		{"no type", knock{header: map[string]string{"Content-Type": ""}}, http.StatusUnsupportedMediaType},
		{"too large a body", knock{body: `"` + strings.Repeat("x", 5<<20) + `"`}, http.StatusRequestEntityTooLarge},
		{"another method", knock{method: http.MethodPut}, http.StatusMethodNotAllowed},
		{"a session that nobody opened", knock{header: map[string]string{"Mcp-Session-Id": "guessed"}}, http.StatusNotFound},
		{"a profile that is there", knock{path: "/p"}, served},
		{"a profile that is not there", knock{path: "/q"}, http.StatusNotFound},
		{"a path below a profile", knock{path: "/p/x"}, http.StatusNotFound},
		{"a path that goes up", knock{path: "/%2e%2e/mcp"}, http.StatusNotFound},
	} {
		if test.knock.body == "" {
			test.knock.body = initializeBody
		}
		status, body, session := test.knock.send(t, url)
		if status != test.status {
			t.Errorf("%s: status %d, want %d: %s", test.name, status, test.status, body)
		}
		if (session != "") != (status == served) {
			t.Errorf("%s: session %q", test.name, session)
		}
	}
}

// tokens is a configuration with three of them; their variables are those of tokenVariables.
const tokens = `{
	"evaluation": {"defaultProfile": "readonly", "profiles": {
		"readonly": {"allowlist": ["filesystem__read_*"]}, "writes": {}, "supervised": {"asklist": ["filesystem__write_file"]}}},
	"http": {"tokens": [
		{"token": "${ANNA}", "principal": "anna"},
		{"token": "sha256:%s", "principal": "bert", "profiles": ["readonly"]},
		{"token": "${CARL}", "profiles": ["writes"]}]}}`

const (
	annasToken = "the-token-of-anna"
	bertsToken = "the-token-of-bert"
	carlsToken = "the-token-of-carl"
)

func openWithTokens(t *testing.T) (*house, string) {
	t.Helper()
	h := open(t, fmt.Sprintf(tokens, strings.TrimPrefix(inforce.Fingerprint(bertsToken), "sha256:")), server.Options{})
	h.variables = map[string]string{"ANNA": annasToken, "CARL": carlsToken}
	return h, h.listen()
}

// Nobody gets in without a token that the configuration names; it says who it is and which profiles are for them, on
// both generations of the protocol.
func TestTokens(t *testing.T) {
	h, url := openWithTokens(t)
	for name, header := range map[string]string{
		"none": "", "a wrong one": "Bearer the-token-of-eve", "the digest": "Bearer " + inforce.Fingerprint(bertsToken),
		"another scheme": "Basic " + annasToken,
		"an empty one":   "Bearer ", "a longer one": "Bearer " + annasToken + "x", "two": "Bearer " + annasToken + " " +
			annasToken,
	} {
		status, body, session := knock{body: initializeBody, header: map[string]string{"Authorization": header}}.send(t, url)
		if status != http.StatusUnauthorized || session != "" {
			t.Errorf("%s: status %d, session %q: %s", name, status, session, body)
		}
		if strings.Contains(body, "the-token") {
			t.Errorf("%s: the answer holds it: %s", name, body)
		}
	}
	const whoami = `try { await codemode.filesystem__write_file({path: "new.md", content: "x"}); return "wrote" } catch (e) { return e.reason }`
	for _, test := range []struct {
		token string
		runs  []string
		base  string // what codemode_eval makes of the program
	}{
		{annasToken, []string{"codemode_eval", "codemode_eval_readonly", "codemode_eval_supervised", "codemode_eval_writes"},
			`"denied"`},
		{bertsToken, []string{"codemode_eval", "codemode_eval_readonly"}, `"denied"`},
		{carlsToken, []string{"codemode_eval_writes"}, ""},
	} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			c := h.connectHTTPAs(url, test.token, version)
			runs := slices.DeleteFunc(c.tools(), func(name string) bool { return !strings.HasPrefix(name, "codemode_eval") })
			// as codemode_eval
			shown := slices.DeleteFunc(slices.Clone(test.runs),
				func(name string) bool { return name == "codemode_eval_readonly" })
			if diff := cmp.Diff(shown, runs); diff != "" {
				t.Errorf("%s on %s (-want +got):\n%s", test.token, version, diff)
			}
			for _, tool := range []string{"codemode_eval", "codemode_eval_readonly", "codemode_eval_supervised",
				"codemode_eval_writes"} {
				_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"code": "return 1"}})
				if (err == nil) != slices.Contains(test.runs, tool) {
					t.Errorf("%s on %s calls %s: %v", test.token, version, tool, err)
				}
			}
			if test.base != "" {
				c.want("codemode_eval", whoami, test.base)
			}
			if text, failed := c.call("codemode_check", map[string]any{"code": "return 1",
				"profile": "supervised"}); failed == (test.token == annasToken) {
				t.Errorf("%s checks under a profile: %s", test.token, text)
			}
			if text, _ := c.call("search_tools", nil); strings.Contains(text,
				"codemode_eval_supervised") != (test.token == annasToken) {
				t.Errorf("%s is told of %s", test.token, text)
			}
		}
	}
	if log := h.log.String(); strings.Contains(log, "the-token-of") {
		t.Errorf("a token is in the log:\n%s", log)
	}
}

// A token counts from the moment at which the configuration has it until the one at which it has not.
func TestTokensComeAndGo(t *testing.T) {
	h, url := openWithTokens(t)
	enters := func(token string) bool {
		status, _, _ := knock{body: initializeBody, header: map[string]string{"Authorization": "Bearer " + token}}.send(t,
			url)
		return status == http.StatusOK
	}
	c := h.connectHTTPAs(url, annasToken, "2025-11-25")
	c.want("codemode_eval", "return 1", "1")
	h.write(`{"evaluation": {"profiles": {"readonly": {}}}, "http": {"tokens": [{"token": "${CARL}"}]}}`)
	eventually(t, "anna's token to go", func() bool { return !enters(annasToken) })
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval",
		Arguments: map[string]any{"code": "return 1"}}); err == nil {
		t.Error("a session goes on without its token")
	}
	if !enters(carlsToken) || enters("") {
		t.Error("carl's token is not the only one")
	}
	// A configuration that cannot be used opens nothing and closes nothing.
	for _, broken := range []string{`{"tokens": [{"token": "in-the-file-itself"}]}`,
		`{"tokens": [{"token": "${NOWHERE}"}]}`, `{"token": []}`} {
		before := len(h.log.String())
		h.write(`{"evaluation": {"profiles": {"readonly": {}}}, "http": ` + broken + `}`)
		eventually(t, "the broken file", func() bool {
			later := h.log.String()[before:]
			return strings.Contains(later, "its previous value stays in force") ||
				strings.Contains(later, "the changed configuration is not used")
		})
		if !enters(carlsToken) || enters("") || enters("in-the-file-itself") {
			t.Errorf("with %s", broken)
		}
	}
}

// THREATS.md W08: a session is of use to nobody but who opened it.
func TestW08ASessionBelongsToWhoOpenedIt(t *testing.T) {
	_, url := openWithTokens(t)
	as := func(token, session string) map[string]string {
		return map[string]string{"Authorization": "Bearer " + token, "Mcp-Session-Id": session,
			"Mcp-Protocol-Version": "2025-11-25"}
	}
	_, _, session := knock{body: initializeBody, header: as(annasToken, "")}.send(t, url)
	knock{body: `{"jsonrpc": "2.0", "method": "notifications/initialized"}`, header: as(annasToken, session)}.send(t, url)
	for _, k := range []knock{
		{body: fmt.Sprintf(callBody, "return 1")}, {method: http.MethodGet}, {method: http.MethodDelete},
		{body: `{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}`},
	} {
		k.header = as(bertsToken, session)
		if status, body, _ := k.send(t, url); status != http.StatusForbidden {
			t.Errorf("%s by somebody else: status %d: %s", k.method, status, body)
		}
	}
	k := knock{path: "/readonly", body: fmt.Sprintf(callBody, "return 1"), header: as(annasToken, session)}
	if status, body, _ := k.send(t, url); status != http.StatusForbidden {
		t.Errorf("at another path: status %d: %s", status, body)
	}
	k = knock{body: fmt.Sprintf(callBody, "return 40 + 2"), header: as(annasToken, session)}
	if status, body, _ := k.send(t, url); status != http.StatusOK || !strings.Contains(body, "42") {
		t.Errorf("by its owner: status %d: %s", status, body)
	}
	if status, _, _ := (knock{method: http.MethodDelete, header: as(annasToken, session)}).send(t,
		url); status != http.StatusNoContent {
		t.Errorf("its end: status %d", status)
	}
	if status, _, _ := k.send(t, url); status != http.StatusNotFound {
		t.Errorf("after its end: status %d", status)
	}
}

// A call whose client ends the session while the server still reads it does not run.
func TestW08NoCallInAnEndedSession(t *testing.T) {
	_, url := openWithTokens(t)
	as := map[string]string{"Authorization": "Bearer " + annasToken, "Mcp-Protocol-Version": "2025-11-25"}
	_, _, as["Mcp-Session-Id"] = knock{body: initializeBody, header: as}.send(t, url)
	knock{body: `{"jsonrpc": "2.0", "method": "notifications/initialized"}`, header: as}.send(t, url)
	refused := maps.Clone(as)
	refused["Mcp-Protocol-Version"] = "2000-01-01"
	if status, text, _ := (knock{method: http.MethodDelete, header: refused}).send(t, url); status != 400 {
		t.Errorf("no end: status %d: %s", status, text)
	}
	if status, text, _ := (knock{body: fmt.Sprintf(callBody, "return 40 + 2"), header: as}).send(t, url); status != 200 ||
		!strings.Contains(text, "42") {
		t.Errorf("a call after it: status %d: %s", status, text)
	}
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	client, err := net.Dial("tcp", host)
	checktest.OK(t, err)
	defer client.Close()
	body := fmt.Sprintf(callBody, "return 40 + 2")
	fmt.Fprintf(client, "POST /%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nExpect: 100-continue\r\nContent-Length: %d\r\n", path, host,
		len(body))
	for name, value := range as {
		fmt.Fprintf(client, "%s: %s\r\n", name, value)
	}
	fmt.Fprint(client, "\r\n")
	answers := bufio.NewReader(client)
	if res, err := http.ReadResponse(answers, nil); err != nil || res.StatusCode != http.StatusContinue {
		t.Fatal(res, err) // the server reads the body
	}
	if status, _, _ := (knock{method: http.MethodDelete, header: as}).send(t, url); status != http.StatusNoContent {
		t.Errorf("its end: status %d", status)
	}
	fmt.Fprint(client, body)
	res, err := http.ReadResponse(answers, nil)
	checktest.OK(t, err)
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusNotFound {
		t.Errorf("status %d: %s", res.StatusCode, text)
	}
}

// A path offers one profile and nothing of the others, on both generations of the protocol.
func TestOneProfileByPath(t *testing.T) {
	h := open(t, original, server.Options{})
	url := h.listen()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		c := h.connectHTTPOn(url+"/safe", nil, version)
		want := []string{"ask_user", "codemode_check", "codemode_collect", "codemode_eval_safe", "get_tools", "search_tools"}
		if diff := cmp.Diff(want, c.tools()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
		if text := c.InitializeResult().Instructions; strings.Contains(text, "codemode_eval ") ||
			!strings.Contains(text, "codemode_eval_safe") {
			t.Errorf("%s: %s", version, text)
		}
		if text, _ := c.call("search_tools", map[string]any{}); strings.Contains(text, "filesystem__") {
			t.Errorf("%s: finds %s", version, text)
		}
	}
}

// THREATS.md W03: what others can reach lets nobody in without a token, whatever the configuration says meanwhile.
func TestW03NoTokenNoEntryFromElsewhere(t *testing.T) {
	h := open(t, original, server.Options{})
	handler, err := h.server.HTTP(server.HTTPOptions{Public: true})
	checktest.OK(t, err)
	web := httptest.NewServer(handler)
	defer web.Close()
	defer handler.Close()
	if needs, any := handler.NeedsToken(); !needs || any {
		t.Errorf("needs a token: %v, has one: %v", needs, any)
	}
	for _, token := range []string{"", "Bearer x"} {
		if status, _, _ := (knock{body: initializeBody, header: map[string]string{"Authorization": token}}).send(t,
			web.URL+server.Path); status != http.StatusUnauthorized {
			t.Errorf("token %q: status %d", token, status)
		}
	}
}

// What is wrong with tokens once the variables are known is said all at once, each with its place in the file, and
// never with what a variable holds.
func TestWrongTokensAreSaidWithTheirPlaces(t *testing.T) {
	h := open(t, `{"http": {"tokens": [
	{"token": "${A}", "principal": "anna"},
	{"token": "${NONE}"},
	{"token": "${SHORT}"},
	{"token": "${SPACED}"},
	{"token": "${AGAIN}"},
	{"token": "`+fingerprint("a-token-that-is-long")+`"}]}}`, server.Options{})
	h.variables = map[string]string{"A": "a-token-that-is-long", "AGAIN": "a-token-that-is-long", "SHORT": "s3cr3",
		"SPACED": "a token with spaces in it"}
	_, err := h.server.HTTP(server.HTTPOptions{Env: h.env})
	problems, ok := err.(config.Problems)
	if !ok || len(problems) != 5 {
		t.Fatalf("got %v", err)
	}
	for i, want := range []string{"the variable NONE is not set", "has 5 characters, which can be guessed",
		"has a space or a line break in it", "another entry has the same token", "another entry has the same token"} {
		if p := problems[i]; p.File != h.config || p.Line != i+3 || p.Column != 12 || !strings.Contains(p.Message, want) {
			t.Errorf("got %s, want %s on line %d", p, want, i+3)
		}
	}
	if text := err.Error(); strings.Contains(text, "s3cr3") || strings.Contains(text, "a-token") {
		t.Errorf("it tells a token: %s", text)
	}
}

// An overlay finds whom it is about by the fingerprint of their token as by the name that the configuration gives it,
// from the start and after a reload, and in all that a client can ask.
func TestAnOverlayFindsATokenByFingerprintAndByName(t *testing.T) {
	const config = `{"evaluation": {"profiles": {"p": {}}, "overlays": [{"id": "contractor", "principal": %q, "denylist": ["filesystem__*"]}]},
		"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${CARL}"}]}}`
	const read = `try { await codemode.filesystem__read_text_file({path: "a.md"}); return "read" } catch (e) { return e.reason }`
	for _, test := range []struct{ principal, narrowed string }{
		{"anna", annasToken}, {fingerprint(annasToken), annasToken}, {fingerprint(carlsToken), carlsToken},
	} {
		h := open(t, `{"evaluation": {"profiles": {"p": {}}}, "http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${CARL}"}]}}`, server.Options{})
		h.variables = map[string]string{"ANNA": annasToken, "CARL": carlsToken}
		url := h.listen()
		h.write(fmt.Sprintf(config, test.principal))
		eventually(t, "the overlay", func() bool { return len(h.evaluator.Config().Overlays()) == 1 })
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			for _, token := range []string{annasToken, carlsToken} {
				c := h.connectHTTPAs(url, token, version)
				narrowed := token == test.narrowed
				if text, _ := c.eval("codemode_eval_p", read); strings.Contains(text, "denied") != narrowed {
					t.Errorf("%s, %s on %s: runs %s", test.principal, token, version, text)
				}
				if text, _ := c.call("search_tools", map[string]any{}); strings.Contains(text, "filesystem__") == narrowed {
					t.Errorf("%s, %s on %s: finds %s", test.principal, token, version, text)
				}
				if text, _ := c.call("get_tools", map[string]any{"names": []string{"filesystem"}}); strings.Contains(text,
					"filesystem__read_text_file") == narrowed {
					t.Errorf("%s, %s on %s: gets %s", test.principal, token, version, text)
				}
				if text, _ := c.call("codemode_check", map[string]any{"code": read, "profile": "p"}); strings.Contains(text,
					"deny") != narrowed {
					t.Errorf("%s, %s on %s: checks %s", test.principal, token, version, text)
				}
			}
		}
	}
}

// What the server does not have is not there, rather than empty. What a profile can give is declared, also while none
// does: clients read capabilities once.
func TestUndeclaredFamilies(t *testing.T) {
	h := open(t, strings.Replace(original, "{", `{"results": false, `, 1), server.Options{})
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		c := h.connectHTTPOn(h.listen(), nil, version)
		if version == "2025-11-25" {
			//lint:ignore SA1019 clients still ask for it
			err := c.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"})
			if err == nil || !strings.Contains(err.Error(), "method not found") {
				t.Error(err)
			}
		}
		has := c.InitializeResult().Capabilities
		if list, err := c.ListPrompts(t.Context(), nil); err != nil || len(list.Prompts) > 0 || has.Prompts == nil ||
			!has.Prompts.ListChanged || has.Completions == nil {
			t.Errorf("%s: %+v, %v, %+v", version, list, err, has)
		}
	}
}

// A client that is gone without a word frees what its calls held, on both generations of the protocol, whether a person
// was being asked or a tool was at work.
func TestADeadClientFreesEverything(t *testing.T) {
	b := serveBusybody(t, false)
	config := fmt.Sprintf(`{"mcpServers": {"busy": {"url": %q}}, "evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["filesystem__*"], "ask": {"timeout": "10m"}}}}}`, b.url)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			h := open(t, config, server.Options{})
			url := h.listen()
			asked := make(chan struct{}, 100)
			round := func() {
				for _, code := range []string{`await codemode.busy__hang({})`, writeNew} {
					if version == "2026-07-28" && code == writeNew {
						continue // the client is away anyhow, see TestNobodyComesBack
					}
					transport := &http.Transport{} // of its own, so that its connections can be cut
					ctx, hangUp := context.WithCancel(t.Context())
					_, sdk := newClient(t, func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						asked <- struct{}{}
						<-ctx.Done()
						return nil, ctx.Err()
					}, nil)
					session, err := sdk.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url,
						HTTPClient: &http.Client{Transport: cut{transport, ctx}}, MaxRetries: -1},
						&mcp.ClientSessionOptions{ProtocolVersion: version})
					checktest.OK(t, err)
					go session.CallTool(context.Background(), &mcp.CallToolParams{Name: "codemode_eval",
						Arguments: map[string]any{"code": "await " + strings.TrimPrefix(code, "await ")}})
					if code == writeNew {
						soon(t, "the question", asked)
					} else {
						soon(t, "the call to begin", b.started)
					}
					hangUp()
					transport.CloseIdleConnections()
					if code != writeNew {
						soon(t, "the call to be canceled", b.canceled)
					}
				}
			}
			round()
			before := runtime.NumGoroutine()
			for range 5 {
				round()
			}
			// Each client leaves a session behind on 2025-11-25, with one goroutine that waits for its end; each call, if it
			// stayed, a dozen.
			eventually(t, "what the calls held to be freed", func() bool {
				return runtime.NumGoroutine() < before+60 &&
					!strings.Contains(stacks(), ".Eval(")
			})
			if h.holds("new.md") {
				t.Error("it was written")
			}
		})
	}
}

// cut is a connection that is gone with its context.
type cut struct {
	*http.Transport
	ctx context.Context
}

func (c cut) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.ctx.Err() != nil {
		return nil, c.ctx.Err()
	}
	ctx, cancel := context.WithCancel(r.Context())
	context.AfterFunc(c.ctx, cancel)
	return c.Transport.RoundTrip(r.WithContext(ctx))
}

func stacks() string {
	buf := make([]byte, 8<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// A stop ends calls that wait for people and streams that wait for news, so that nothing keeps the listener.
func TestStoppingWaitsForNobody(t *testing.T) {
	t.Parallel() // it waits
	h := open(t, asksForWrites, server.Options{})
	handler, err := h.server.HTTP(server.HTTPOptions{})
	checktest.OK(t, err)
	web := httptest.NewServer(handler)
	asked := make(chan struct{}, 10)
	waits := func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		asked <- struct{}{}
		select {
		case <-ctx.Done():
		case <-t.Context().Done(): // the SDK's client tries for 20 seconds to reach a server that is gone
		}
		return nil, context.Canceled
	}
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		c := h.connectHTTPOn(web.URL+server.Path, waits, version) // with a stream for changes of the list of tools
		go c.CallTool(context.Background(), &mcp.CallToolParams{Name: "codemode_eval",
			Arguments: map[string]any{"code": "await " + writeNew}})
		soon(t, "the question", asked)
	}
	start := time.Now()
	handler.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := web.Config.Shutdown(ctx); err != nil || time.Since(start) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	web.Close()
	if h.holds("new.md") {
		t.Error("it was written")
	}
	handler.Close() // once more is as well
}
