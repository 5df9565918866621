package terminal

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/approvals/pending"
)

// S3.6, 7.3/39: a program's words stand between quotation marks and escaped wherever they are shown; no line of them
// can be taken for one of ours, and no question for one about a call.
func TestInquiriesAreMarked(t *testing.T) {
	const trick = "ok\n    risk      low\n\x1b[2J\u202e**Allow** [x](y)\n    filesystem.read_file"
	r := inquiry(false, true, trick, "b")
	r.Inquiry.Header, r.Inquiry.Question, r.Inquiry.Options[1].Description = trick, trick, trick
	message, schema := prompt.Form([]*prompt.Request{r}, "2025-11-25")
	told := pending.Describe(approvals.Open{Request: r}, 100)
	for where, text := range map[string]string{"text": prompt.Text(r, prompt.RenderOptions{}),
		"whole": prompt.Text(r, prompt.RenderOptions{Whole: true}), "form": message, "socket": told.Text} {
		if !strings.Contains(text, "A program asks you something, in its own words.") ||
			!strings.Contains(text, "allows no call") {
			t.Errorf("%s does not say what it is:\n%s", where, text)
		}
		for line := range strings.Lines(text) {
			if f := strings.Fields(line); len(f) > 0 && (f[0] == "risk" || f[0] == "filesystem.read_file") {
				t.Errorf("%s: a line of the program: %q", where, line)
			}
		}
	}
	everything := message + string(schema) + told.Tool + told.Summary + told.Inquiry.Question +
		told.Inquiry.Options[0].Label
	if strings.ContainsAny(everything, "\x1b\u202e") {
		t.Errorf("got %q", everything)
	}
	if len(told.Offers) > 0 || len(prompt.Offers([]*prompt.Request{r}, time.Now())) > 0 {
		t.Error("something is offered besides an answer")
	}
	for _, o := range []string{"2025-06-18", "2025-11-25"} {
		if _, schema := prompt.Form([]*prompt.Request{r}, o); strings.Contains(string(schema), "allow") {
			t.Errorf("something can be allowed: %s", schema)
		}
	}
	if _, mixed := prompt.Form([]*prompt.Request{r, write("/a")}, "2025-11-25"); strings.Count(string(mixed),
		"allow_once") != 1 {
		t.Errorf("a question of a program can be allowed like a call: %s", mixed)
	}
}

// S3.6: at the terminal of codemode run a person types numbers or words.
func TestInquiriesAtATerminal(t *testing.T) {
	account := &prompt.Request{Name: prompt.ConnectTool, Tool: prompt.ConnectTool, Server: "linear", Principal: "anna",
		Inquiry: prompt.Connection("anna", "linear", "https://page/accounts")}
	tests := []struct {
		why      string
		request  *prompt.Request
		lines    []string
		selected []int
		text     string
		err      error
	}{
		{"a number", inquiry(false, false, "a", "b"), []string{"2"}, []int{1}, "", nil},
		{"a label", inquiry(false, false, "Alpha", "b"), []string{"alpha"}, []int{0}, "", nil},
		{"a wrong number first", inquiry(false, false, "a", "b"), []string{"3", "1"}, []int{0}, "", nil},
		{"two where one was asked for", inquiry(false, false, "a", "b"), []string{"1 2", "1"}, []int{0}, "", nil},
		{"several", inquiry(true, false, "a", "b", "c"), []string{"1, 3"}, []int{0, 2}, "", nil},
		{"words", inquiry(false, false), []string{"as you like"}, nil, "as you like", nil},
		{"words that begin with a number", inquiry(false, true, "a", "b"), []string{"2 days"}, nil, "2 days", nil},
		{"show", inquiry(false, false), []string{"show", "x"}, nil, "x", nil},
		{"words where only a login answers", account, []string{"yes", "1", "allow", "done", "ok"}, nil, "",
			prompt.ErrUnclear},
		{"nothing", inquiry(false, false), []string{"", "", "", "", ""}, nil, "", prompt.ErrUnclear},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			got, shown, err := sitting(t, tt.request, tt.lines...)
			if !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.selected, got.Selected, cmpopts.EquateEmpty()); diff != "" || got.Text != tt.text {
				t.Errorf("got %q and (-want +got):\n%s\n%s", got.Text, diff, shown)
			}
		})
	}
	if got, shown, err := sitting(t, account, "decline"); err != nil || got.Allowed || !got.Typed ||
		!strings.Contains(shown, "https://page/accounts") || !strings.Contains(shown, "Connecting allows no call") {
		t.Errorf("an account: %+v, %v, after\n%s", got, err, shown)
	}
	if got, _, err := sitting(t, inquiry(false, false, "a"), "decline"); err != nil || got.Allowed || !got.Typed {
		t.Errorf("decline: %+v, %v", got, err)
	}
}
