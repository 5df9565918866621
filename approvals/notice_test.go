package approvals

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A critical call is seen in a terminal, and answered on the page alone. Whoever sits at the terminal does not count.
func TestACriticalQuestionIsSeenWhereItCannotBeAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		terminal, page := NewQueue("responder"), NewStrongQueue("web")
		seat := terminal.Sit("local:anna")
		r := write("/a")
		r.Risk, r.Code = call.Critical, "K7"
		if a := <-asking(t.Context(), &d, terminal, r, page); a.Code != call.CodeNoApprover || a.Took != 0 {
			t.Errorf("with nobody at the page: %+v", a)
		}
		somebody := page.Sit("ben")
		answer := asking(t.Context(), &d, terminal, r, page)
		synctest.Wait()
		all := seat.Pending()
		if len(all) != 1 || !errors.Is(all[0].Notice, ErrElsewhere) {
			t.Fatalf("pending in the terminal: %+v", all)
		}
		shown, err := seat.Show(prompt.RenderOptions{}, all[0].Request.ID)
		if err != nil || !strings.Contains(shown.Text(), "/a") {
			t.Errorf("shown: %q (%v)", shown.Text(), err)
		}
		time.Sleep(time.Second)
		for _, yes := range []bool{true, false} {
			q := all[0].Request
			if err := seat.Answer(q.ID, q.Digest, q.Code, call.Answer{Allowed: yes}); !errors.Is(err, ErrElsewhere) {
				t.Errorf("answered %t in the terminal: %v", yes, err)
			}
		}
		q := somebody.Pending()[0]
		if q.Notice != nil {
			t.Errorf("on the page: %v", q.Notice)
		}
		if err := somebody.Answer(q.Request.ID, q.Request.Digest, q.Request.Code, call.Answer{Allowed: true}); err != nil {
			t.Fatal(err)
		}
		if a := <-answer; !a.Allowed || a.Channel != "web" {
			t.Errorf("got %+v", a)
		}
		synctest.Wait()
		if all := seat.Pending(); len(all) != 0 {
			t.Errorf("still pending in the terminal: %+v", all)
		}
	})
}
