package recorder

import (
	"context"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/audit"
)

// becameWait is how long [recorder.became] waits.
const becameWait = 10 * time.Minute

// Became waits until the record says how a call ended that a person allowed, and says it in a few words. It gives "" if
// the record does not say so before ctx ends, or if there is no record. It is made for [approvals.Queue.Outcome].
func (k *Recorder) Became(ctx context.Context, r *prompt.Request) string {
	if r.Run == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, becameWait)
	defer cancel()
	entry, err := k.ends.Wait(ctx, r.Run, r.Call)
	if err != nil {
		return "" // nobody knows; the record's own trouble is told where it is written
	}
	return becameText(entry)
}

// becameText says how a call ended.
func becameText(e *audit.Entry) string {
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
