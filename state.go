package codemode

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/catalog/pins"
	"github.com/codemode-project/codemode/profiles"
)

// A state is the configuration in force at one moment. Nothing in it changes: a change makes another one, so that nobody
// sees new rules together with the old trust in servers.
type state struct {
	config  *profiles.Config       // nil: nothing is configured, and nothing is allowed
	servers map[string]serverState // by name
	scripts *scriptRoot            // nil: there are no saved programs
	stale   error                  // why the files are not what is in force; nil: they are
}

// serverState is what the configuration says of one server.
type serverState struct {
	trusted  bool          // its answers do not taint a run
	identity string        // differs from that of any other server that had the name; "" for those that are built in
	timeout  time.Duration // of one call; zero if the configuration does not say
}

// rules are what calls are decided by: the configuration in force and what is known beside it.
type rules struct {
	log      *slog.Logger
	current  atomic.Pointer[state]
	clock    profiles.Clock // what rules that end are decided by
	pins     *pins.Pins
	asks     askCounter
	sessions sessions
}

func newRules(log *slog.Logger, p *pins.Pins) *rules {
	r := &rules{log: log, pins: p}
	r.current.Store(&state{servers: map[string]serverState{}})
	return r
}

// now is the state of this moment.
func (r *rules) now() *state { return r.current.Load() }

// replace puts another state in force. One change is made at a time.
func (r *rules) replace(s *state) { r.current.Store(s) }

// config is the configuration in force; nil when there is none.
func (r *rules) config() *profiles.Config { return r.current.Load().config }

// time is the time that rules that end are decided by.
func (r *rules) time() time.Time { return r.clock.At(time.Now()) }

func (r *rules) server(name string) serverState { return r.current.Load().servers[name] }

// mark notes why the files are not what is in force; nil: they are. One change of the configuration is made at a time.
func (r *rules) mark(stale error) {
	now := *r.current.Load()
	now.stale = stale
	r.current.Store(&now)
}

// identities names which server is which.
func (s *state) identities() map[string]string {
	all := map[string]string{}
	for name, server := range s.servers {
		if server.identity != "" {
			all[name] = server.identity
		}
	}
	return all
}
