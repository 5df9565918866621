package terminal

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
)

// A terminal says until when a question waits, which is the end of its time-out and not that of what is bound to the
// yes.
func TestATerminalIsToldUntilWhenAQuestionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, q := &approvals.Desk{}, approvals.NewQueue("terminal")
		seat := q.Sit("anna")
		defer seat.Leave()
		answer := make(chan approvals.Result)
		go func() {
			answer <- d.Ask(t.Context(), write("/a"), []approvals.Channel{q}, approvals.Options{Timeout: 3 * time.Minute})
		}()
		synctest.Wait()
		if told := describe(seat.Pending()[0], 80); time.Until(told.Ends) != 3*time.Minute {
			t.Errorf("it is told to wait for %v, and waits for 3m", time.Until(told.Ends))
		}
		if got := <-answer; got.Code != call.CodeTimeout || got.Took != 3*time.Minute {
			t.Errorf("it waited for %v: %+v", got.Took, got)
		}
	})
}
