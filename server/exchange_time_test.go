package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/server/limits"
)

// These tests let hours pass in a bubble. What serves a call is a function here, which asks and waits.

// bench is a server without an evaluator.
func newBench() *Server {
	s := &Server{shared: &shared{
		log: slog.New(slog.DiscardHandler), list: toolList{closed: true},
		access: limits.NewAccessLog(func(context.Context, string, string, string, string) {}),
	}}
	s.exchanges = newExchanges(s.shared, nil, nil)
	return s
}

// request is one of a client that can show forms.
func request(state string, answer *mcp.ElicitResult) *mcp.CallToolRequest {
	p := &mcp.CallToolParamsRaw{Name: "tool", Arguments: json.RawMessage(`{}`), RequestState: state, Meta: mcp.Meta{
		"io.modelcontextprotocol/protocolVersion":    stateless,
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}}
	if answer != nil {
		p.InputResponses = mcp.InputResponseMap{inputKey: answer}
	}
	return &mcp.CallToolRequest{Params: p}
}

// asking asks n times and returns what came of it, waiting for each answer as long as it is told.
func putsQuestions(n int, wait time.Duration) handler {
	return func(ctx context.Context, c *conversation) *mcp.CallToolResult {
		var got []string
		for i := range n {
			asks, cancel := context.WithTimeoutCause(ctx, wait, errors.New("timeout"))
			r, err := c.ask(asks, &form{params: &mcp.ElicitParams{Message: fmt.Sprint(i)}, about: "it",
				questions: []string{fmt.Sprint(i)}, within: wait})
			cancel()
			if err != nil {
				got = append(got, err.Error())
			} else {
				got = append(got, r.Action)
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(got, ", ")}}}
	}
}

func (s *Server) mustServe(t *testing.T, req *mcp.CallToolRequest, do handler) *mcp.CallToolResult {
	t.Helper()
	r, err := s.exchanges.serve(t.Context(), req, do)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func resultText(r *mcp.CallToolResult) string {
	if r == nil || len(r.Content) == 0 {
		return "no result"
	}
	return r.Content[0].(*mcp.TextContent).Text
}

var accept = &mcp.ElicitResult{Action: "accept"}

func TestAPersonThinksForHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBench()
		defer s.exchanges.close(0)
		do := putsQuestions(2, 3*time.Hour)
		first := s.mustServe(t, request("", nil), do)
		time.Sleep(2 * time.Hour)
		second := s.mustServe(t, request(first.RequestState, accept), do)
		time.Sleep(2 * time.Hour)
		if got := resultText(s.mustServe(t, request(second.RequestState, accept), do)); got != "accept, accept" {
			t.Errorf("got %q", got)
		}
	})
}

func TestNobodyComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBench()
		defer s.exchanges.close(0)
		do := putsQuestions(20, 2*time.Minute)
		first := s.mustServe(t, request("", nil), do)
		start := time.Now()
		s.exchanges.going.Wait() // the first question times out, and then the call is abandoned
		if took := time.Since(start); took != 2*time.Minute+parkLimit {
			t.Errorf("it ended after %v", took)
		}
		last := resultText(s.mustServe(t, request(first.RequestState, accept), do))
		if got := strings.Split(last, ", "); got[0] != "timeout" || !strings.Contains(got[len(got)-1], "abandoned") {
			t.Errorf("got %q", last)
		}
		time.Sleep(resultKept)
		synctest.Wait()
		if _, err := s.exchanges.serve(t.Context(), request(first.RequestState, accept), do); err == nil ||
			len(s.exchanges.all) != 0 {
			t.Errorf("it is still there: %v, %d calls", err, len(s.exchanges.all))
		}
	})
}

func TestTheResultWaitsForTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBench()
		defer s.exchanges.close(0)
		do := putsQuestions(1, time.Minute)
		first := s.mustServe(t, request("", nil), do)
		time.Sleep(resultKept) // a minute of which the question was open
		if got := resultText(s.mustServe(t, request(first.RequestState, accept), do)); got != "timeout" {
			t.Errorf("got %q", got)
		}
		if got := resultText(s.mustServe(t, request(first.RequestState, accept), do)); got != "timeout" {
			t.Errorf("once more: %q", got)
		}
		time.Sleep(gotKept + time.Second)
		synctest.Wait()
		_, err := s.exchanges.serve(t.Context(), request(first.RequestState, accept), do)
		if err == nil || !strings.Contains(err.Error(), "not here any more") {
			t.Errorf("long after: %v", err)
		}
	})
}

func TestAStateHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBench()
		defer s.exchanges.close(0)
		do := putsQuestions(1, time.Minute)
		first := s.mustServe(t, request("", nil), do)
		time.Sleep(stateLife)
		_, err := s.exchanges.serve(t.Context(), request(first.RequestState, accept), do)
		if err == nil || !strings.Contains(err.Error(), "its time is over") {
			t.Errorf("got %v", err)
		}
	})
}

// What nobody can ask for again is not kept, and what is kept is bounded.
func TestWhatIsKeptIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBench()
		defer s.exchanges.close(0)
		for range 3 * maxParkedInAll {
			if got := resultText(s.mustServe(t, request("", nil), putsQuestions(0, 0))); got != "" {
				t.Fatalf("got %q", got)
			}
		}
		synctest.Wait()
		if n := len(s.exchanges.all); n != 0 {
			t.Errorf("%d calls are kept that asked nothing", n)
		}

		do := putsQuestions(1, time.Hour)
		var states []string
		for range maxParked {
			states = append(states, s.mustServe(t, request("", nil), do).RequestState)
		}
		over := resultText(s.mustServe(t, request("", nil), do))
		if !strings.Contains(over, approvals.ErrTooMany.Error()) {
			t.Errorf("one more: %q", over)
		}
		synctest.Wait()
		// Half of them come to an end that nobody asks for; the results make room.
		s.exchanges.mu.Lock()
		i := 0
		for _, x := range s.exchanges.all {
			if i++; i%2 == 0 {
				x.call.cancel(errAbandoned)
			}
		}
		s.exchanges.mu.Unlock()
		synctest.Wait()
		for range maxParked / 2 {
			if r := s.mustServe(t, request("", nil), do); r.RequestState == "" {
				t.Fatalf("there is no room: %q", resultText(r))
			}
		}
		if over := resultText(s.mustServe(t, request("", nil), do)); !strings.Contains(over, approvals.ErrTooMany.Error()) {
			t.Errorf("one more: %q", over)
		}
		answered := 0
		for _, state := range states {
			if r, err := s.exchanges.serve(t.Context(), request(state, accept), do); err == nil && resultText(r) == "accept" {
				answered++
			}
		}
		if answered != maxParked/2 {
			t.Errorf("%d of those that waited were answered", answered)
		}
	})
}

// A leg that is hung up ends the call, unless another one waits for it too.
func TestTheLastLegCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBench()
		defer s.exchanges.close(0)
		work := make(chan struct{})
		var ended error
		do := func(ctx context.Context, c *conversation) *mcp.CallToolResult {
			r := putsQuestions(1, time.Hour)(ctx, c)
			select {
			case <-work:
			case <-ctx.Done():
				ended = context.Cause(ctx)
			}
			return r
		}
		first := s.mustServe(t, request("", nil), do)
		one, hangUp := context.WithCancelCause(t.Context())
		two, hangUpToo := context.WithCancelCause(t.Context())
		for _, ctx := range []context.Context{one, two} {
			go s.exchanges.serve(ctx, request(first.RequestState, accept), do)
		}
		synctest.Wait()
		hangUp(errClientGone)
		synctest.Wait()
		if ended != nil {
			t.Errorf("the first to hang up ended it: %v", ended)
		}
		hangUpToo(errClientGone)
		synctest.Wait()
		if ended != errClientGone {
			t.Errorf("the last to hang up: %v", ended)
		}
	})
}

// A call that crashes ends by itself alone.
func TestACrashEndsOneCall(t *testing.T) {
	s := newBench()
	defer s.exchanges.close(0)
	do := (&toolset{shared: s.shared}).surviving(func(context.Context, *conversation) *mcp.CallToolResult { panic("oh") })
	if r := s.mustServe(t, request("", nil), do); !r.IsError || strings.Contains(resultText(r), "oh") {
		t.Errorf("got %q", resultText(r))
	}
}
