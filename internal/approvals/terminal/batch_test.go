//go:build linux || darwin || freebsd

package terminal

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
)

// A responder is told which calls it can answer together, is shown them whole, and hears what became of those it
// allows.
func TestARespondersBatchAndItsOutcomes(t *testing.T) {
	dir := socketDir(t)
	q := approvals.NewQueue("responder")
	q.Outcome = func(ctx context.Context, r *prompt.Request) string { return fmt.Sprintf("done: call %d", r.Call) }
	l, err := Listen(dir, q, "local:anna", nil)
	checktest.OK(t, err)
	defer l.Close()
	person := respond(t, dir)
	var d approvals.Desk
	calls := issues(3)
	for i, r := range calls {
		r.Principal = "local:anna"
		r.Display.String = 10
		r.Args = []byte(fmt.Sprintf(`{"title":"a title that is long","by":{"id":%d}}`, i))
	}
	grave := *calls[0]
	grave.Risk, grave.Code, grave.Call = call.High, "ffff", 4
	all := append(calls, &grave)
	answers := make(chan []approvals.Result, 1)
	go func() { answers <- d.AskAll(t.Context(), all, []approvals.Channel{q}, approvals.Options{}) }()
	told := person.next(t, "pending", func(told *Told) bool { return len(told.Calls) == 4 })
	if len(told.Batches) != 1 || len(told.Batches[0].IDs) != 3 || !told.Batches[0].View.Cut {
		t.Fatalf("got %+v", told.Batches)
	}
	b := told.Batches[0]
	for i, row := range b.Rows {
		if want := fmt.Sprintf("call %d, code %04x: /by/id: %d", i+1, i, i); row != want {
			t.Errorf("row %q, want %q", row, want)
		}
	}
	short := b.View.Text()
	checkInert(t, short)
	checktest.OK(t, person.Say(Said{Kind: "show", ID: b.ID, IDs: b.IDs}))
	whole := person.next(t, "shown", nil)
	if whole.ID != b.ID || !strings.Contains(whole.View.Text(), `title: "a title that is long"`) ||
		strings.Contains(short, "that is") {
		t.Errorf("in short\n%s\nwhole\n%s", short, whole.View.Text())
	}
	checktest.OK(t, person.Say(Said{Kind: "show", ID: b.ID, IDs: append(b.IDs, "q_none")}))
	if got := person.next(t, "shown", nil); len(got.View.Blocks) > 0 || !strings.Contains(got.Error, "not open") {
		t.Errorf("a batch with a call that is gone: %+v", got)
	}
	for _, c := range told.Calls { // in any order, for they are asked at once
		said := Said{Kind: "answer", ID: c.ID, Digest: c.Digest, Yes: !c.NeedsCode && c.ID != b.IDs[1]}
		checktest.OK(t, person.Say(said))
		if got := person.next(t, "answered", nil); got.ID != c.ID || got.Error != "" {
			t.Errorf("got %+v", got)
		}
		if !said.Yes {
			continue
		}
		if got := person.next(t, "outcome", nil); got.ID != c.ID || !strings.HasPrefix(got.Text, "done: call ") {
			t.Errorf("got %+v", got)
		}
	}
	var allowed []bool
	for _, a := range <-answers {
		allowed = append(allowed, a.Allowed)
	}
	if got := fmt.Sprint(allowed); got != "[true false true false]" {
		t.Errorf("allowed: %s", got)
	}
}
