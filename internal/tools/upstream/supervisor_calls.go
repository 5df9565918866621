package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/codemode-project/codemode/call"
)

// connection returns the connection, and waits for one that is about to be ready. It never returns not, a connection
// that the caller has found to be closed.
func (sup *supervisor) connection(ctx context.Context, not link, waits func()) (link, error) {
	for {
		sup.mu.Lock()
		state, l, err, changed := sup.state, sup.link, sup.err, sup.changed
		sup.mu.Unlock()
		switch {
		case state == Ready && l != not:
			return l, nil
		case state == Disabled:
			return nil, &waitsError{Disabled, errors.New("it is disabled in the configuration")}
		case state == Stopped:
			return nil, errors.New("it is stopped")
		case state == Failed:
			sup.retrySoon() // the next call may find it ready
			return nil, &waitsError{Failed, fmt.Errorf("it is not available: %w", err)}
		}
		waits()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &waitsError{Starting, fmt.Errorf("it is still starting: %w", context.Cause(ctx))}
		}
	}
}

// A waitsError says in which state a server cannot take calls.
type waitsError struct {
	state State
	error
}

func (e *waitsError) Unwrap() error { return e.error }

// retrySoon shortens the wait for the next start of a server that is down.
func (sup *supervisor) retrySoon() {
	select {
	case sup.retry <- struct{}{}:
	default: // the retry is due already
	}
}

// call sends a call over the current connection.
func (sup *supervisor) call(ctx context.Context, tool string, args json.RawMessage, o CallOptions) (*Result, error) {
	if a := bytes.TrimSpace(args); len(a) == 0 || bytes.Equal(a, []byte("null")) {
		args = json.RawMessage("{}")
	}
	return sup.request(ctx, tool, args, o.sent, func(ctx context.Context, l link) (*Result, error) {
		if err := sup.differs(tool); err != nil {
			return nil, &Error{Server: sup.server.Name, Tool: tool, Err: err}
		}
		switch t, listed := sup.tool(tool); {
		case t.Withheld != "":
			return nil, &Error{Server: sup.server.Name, Tool: tool, Err: errors.New("the tool is withheld: " + t.Withheld)}
		case !listed && !sup.server.Takes(tool, call.Part(tool), nil):
			return nil, &Error{Server: sup.server.Name, Tool: tool, Err: errors.New("the configuration leaves this tool out")}
		case t.NeedsTask:
			return nil, &Error{Server: sup.server.Name, Tool: tool,
				Err: errors.New("it runs only as a task, an extension of the protocol that is not supported")}
		}
		return l.call(ctx, tool, args, o)
	})
}

// request makes a request over the current connection, within the server's
// time. It repeats a request once, over the next connection, if the server
// cannot have acted on it. waits is called if there is no connection yet.
func (sup *supervisor) request(
	ctx context.Context, tool string, args json.RawMessage, waits func(),
	send func(context.Context, link) (*Result, error),
) (*Result, error) {
	if sup.server.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, sup.server.Timeout)
		defer cancel()
	}
	var before link
	var decided Tool // as it was defined when the request was decided
	for {
		l, err := sup.connection(ctx, before, waits)
		now, _ := sup.tool(tool)
		if before == nil {
			decided = now
		}
		if err == nil && !sameTool(decided, now) {
			err = errors.New("it defines this tool in another way since it began a new session: nothing was sent again")
		}
		if err != nil {
			e := &Error{Server: sup.server.Name, Tool: tool, Err: sup.mask(err, args)}
			if waits, ok := errors.AsType[*waitsError](err); ok {
				e.Waits = waits.state
			}
			return nil, e
		}
		began := time.Now()
		r, err := send(ctx, l)
		if err == nil {
			sup.setLatency(time.Since(began))
		}
		sup.maskResult(r, args)
		var failed *ToolError
		if errors.As(err, &failed) {
			failed.Message = sup.masked(failed.Message, args)
			sup.maskResult(failed.Result, args)
		}
		var e *Error
		if errors.As(err, &e) {
			e.Err = sup.mask(e.Err, args)
		}
		sup.setCallError(e)
		if before != nil || !errors.As(err, &e) || !e.again || ctx.Err() != nil || !isOver(l) {
			return r, err
		}
		before = l
	}
}

