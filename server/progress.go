package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressEvery is how often a client hears of a running call. Clients give up
// on calls, and HTTP stacks on streams, that are silent for about a minute.
const progressEvery = 10 * time.Second

// report tells the client that its call is alive, at once and then regularly,
// if it wants to know. The returned function ends that and waits until nothing more is sent.
func (s *Server) report(ctx context.Context, req *mcp.CallToolRequest, waiting *atomic.Pointer[string]) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for n := 0; ; n++ {
			message := "running"
			if name := waiting.Load(); name != nil {
				message = "waiting for a person to decide about " + *name
			}
			// A client that is gone ends the call by itself.
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Message: message})
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
