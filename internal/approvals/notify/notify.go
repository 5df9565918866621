// Package notify tells people that a question of a program waits for them: over a webhook, ntfy, Slack or what takes
// the same, and by mail. Package config/notifications reads where.
//
// A [Notifier] gets the questions of package approvals ([approvals.Desk.Opened]). Each destination has a lane, in which
// messages go out one after another: a question waits there until its delay is over, and is told of unless it is
// answered by then or somebody is there to answer it. What cannot go out yet becomes one message later.
//
// What a user may rely on:
//
//   - A message has a link to the page and no power: whoever gets it logs in there before they answer.
//   - A message has no arguments of calls and no words of programs, unless the configuration asks for them. Names and
//     words of servers, programs and clients are escaped for the medium that shows them.
//   - A destination that is slow or fails delays no question and decides none.
//   - Messages go to the configured addresses alone: redirects are not followed.
//   - For one question a destination gets one message, whatever number of processes share the store. If the process
//     dies before it sends the message, nobody is told; the question is still on the page.
package notify

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/settings"
)

// Options say what a Notifier works with.
type Options struct {
	Log *slog.Logger
	// Settings returns what the configuration says at the moment; nil tells nobody. It is called concurrently.
	Settings func() *process.Notifications
	Env      settings.Lookup // of secrets
	Version  string          // of codemode
}

// A Notifier tells people of waiting questions. Many goroutines may use its methods.
type Notifier struct {
	options Options
	client  *http.Client
	// of mail servers; nil is what the system has
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	roots *x509.CertPool

	page    atomic.Pointer[string] // of this process
	closing chan struct{}          // closed by Close
	working sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	waiting int // groups of questions that wait for their delay
	lanes   map[string]*lane
}

// A lane sends the messages of one destination, one at a time. While it cannot send, questions gather for the next one.
type lane struct {
	n    *Notifier
	name string

	mu      sync.Mutex
	pending []*approvals.Opening
	more    int // questions beyond mostPending
	running bool
	sent    []time.Time // the messages of the last period
}

// New returns a Notifier that sends nothing before it is told of questions.
func New(o Options) *Notifier {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxResponseHeaderBytes = 1, 64<<10
	return &Notifier{
		options: o, closing: make(chan struct{}), lanes: map[string]*lane{},
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // it could lead anywhere, with what is in the message
		}},
	}
}

const (
	// gatherTime is how long the first question waits for others of the same moment.
	gatherTime = time.Second
	// period is what the limit of messages is about.
	period = time.Minute
	// mostPending limits the questions that wait for one message. Beyond it they are counted.
	mostPending = 1000
	// sendTime limits one attempt to send a message.
	sendTime = 15 * time.Second
	// longestPause limits what a destination may ask for between two attempts.
	longestPause = 5 * time.Minute
)

// SetPage gives the address of this process's page. The configuration may name another one.
func (n *Notifier) SetPage(address string) { n.page.Store(&address) }

// pageOf returns the address of the page; "" if nobody knows one.
func (n *Notifier) pageOf(s *process.Notifications) string {
	if s.Page != "" {
		return s.Page
	}
	if own := n.page.Load(); own != nil {
		return *own
	}
	return ""
}

// Reaches reports whether people are told of a question with that profile and risk, and of a page on which they can
// answer it. They are expected to come: see [approvals.Options.Await].
func (n *Notifier) Reaches(profile string, risk call.Risk) bool {
	s := n.options.Settings()
	return s != nil && n.pageOf(s) != "" &&
		slices.ContainsFunc(s.Destinations, func(d *process.Destination) bool { return d.Wants(profile, risk) })
}

func (n *Notifier) isClosing() bool {
	select {
	case <-n.closing:
		return true
	default:
		return false
	}
}

func isOver(q *approvals.Opening) bool {
	select {
	case <-q.Over:
		return true
	default:
		return false
	}
}

// waits reports whether a question still waits for an answer, here or in a process that takes it over.
func waits(q *approvals.Opening) bool { return !isOver(q) || q.StaysOpen() }

// destination returns a destination as the configuration describes it now; nil if it is gone.
func (n *Notifier) destination(name string) (d *process.Destination, page string) {
	s := n.options.Settings()
	if s == nil {
		return nil, ""
	}
	for _, d := range s.Destinations {
		if d.Name == name {
			return d, n.pageOf(s)
		}
	}
	return nil, ""
}

// Close sends what is due for questions that stay open, once, and waits for it until ctx ends. Call it after the last
// question is over here.
func (n *Notifier) Close(ctx context.Context) {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		close(n.closing)
	}
	n.mu.Unlock()
	done := make(chan struct{})
	go func() { n.working.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	n.client.CloseIdleConnections()
}

// A failure is an attempt that did not reach the destination.
type failure struct {
	text  string
	final bool          // another attempt would fail too
	after time.Duration // how long the destination wants to be left alone; 0 if it does not say
}

func (f *failure) Error() string { return f.text }

func isFinal(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.final
}

func retryAfter(err error) time.Duration {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.after
	}
	return 0
}
