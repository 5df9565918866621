package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

const (
	startTime   = time.Minute            // default of [Server.StartTimeout]
	listTime    = 30 * time.Second       // limit of reading the tool list again
	quietTime   = 50 * time.Millisecond  // from the notice of a change to the reading: more notices may follow
	listPause   = 500 * time.Millisecond // at least, between two readings of the list
	listPauseUp = 10 * time.Second       // at most, after readings that found no change
	listRetry   = 10 * time.Second       // after a reading that failed
	relist      = 5 * time.Minute        // over HTTP, where a notice can get lost
	waitPause   = time.Second            // calls wait for a restart that is at most this far away
)

// A supervisor keeps one server connected, from [Manager.Set] until the server is removed.
type supervisor struct {
	server  Server
	account *login.Account // our login there; nil if it needs none
	host    *host
	log     *slog.Logger

	// personal are the connections that make calls, if each principal has its own: this one then lists the tools for the
	// catalogue, and nothing else. Nil: this one makes the calls.
	personal *personal
	// shown is the tool as the catalogue has it. Nil on the connection that lists for the catalogue.
	shown func(tool string) (Tool, bool)

	toolsChanged  func(tools []Tool, instructions string)
	offersChanged func()

	secrets, keys []string        // of the server's configuration; see [Server.secrets]
	known         *secrets.Values // the keys

	stop    context.CancelFunc // guarded by the manager's lock
	started bool               // likewise

	done        chan struct{} // closed after the end of run, when nothing of the server is left
	tried       chan struct{} // closed after the first listing of the tools, or the failure of the first start
	onceTried   sync.Once
	retry       chan struct{} // receives when somebody needs the server now; capacity 1
	anew        chan struct{} // receives when a person wants a new connection; capacity 1
	lastWarning string        // in the log; used by run only

	mu       sync.Mutex
	state    State
	since    time.Time
	err      error
	link     link          // nil unless ready
	changed  chan struct{} // closed and replaced when state or link change
	tools    []Tool
	notes    []string
	listed   bool // the tools were listed at least once
	stale    bool
	listErr  error // why the list could not be read again
	callErr  error // of the last call, if it got no answer
	restarts int
	latency  time.Duration // of the last answered call
	info     Status        // the last connection's part
	offers   map[Kind]offered
	news     int // notices that offers are old
}

func newSupervisor(s Server, h *host, log *slog.Logger) *supervisor {
	sup := &supervisor{
		server: s, account: h.account(&s), host: h, log: log.With("server", s.Name),
		offersChanged: func() {}, offers: map[Kind]offered{},
		stop: func() {}, done: make(chan struct{}), tried: make(chan struct{}), retry: make(chan struct{}, 1), anew: make(chan struct{}, 1),
		state: Stopped, since: time.Now(), changed: make(chan struct{}),
	}
	sup.secrets, sup.keys = s.secrets()
	sup.known = secrets.Known(sup.keys, mask)
	switch {
	case s.Disabled:
		sup.state = Disabled
	case s.Problem != "":
		sup.state, sup.err = Failed, errors.New(s.Problem)
	default:
		return sup
	}
	sup.closeTried()
	close(sup.done)
	return sup
}

// neverStarts reports whether the configuration gives nothing to start.
func (sup *supervisor) neverStarts() bool { return sup.server.Disabled || sup.server.Problem != "" }

func (sup *supervisor) closeTried() { sup.onceTried.Do(func() { close(sup.tried) }) }

