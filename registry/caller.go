package registry

import (
	"context"
	"time"

	"github.com/codemode-project/codemode/upstream"
)

// A Caller is the client of a run, as far as upstreams deal with it. Nothing that it answers allows a call.
type Caller struct {
	// Session tells callers apart; those of one session have equal values. Nil
	// is like nobody else. An upstream up to protocol 2025-11-25 does not say
	// for which call it asks, so its question goes only to a session that is
	// alone in having calls in flight there.
	Session any

	// Ask puts a question of an upstream to the client's person, and returns
	// when ctx ends. Nil reaches nobody: the upstream is told that its question was dismissed.
	Ask func(ctx context.Context, q *upstream.Question) (*upstream.Answer, error)

	// Progress is told what an upstream reports about a call of the run, in the
	// upstream's words. It must not block. Nil wants to know nothing.
	Progress func(tool string, progress, total float64, message string)

	// Asked is told that people are asked about calls of the run: what about, in a few words, where they can answer
	// beside the client itself, and until when. over is called when that is decided. Nil wants to know nothing.
	Asked func(about string, where []string, until time.Time) (over func())

	// Waits is told each time the program calls a tool. It must not block. Nil wants to know nothing.
	Waits func()

	// Meta goes along with the run's calls in _meta, such as traceparent.
	Meta map[string]any
}

// options are the options of one call of a run, by the name of its tool.
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
			defer pause()() // no timeout runs while a person is asked
			return c.Ask(asking, q)
		}
	}
	return o
}
