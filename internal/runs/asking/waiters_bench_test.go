package asking_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/store"
)

// BenchmarkAnswer asks a question, answers it in another process and waits for the answer, while so many other
// questions wait.
func BenchmarkAnswer(b *testing.B) {
	for _, of := range []struct {
		name    string
		options func(b *testing.B) store.Options
	}{
		{"SQLite", func(b *testing.B) store.Options {
			return store.Options{Path: filepath.Join(b.TempDir(), "codemode.db")}
		}},
		{"PostgreSQL", func(b *testing.B) store.Options { return store.Options{URL: pgtest.Start(b).URL("answers")} }},
	} {
		for _, waiting := range []int{10, 1000, 4000} {
			b.Run(fmt.Sprintf("%s/%d", of.name, waiting), func(b *testing.B) { benchmarkAnswer(b, of.options(b), waiting) })
		}
	}
}

func benchmarkAnswer(b *testing.B, o store.Options, waiting int) {
	open := func() (*store.DB, *asking.ApprovalStore) {
		db, err := store.Open(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		return db, asking.NewApprovalStore(func(context.Context) (*store.DB, error) { return db, nil })
	}
	_, here := open()
	there, thereStore := open()
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	seat := func(s *asking.ApprovalStore) {
		q := approvals.NewQueue("people")
		go q.Follow(ctx, &approvals.Desk{Store: s}, nil)
		q.Sit("local:anna")
	}
	ask := func(id string) {
		p := &approvals.Pending{ID: id, Run: "r_" + id, Digest: "sha256:ab", Question: []byte(`{}`),
			Expires: time.Now().Add(time.Hour)}
		if err := here.Propose(ctx, p); err != nil {
			b.Fatal(err)
		}
	}
	for i := range waiting {
		id := fmt.Sprintf("waiting_%d", i)
		ask(id)
		go here.Answered(ctx, id)
	}
	seat(here)
	seat(thereStore)
	time.Sleep(time.Second) // they have read all that waits
	n := 0
	for b.Loop() {
		n++
		id := fmt.Sprint(n)
		ask(id)
		if err := there.Approvals.Answer(ctx, id, "sha256:ab", true, "anna", []byte(`{}`)); err != nil {
			b.Fatal(err)
		}
		if yes, _, err := here.Answered(ctx, id); err != nil || !yes {
			b.Fatal(yes, err)
		}
	}
}
