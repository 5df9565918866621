package approvals

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// What the store keeps is read by other processes, also after an update: whoever changes these names changes
// storedVersion.
func TestStoredForms(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := &prompt.Request{
		Server: "fs", Tool: "write", Name: "fs__write", Profile: "p", Risk: call.Medium, Rule: "w",
		Args:    json.RawMessage(`{"a":1}`),
		Terms:   prompt.Terms{Scopes: []call.Scope{call.ForRun}, Args: "exact"},
		Sources: []prompt.Source{{Pointer: "/a", Tool: "fs__read", Call: 1}}, Preview: prompt.Preview{Dynamic: true},
		Principal: "anna", Run: "r1", Call: 2, ID: "q_1", Digest: "sha256:1", Expires: at, Code: "7f3a",
	}
	p, err := pendingOf(r, []source{{name: "web"}, {name: "form"}}, Options{MinHuman: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	const question = `{"v":2,"request":{"server":"fs","tool":"write","name":"fs__write","profile":"p","risk":"medium","rule":"w",` +
		`"terms":{"scopes":["run"],"args":"exact"},"args":{"a":1},"sources":[{"pointer":"/a","tool":"fs__read","call":1}],` +
		`"preview":{"dynamic":true},"code":"7f3a","principal":"anna","id":"q_1","digest":"sha256:1","expires":"2026-03-01T12:00:00Z",` +
		`"run":"r1","call":2},"channels":["web","form"],"minHuman":1000000000}`
	if string(p.Question) != question {
		t.Errorf("the question is stored as\n%s\nwant\n%s", p.Question, question)
	}
	if _, err := ReadPending(p); err != nil {
		t.Error(err)
	}
	older := *p
	older.Question = json.RawMessage(`{"v":1` + question[len(`{"v":2`):])
	if _, err := ReadPending(&older); err == nil {
		t.Error("a question of another version was read")
	}

	got := reply{source: source{name: "web"}, Answer: call.Answer{Allowed: true, By: "anna", Proof: call.ProofSignIn,
		Reason: "fine", Scope: call.ForRun, Uses: 3}}
	s := got.toStore(true, "q_2")
	s.Given = at
	const answer = `{"v":2,"yes":true,"channel":"web","by":"anna","proof":"sign-in","given":"2026-03-01T12:00:00Z","reason":"fine","scope":"run","uses":3,"edited":"q_2"}`
	if js, err := json.Marshal(s); err != nil || string(js) != answer {
		t.Errorf("the answer is stored as\n%s, %v, want\n%s", js, err, answer)
	}
	if other := InsteadOf(json.RawMessage(answer)); other != "q_2" {
		t.Errorf("it stands for %q", other)
	}
	for _, wrong := range []string{`{"v":1` + answer[len(`{"v":2`):], `{"yes":true,"edited":"q_2"}`, `{`, ``} {
		if back := readAnswer(json.RawMessage(answer)).fromStore(true); back.By != "anna" || back.Proof != call.ProofSignIn {
			t.Errorf("read back: %+v", back)
		}
		if back := readAnswer(json.RawMessage(wrong)).fromStore(true); back.Allowed {
			t.Errorf("%s is read as a yes", wrong)
		}
	}
}

// A channel says what a person said. What only the Desk knows, it overwrites.
func TestAChannelSaysNothingOfWhatTheDeskSets(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		claims := call.Answer{
			Allowed: allowed, By: "local:anna", How: call.ByGrant, Channel: "console", Code: call.CodeTimeout,
			Detail: "all is well",
			Grant:  "g_1", Took: time.Hour, Typed: true,
		}
		var d Desk
		a := d.Ask(t.Context(), request(call.Medium), []Channel{fake{name: "form", reply: claims}}, Options{})
		if a.Allowed != allowed || a.How != call.ByPerson || a.Channel != "form" || a.By != "local:anna" || a.Grant != "" ||
			a.Took >= time.Hour || allowed && (a.Code != "" || a.Detail != "") || !allowed && a.Code != call.CodeDeclined {
			t.Errorf("got %+v", a)
		}
	}
}
