package server

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressEvery is the interval of progress reports to a client. Clients give up on calls, and HTTP stacks on streams,
// that are silent for about a minute. firstProgress is the delay of the first report: short calls need none. newsEvery
// is the shortest interval when upstreams report more often. lastNews is how long the last report may take before the
// server sends the result instead.
//
// readApart is how long the result waits after a report. The TypeScript SDK handles a report one step after reading it,
// but a result at once. If it reads a report together with the result, it rejects the report as one for "an unknown
// token".
const (
	firstProgress = time.Second
	progressEvery = 10 * time.Second
	newsEvery     = 50 * time.Millisecond
	lastNews      = time.Second
	readApart     = 20 * time.Millisecond
)

// report tells the client, if the client asked for progress, that its call is alive, after a while and then regularly,
// and passes on what upstreams report and what the run does. The returned function ends the reports. It waits until the
// last one is sent and the client has had time to read it.
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
		n := 0
		c.reports(ctx, over, func(message string) {
			// A disconnect of the client ends the call anyway.
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n),
				Message: message})
			n++
			last = time.Now()
		})
	}()
	return func() {
		close(over)
		defer time.AfterFunc(lastNews, cancel).Stop()
		<-done
		cancel()
		time.Sleep(readApart - time.Since(last))
	}
}

// reports tells one report after the other, until the call is over or ctx ends.
func (c *conversation) reports(ctx context.Context, over <-chan struct{}, tell func(message string)) {
	tick := time.NewTicker(firstProgress)
	defer tick.Stop()
	due := time.Now().Add(firstLive) // the next report of what the run does
	var live <-chan time.Time        // nil while there is none to make
	for {
		select {
		case <-tick.C:
			tick.Reset(progressEvery)
			tell(cmp.Or(c.awaits(), "running"))
		case <-c.happened:
			if live == nil {
				live = time.After(time.Until(due))
			}
		case <-live:
			live, due = nil, time.Now().Add(liveEvery)
			if text := c.live.take(); text != "" {
				tell(strings.TrimSpace(text + "\n" + c.awaits()))
			}
		case text := <-c.news:
			tell(cmp.Or(c.awaits(), text))
			select {
			case <-time.After(newsEvery):
			case <-over:
			}
		case <-over:
			select {
			case text := <-c.news:
				tell(cmp.Or(c.awaits(), text))
			default:
			}
			return
		case <-ctx.Done():
			return
		}
	}
}
