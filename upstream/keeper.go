package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/upstream/login"
)

const (
	startTime = time.Minute            // default of [Server.StartTimeout]
	listTime  = 30 * time.Second       // for reading the tool list again
	quietTime = 50 * time.Millisecond  // after the first of several changes, to take them together
	listPause = 500 * time.Millisecond // at least, between two readings of the list
	mostPause = 10 * time.Second       // likewise, if there was nothing new
	retryList = 10 * time.Second       // after a reading that failed
	relist    = 5 * time.Minute        // over HTTP, where a notice of a change can get lost
	waitPause = time.Second            // calls wait for a restart that is at most this far away
)

// A keeper keeps one server connected, from [Manager.Set] until it is removed.
type keeper struct {
	server  Server
	account *login.Account // our login there; nil if it needs none
	host    *host
	log     *slog.Logger
	told    func(tools []Tool, instructions string)

	secrets, keys []string        // of the server's configuration; see [Server.secrets]
	known         *secrets.Values // the keys

	stop  context.CancelFunc // these two are the manager's, under its lock
	begun bool
	done  chan struct{} // closed when it is over, and nothing of the server is left
	first chan struct{} // closed when the tools were listed once, or the first start failed
	once  sync.Once
	said  string        // what the log was told last; touched by run only
	wake  chan struct{} // receives when somebody needs the server now; capacity 1

	mu       sync.Mutex
	state    State
	since    time.Time
	err      error
	link     link          // nil unless ready
	moved    chan struct{} // closed and replaced when state or link change
	tools    []Tool
	notes    []string
	listed   bool // the tools were listed at least once
	stale    bool
	listErr  error // why the list could not be read again
	callErr  error // how the last call ended that got no answer
	restarts int
	about    linkInfo
}

func newKeeper(s Server, h *host, log *slog.Logger) *keeper {
	k := &keeper{
		server: s, account: h.account(&s), host: h, log: log.With("server", s.Name),
		stop: func() {}, done: make(chan struct{}), first: make(chan struct{}), wake: make(chan struct{}, 1),
		state: Stopped, since: time.Now(), moved: make(chan struct{}),
	}
	k.secrets, k.keys = s.secrets()
	k.known = secrets.Known(k.keys, mask)
	switch {
	case s.Disabled:
		k.state = Disabled
	case s.Problem != "":
		k.state, k.err = Failed, errors.New(s.Problem)
	default:
		return k
	}
	k.settled()
	close(k.done)
	return k
}

// idle reports whether there is nothing to start.
func (k *keeper) idle() bool { return k.server.Disabled || k.server.Problem != "" }

func (k *keeper) settled() { k.once.Do(func() { close(k.first) }) }

// run starts the server and keeps it going until ctx ends. polite ends when
// there is no time left to be polite to it.
func (k *keeper) run(ctx, polite context.Context) {
	defer close(k.done)
	defer k.settled()
	defer k.move(Stopped, nil, nil)
	var pause backoff
	for {
		began := time.Now()
		l, err := k.start(ctx)
		if err == nil {
			began = time.Now()
			k.move(Ready, l, nil)
			k.settled()
			k.serve(ctx, l)
			k.ending(l)
			l.close(polite)
			k.note(l)
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
			state = Starting // as good as there
		}
		k.move(state, nil, err)
		k.settled()
		k.tell("upstream is down", "error", k.mask(err), "again_in", wait.Round(10*time.Millisecond))
		if !k.pause(ctx, began, wait) {
			return
		}
		k.mu.Lock()
		k.restarts++
		k.mu.Unlock()
	}
}

// Somebody who needs a server that is down has it tried again after a quarter of
// the time, but not sooner than this after the last time. What fails again and again
// costs its start each time, so the longer it has been failing the longer that is.
const hurryLeast = 2 * time.Second

// pause waits before the next start: as long as it should, or less if somebody
// needs the server.
func (k *keeper) pause(ctx context.Context, began time.Time, wait time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	case <-k.wake:
	}
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	case <-time.After(time.Until(began.Add(max(wait/4, hurryLeast)))):
	}
	return true
}

