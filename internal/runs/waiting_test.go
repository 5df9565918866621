package runs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/runs/inforce"
)

// Of runs that wait for people, the oldest of one's own makes way, by number and by bytes, and nobody else's.
func TestTheRunThatWaitedLongestMakesWayForItsPrincipals(t *testing.T) {
	waits := func(principal string) *execution {
		x := &execution{request: Request{Principal: principal}}
		x.ctx, x.cancel = context.WithCancelCause(t.Context())
		return x
	}
	for name, bytes := range map[string]int64{"large ones": 50 << 20, "small ones": 1000} {
		w := newWaitingRuns(config.Capacity{})
		berts := waits("bert")
		if !w.add(berts, 1000) {
			t.Fatalf("%s: bert's does not fit", name)
		}
		var annas []*execution
		for range 1200 {
			x := waits("anna")
			if !w.add(x, bytes) {
				t.Fatalf("%s: one does not fit", name)
			}
			annas = append(annas, x)
		}
		first, last := annas[0], annas[len(annas)-1]
		if context.Cause(first.ctx) != errWaitedLongest || last.ctx.Err() != nil || berts.ctx.Err() != nil {
			t.Errorf("%s: the first %v, the last %v, bert's %v", name, context.Cause(first.ctx), last.ctx.Err(), berts.ctx.Err())
		}
		if w.bytes.Held("anna") > maxWaitingBytes*3/4 || w.count.Held("anna") > maxWaiting*3/4 {
			t.Errorf("%s: anna has %d of %d MiB", name, w.count.Held("anna"), w.bytes.Held("anna")>>20)
		}
		for _, x := range append(annas, berts) {
			w.remove(x)
			w.remove(x)
		}
		if w.bytes.Used()+w.count.Used() != 0 || len(w.all) != 0 {
			t.Errorf("%s: %d bytes are left", name, w.bytes.Used())
		}
	}
	w, x := newWaitingRuns(config.Capacity{}), waits("anna")
	if w.add(x, maxWaitingBytes) || !errors.Is(context.Cause(x.ctx), errWaitedLongest) ||
		w.bytes.Used()+w.count.Used() != 0 {
		t.Error("one that fits nowhere was let in")
	}
}

// Callers whom nobody checked are one, whatever they call themselves.
func TestCallersWhomNobodyCheckedShareOneShare(t *testing.T) {
	w := newWaitingRuns(config.Capacity{WaitingRuns: 8})
	var all []*execution
	for i := range 9 {
		x := &execution{request: Request{Principal: string(rune('a' + i)), Unchecked: true}}
		x.ctx, x.cancel = context.WithCancelCause(t.Context())
		if !w.add(x, 1000) {
			t.Fatalf("the %dth does not fit", i)
		}
		all = append(all, x)
	}
	if w.count.Held("") != 8 || context.Cause(all[0].ctx) != errWaitedLongest || all[1].ctx.Err() != nil {
		t.Errorf("%d wait; the first %v, the second %v", w.count.Held(""), context.Cause(all[0].ctx), all[1].ctx.Err())
	}
	asks := &inforce.AskCounter{}
	for i := range 3 {
		r := Request{Principal: string(rune('a' + i)), Unchecked: true}
		defer asks.Begin(time.Now(), r.Owner())()
	}
	if lastMinute, pending := asks.Count(time.Now(), ""); lastMinute != 3 || pending != 3 {
		t.Errorf("%d questions in the last minute, %d open", lastMinute, pending)
	}
}
