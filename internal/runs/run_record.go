package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"github.com/codemode-project/codemode/call"
	"strings"
	"time"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/sandbox"
)

// A runRecord writes the entries about the beginning and the end of runs.
type runRecord struct{ to *recorder.Recorder }

// notStarted records that a program was refused before its run began. Only the record contains the ID of that run.
func (k runRecord) notStarted(ctx context.Context, r *Request, p *inforce.Policy, why error) {
	entry := runEntry(&Response{Run: hostfns.NewRunID()}, r, p)
	entry.State, entry.Reason, entry.Unbegun, entry.Program = audit.Refused, "not started", true,
		&call.EntryProgram{Name: cmp.Or(r.Name, "program.ts"), Text: r.Code}
	entry.Detail, _, _ = strings.Cut(why.Error(), "\n") // the lines below tell the caller what to do
	if unchecked, ok := errors.AsType[*preflight.Error](why); ok {
		entry.Reason, entry.Detail = unchecked.Code, unchecked.Detail
	}
	k.to.Add(ctx, entry)
}

// begin records that a program begins.
func (k runRecord) begin(ctx context.Context, resp *Response, r *Request, p *inforce.Policy) {
	if !k.to.Wants() {
		return
	}
	entry := runEntry(resp, r, p)
	entry.State = audit.Running
	// The end entry has the text: only then are the secret values in it known.
	entry.Program = &call.EntryProgram{Name: resp.name, Text: r.Code, DigestOnly: true}
	k.to.Add(ctx, entry)
}

// parked records that a run is parked or resumed.
func (k runRecord) parked(ctx context.Context, resp *Response, r *Request, p *inforce.Policy, state, detail string) {
	entry := runEntry(resp, r, p)
	entry.State, entry.Detail = state, detail
	k.to.Add(ctx, entry)
}

// runEntry makes the common part of an entry about a run.
func runEntry(resp *Response, r *Request, p *inforce.Policy) call.Entry {
	return call.Entry{
		Kind: audit.Run, Run: resp.Run, Principal: r.Principal, Owner: r.Owner(), Client: r.Client,
		Session: r.ClientSession, Role: r.Role, Script: r.Script,
		Profile: cmp.Or(r.Profile, p.ProfileName()), ProfileDigest: p.Digest(),
	}
}

// end records how a program ended. If it made calls, their outcomes and the end of the run are on disk before the
// client receives the response.
func (k runRecord) end(ctx context.Context, resp *Response, r *Request, p *inforce.Policy, started time.Time,
	failure error) {
	if !k.to.Wants() {
		return
	}
	entry := runEntry(resp, r, p)
	entry.State, entry.Reason = audit.OK, resp.Outcome(failure)
	entry.Program = &call.EntryProgram{Name: resp.name, Text: r.Code}
	if entry.Unbegun = started.IsZero(); !entry.Unbegun {
		entry.MS = float64(time.Since(started).Microseconds()) / 1000
	}
	if failure != nil {
		entry.State, entry.Detail = audit.Failed, failure.Error()
		if _, ran := errors.AsType[*sandbox.Error](failure); !ran || started.IsZero() {
			entry.State = audit.Refused
		}
	}
	if resp.Value != nil {
		entry.Result = &call.EntryResult{Raw: resp.Value}
	}
	counts := map[hostfns.State]int{}
	for _, c := range resp.Calls {
		counts[c.State]++
	}
	data := map[string]any{}
	if len(counts) > 0 {
		data["calls"] = counts
	}
	if s := resp.Session; s != nil {
		data["session"] = SessionEnd{Name: s.Name, Version: s.Version}
	}
	if len(data) > 0 {
		entry.Data, _ = json.Marshal(data) // texts and numbers always encode
	}
	if len(resp.Calls) == 0 {
		k.to.Add(ctx, entry)
		return
	}
	k.to.AddSynced(ctx, entry)
}
