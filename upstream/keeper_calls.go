package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/codemode-project/codemode/upstream/child"
)

// ready returns the connection, waiting for one that is about to be there. It
// never returns not, a connection that the caller has found to be over.
func (k *keeper) ready(ctx context.Context, not link) (link, error) {
	for {
		k.mu.Lock()
		state, l, err, moved := k.state, k.link, k.err, k.moved
		k.mu.Unlock()
		switch {
		case state == Ready && l != not:
			return l, nil
		case state == Disabled:
			return nil, errors.New("it is disabled in the configuration")
		case state == Stopped:
			return nil, errors.New("it is stopped")
		case state == Failed:
			k.hurry() // so that the next call finds it, perhaps
			return nil, fmt.Errorf("it is not available: %w", err)
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, fmt.Errorf("it is still starting: %w", context.Cause(ctx))
		}
	}
}

// hurry has a server that is down tried again soon.
func (k *keeper) hurry() {
	select {
	case k.wake <- struct{}{}:
	default: // it is known already
	}
}

// call sends a call over the connection there is.
func (k *keeper) call(ctx context.Context, tool string, args json.RawMessage, o CallOptions) (*Result, error) {
	if a := bytes.TrimSpace(args); len(a) == 0 || bytes.Equal(a, []byte("null")) {
		args = json.RawMessage("{}")
	}
	if !k.server.takes(tool) {
		return nil, &Error{Server: k.server.Name, Tool: tool, Err: errors.New("the configuration leaves this tool out")}
	}
	return k.do(ctx, tool, func(ctx context.Context, l link) (*Result, error) {
		if k.needsTask(tool) {
			return nil, &Error{Server: k.server.Name, Tool: tool,
				Err: errors.New("it runs only as a task, an extension of the protocol that is not supported")}
		}
		return l.call(ctx, tool, args, o)
	})
}

// do makes a request over the connection there is, within the server's time.
// Only a request that cannot have been acted on is made again, over the next
// connection, and only once.
func (k *keeper) do(ctx context.Context, tool string, request func(context.Context, link) (*Result, error)) (*Result, error) {
	if k.server.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, k.server.Timeout)
		defer cancel()
	}
	var before link
	for {
		l, err := k.ready(ctx, before)
		if err != nil {
			return nil, &Error{Server: k.server.Name, Tool: tool, Err: k.mask(err)}
		}
		r, err := request(ctx, l)
		k.maskResult(r)
		var said *ToolError
		if errors.As(err, &said) {
			said.Message = k.masked(said.Message)
			k.maskResult(said.Result)
		}
		var e *Error
		if errors.As(err, &e) {
			e.Err = k.mask(e.Err)
		}
		k.answered(e)
		if before != nil || !errors.As(err, &e) || !e.again || ctx.Err() != nil || !isOver(l) {
			return r, err
		}
		before = l
	}
}

// answered notes whether a call got its answer.
func (k *keeper) answered(e *Error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.callErr = nil
	if e != nil && !errors.Is(e.Err, context.Canceled) {
		k.callErr = fmt.Errorf("tool %q: %w", e.Tool, e.Err)
		if e.Tool == "" {
			k.callErr = fmt.Errorf("a resource: %w", e.Err)
		}
	}
}

// isOver reports whether the connection has ended, or is just about to be known to.
func isOver(l link) bool {
	if l.why() != nil {
		return true
	}
	select {
	case <-l.ended():
		return true
	case <-time.After(child.DrainTime):
		return false
	}
}

func (k *keeper) needsTask(tool string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.tools, func(t Tool) bool { return t.Name == tool && t.NeedsTask })
}

func (k *keeper) status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.link != nil {
		about := k.link.info()
		about.instructions = k.about.instructions
		k.about = about
	}
	s := Status{
		Name: k.server.Name, Transport: k.server.Transport, State: k.state, Since: k.since,
		StderrBytes: k.about.stderrBytes, Changes: k.about.changes, Refused: k.about.refused, LastRefused: k.about.lastRefused,
		Tools: len(k.tools), Notes: slices.Clone(k.notes), Stale: k.stale, Restarts: k.restarts,
		Stderr: k.masked(k.about.stderr), Dropped: k.about.dropped, Unexpected: k.about.unexpected,
		Instructions: k.about.instructions, Protocol: k.about.protocol, Implementation: k.about.implementation,
	}
	for to, err := range map[*string]error{&s.Error: k.err, &s.ListError: k.listErr, &s.CallError: k.callErr} {
		if err != nil {
			*to = k.masked(err.Error())
		}
	}
	return s
}
