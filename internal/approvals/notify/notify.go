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
	"log/slog"
	"net"
	"net/http"
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
	if s == nil || n.pageOf(s) == "" {
		return false
	}
	for _, d := range s.Destinations {
		if d.Wants(profile, risk) {
			return true
		}
	}
	return false
}

const (
	// seatCheck is how often to look whether the people who were there have left.
	seatCheck = 5 * time.Second
	// mostWaiting limits the groups of questions that wait for their delay. Beyond it, questions are on the page alone.
	mostWaiting = 10_000
)

// Opened tells the destinations of the questions of one moment. It does not block.
func (n *Notifier) Opened(all []approvals.Opening) {
	s := n.options.Settings()
	if s == nil {
		return
	}
	for _, d := range s.Destinations {
		var wanted []*approvals.Opening
		for i := range all {
			if d.Wants(all[i].Request.Profile, all[i].Request.Risk) {
				wanted = append(wanted, &all[i])
			}
		}
		if len(wanted) > 0 {
			n.begin(d, wanted)
		}
	}
}

func (n *Notifier) begin(d *process.Destination, questions []*approvals.Opening) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || n.waiting == mostWaiting {
		return
	}
	n.waiting++
	n.working.Go(func() {
		n.await(d, questions)
		n.mu.Lock()
		defer n.mu.Unlock()
		n.waiting--
	})
}

// await passes questions to the lane of a destination when their delay is over and nobody is there to answer them.
func (n *Notifier) await(d *process.Destination, questions []*approvals.Opening) {
	timer := time.NewTimer(d.Delay)
	defer timer.Stop()
	for {
		n.untilOver(questions, timer.C)
		var due, attended []*approvals.Opening
		for _, q := range questions {
			switch {
			case !waits(q):
			case !isOver(q) && !d.Seated && q.Attended():
				attended = append(attended, q)
			default: // also one that another process takes over: that one tells nobody
				due = append(due, q)
			}
		}
		if len(due) > 0 {
			n.lane(d.Name).add(due)
		}
		if questions = attended; len(questions) == 0 || n.isClosing() {
			return
		}
		timer.Reset(seatCheck)
	}
}

// untilOver waits until all questions are over, or until due.
func (n *Notifier) untilOver(questions []*approvals.Opening, due <-chan time.Time) {
	for _, q := range questions {
		select {
		case <-q.Over:
		case <-due:
			return
		case <-n.closing:
			return
		}
	}
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

// lane returns the lane of a destination. Its name identifies it, also after a change of the configuration.
func (n *Notifier) lane(name string) *lane {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.lanes[name]
	if l == nil {
		l = &lane{n: n, name: name}
		n.lanes[name] = l
	}
	return l
}

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
