package main

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/mcptest"
)

// bearing adds a token to what is sent.
func bearing(token string) string { return "Authorization: Bearer " + token }

// Point 29: a principal's token answers its questions over the page's API, beside MCP over HTTP and at a listener of
// its own, and does nothing else: no program, no question of another principal, no critical call of its own.
func TestATokenAnswersOverTheAPI(t *testing.T) {
	const config = `{
		"console": {%s},
		"http": {"tokens": [
			{"token": "${ANNA}", "principal": "anna"}, {"token": "${CI}", "principal": "ci"},
			{"token": "${ANNA_ANSWERS}", "principal": "anna", "answers": true}]},
		"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*", {"tool": "time__*", "risk": "critical"}]}}, "expose": ["p"]}}`
	const answers = "the-token-with-which-anna-answers"
	h := newHouse(t, `{}`, "--http", "127.0.0.1:0")
	write(t, h.config, strings.Replace(config, "%s", "", 1))
	h.environment = append(h.environment, "ANNA=the-token-of-anna", "CI=the-token-of-ci--", "ANNA_ANSWERS="+answers)
	h.start()
	operator := atThePage(t, h.environment)
	base := operator.base
	connect := func(token string) (*mcp.ClientSession, error) {
		transport := &mcp.StreamableClientTransport{Endpoint: strings.TrimSuffix(base, "/console") + "/mcp",
			HTTPClient: mcptest.Bearer(token), MaxRetries: -1}
		return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	}
	if _, err := connect(answers); err == nil {
		t.Error("the token that answers comes in to run programs")
	}
	anna, err := connect("the-token-of-anna")
	if err != nil {
		t.Fatal(err)
	}
	defer anna.Close()
	ci, err := connect("the-token-of-ci--")
	if err != nil {
		t.Fatal(err)
	}
	defer ci.Close()

	api := &person{t: t, base: base, cookie: "no=login"}
	pending := func(want int) []console.Asked {
		t.Helper()
		var got struct{ Pending []console.Asked }
		if res := api.send("GET", "/api/pending", nil, &got, bearing(answers)); res.StatusCode != 200 ||
			len(got.Pending) != want {
			t.Fatalf("%s: %d questions, want %d: %+v", res.Status, len(got.Pending), want, got.Pending)
		}
		return got.Pending
	}
	answer := func(a console.Asked, decision string) (int, console.Result) {
		t.Helper()
		var got console.Result
		res := api.send("POST", "/api/answer", console.Answered{ID: a.ID, Digest: a.Digest, Decision: decision, Code: a.Code,
			Whole: true, Wait: "10s"}, &got, bearing(answers))
		return res.StatusCode, got
	}

	// Another principal's question is not there for it.
	cis := runs(t, ci, writesAFile)
	ofCI := operator.one()
	pending(0)
	if status, got := answer(ofCI, "allow"); status != 404 || got.OK {
		t.Errorf("the question of ci: %d %+v", status, got)
	}
	if got := operator.allow(ofCI, ""); !got.OK {
		t.Errorf("the operator: %+v", got)
	}
	<-cis

	// Its own is.
	annas := runs(t, anna, writesAFile)
	a := operator.one()
	if got := pending(1)[0]; got.ID != a.ID {
		t.Errorf("it sees %+v", got)
	}
	if status, got := answer(a, "allow"); status != 200 || !got.OK || got.Outcome != "ok" {
		t.Errorf("its own question: %d %+v", status, got)
	}
	if text := <-annas; !strings.HasPrefix(text, `"written"`) {
		t.Errorf("the program got %s", text)
	}

	// But for what is critical.
	annas = runs(t, anna, `try { await codemode.time__now({}); return "told" } catch (e) { return e.reason }`)
	a = operator.one()
	if status, got := answer(a, "allow"); status != 403 || got.OK || !strings.Contains(got.Error, "critical") {
		t.Errorf("its own critical call: %d %+v", status, got)
	}
	if status, got := answer(a, "deny"); status != 200 || !got.OK {
		t.Errorf("its own critical call, denied: %d %+v", status, got)
	}
	if text := <-annas; !strings.Contains(text, "declined") {
		t.Errorf("the program got %s", text)
	}

	for _, token := range []string{"the-token-of-anna", "the-token-of-eve--"} {
		var got struct{ Error string }
		if res := api.send("GET", "/api/pending", nil, &got, bearing(token)); res.StatusCode != 401 &&
			res.StatusCode != 403 || got.Error == "" {
			t.Errorf("%s: %s", token, res.Status)
		}
	}
	if out, err := h.command("audit", "list"); err != nil || !strings.Contains(out, "who=anna") || strings.Contains(out,
		"the-token") {
		t.Errorf("the record: %v\n%s", err, out)
	}
	if strings.Contains(h.log.String(), answers) {
		t.Errorf("the token is in the log:\n%s", h.log)
	}
}

