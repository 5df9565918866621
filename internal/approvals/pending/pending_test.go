package pending

import (
	"fmt"
	"testing"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/asktest"
)

// Calls that are answered together are those of one run; what needs a code, a question of a program, and what somebody
// else must answer stands alone.
func TestWhatIsAnsweredTogether(t *testing.T) {
	var open []approvals.Open
	for _, r := range append(asktest.Issues(3), &prompt.Request{Run: "r1", Risk: call.High}, &prompt.Request{Run: "r2"},
		&prompt.Request{Run: "r1", Inquiry: &prompt.Inquiry{}}, &prompt.Request{}, &prompt.Request{},
		&prompt.Request{Run: "r1", Call: 9}, &prompt.Request{Run: "r1"}) {
		open = append(open, approvals.Open{Request: r})
	}
	open[9].Own = true
	if got, want := fmt.Sprint(Together(open)), "[[0 1 2 8] [3] [4] [5] [6] [7] [9]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
