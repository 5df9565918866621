// Package asktest has questions to people for tests of what asks them.
package asktest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// Request is a call of a risk.
func Request(risk call.Risk) *prompt.Request {
	return &prompt.Request{
		Server: "github", Tool: "create_issue", Name: "github__create_issue", Profile: "supervised", Risk: risk, Code: "7f3a",
		Args: json.RawMessage(`{"owner":"acme","repo":"web"}`),
	}
}

// Write is a call that asks, whose answer may be remembered in every way.
func Write(path string) *prompt.Request {
	js, _ := json.Marshal(map[string]string{"path": path, "content": "x"})
	return &prompt.Request{
		Server: "fs", Tool: "write", Name: "fs__write", Profile: "p", ProfileDigest: "sha256:p", ServerID: "sha256:s",
		Definition: "sha256:d",
		Rule:       "fs-write", Risk: call.Medium, Principal: "local:anna", Session: "s1", Run: "r1", Call: 1, Args: js,
		Terms: prompt.Terms{Scopes: []call.Scope{call.Once, call.ForRun, call.ForCount, call.ForTime, call.ForSession},
			Args: "rule", Pointers: []string{"/path"}},
	}
}

// Inquiry is a question of a program, with answers to choose from.
func Inquiry(multiple, freeText bool, labels ...string) *prompt.Request {
	q := &prompt.Inquiry{Header: "Deploy", Question: "Where to?", Multiple: multiple, FreeText: freeText}
	for _, l := range labels {
		q.Options = append(q.Options, prompt.Option{Label: l})
	}
	return &prompt.Request{Name: prompt.InquiryTool, Tool: prompt.InquiryTool, Profile: "p", Risk: call.Low, Code: "7f3a",
		Inquiry: q}
}

// Issues are n similar calls and what else is asked at the same moment.
func Issues(n int, others ...*prompt.Request) []*prompt.Request {
	var calls []*prompt.Request
	for i := range n {
		calls = append(calls, &prompt.Request{
			Server: "github", Tool: "close_issue", Name: "github__close_issue", Profile: "p", Rule: "closing", Risk: call.Medium,
			Code: fmt.Sprintf("%04x", i),
			Args: json.RawMessage(fmt.Sprintf(`{"owner":"acme","repo":{"part":"web"},"id":%d}`, 1000+i)), Run: "r1", Call: i + 1,
		})
	}
	return append(calls, others...)
}

// Planned is a call with a plan for the rest of its run.
func Planned(t *testing.T) *prompt.Request {
	t.Helper()
	r := Write("/data/a")
	r.Run = "r7"
	line := Write("")
	line.Args = json.RawMessage(`{"path":"/data/b","content":null}`)
	var err error
	r.Plan, err = prompt.PlanGrants([]prompt.PlannedCall{
		{Call: line, Envelope: prompt.Envelope{Fixed: []prompt.Value{{Pointer: "/path", JSON: `"/data/b"`}},
			Free: []string{"/content"}}, Count: 1},
		{Call: line, Envelope: prompt.Envelope{Fixed: []prompt.Value{{Pointer: "/path",
			JSON: `"` + strings.Repeat("x\u202e", 20) + `"`}}, Free: []string{""}}, Count: 50},
	}, "r7", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return r
}
