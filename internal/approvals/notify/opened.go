package notify

import (
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/config/process"
)

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
