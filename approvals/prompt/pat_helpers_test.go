package prompt

import (
	"encoding/json"
	"fmt"

	"github.com/codemode-project/codemode/call"
)

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
