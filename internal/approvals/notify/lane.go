package notify

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/visible"
)

// pauses are between the attempts to send a message.
var pauses = []time.Duration{2 * time.Second, 10 * time.Second, 30 * time.Second, 2 * time.Minute}

func (l *lane) add(questions []*approvals.Opening) {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := max(0, mostPending-len(l.pending))
	if len(questions) > room {
		l.more += len(questions) - room
		questions = questions[:room]
	}
	l.pending = append(l.pending, questions...)
	if !l.running {
		l.running = true
		l.n.working.Go(l.run)
	}
}

// run sends messages until nothing is left to tell.
func (l *lane) run() {
	for {
		l.sleep(gatherTime)
		d, page := l.n.destination(l.name)
		if d != nil {
			l.sleep(l.pause(d.PerMinute))
		}
		questions, more := l.take()
		if len(questions) == 0 {
			return
		}
		if d == nil {
			continue // the configuration no longer has it
		}
		l.deliver(newMessage(questions, more, d.Arguments, page))
	}
}

// take returns the questions that still wait. Without any, the lane stops.
func (l *lane) take() (questions []*approvals.Opening, more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	questions = slices.DeleteFunc(l.pending, func(q *approvals.Opening) bool { return !waits(q) })
	more = l.more
	l.pending, l.more = nil, 0
	l.running = len(questions) > 0
	return questions, more
}

// pause returns how long to wait so that a period has at most that many messages.
func (l *lane) pause(most int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.sent = slices.DeleteFunc(l.sent, func(at time.Time) bool { return now.Sub(at) >= period })
	if len(l.sent) < most {
		return 0
	}
	return period - now.Sub(l.sent[len(l.sent)-most])
}

// sleep waits, and not at all while the process closes.
func (l *lane) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.n.closing:
	}
}

// deliver sends a message, again after a failure, while one of its questions waits.
func (l *lane) deliver(m *message) {
	l.mu.Lock()
	l.sent = append(l.sent, time.Now())
	l.mu.Unlock()
	log := l.n.options.Log.With("destination", l.name, "message", m.id)
	for attempt := 0; ; attempt++ {
		d, _ := l.n.destination(l.name)
		if d == nil {
			return
		}
		err := l.n.attempt(d, m)
		if err == nil {
			log.Debug("people were notified of waiting questions", "questions", len(m.questions)+m.more)
			return
		}
		final := attempt == len(pauses) || l.n.isClosing() || isFinal(err)
		if final {
			log.Error("people could not be notified of a waiting question; it is on the page", "attempts", attempt+1,
				"error", err)
			return
		}
		log.Warn("notifying people failed; it is tried again", "error", err)
		l.sleep(max(pauses[attempt], min(retryAfter(err), longestPause)))
		if !slices.ContainsFunc(m.openings, waits) {
			return
		}
	}
}

// attempt sends a message once. The error has no secret.
func (n *Notifier) attempt(d *process.Destination, m *message) error {
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	t, err := d.Target(n.options.Env)
	if err != nil {
		return err // it says what is missing, and where the file refers to it
	}
	if err = n.send(ctx, t, m); err == nil {
		return nil
	}
	text := visible.Short(t.Hide(secrets.HideAddress(err).Error()), 300)
	failed, _ := errors.AsType[*failure](err)
	if failed == nil {
		failed = &failure{}
	}
	return &failure{text: text, final: failed.final, after: failed.after}
}

func (n *Notifier) send(ctx context.Context, t *process.Target, m *message) error {
	switch t.Kind {
	case process.Webhook:
		return n.webhook(ctx, t, m)
	case process.Ntfy:
		return n.ntfy(ctx, t, m)
	case process.Slack:
		return n.slack(ctx, t, m)
	default:
		return n.mail(ctx, t, m)
	}
}

// A Tested is the outcome of a test message.
type Tested struct {
	Destination string
	Kind        process.DestinationKind
	Err         error // nil if the destination took it; has no secret
}

// Test sends a test message to each destination, once, and returns what became of it.
func (n *Notifier) Test() []Tested {
	s := n.options.Settings()
	if s == nil {
		return nil
	}
	all := make([]Tested, len(s.Destinations))
	var testing sync.WaitGroup
	for i, d := range s.Destinations {
		testing.Go(func() { all[i] = Tested{d.Name, d.Kind, n.attempt(d, testMessage(n.pageOf(s)))} })
	}
	testing.Wait()
	return all
}
