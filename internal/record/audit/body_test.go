package audit

import (
	"encoding/json"
	"github.com/codemode-project/codemode/call"
	"testing"

	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// An entry is written by hand, in the order that is canonical; this keeps the two together.
func TestEntriesAreCanonical(t *testing.T) {
	text := "ä\"\\\n\x01\U0001f600 \xff"
	e := Entry{V: 1, Entry: call.Entry{Kind: Call, State: Running, Run: text, Call: 3, Principal: text, Client: text,
		Session: text, Role: text, Script: text, Profile: text, ProfileDigest: "x", Server: text, Tool: text,
		ToolDefinition: "y", Verdict: "ask", Risk: "low", Rules: []call.EntryRule{{ID: text, At: "f:1", Layer: "l",
			Result: "true"}, {ID: "b"}}, DecidedBy: &call.DecidedBy{How: "person", Channel: "web", Principal: text, Proof: text,
			LatencyMS: 12, Scope: "run", Grant: "g"}, Args: &call.EntryArgs{Proposed: "a", Shown: "b", Authorised: "c",
			Executed: "d", Redacted: json.RawMessage(`{"a":1}`),
			Bytes: 9}, Result: &call.EntryResult{Digest: "e", Bytes: 5, Redacted: json.RawMessage(`[1]`)}, Reason: text,
		Detail: text, MS: 1.25, Program: &call.EntryProgram{Name: "p", Digest: "f", Bytes: 4, Text: text}, Count: 2,
		Tools: map[string]int{"b": 1, "a": 2, "\U0001f600": 3,
			"\ufb33": 4}, Data: json.RawMessage(`{"x":null}`)}}
	for name, e := range map[string]Entry{"full": e, "sparse": {V: 1, Entry: call.Entry{Kind: Notice, State: "x"}},
		"with a call": {V: 1, Entry: call.Entry{Kind: Call, Call: 1}}} {
		body, _ := e.draft().place(store.Head{Chain: 2, Seq: 40, Hash: [32]byte{7}})
		canonical, err := strictjson.Canonical(body)
		if err != nil || string(canonical) != body {
			t.Errorf("%s: %v\n%s\n%s", name, err, body, canonical)
		}
		back, err := decodeBody([]byte(body))
		check(t, err)
		if again, _ := back.draft().place(store.Head{Chain: 2, Seq: 40, Hash: [32]byte{7}}); again != body {
			t.Errorf("%s: read and written again it is\n%s\nand was\n%s", name, again, body)
		}
	}
}
