package server

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressEvery is how often a client hears of a running call. Clients give up
// on calls, and HTTP stacks on streams, that are silent for about a minute.
// newsEvery is how often it hears at most when upstreams report more, and
// lastNews how long the last report may take before the result is sent instead.
const (
	progressEvery = 10 * time.Second
	newsEvery     = 50 * time.Millisecond
	lastNews      = time.Second
)

// report tells the client that its call is alive, at once and then regularly,
// and what upstreams report meanwhile, if it wants to know. The returned
// function ends that and waits until nothing more is sent.
func (c *conversation) report(ctx context.Context, req *mcp.CallToolRequest) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		n := 0
		tell := func(message string) {
			if what := c.waiting.Load(); what != nil {
				message = "waiting for a person to decide about " + *what
			}
			// A client that is gone ends the call by itself.
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Message: message})
			n++
		}
		tell("running")
		for {
			select {
			case <-tick.C:
				tell("running")
			case text := <-c.news:
				tell(text)
				select {
				case <-time.After(newsEvery):
				case <-over:
				}
			case <-over:
				select {
				case text := <-c.news:
					tell(text)
				default:
				}
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		close(over)
		defer time.AfterFunc(lastNews, cancel).Stop()
		<-done
		cancel()
	}
}