// run starts the server and restarts it until ctx ends. When grace ends, the
// server is killed instead of asked to stop.
func (sup *supervisor) run(ctx, grace context.Context) {
	defer close(sup.done)
	var draining sync.WaitGroup
	defer draining.Wait()
	if sup.personal != nil {
		defer sup.personal.running.Wait()
	}
	defer sup.closeTried()
	defer sup.setState(Stopped, nil, nil)
	var pause backoff
	for {
		began := time.Now()
		l, err := sup.open(ctx)
		if err == nil {
			began = time.Now()
			select {
			case <-sup.anew: // this is a new one
			default:
			}
			sup.setState(Ready, l, nil)
			sup.closeTried()
			sup.hasNews()
			wanted := sup.serve(ctx, l)
			sup.setState(Starting, nil, nil) // new calls wait for the next connection
			if l.forgotten() && ctx.Err() == nil {
				sup.log.Info("the server has forgotten the session; a new one begins", "error", sup.mask(l.why(), nil))
				sup.saveInfo(l)
				draining.Go(func() {
					l.drain(ctx)
					l.close(grace)
				})
				sup.restarted()
				continue
			}
			l.close(grace)
			sup.saveInfo(l)
			if wanted && ctx.Err() == nil {
				pause.reset()
				sup.restarted()
				continue
			}
			err = l.why()
			if time.Since(began) > steadyTime {
				pause.reset()
			}
		}
		if ctx.Err() != nil {
			return
		}
		wait := pause.next()
		state := Failed
		if l != nil && wait < waitPause {
			state = Starting // calls wait for it
		}
		sup.setState(state, nil, err)
		sup.closeTried()
		sup.warn("upstream is down", "error", sup.mask(err, nil), "again_in", wait.Round(10*time.Millisecond))
		if !sup.wait(ctx, began, wait) {
			return
		}
		sup.restarted()
	}
}

// hasNews says that what the server offers beside tools may have changed.
func (sup *supervisor) hasNews() {
	sup.mu.Lock()
	sup.news++
	heard := len(sup.offers) > 0 || sup.restarts > 0 // somebody may have asked for them
	sup.mu.Unlock()
	if heard {
		sup.offersChanged()
	}
}

func (sup *supervisor) restarted() {
	sup.mu.Lock()
	defer sup.mu.Unlock()
	sup.restarts++
}

// A call to a server that is down shortens the wait for the next start to a quarter, but not below retryLeast after the
// last start: each start has a cost, so the wait grows with the time that a server has been failing.
const retryLeast = 2 * time.Second

// wait waits for the next start. It returns false when ctx ends.
func (sup *supervisor) wait(ctx context.Context, began time.Time, pause time.Duration) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	case <-sup.anew:
		return true
	case <-sup.retry:
	}
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	case <-sup.anew:
	case <-time.After(time.Until(began.Add(max(pause/4, retryLeast)))):
	}
	return true
}

// open opens a connection and lists the tools, within the server's time to start.
func (sup *supervisor) open(ctx context.Context) (link, error) {
	limit := sup.server.StartTimeout
	if limit <= 0 {
		limit = startTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w, %v", errStart, limit))
	defer cancel()
	l, err := sup.host.open(ctx, &sup.server, sup.account)
	if err != nil {
		return nil, err
	}
	list, err := l.list(ctx)
	if err != nil {
		err = inner(err)
		noGrace, cancel := context.WithCancel(context.Background())
		cancel()
		l.close(noGrace)
		sup.saveInfo(l)
		return nil, fmt.Errorf("reading its tool list: %w", err)
	}
	sup.saveInfo(l)
	sup.setTools(ctx, list, l.info().Instructions)
	return l, nil
}

// inner removes the name of the server from an error: all errors here are about it.
func inner(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Err
	}
	return err
}

// warn logs a warning, but a repetition of the last one at debug level: a server that is down for days appears once.
func (sup *supervisor) warn(message, key string, err error, more ...any) {
	level := slog.LevelWarn
	if text := message + err.Error(); text == sup.lastWarning {
		level = slog.LevelDebug
	} else {
		sup.lastWarning = text
	}
	sup.log.Log(context.Background(), level, message, append([]any{key, err}, more...)...)
}

// serve reads the tool list again when it changes, until the connection or ctx ends, or a person wants a new connection.
func (sup *supervisor) serve(ctx context.Context, l link) (wanted bool) {
	var again <-chan time.Time // when to read the list
	last := time.Now()         // when it was read
	least := listPause         // between two readings
	var news <-chan time.Time  // when to tell that other things have changed: more notices may follow
	if sup.mayMissNotices() {
		again = time.After(relist)
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-l.ended():
			return false
		case <-sup.anew:
			return true
		case <-l.news():
			if news == nil {
				news = time.After(listPause)
			}
			continue
		case <-news:
			news = nil
			sup.hasNews()
			continue
		case <-l.changed():
			if !quiet(ctx, l, max(quietTime, time.Until(last.Add(least)))) {
				return false
			}
		case <-again:
		}
		listCtx, cancel := context.WithTimeout(ctx, listTime)
		list, err := l.list(listCtx)
		cancel()
		last = time.Now()
		again = nil
		if sup.mayMissNotices() {
			again = time.After(relist)
		}
		if err != nil {
			err = inner(err)
			if ctx.Err() == nil {
				sup.warn("upstream does not list its tools; the last list stands", "error", sup.mask(err, nil))
			}
			sup.mu.Lock()
			sup.stale, sup.listErr = true, err
			sup.mu.Unlock()
			again = time.After(listRetry)
			continue
		}
		if sup.setTools(ctx, list, l.info().Instructions) {
			least = listPause
		} else {
			least = min(2*least, listPauseUp) // a false alarm
		}
	}
}

