package main

import (
	"context"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/audit"
)

// outcomeWait is how long the terminal waits to say what became of a call that was allowed there.
const outcomeWait = 10 * time.Minute

// outcome waits until the record says how a call ended that a person allowed, and says it in a few words.
func (s *summoner) outcome(ctx context.Context, r *approvals.Request) string {
	s.mu.Lock()
	ends := s.ends
	s.mu.Unlock()
	if ends == nil || r.Run == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, outcomeWait)
	defer cancel()
	entry, err := ends.Wait(ctx, r.Run, r.Call)
	if err != nil {
		return "" // nobody knows; the record's own trouble is told where it is written
	}
	return outcomeText(entry)
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
