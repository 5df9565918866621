package terminal

import (
	"fmt"
	"testing"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// Calls that are answered together are those of one run; what needs a code, and a question of a program, stands alone.
func TestWhatIsAnsweredTogether(t *testing.T) {
	calls := append(issues(3), &prompt.Request{Run: "r1", Risk: call.High}, &prompt.Request{Run: "r2"},
		&prompt.Request{Run: "r1", Inquiry: &prompt.Inquiry{}}, &prompt.Request{}, &prompt.Request{},
		&prompt.Request{Run: "r1"})
	if got, want := fmt.Sprint(byRun(calls)), "[[0 1 2 8] [3] [4] [5] [6] [7]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
