//go:build unix

package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
)

// However the process ends while a question waits, the next one tells the same: what became of the call, once, and how
// long the person took.
func TestARestartChangesNothingOfWhatIsTold(t *testing.T) {
	for name, end := range map[string]syscall.Signal{"told to stop": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, `{"asklist": ["filesystem__*"], "ask": {"timeout": "5m"}}`, "--console", "127.0.0.1:0")
			client := h.connect()
			p := atThePage(t, h.environment)
			runs(t, client, `await codemode.time__now({}); `+writesAFile)
			asked := p.one()
			h.parked(asked.Run)
			for range 2 { // the second process only has the question
				if err := h.cmd.Process.Signal(end); err != nil {
					t.Fatal(err)
				}
				_ = client.Close() // waits for the process
				client = h.connect()
				p = atThePage(t, h.environment)
				again := p.one()
				if again.ID != asked.ID {
					t.Errorf("another question: %+v, was %+v", again, asked)
				}
				if longer := again.Expires.Sub(asked.Expires); longer.Abs() > time.Minute {
					t.Errorf("its time is over %v later than was said before", longer)
				}
			}
			least := time.Since(asked.Since)
			if got := p.allow(p.one(), "20s"); !got.OK || got.Outcome != "ok" {
				t.Errorf("the page is told %+v, want that the call was made", got)
			}
			h.ended(asked.Run)
			var states []string
			db := h.store()
			defer db.Close()
			err := audit.Entries(t.Context(), db, store.Query{Run: asked.Run, Kinds: []string{audit.Call, audit.Approval}},
				func(e *audit.Entry) error {
					if e.Tool != "filesystem__write_file" {
						return nil
					}
					states = append(states, e.Kind+" "+e.State)
					if e.Kind != audit.Approval {
						return nil
					}
					if waited := time.Duration(e.DecidedBy.LatencyMS) * time.Millisecond; waited < least/2 {
						t.Errorf("the person took %v in the record, and more than %v in truth", waited, least)
					}
					return nil
				})
			slices.Sort(states) // entries of several processes are in no order
			want := []string{"approval allowed", "call ok", "call pending", "call running"}
			if err != nil || !slices.Equal(states, want) {
				t.Errorf("the record has %v (%v), want %v", states, err, want)
			}
			if out, err := h.command("audit", "show", asked.Run, "--config", h.config); err != nil || strings.Contains(out,
				"refused") {
				t.Errorf("codemode audit show: %v\n%s", err, out)
			}
		})
	}
}

// ended waits until it is kept how a run ended.
func (h *house) ended(run string) *store.Outcome {
	h.t.Helper()
	db := h.store()
	defer db.Close()
	var kept *store.Outcome
	var err error
	if !testwait.Holds(func() bool { kept, err = db.Outcomes.Get(h.t.Context(), run, ""); return err == nil }) {
		h.t.Fatalf("the run did not end: %v; the log says:\n%s", err, h.log)
	}
	return kept
}

// The time of a question goes on while its process is gone, and is over when people were told that it is.
func TestARestartGivesAQuestionNoMoreTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{"asklist": ["filesystem__*"], "ask": {"timeout": "5s"}}`, "--console", "127.0.0.1:0")
	client := h.connect()
	p := atThePage(t, h.environment)
	runs(t, client, writesAFile)
	asked := p.one()
	h.parked(asked.Run)
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = client.Close()                    // waits for the process
	time.Sleep(time.Until(asked.Expires)) // the process is gone meanwhile
	h.connect()
	h.ended(asked.Run)
}
