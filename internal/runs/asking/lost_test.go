package asking_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
)

// An answer and a question count that another process stores without any sign that something has changed: the next look
// at all of them finds them.
func TestNothingIsLostWithoutNews(t *testing.T) {
	t.Parallel() // it waits
	path := filepath.Join(t.TempDir(), "codemode.db")
	open := func() (*store.DB, *asking.ApprovalStore) {
		db, err := store.Open(t.Context(), store.Options{Path: path})
		checktest.OK(t, err)
		t.Cleanup(func() { db.Close() })
		return db, asking.NewApprovalStore(func(context.Context) (*store.DB, error) { return db, nil })
	}
	here, hereStore := open()
	_, thereStore := open()
	raw, err := sql.Open("sqlite", path)
	checktest.OK(t, err)
	defer raw.Close()
	for _, trigger := range []string{"asked", "closed"} {
		if _, err := raw.Exec(fmt.Sprintf(`DROP TRIGGER approvals_%s_tell`, trigger)); err != nil {
			t.Fatal(err)
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	asks, answers := approvals.NewQueue("people"), approvals.NewQueue("people")
	following := make(chan struct{})
	go func() {
		defer close(following)
		answers.Follow(ctx, &approvals.Desk{Store: thereStore}, nil)
	}()
	defer func() { stop(); <-following }()
	seat := answers.Sit("local:anna")
	defer seat.Leave()
	testwait.Until(t, "the seat is in the store", func() bool {
		there, err := here.Seats.Seated(t.Context(), "people")
		return err == nil && there
	})
	time.Sleep(time.Second) // the queue has read the store, which the seat had changed

	desk := &approvals.Desk{Store: hereStore}
	got := make(chan approvals.Result, 1)
	go func() {
		r := &prompt.Request{Name: "up__second", Risk: call.Medium, Args: json.RawMessage(`{}`), Run: "r_1", Call: 1}
		got <- desk.Ask(ctx, r, []approvals.Channel{asks}, approvals.Options{Await: true})
	}()
	testwait.Until(t, "the question is shown in the other process", func() bool { return len(seat.Pending()) == 1 })
	q := seat.Pending()[0].Request
	checktest.OK(t, seat.Answer(q.ID, q.Digest, q.Code, call.Answer{Allowed: true}))
	select {
	case r := <-got:
		if !r.Allowed || r.By != "local:anna" {
			t.Errorf("got %+v", r)
		}
	case <-time.After(testwait.Bound):
		t.Fatal("the answer never came")
	}
}
