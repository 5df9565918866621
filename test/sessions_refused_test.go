package codemode_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/runs"
)

// What a person refused in a session stays refused there and in its forks: after a rollback to a version from before
// the refusal, in a fork of such a version and in forks of that, and where the refused program left no version.
func TestP39_14ARefusalBelongsToTheSessionAndItsForks(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, open func(*testing.T, string) *codemode.Evaluator) {
		e := open(t, `{"limits": {"cpu": "300ms"}, "evaluation": {"profiles": {"p": {"asklist": ["time__*"]}}}}`)
		asked, refuse := 0, true
		s := talk(t, e, "anna", "work")
		s.request.Channels = []approvals.Channel{approvals.Approver("test",
			func(context.Context, *prompt.Request) (call.Answer, error) {
				asked++
				return call.Answer{Allowed: !refuse}, nil
			})}
		change := func(c runs.SessionChange) {
			t.Helper()
			if _, err := e.Runs().ChangeSession(t.Context(), &codemode.Request{Principal: "anna"}, c); err != nil {
				t.Fatal(err)
			}
		}
		const use = `await codemode.time__now({timezone: %q}).then(() => "made", e => e.reason)`
		uses := func(zone string) string { return "return " + fmt.Sprintf(use, zone) }
		stays := func(session, zone string) {
			t.Helper()
			before := asked
			s.request.Session = session
			s.says(uses(zone), `"elicitation_declined"`)
			if asked != before {
				t.Errorf("%s: a person who refused %s is asked again", session, zone)
			}
		}
		s.says(`let n = 1; return n`, `1`)             // version 1
		s.says(uses("UTC"), `"elicitation_declined"`)  // version 2
		s.says(`n = 2; return n`, `2`)                 // version 3
		s.says(uses("Zulu"), `"elicitation_declined"`) // version 4
		refuse = false
		if asked != 2 {
			t.Fatalf("%d questions", asked)
		}
		change(runs.SessionChange{Action: runs.Rollback, Name: "work", Version: 1})
		s.says(`return n`, `1`)
		stays("work", "UTC")
		stays("work", "Zulu")
		change(runs.SessionChange{Action: runs.Rollback, Name: "work", Version: 3})
		s.says(`return n`, `2`)
		stays("work", "Zulu")
		change(runs.SessionChange{Action: runs.Fork, Name: "work", Version: 1, As: "fork"})
		stays("fork", "UTC")
		stays("fork", "Zulu")
		change(runs.SessionChange{Action: runs.Fork, Name: "fork", Version: 1, As: "again"})
		stays("again", "UTC")
		change(runs.SessionChange{Action: runs.Fork, Name: "work", As: "latest"})
		stays("latest", "Zulu")

		// A program that is stopped leaves its heap as it was, and what people refused.
		s.request.Session, refuse = "work", true
		s.fails(fmt.Sprintf(`n = 5; %s; for (;;) {}`, fmt.Sprintf(use, "Asia/Tokyo")), "timed out")
		refuse = false
		s.says(`return n`, `2`)
		stays("work", "Asia/Tokyo")
		stays("work", "UTC")

		s.request.Session = "another"
		s.says(uses("UTC"), `"made"`)
		s.request.Session = "fork" // it was made before that refusal
		s.says(uses("Asia/Tokyo"), `"made"`)
	})
}
