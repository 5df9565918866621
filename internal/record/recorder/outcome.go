package recorder

import (
	"context"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// outcomeWait is how long [Recorder.Outcome] waits.
const outcomeWait = 10 * time.Minute

// Outcome waits until the record has the outcome of a call that a person allowed, and returns it in a few words. It
// returns "" if ctx ends first, or if there is no record. It is made for [approvals.Queue.Outcome].
func (k *Recorder) Outcome(ctx context.Context, r *prompt.Request) string {
	if r.Run == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, outcomeWait)
	defer cancel()
	entry, err := k.ends.Wait(ctx, r.Run, r.Call, r.Time)
	if err != nil {
		return "" // the writer logs errors of the record
	}
	return outcomeText(entry)
}

func outcomeText(e *audit.Entry) string {
	why := ""
	for _, words := range []string{e.Reason, e.Detail} {
		if words != "" {
			why += ": " + words
		}
	}
	switch e.State {
	case audit.Pending:
		return "asked again: " + e.Detail
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
