package terminal

import (
	"context"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/asktest"
	"github.com/codemode-project/codemode/internal/hostile"
)

var (
	request, write, inquiry, issues = asktest.Request, asktest.Write, asktest.Inquiry, asktest.Issues
	planned, checkInert             = asktest.Planned, hostile.ShownInert
)

// asking asks over a queue in the background.
func asking(ctx context.Context, d *approvals.Desk, q *approvals.Queue, r *prompt.Request,
	more ...approvals.Channel) <-chan approvals.Result {
	answer := make(chan approvals.Result, 1)
	go func() { answer <- d.Ask(ctx, r, append([]approvals.Channel{q}, more...), approvals.Options{}) }()
	return answer
}