// At a page of its own it is the same, beside a client on stdio: whose questions they are is whoever started it.
func TestATokenAnswersAtAPageOfItsOwn(t *testing.T) {
	const answers = "the-token-with-which-ben-answers"
	h := newHouse(t, `{}`)
	write(t, h.config, `{
		"console": {"address": "127.0.0.1:0", "people": {"ben": {"answersFor": ["*"]}}},
		"http": {"tokens": [{"token": "${BEN}", "principal": "ben", "answers": true}, {"token": "${EVE}", "principal": "eve", "answers": true}]},
		"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*", {"tool": "time__*", "risk": "critical"}]}}, "expose": ["p"]}}`)
	h.environment = append(h.environment, "BEN="+answers, "EVE=the-token-with-which-eve-answers")
	client := h.connect()
	operator := atThePage(t, h.environment)
	api := &person{t: t, base: operator.base, cookie: "no=login"}
	for program, want := range map[string]string{
		writesAFile: `"written"`,
		// the configuration says that ben answers for all
		`try { await codemode.time__now({}); return "told" } catch (e) { return e.reason }`: `"told"`,
	} {
		text := runs(t, client, program)
		a := operator.one()
		var eves struct{ Pending []console.Asked }
		if api.send("GET", "/api/pending", nil, &eves, bearing("the-token-with-which-eve-answers")); len(eves.Pending) != 0 {
			t.Errorf("eve sees %+v", eves)
		}
		var got console.Result
		res := api.send("POST", "/api/answer", console.Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Code: a.Code,
			Whole: true}, &got, bearing(answers))
		if res.StatusCode != 200 || !got.OK {
			t.Errorf("ben: %s %+v", res.Status, got)
		}
		if got := <-text; !strings.HasPrefix(got, want) {
			t.Errorf("the program got %s", got)
		}
	}
}

// What a token that answers cannot be is an error at its place.
func TestTokensThatAnswerAndAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"token": "${T}", "answers": true}`:                                       "answers for nobody",
		`{"token": "${T}", "principal": "a", "profiles": ["p"], "answers": true}`:  "runs no program",
		`{"token": "${T}", "principal": "a", "answers": "yes"}`:                    "true or false",
		`{"token": "${T}", "principal": "a", "answer": true}`:                      `did you mean "answers"?`,
		`{"token": "${T}", "principal": "a", "profiles": ["p"], "answers": false}`: "",
	} {
		config := write(t, t.TempDir()+"/codemode.json",
			`{"evaluation": {"profiles": {"p": {}}}, "http": {"tokens": [`+text+`]}}`)
		code, out := outOf(t, []string{"T=a-token-that-is-long"}, "doctor", "--config", config)
		if (code == cli.ExitUsage) != (want != "") || !strings.Contains(out, want) ||
			want != "" && !strings.Contains(out, ":1:") {
			t.Errorf("%s: exit code %d, want %q\n%s", text, code, want, out)
		}
	}
}
