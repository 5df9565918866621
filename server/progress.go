package server

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressEvery is how often a client hears of a running call. Clients give up
// on calls, and HTTP stacks on streams, that are silent for about a minute.
// firstProgress is when it first does: what is short needs no reports.
// newsEvery is how often it hears at most when upstreams report more, and
// lastNews how long the last report may take before the result is sent instead.
//
// readApart is how long the result waits after a report. The TypeScript SDK handles
// a report one step after it has read it, and a result at once: a report that it
// reads together with the result is to it one for "an unknown token".
const (
	firstProgress = time.Second
	progressEvery = 10 * time.Second
	newsEvery     = 50 * time.Millisecond
	lastNews      = time.Second
	readApart     = 20 * time.Millisecond
)

// report tells the client that its call is alive, after a while and then regularly,
// and what upstreams report meanwhile, if it wants to know. The returned
// function ends that and waits until nothing more is sent and the client has had time to read it.
func (c *conversation) report(ctx context.Context, req *mcp.CallToolRequest) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	done := make(chan struct{})
	var last time.Time // of a report; guarded by done
	go func() {
		defer close(done)
		tick := time.NewTicker(firstProgress)
		defer tick.Stop()
		n := 0
		tell := func(message string) {
			if waits := c.awaits(); waits != "" {
				message = waits
			}
			// A client that is gone ends the call by itself.
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n),
				Message: message})
			n++
			last = time.Now()
		}
		for {
			select {
			case <-tick.C:
				tick.Reset(progressEvery)
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
		time.Sleep(readApart - time.Since(last))
	}
}
