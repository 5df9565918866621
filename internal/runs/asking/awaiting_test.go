package asking_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/store"
)

// Everybody who waits for the answer to a question gets the one of theirs, also from another process, however many
// wait.
func TestEachQuestionGetsItsAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codemode.db")
	open := func() *store.DB {
		db, err := store.Open(t.Context(), store.Options{Path: path})
		checktest.OK(t, err)
		t.Cleanup(func() { db.Close() })
		return db
	}
	here, there := open(), open()
	book := asking.NewApprovalStore(func(context.Context) (*store.DB, error) { return here, nil })
	const questions = 60
	id := func(i int) string { return fmt.Sprintf("q_%d", i) }
	for i := range questions {
		err := book.Propose(t.Context(), &approvals.Pending{ID: id(i), Run: "r_1", Call: i, Digest: "sha256:ab",
			Question: []byte(`{}`),
			Expires:  time.Now().Add(time.Hour)})
		checktest.OK(t, err)
	}
	var waiting sync.WaitGroup
	for i := range questions {
		waiting.Go(func() {
			yes, answer, err := book.Answered(t.Context(), id(i))
			switch {
			case i%3 == 2:
				if !errors.Is(err, approvals.ErrTaken) {
					t.Errorf("question %d was withdrawn: %v", i, err)
				}
			case err != nil || yes != (i%3 == 0) || string(answer) != fmt.Sprintf(`{"of":%d}`, i):
				t.Errorf("question %d: got %v, %s, %v", i, yes, answer, err)
			}
		})
	}
	for i := range questions {
		db := []*store.DB{here, there}[i%2]
		var err error
		if i%3 == 2 {
			err = db.Approvals.Withdraw(t.Context(), id(i))
		} else {
			err = db.Approvals.Answer(t.Context(), id(i), "sha256:ab", i%3 == 0, "anna", fmt.Appendf(nil, `{"of":%d}`, i))
		}
		checktest.OK(t, err)
	}
	waiting.Wait()
	if _, _, err := book.Answered(t.Context(), "nobody asked"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a question that is not there: %v", err)
	}
	err := book.Propose(t.Context(), &approvals.Pending{ID: "late", Digest: "sha256:ab", Question: []byte(`{}`),
		Expires: time.Now().Add(time.Hour)})
	checktest.OK(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := book.Answered(ctx, "late"); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits any more: %v", err)
	}
	waiting.Go(func() {
		if _, _, err := book.Answered(t.Context(), "late"); !errors.Is(err, asking.ErrStoreClosed) {
			t.Errorf("the database was closed: %v", err)
		}
	})
	here.Close()
	waiting.Wait()
}