// mayMissNotices reports whether the list is read again now and then.
func (sup *supervisor) mayMissNotices() bool {
	return sup.server.Transport == HTTP || sup.server.Transport == SSE || sup.server.Transport == OpenAPI
}

// quiet waits until the list is to be read: one reading covers all changes until then. It returns false at the end of
// the connection or of ctx.
func quiet(ctx context.Context, l link, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-l.ended():
		return false
	case <-time.After(pause):
	}
	select {
	case <-l.changed():
	default:
	}
	return true
}

// setTools makes the list the current one, and reports a change to toolsChanged.
func (sup *supervisor) setTools(ctx context.Context, l *toolList, instructions string) (changed bool) {
	sup.mu.Lock()
	same := sup.listed && slices.EqualFunc(sup.tools, l.tools, sameTool) && sup.info.Instructions == instructions
	before := sup.notes
	sup.tools, sup.notes, sup.listed, sup.stale = l.tools, l.notes, true, false
	sup.info.Instructions = instructions
	sup.mu.Unlock()
	for _, n := range l.notes {
		if !slices.Contains(before, n) {
			sup.log.Warn("the tool list of a server has a problem", "note", n)
		}
	}
	if !same && ctx.Err() == nil {
		sup.toolsChanged(slices.Clone(l.tools), instructions)
	}
	return !same
}

func (sup *supervisor) saveInfo(l link) {
	sup.mu.Lock()
	defer sup.mu.Unlock()
	sup.setInfo(l)
}

// setInfo stores a connection's information about its server. [Manager.Status] shows it also after the connection's
// end. The caller holds sup.mu.
func (sup *supervisor) setInfo(l link) {
	info := l.info()
	info.Instructions = sup.info.Instructions // setTools reports them first
	sup.info = info
}

// setState changes the state and wakes the goroutines that wait for a change.
func (sup *supervisor) setState(state State, l link, err error) {
	sup.mu.Lock()
	defer sup.mu.Unlock()
	if sup.state != state {
		sup.since = time.Now()
	}
	sup.state, sup.link, sup.err = state, l, err
	if state != Ready {
		sup.stale = sup.listed
	}
	close(sup.changed)
	sup.changed = make(chan struct{})
}

// masked returns a text that answers a request with those arguments without the server's secrets and our login.
func (sup *supervisor) masked(text string, args json.RawMessage) string {
	return hide(text, args, slices.Concat(sup.secrets, sup.account.Secrets())...)
}

// mask returns err, or one with a masked text.
func (sup *supervisor) mask(err error, args json.RawMessage) error {
	if err == nil {
		return nil
	}
	text := sup.masked(err.Error(), args)
	if text == err.Error() {
		return err
	}
	return &maskedError{text, err}
}

// maskResult masks in a result the values that give access to the server: a tool that prints its environment, or its
// request, would expose them to programs.
func (sup *supervisor) maskResult(r *Result, args json.RawMessage) {
	if r == nil {
		return
	}
	known, all := sup.known, sup.keys
	if logins := sup.account.Secrets(); len(logins) > 0 {
		all = slices.Concat(sup.keys, logins)
		known = secrets.Known(all, mask)
	}
	clean := func(raw json.RawMessage) json.RawMessage {
		if known.Hide(string(raw)) != string(raw) {
			return json.RawMessage(hide(string(raw), args, all...))
		}
		return raw
	}
	r.Structured, r.Content, r.Value = clean(r.Structured), clean(r.Content), clean(r.Value)
	for id, block := range r.Blocks {
		r.Blocks[id] = clean(block)
	}
}
