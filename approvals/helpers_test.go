package approvals

import (
	"context"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/asktest"
	"github.com/codemode-project/codemode/internal/hostile"
)

var (
	request, write, inquiry, issues = asktest.Request, asktest.Write, asktest.Inquiry, asktest.Issues
	refusedArgs, someday            = hostile.RefusedArgs, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

// asking asks over a queue in the background.
func asking(ctx context.Context, d *Desk, q *Queue, r *prompt.Request, more ...Channel) <-chan Result {
	answer := make(chan Result, 1)
	go func() { answer <- d.Ask(ctx, r, append([]Channel{q}, more...), Options{}) }()
	return answer
}
