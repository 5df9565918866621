package prompt

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/hostile"
)

var inert, checkInert = hostile.Inert, hostile.ShownInert

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
