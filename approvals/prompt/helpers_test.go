package prompt

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/hostile"
)

var someday = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func request(risk call.Risk) *Request {
	return &Request{
		Server: "github", Tool: "create_issue", Name: "github__create_issue", Profile: "supervised", Risk: risk, Code: "7f3a",
		Args: json.RawMessage(`{"owner":"acme","repo":"web"}`),
	}
}

// write is a call that asks, whose answer may be remembered in every way.
func write(path string) *Request {
	js, _ := json.Marshal(map[string]string{"path": path, "content": "x"})
	return &Request{
		Server: "fs", Tool: "write", Name: "fs__write", Profile: "p", ProfileDigest: "sha256:p", ServerID: "sha256:s",
		Definition: "sha256:d",
		Rule:       "fs-write", Risk: call.Medium, Principal: "local:anna", Session: "s1", Run: "r1", Call: 1, Args: js,
		Terms: Terms{Scopes: []call.Scope{call.Once, call.ForRun, call.ForCount, call.ForTime, call.ForSession},
			Args: coverRule, Pointers: []string{"/path"}},
	}
}

func inquiry(multiple, freeText bool, labels ...string) *Request {
	q := &Inquiry{Header: "Deploy", Question: "Where to?", Multiple: multiple, FreeText: freeText}
	for _, l := range labels {
		q.Options = append(q.Options, Option{Label: l})
	}
	return &Request{Name: InquiryTool, Tool: InquiryTool, Profile: "p", Risk: call.Low, Code: "7f3a", Inquiry: q}
}

// issues are n similar calls and what else is asked at the same moment.
func issues(n int, others ...*Request) []*Request {
	var calls []*Request
	for i := range n {
		calls = append(calls, &Request{
			Server: "github", Tool: "close_issue", Name: "github__close_issue", Profile: "p", Rule: "closing", Risk: call.Medium,
			Code: fmt.Sprintf("%04x", i),
			Args: json.RawMessage(fmt.Sprintf(`{"owner":"acme","repo":{"part":"web"},"id":%d}`, 1000+i)), Run: "r1", Call: i + 1,
		})
	}
	return append(calls, others...)
}

var inert, checkInert, refusedArgs = hostile.Inert, hostile.ShownInert, hostile.RefusedArgs

// planned is a call with a plan for the rest of its run.
func planned(t *testing.T) *Request {
	t.Helper()
	r := write("/data/a")
	r.Run = "r7"
	line := write("")
	line.Args = json.RawMessage(`{"path":"/data/b","content":null}`)
	var err error
	r.Plan, err = PlanGrants([]PlannedCall{
		{Call: line, Envelope: Envelope{Fixed: []Value{{"/path", `"/data/b"`}}, Free: []string{"/content"}}, Count: 1},
		{Call: line, Envelope: Envelope{Fixed: []Value{{"/path", `"` + strings.Repeat("x\u202e", 20) + `"`}},
			Free: []string{""}}, Count: 50},
	}, "r7", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func formOfOne(r *Request, style formStyle) (message string, schema json.RawMessage) {
	return formOf([]*Request{r}, style)
}

func readFormOfOne(r *Request, action string, content map[string]any) (call.Answer, error) {
	got := ReadForm([]*Request{r}, action, content)[0]
	err := got.Err
	got.Err = nil
	return got, err
}
