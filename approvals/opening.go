package approvals

import (
	"slices"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// An Opening is a new question that somebody may answer. Do not change its request.
type Opening struct {
	Request *prompt.Request
	// Over is closed when this process no longer asks the question.
	Over <-chan struct{}

	ask    *ask
	queues []*Queue // that can answer it
}

// OnPage reports whether people with a proven identity may answer the question elsewhere, on a page: at a queue of
// [NewStrongQueue].
func (o *Opening) OnPage() bool { return slices.ContainsFunc(o.queues, (*Queue).Strong) }

// Attended reports whether somebody has a seat at a [Queue] who may answer the question, in this process or in another
// one.
func (o *Opening) Attended() bool {
	for _, q := range o.queues {
		if q.sees(o.Request) {
			return true
		}
	}
	return false
}

// StaysOpen reports, when the question is over here, whether it stays open for a process that takes over its run.
func (o *Opening) StaysOpen() bool { return o.ask != nil && o.ask.leaving() }

// sees reports whether somebody has a seat for a question, here or in another process.
func (q *Queue) sees(r *prompt.Request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.remoteSeat || q.somebody(r)
}

// opened tells of the questions that are new.
func (d *Desk) opened(asks []*ask, channels []Channel, from []source) {
	if d.Opened == nil {
		return
	}
	var all []Opening
	for _, a := range asks {
		if a.failed != nil || a.refused || a.again {
			continue
		}
		o := Opening{Request: a.request, Over: a.told, ask: a}
		for n, c := range channels {
			if q, ok := c.(*Queue); ok && from[n].mayAnswer(a.request.Risk) {
				o.queues = append(o.queues, q)
			}
		}
		if a.waiting > 0 {
			all = append(all, o)
		}
	}
	if len(all) > 0 {
		d.Opened(all)
	}
}