// start opens a connection and lists the tools, within the server's time to start.
func (k *keeper) start(ctx context.Context) (link, error) {
	limit := k.server.StartTimeout
	if limit <= 0 {
		limit = startTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w, %v", errStart, limit))
	defer cancel()
	l, err := k.host.open(ctx, &k.server)
	if err != nil {
		return nil, err
	}
	list, err := l.list(ctx)
	if err != nil {
		err = inner(err)
		done, hurry := context.WithCancel(context.Background())
		hurry()
		l.close(done)
		k.note(l)
		return nil, fmt.Errorf("reading its tool list: %w", err)
	}
	k.note(l)
	k.take(ctx, list, l.info().instructions)
	return l, nil
}

// inner leaves out of an error the name of the server, which everybody here knows.
func inner(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Err
	}
	return err
}

// tell warns about what is new, and notes what is the same again: a server that
// is down for days says so once.
func (k *keeper) tell(message, key string, err error, more ...any) {
	level := slog.LevelWarn
	if text := message + err.Error(); text == k.said {
		level = slog.LevelDebug
	} else {
		k.said = text
	}
	k.log.Log(context.Background(), level, message, append([]any{key, err}, more...)...)
}

// serve follows the tool list until the connection or ctx ends.
func (k *keeper) serve(ctx context.Context, l link) {
	var again <-chan time.Time // when to read the list
	last := time.Now()         // when it was read
	least := listPause         // between two readings
	if k.server.Transport == HTTP || k.server.Transport == SSE {
		again = time.After(relist)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.ended():
			return
		case <-l.changed():
			again = time.After(max(quietTime, time.Until(last.Add(least))))
			select { // what changes until then is seen then
			case <-ctx.Done():
				return
			case <-l.ended():
				return
			case <-again:
			}
			select {
			case <-l.changed():
			default:
			}
		case <-again:
		}
		listCtx, cancel := context.WithTimeout(ctx, listTime)
		list, err := l.list(listCtx)
		cancel()
		last = time.Now()
		again = nil
		if k.server.Transport == HTTP || k.server.Transport == SSE {
			again = time.After(relist)
		}
		if err != nil {
			err = inner(err)
			if ctx.Err() == nil {
				k.tell("upstream does not list its tools; the last list stands", "error", k.mask(err))
			}
			k.mu.Lock()
			k.stale, k.listErr = true, err
			k.mu.Unlock()
			again = time.After(retryList)
			continue
		}
		if k.take(ctx, list, l.info().instructions) {
			least = listPause
		} else {
			least = min(2*least, mostPause) // it cries wolf
		}
	}
}

// take makes the list the current one, and tells it if it is another one.
func (k *keeper) take(ctx context.Context, l *toolList, instructions string) (changed bool) {
	k.mu.Lock()
	same := k.listed && slices.EqualFunc(k.tools, l.tools, sameTool) && k.about.instructions == instructions
	before := k.notes
	k.tools, k.notes, k.listed, k.stale = l.tools, l.notes, true, false
	k.about.instructions = instructions
	k.mu.Unlock()
	for _, n := range l.notes {
		if !slices.Contains(before, n) {
			k.log.Warn("upstream's tool list", "note", n)
		}
	}
	if !same && ctx.Err() == nil {
		k.told(slices.Clone(l.tools), instructions)
	}
	return !same
}

// note keeps what a connection has to tell beyond its end.
func (k *keeper) note(l link) {
	about := l.info()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.listed {
		about.instructions = "" // not told yet
	} else {
		about.instructions = k.about.instructions
	}
	k.about = about
}

// move changes the state and lets those who wait for that look again.
func (k *keeper) move(state State, l link, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state != state {
		k.since = time.Now()
	}
	k.state, k.link, k.err = state, l, err
	if state != Ready {
		k.stale = k.listed
	}
	close(k.moved)
	k.moved = make(chan struct{})
}

// ending keeps new calls off a connection that is over; they wait for the next.
func (k *keeper) ending(link) { k.move(Starting, nil, nil) }
