package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// list reads the whole tool list.
func (s *session) list(ctx context.Context) (*toolList, error) {
	ctx, cancel := s.alive(ctx)
	defer cancel(nil)
	all := new(toolList)
	cursor := ""
	bytes := 0
	seen := map[string]bool{}
	for page := 1; ; page++ {
		x := new(exchange)
		r, err := s.cs.ListTools(x.context(ctx), &mcp.ListToolsParams{Cursor: cursor})
		_, _, raw, failed := x.outcome()
		switch {
		case failed != nil && failed.Code == jsonrpc.CodeMethodNotFound:
			return all, nil // a server of prompts and resources only
		case raw == nil && err != nil:
			return nil, s.callError(ctx, "", x, err)
		case raw == nil: // the SDK's cached answer is still valid
			raw = marshal(r)
		}
		if bytes += len(raw); bytes > listMax {
			all.note("its tool list has more than %d MiB; taken are the first %d pages", listMax>>20, page-1)
			break
		}
		l, err := readTools(raw)
		if err != nil {
			return nil, err
		}
		all.add(l, s.server)
		if l.next == "" || l.more {
			break
		}
		if seen[l.next] || page == pagesMax || all.taken > toolsMax {
			all.notes = append(all.notes, fmt.Sprintf("its tool list does not end; taken are the first %d pages", page))
			break
		}
		cursor = l.next
		seen[cursor] = true
	}
	all.finish(s.server)
	return all, nil
}

// alive returns a context that ends with ctx and with the session.
func (s *session) alive(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })
	return ctx, func(err error) {
		stop()
		cancel(err)
	}
}

// call sends the call, once.
func (s *session) call(ctx context.Context, tool string, args json.RawMessage, o CallOptions) (*Result, error) {
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	ctx, cancel := s.alive(ctx)
	defer cancel(nil)
	caller, leave := s.callers.enter(ctx, o.Session, o.Ask)
	defer leave()
	x := &exchange{alone: true, caller: caller, args: args, trace: o.Meta, onSent: o.Sent}
	p := &mcp.CallToolParams{Name: tool, Arguments: args, Meta: maps.Clone(o.Meta)}
	if o.Progress != nil {
		token := s.expect(o.Progress)
		defer s.forget(token)
		p.SetProgressToken(token)
	}
	began := time.Now()
	_, err := s.cs.CallTool(x.context(ctx), p)
	_, _, raw, failed := x.outcome()
	switch {
	case raw != nil && wantsInput(raw):
		if err == nil || ctx.Err() == nil {
			err = fmt.Errorf("it asks for more before it goes on, and did not get it: %w", cmp.Or(err, errNoResult))
		}
		return nil, &Error{Server: s.server.Name, Tool: tool, Err: err}
	case raw != nil:
		r, isError, err := readResult(ctx, raw)
		if err != nil {
			return nil, &Error{Server: s.server.Name, Tool: tool, Unknown: true, Err: err}
		}
		if isError {
			s.noteRefusal(tool, r.message())
			return nil, &ToolError{Server: s.server.Name, Tool: tool, Message: r.message(), Result: r}
		}
		return r, nil
	case failed != nil && x.unreadable() == nil:
		return nil, &ToolError{Server: s.server.Name, Tool: tool, Message: errorText(failed), Code: failed.Code}
	case err == nil: // cannot happen: the SDK has an answer that no transport received
		err = errNoResult
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) && s.lastMessage.Load() < began.UnixNano() {
		s.suspect()
	}
	return nil, s.callError(ctx, tool, x, err)
}

// noteRefusal tells operators, once for each process, that a confined server met its bounds.
func (s *session) noteRefusal(tool, message string) {
	if s.child == nil || s.child.Refused() == "" || !saysRefused(message) {
		return
	}
	s.onceRefused.Do(func() {
		s.log.Warn("a tool failed because the system refused something to its server, which is confined; "+
			"the record has the server's words", "server", s.server.Name, "tool", tool, "confined", s.child.Refused())
	})
}

// fetch makes a request other than a call.
func (s *session) fetch(ctx context.Context, f *fetching) (*Result, error) {
	ctx, cancel := s.alive(ctx)
	defer cancel(nil)
	caller, leave := s.callers.enter(ctx, nil, nil)
	defer leave()
	x := &exchange{alone: true, caller: caller, args: f.args}
	err := f.send(x.context(ctx), s.cs)
	_, _, raw, failed := x.outcome()
	switch {
	case raw != nil:
		return f.read(ctx, raw)
	case failed != nil && x.unreadable() == nil:
		return nil, &ToolError{Server: s.server.Name, Message: errorText(failed), Code: failed.Code}
	case err == nil: // cannot happen: the SDK caches no result that was withheld
		err = errNoResult
	}
	return nil, s.callError(ctx, "", x, err)
}

// callError describes a request that got no answer.
func (s *session) callError(ctx context.Context, tool string, x *exchange, err error) error {
	sent, status, _, _ := x.outcome()
	e := &Error{Server: s.server.Name, Tool: tool, Unknown: sent && !refusedStatus(status), Err: err}
	e.again = !sent
	if said, ok := errors.AsType[*statusError](err); ok {
		e.RetryAfter, e.Said = said.retryAfter, said.words
	}
	forgotten, _ := errors.AsType[*forgottenError](err)
	e.again = e.again || forgotten != nil
	cause := context.Cause(ctx)
	switch broken := x.unreadable(); {
	case broken != nil && ctx.Err() == nil:
		e.Err = broken
	case s.life.Err() != nil:
		e.Err = context.Cause(s.life)
	case errors.Is(cause, context.DeadlineExceeded):
		e.Err = fmt.Errorf("no answer in time: %w", cause)
	case cause != nil:
		e.Err = cause
	case status != 0 || s.child == nil:
		if s.http != nil {
			e.Err = s.http.explain(err)
		}
	default: // the end of the stream comes before that of the process
		e.Err = s.reason(err)
	}
	return e
}

// refusedStatus reports whether an HTTP status says that the server did not act on the request.
func refusedStatus(code int) bool {
	return code >= 400 && code < 500 && code != 408 || code == 503
}

// expect registers f for the progress of a call.
func (s *session) expect(f func(float64, float64, string)) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastToken++
	token := fmt.Sprintf("call-%d", s.lastToken)
	s.reports[token] = f
	return token
}

func (s *session) forget(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reports, token)
}

// suspect pings a server after one of its calls timed out. If the server is silent and no other call is in flight,
// suspect ends the session, so that the next call gets a new one.
func (s *session) suspect() {
	if !s.suspected.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.suspected.Store(false)
		ctx, cancel := context.WithTimeout(s.life, pingTime)
		defer cancel()
		before := s.lastMessage.Load()
		_ = s.cs.Ping(ctx, nil) // every answer counts, also an error
		timedOut := errors.Is(context.Cause(ctx), context.DeadlineExceeded)
		if timedOut && s.lastMessage.Load() == before && s.inFlight.Load() == 0 {
			s.end(errSilent)
			if s.child != nil {
				s.child.Fail(errSilent)
				s.child.Stop()
			} else {
				_ = s.cs.Close()
			}
		}
	}()
}
