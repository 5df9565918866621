package inforce

import (
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/profiles"
)

// A State is the configuration in force at one moment. It never changes: a new configuration is a new State, so that no
// call sees new rules together with the old trust in servers.
type State struct {
	Config  *config.Config    // nil: nothing is configured, so nothing is allowed
	Servers map[string]Server // by name
	Scripts *os.Root          // the folder of saved programs; nil: there are none
	Stale   error             // why the files differ from the rules in force; nil: they do not
}

// Server is the configuration of one server.
type Server struct {
	Trusted  bool          // its answers do not taint a run
	Believed bool          // allow rules may rely on its annotations, whatever the files say
	Identity string        // differs from that of any other server that had the name; "" for those that are built in
	Timeout  time.Duration // of one call; zero if not configured
}

// Rules decide calls: they hold the configuration in force, the accepted tools, and the counts of questions.
type Rules struct {
	log      *slog.Logger
	current  atomic.Pointer[State]
	clock    profiles.Clock // the clock for rules with an end
	Pins     *catalog.Pins
	Asks     AskCounter
	Sessions sessionStore
}

// NewRules makes Rules without a configuration, which deny everything.
func NewRules(log *slog.Logger, p *catalog.Pins) *Rules {
	r := &Rules{log: log, Pins: p}
	r.current.Store(&State{Servers: map[string]Server{}})
	return r
}

// Now is the state of this moment.
func (r *Rules) Now() *State { return r.current.Load() }

// Replace puts another state in force. Callers make one change at a time.
func (r *Rules) Replace(s *State) { r.current.Store(s) }

// Config is the configuration in force; nil when there is none.
func (r *Rules) Config() *config.Config { return r.current.Load().Config }

// time is the clock for rules with an end.
func (r *Rules) time() time.Time { return r.clock.At(time.Now()) }

// Server returns the configuration in force of a server.
func (r *Rules) Server(name string) Server { return r.current.Load().Servers[name] }

// Mark records why the files differ from the configuration in force; nil: they do not. Callers make one change at a
// time.
func (r *Rules) Mark(stale error) {
	now := *r.current.Load()
	now.Stale = stale
	r.current.Store(&now)
}

// Identities are the identities of the servers, by name.
func (s *State) Identities() map[string]string {
	all := map[string]string{}
	for name, server := range s.Servers {
		if server.Identity != "" {
			all[name] = server.Identity
		}
	}
	return all
}

// An AskCounter counts the open questions of each owner, and those of the last minute. Questions that were asked
// together count as one.
type AskCounter struct {
	mu sync.Mutex
	of map[string]*asksOf
}

type asksOf struct {
	pending int
	times   []time.Time // of the last minute, oldest first
}

func (a *AskCounter) Begin(now time.Time, owner string) (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]*asksOf{}
	}
	one := a.of[owner]
	if one == nil {
		one = &asksOf{}
		a.of[owner] = one
	}
	one.pending++
	one.times = append(one.times, now)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		one.pending--
	}
}

func (a *AskCounter) Count(now time.Time, owner string) (lastMinute, pending int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.of[owner]
	if one == nil {
		return 0, 0
	}
	for len(one.times) > 0 && now.Sub(one.times[0]) >= time.Minute {
		one.times = one.times[1:]
	}
	if len(one.times) == 0 && one.pending == 0 {
		delete(a.of, owner)
	}
	return len(one.times), one.pending
}
