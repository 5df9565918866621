package approvals

import (
	"context"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// asking asks over a queue in the background.
func asking(ctx context.Context, d *Desk, q *Queue, r *prompt.Request, more ...Channel) <-chan Result {
	answer := make(chan Result, 1)
	go func() { answer <- d.Ask(ctx, r, append([]Channel{q}, more...), Options{}) }()
	return answer
}