func (sup *supervisor) setLatency(d time.Duration) {
	sup.mu.Lock()
	defer sup.mu.Unlock()
	sup.latency = d
}

// login describes the login at the server. The caller holds sup.mu.
func (sup *supervisor) login() (of Login) {
	of.Needed = wantsLogin(sup.err) || wantsLogin(sup.listErr) || wantsLogin(sup.callErr)
	if of.Possible = sup.account != nil; of.Possible {
		of.Done, of.Renews, of.Expires = sup.account.State()
	}
	return of
}

// reconnect ends the connection, and opens a new one at once. Calls under way end with it.
func (sup *supervisor) reconnect() error {
	sup.mu.Lock()
	state := sup.state
	sup.mu.Unlock()
	if state != Ready && state != Failed {
		return fmt.Errorf("it is %s", state)
	}
	select {
	case sup.anew <- struct{}{}:
	default: // it is about to
	}
	return nil
}

// setCallError stores the error of a call that got no answer; nil clears it.
func (sup *supervisor) setCallError(e *Error) {
	sup.mu.Lock()
	defer sup.mu.Unlock()
	sup.callErr = nil
	if e != nil && !errors.Is(e.Err, context.Canceled) {
		sup.callErr = fmt.Errorf("tool %q: %w", e.Tool, e.Err)
		if e.Tool == "" {
			sup.callErr = fmt.Errorf("a resource or a prompt: %w", e.Err)
		}
	}
}

// isOver reports whether the connection has ended, or ends within a moment.
func isOver(l link) bool {
	if l.why() != nil {
		return true
	}
	select {
	case <-l.ended():
		return true
	case <-time.After(drainTime):
		return false
	}
}

// tool returns a tool of the current list.
func (sup *supervisor) tool(name string) (Tool, bool) {
	sup.mu.Lock()
	defer sup.mu.Unlock()
	i := slices.IndexFunc(sup.tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return sup.tools[i], true
}

// differs returns an error if the server describes a tool to this principal in another way than to the catalogue, which
// rules, people and the program have seen. Words do not count: the principal's name may be in them.
func (sup *supervisor) differs(tool string) error {
	if sup.shown == nil {
		return nil
	}
	shown, _ := sup.shown(tool)
	own, ok := sup.tool(tool)
	if !ok {
		return errors.New("the server does not offer this tool to the account of this principal")
	}
	own.Title, own.Description = shown.Title, shown.Description
	if !sameTool(own, shown) {
		return errors.New("the server defines this tool for the account of this principal in another way than for the " +
			"catalogue: the call was decided by the definition there")
	}
	return nil
}

func (sup *supervisor) status() Status {
	sup.mu.Lock()
	defer sup.mu.Unlock()
	if sup.link != nil {
		sup.setInfo(sup.link)
	}
	s := sup.info
	s.Latency, s.Login = sup.latency, sup.login()
	s.Name, s.Transport, s.State, s.Since = sup.server.Name, sup.server.Transport, sup.state, sup.since
	s.Restarts = sup.restarts
	s.Tools, s.Notes, s.Stale = sup.callable(), slices.Clone(sup.notes), sup.stale
	s.Stderr = sup.masked(s.Stderr, nil)
	if sup.personal != nil {
		s.Principals = sup.personal.count()
	}
	for to, err := range map[*string]error{&s.Error: sup.err, &s.ListError: sup.listErr, &s.CallError: sup.callErr} {
		if err != nil {
			*to = sup.masked(err.Error(), nil)
		}
	}
	return s
}

// callable is the number of tools that are not withheld. The caller holds sup.mu.
func (sup *supervisor) callable() (n int) {
	for i := range sup.tools {
		if sup.tools[i].Withheld == "" {
			n++
		}
	}
	return n
}
