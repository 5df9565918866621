package terminal

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/approvals/pending"
)

// N2: a plan is offered over every channel, with the first question of a run, and stands there whole.
func TestN2APlanIsOfferedWhole(t *testing.T) {
	r := planned(t)
	const words = "Allow this and the plan: 51 more calls of this run, as listed above"
	for where, o := range map[string]prompt.RenderOptions{"plain": {}, "narrow": {Width: 40},
		"Markdown": {Markdown: true}} {
		text := prompt.Text(r, o)
		for _, part := range []string{
			"1. fs.write, once, with", `/path "/data/b"`, "any /content", "2. fs.write, at most 50 times, with",
			"any other arguments",
		} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is missing:\n%s", where, part, text)
			}
		}
		if n := strings.Count(text, `\u{202E}`); n != 20 {
			t.Errorf("%s: %d of 20 characters of the plan are shown:\n%s", where, n, text)
		}
	}
	_, schema := prompt.Form([]*prompt.Request{r}, "2025-11-25")
	if !strings.Contains(string(schema), `{"const":"allow_plan","title":"`+words+`"}`) {
		t.Errorf("form: %s", schema)
	}
	if got := prompt.ReadForm([]*prompt.Request{r}, "accept",
		map[string]any{"decision": "allow_plan"})[0]; got.Err != nil || got.Scope != call.ForPlan {
		t.Errorf("got %+v, %v", got, got.Err)
	}
	got := pending.Describe(approvals.Open{Request: r}, 100)
	if last := got.Offers[len(got.Offers)-1]; last.Text != words || last.Scope != call.ForPlan ||
		!strings.Contains(got.Text, "at most 50 times") {
		t.Errorf("socket: %+v", got)
	}
	if got, shown, err := sitting(t, r, "yes plan"); err != nil || got.Scope != call.ForPlan || !strings.Contains(shown,
		"yes plan: "+words) {
		t.Errorf("terminal: %+v, %v\n%s", got, err, shown)
	}

	// Several calls of one moment share the plan: it goes with the decision that is the same for all.
	both := []*prompt.Request{r, planned(t)}
	both[1].Args, both[1].Plan = json.RawMessage(`{"path":"/data/c","content":"x"}`), r.Plan
	message, schema := prompt.Form(both, "2025-11-25")
	if !strings.Contains(string(schema), `{"const":"allow_plan","title":"`+words+`"}]},"decision_1"`) ||
		strings.Count(string(schema), "allow_plan") != 3 || strings.Count(message, "at most 50 times") != 1 {
		t.Errorf("round: %s\n%s", schema, message)
	}
	all := func(same, first, second string) string {
		content := map[string]any{"same_for_all": same, "decision_1": first, "decision_2": second}
		for name, value := range content {
			if value == "" {
				delete(content, name)
			}
		}
		var got []string
		for _, x := range prompt.ReadForm(both, "accept", content) {
			switch {
			case x.Err != nil:
				got = append(got, "unclear")
			case !x.Allowed:
				got = append(got, "no")
			default:
				got = append(got, "yes "+string(x.Scope))
			}
		}
		return strings.Join(got, ", ")
	}
	for _, tt := range []struct{ same, first, second, want string }{
		{"allow_plan", "", "", "yes plan, yes plan"},
		{"allow_plan", "allow_once", "allow_once", "yes plan, yes plan"},
		{"allow_plan", "deny", "allow_once", "no, yes plan"},
		{"allow_once", "", "", "yes , yes "},
		{"deny", "allow_plan", "allow_once", "no, no"},
		{"allow_run", "", "", "unclear, unclear"},
	} {
		if got := all(tt.same, tt.first, tt.second); got != tt.want {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
	if got, shown, err := sittingAll(t, both, "yes plan"); err != nil || got[0].Scope != call.ForPlan ||
		got[1].Scope != call.ForPlan {
		t.Errorf("round at a terminal: %+v, %v\n%s", got, err, shown)
	}
}

// sittingAll is a terminal with a person who types one line about several calls.
func sittingAll(t *testing.T, calls []*prompt.Request, line string) ([]call.Answer, string, error) {
	t.Helper()
	in, keyboard := io.Pipe()
	out := newScreen()
	typing := make(chan struct{})
	go func() {
		defer close(typing)
		out.wait("Type ", 1)
		io.WriteString(keyboard, line+"\n")
	}()
	results, err := New(in, out, Options{Plain: true}).AskAll(t.Context(),
		&approvals.Showing{Calls: calls})
	<-typing
	keyboard.Close()
	return results, out.text, err
}
