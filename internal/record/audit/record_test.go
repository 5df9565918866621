package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/strictjson"

	"github.com/codemode-project/codemode/call"
)

// A place is a folder with a database, a key and a file of checkpoints.
type place struct {
	dir string
	key *audit.Key
}

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{dir: t.TempDir()}
	key, err := audit.LoadKey(filepath.Join(p.dir, "record.key"))
	must(t, err)
	p.key = key
	return p
}

func (p *place) path() string        { return filepath.Join(p.dir, "codemode.db") }
func (p *place) checkpoints() string { return filepath.Join(p.dir, "checkpoints.jsonl") }

func (p *place) options() audit.Options {
	return audit.Options{
		Open: func(ctx context.Context) (*store.DB, error) {
			return store.Open(ctx, store.Options{Path: p.path(), Wait: 500 * time.Millisecond})
		},
		Key:     p.key,
		Publish: []audit.Publisher{audit.FilePublisher(p.checkpoints())},
	}
}

// record opens a Record that is closed with the test.
func record(t testing.TB, o audit.Options) *audit.Record {
	t.Helper()
	r := audit.New(o)
	t.Cleanup(func() { closeRecord(t, r) })
	return r
}

func closeRecord(t testing.TB, r *audit.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		t.Error(err)
	}
}

func running(run string, n int) call.Entry {
	args := call.Unread(fmt.Appendf(nil, `{"path":"notes/%d.md","text":"some words that somebody wrote"}`, n))
	return call.Entry{
		Kind: audit.Call, State: audit.Running, Run: run, Call: n, Principal: "local:anna", Client: "claude-code 2.1",
		Profile: "safe", ProfileDigest: "sha256:77b0", Server: "fs", Tool: "fs__write", ToolDefinition: "sha256:ab12",
		Verdict: "allow", Risk: "low", Rules: []call.EntryRule{{ID: "notes", At: "codemode.json:31", Result: "true"}},
		DecidedBy: &call.DecidedBy{How: "rule"},
		Args:      &call.EntryArgs{RawProposed: args, RawAuthorised: args, RawExecuted: args},
	}
}

func ended(run string, n int) call.Entry {
	e := running(run, n)
	e.State, e.MS, e.Args = audit.OK, 1.5, nil
	e.Result = &call.EntryResult{Raw: json.RawMessage(`{"ok":true,"written":31}`)}
	return e
}

func TestRecordKeepsEverything(t *testing.T) {
	p := newPlace(t)
	r := audit.New(p.options())
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 25 {
				run := fmt.Sprint("r_", i)
				if err := r.Write(t.Context(), running(run, n+1)); err != nil {
					t.Error(err)
				}
				if err := r.Add(t.Context(), ended(run, n+1)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	must(t, r.Flush(t.Context()))
	closeRecord(t, r)
	db, err := store.Open(t.Context(), store.Options{Path: p.path(), ReadOnly: true})
	must(t, err)
	defer db.Close()
	n := 0
	must(t, db.Entries.Rows(t.Context(), store.Query{}, func(r *store.Row) error {
		n++
		canonical, err := strictjson.Canonical([]byte(r.Body))
		if err == nil && string(canonical) != r.Body {
			err = fmt.Errorf("entry %d is not canonical:\n%s\n%s", r.Seq, r.Body, canonical)
		}
		return err
	}))
	if n != 800 {
		t.Fatalf("%d entries, want 800", n)
	}
}
