package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/tools/upstream/child"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// A host holds what all connections of a manager share.
type host struct {
	env           func(string) (string, bool)
	log           *slog.Logger
	starter       *child.Starter
	confine       func(*servers.Server, Command) (Command, error) // nil confines nothing
	name, version string
	logins        *login.Store
}

// account is our login at the server, nil if it needs none.
func (h *host) account(s *Server) *login.Account {
	if s.Transport != HTTP && s.Transport != SSE || s.Headers.Get("Authorization") != "" {
		return nil
	}
	return h.logins.Account(s.Name, s.URL)
}

// open connects to the server by the first way that works, over HTTP with a login. ctx limits the opening only.
func (h *host) open(ctx context.Context, s *Server, a *login.Account) (link, error) {
	switch s.Transport {
	case InProcess:
		return newInProcessLink(s, h.log), nil
	case Stdio:
		return h.openStdio(ctx, s)
	case HTTP, SSE:
		return h.openHTTP(ctx, s, a)
	}
	return nil, fmt.Errorf("it has no transport: give it a command or a url")
}

// openStdio starts the server for a version of the protocol that all servers
// know. It starts a server that answers with an error again, for the newest version.
func (h *host) openStdio(ctx context.Context, s *Server) (link, error) {
	start := func(sess *session) (mcp.Transport, error) {
		command, err := CommandOf(s, h.env)
		if err != nil {
			return nil, err
		}
		if h.confine != nil {
			if command, err = h.confine(&s.Server, command); err != nil {
				return nil, fmt.Errorf("confining it: %w", err)
			}
		}
		masked, guesses := maskOf(s, nil), newGuesses(s)
		command.Hide = func(text string) string { return masked(text, guesses.right()) }
		c, err := h.starter.Start(command)
		if err != nil {
			return nil, err
		}
		sess.child, sess.stdio = c, newStdioConn(c, sess, masked)
		sess.stdio.sending = guesses.note
		sess.stdio.pending.stuck = func(err error) { sess.end(err) }
		return sess.stdio, nil
	}
	l, err := connect(ctx, &session{server: s, log: h.log}, attempt{version: pinned, open: start}, h.name, h.version)
	if err == nil {
		return l, nil
	}
	var no *jsonrpc.Error
	if !errors.As(err, &no) || ctx.Err() != nil {
		return nil, err
	}
	if l, newErr := connect(ctx, &session{server: s, log: h.log}, attempt{open: start}, h.name, h.version); newErr == nil {
		return l, nil
	}
	return nil, err
}

// CommandOf returns the command that starts a Stdio server; env looks up the variables of ours that it inherits.
func CommandOf(s *Server, env func(string) (string, bool)) (Command, error) {
	vars, err := childEnv(s, env)
	return Command{Name: s.Command, Args: s.Args, Dir: s.Dir, Env: vars}, err
}

func (h *host) openHTTP(ctx context.Context, s *Server, login *login.Account) (link, error) {
	var first error
	for _, a := range s.attempts() {
		wire, err := newHTTPWire(s, login) // one for each attempt: it remembers how the server refused
		if err != nil {
			return nil, err
		}
		sess := &session{server: s, log: h.log, http: wire}
		wire.forgotten = sess.forgot
		l, err := connect(ctx, sess, a, h.name, h.version)
		if err == nil {
			return l, nil
		}
		wire.close()
		if first == nil {
			first = err
		}
		if !wire.again(err) || ctx.Err() != nil {
			break
		}
	}
	return nil, first
}
