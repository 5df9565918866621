package main

import (
	"context"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/store"
)

const (
	// outcomeWait is how long the terminal waits to say what became of a call that was allowed there.
	outcomeWait = 10 * time.Minute
	// firstLook and lastLook are the shortest and the longest pause between two looks at the record.
	firstLook, lastLook = 50 * time.Millisecond, time.Second
)

// outcome waits until the record says how a call ended that a person allowed, and says it in a few words.
func (s *summoner) outcome(ctx context.Context, r *approvals.Request) (text string) {
	s.mu.Lock()
	e := s.evaluator
	s.mu.Unlock()
	if e == nil || r.Run == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, outcomeWait)
	defer cancel()
	calls := store.Query{Run: r.Run, Kinds: []string{audit.Call}}
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		err := recordOf{e}.Entries(ctx, calls, func(entry *audit.Entry) error {
			if entry.Call == r.Call {
				text = outcomeText(entry)
			}
			return nil
		})
		if err != nil || text != "" {
			return text
		}
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(pause):
		}
	}
}

// outcomeText says how a call ended; "" is that it has not.
func outcomeText(e *audit.Entry) string {
	why := ""
	for _, words := range []string{e.Reason, e.Detail} {
		if words != "" {
			why += ": " + words
		}
	}
	switch e.State {
	case audit.OK:
		return fmt.Sprintf("done in %v", (time.Duration(e.MS * float64(time.Millisecond))).Round(time.Millisecond))
	case audit.Failed:
		return "failed" + why
	case audit.Refused:
		return "refused after all" + why
	case audit.Unknown:
		return "sent, and nobody knows whether it happened" + why
	case audit.NotSent:
		return "not sent" + why
	}
	return ""
}
