package registry

import (
	"context"
	"time"

	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// A Caller is the client of a run, as upstreams see it. None of its answers allows a call.
type Caller struct {
	// Session identifies the session; callers of one session have equal values. Nil equals no other. An upstream up to
	// protocol 2025-11-25 does not say which call its question belongs to. So its question goes only to a session that
	// is the only one with calls in flight there.
	Session any

	// Ask asks the client's person a question of an upstream, and returns when ctx ends. Nil reaches nobody: the
	// upstream learns that its question was dismissed.
	Ask func(ctx context.Context, q *upstream.Question) (*upstream.Answer, error)

	// Progress receives an upstream's progress report about a call of the run, in the upstream's words. It must not
	// block. Nil ignores reports.
	Progress func(tool string, progress, total float64, message string)

	// Asked is called when people are asked about calls of the run. It receives the subject in a few words, the places
	// where they can answer besides the client itself, and the deadline. over is called when the question is decided.
	// Nil is ignored.
	Asked func(about string, where []string, until time.Time) (over func())

	// Waits is called when the run waits for others, such as a tool, the database or a processor, and when its program
	// has computed for a while. It may be called often and must not block. Nil is ignored.
	Waits func()

	// Token is the access token with which the caller came in, verified by its issuer. It is in no stored run.
	Token login.Bearer

	// Meta is sent with the run's calls in _meta, such as traceparent.
	Meta map[string]any
}

// options returns the options of one call of a run, by the name of its tool.
func (c *Caller) options(tool string, pause func() (resume func())) upstream.CallOptions {
	if c == nil {
		return upstream.CallOptions{}
	}
	o := upstream.CallOptions{Session: c.Session, Meta: c.Meta}
	if c.Progress != nil {
		o.Progress = func(progress, total float64, message string) { c.Progress(tool, progress, total, message) }
	}
	if c.Ask != nil {
		o.Ask = func(asking context.Context, q *upstream.Question) (*upstream.Answer, error) {
			defer pause()() // stop all timeouts while a person is asked
			return c.Ask(asking, q)
		}
	}
	return o
}
