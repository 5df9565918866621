package codemode_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
)

// TestAnObserverSeesTheRecord: it sees the entries of runs and calls, with a record and without one.
func TestAnObserverSeesTheRecord(t *testing.T) {
	cfg, err := config.Parse("c.json", []byte(`{"builtin": false, "evaluation": {"defaultProfile": "p",
		"profiles": {"p": {"allowlist": ["own__do"]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	type nothing struct{}
	do := func(context.Context, nothing) (nothing, error) { return nothing{}, nil }
	for _, dir := range []string{"", t.TempDir()} {
		var mu sync.Mutex
		var got []string
		e, err := codemode.New(t.Context(), codemode.Options{Config: cfg, RecordDir: dir,
			Servers: []codemode.Server{{Name: "own", Functions: []codemode.Function{codemode.Func("do", "x", do), codemode.Func("no", "x", do)}}},
			Observer: recorder.Observer{Entry: func(_ context.Context, e *audit.Entry) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == audit.Run || e.Kind == audit.Call {
					got = append(got, e.Kind+" "+e.State+" "+e.Tool)
				}
			}}})
		if err != nil {
			t.Fatal(err)
		}
		const program = `await codemode.own__do({}); await codemode.own__no({}).catch(() => 0)`
		if _, err := e.Eval(t.Context(), codemode.Request{Code: program}); err != nil {
			t.Error(err)
		}
		if journal := e.Record().Journal(); (journal == nil) != (dir != "") {
			t.Errorf("with %q there is the journal %v", dir, journal)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want := []string{"run running ", "call running own__do", "call ok own__do", "call refused own__no", "run ok "}
		if !slices.Equal(got, want) {
			t.Errorf("with %q: got %q, want %q", dir, got, want)
		}
	}
}
