package approvals

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Queue is a channel to people who see the open questions and answer them in any order. Each person takes a [Seat]: a
// second terminal, or a page. A question stays until it is answered or expires, whoever takes or leaves a seat.
type Queue struct {
	// May, if set, reports whether a person may see and answer the questions of a principal. Others do not see the
	// question, cannot answer it, and do not count as present for it. Nil lets everyone with a seat answer everything.
	// Set May before using the queue; it is called concurrently.
	May func(by, principal string) bool
	// Expects, if set, reports whether absent people are expected to come. Nil means that they are. Set Expects before
	// using the queue; it is called concurrently.
	Expects func() bool
	// Where, if set, says in a few words where people answer. It is shown to those who wait for an answer.
	Where string

	// Summon, if set, is called when a question arrives and nobody has a seat. It may notify people, and returns how
	// long they may take to come: the question waits for that time. Set Summon before using the queue; it is called
	// concurrently.
	Summon func() time.Duration
	// Outcome, if set, waits for the outcome of a call that was allowed here, and returns it in a few words; "" means
	// that the outcome is unknown. It is set and called like Summon.
	Outcome func(ctx context.Context, r *prompt.Request) string

	name   string
	strong bool

	mu         sync.Mutex
	items      list.List          // of *item, in order of arrival
	byID       map[string][]*item // these items
	seats      map[*Seat]bool
	remoteSeat bool          // somebody has a seat in another process, see Follow
	changed    chan struct{} // closed and replaced when somebody comes or goes
}

type item struct {
	place    *list.Element // in Queue.items
	request  *prompt.Request
	since    time.Time
	shown    time.Time // here, or in the asking process
	answered bool
	notice   bool                    // people answer it elsewhere
	reply    chan call.Answer        // holds the one answer
	remote   func(call.Answer) error // answers a question of another process; nil for those of this process
}

// NewQueue returns a queue with that name in answers and in the record.
func NewQueue(name string) *Queue {
	return &Queue{name: name, byID: map[string][]*item{}, seats: map[*Seat]bool{}, changed: make(chan struct{})}
}

// NewStrongQueue returns a queue that gives seats only to people with a proven identity, for example a page behind a
// login. It may approve calls of critical risk.
func NewStrongQueue(name string) *Queue {
	q := NewQueue(name)
	q.strong = true
	return q
}

func (q *Queue) Name() string { return q.name }

// Strong reports whether the queue comes from NewStrongQueue.
func (q *Queue) Strong() bool { return q.strong }

// Edits is true: a person with a seat sees the arguments and declares changes to them.
func (q *Queue) Edits() bool { return true }

func (q *Queue) Inquires() bool { return true }

func (q *Queue) Ask(ctx context.Context, s *Showing) (got call.Answer, err error) {
	r := s.Request
	it := q.show(r, false)
	// Return an accepted answer even if the question ended at that moment: it is then recorded as late.
	defer func() {
		q.remove(it)
		select {
		case got = <-it.reply:
			err = nil
		default:
		}
	}()
	var back func()
	var coming <-chan time.Time
	if q.Summon != nil && !q.attended(r) {
		if wait := q.Summon(); wait > 0 {
			coming = time.After(wait)
		}
	}
	for came := false; ; {
		q.mu.Lock()
		somebody, changed := q.remoteSeat || q.somebody(r), q.changed
		q.mu.Unlock()
		switch {
		case somebody:
			came = true // their leaving decides nothing
			if coming = nil; back != nil {
				back()
				back = nil
			}
		case back == nil && coming == nil && !came:
			back = s.absent()
		}
		select {
		case <-coming:
			coming = nil
		case got := <-it.reply:
			return got, nil
		case <-ctx.Done():
			return call.Answer{}, context.Cause(ctx)
		case <-changed:
		}
	}
}

// Notice shows a question until ctx ends. People with a seat cannot answer it here.
func (q *Queue) Notice(ctx context.Context, r *prompt.Request) {
	it := q.show(r, true)
	<-ctx.Done()
	q.remove(it)
}

// show begins to show a question of this process.
func (q *Queue) show(r *prompt.Request, notice bool) *item {
	it := &item{request: r, since: r.Time, shown: time.Now(), notice: notice, reply: make(chan call.Answer, 1)}
	if it.since.IsZero() { // otherwise simultaneous questions would lose the order of their calls
		it.since = it.shown
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(it)
	q.tell()
	return it
}

// add adds an item. The caller holds q.mu.
func (q *Queue) add(it *item) {
	it.place = q.items.PushBack(it)
	q.byID[it.request.ID] = append(q.byID[it.request.ID], it)
}

// drop removes an item. The caller holds q.mu.
func (q *Queue) drop(it *item) {
	id := it.request.ID
	q.items.Remove(it.place)
	q.byID[id] = slices.DeleteFunc(q.byID[id], func(x *item) bool { return x == it })
	if len(q.byID[id]) == 0 {
		delete(q.byID, id)
	}
}

// all iterates over the items in order of arrival. The caller holds q.mu, and may drop the current item.
func (q *Queue) all() iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for e := q.items.Front(); e != nil; {
			it := e.Value.(*item)
			e = e.Next()
			if !yield(it) {
				return
			}
		}
	}
}

func (q *Queue) remove(it *item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it.answered = true // an answer that arrives now is refused as too late
	q.drop(it)
	for s := range q.seats { // a seat may last as long as the process
		s.mu.Lock()
		delete(s.seen, it.request.ID)
		s.mu.Unlock()
	}
	q.tell()
}

// tell wakes the observers. The caller holds q.mu.
func (q *Queue) tell() {
	for s := range q.seats {
		select {
		case s.news <- struct{}{}:
		default: // the observer has not looked since the last time
		}
	}
}

// may reports whether the person in a seat may see a question, and answer it unless it is their own.
func (q *Queue) may(s *Seat, r *prompt.Request) bool {
	return !s.aside && (q.May == nil || q.May(s.by, r.Principal))
}

// somebody reports whether a person who may answer a question has a seat here. The caller holds q.mu.
func (q *Queue) somebody(r *prompt.Request) bool {
	for s := range q.seats {
		if q.may(s, r) && s.mayApprove(r) == nil {
			return true
		}
	}
	return false
}

func (q *Queue) attended(r *prompt.Request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.somebody(r)
}

// Present returns how many seats are taken here.
func (q *Queue) Present() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.seats)
}

// Sit takes a seat for a person. The record names them by.
func (q *Queue) Sit(by string) *Seat { return q.sit(&Seat{by: by}) }

// SitByToken takes a seat for a person who has shown only a token. An agent may have obtained the token, so the seat
// approves no critical call of its own principal. It approves one of another principal only where vouched reports that
// the person answers for that principal. A nil vouched reports false for all.
func (q *Queue) SitByToken(by string, vouched func(principal string) bool) *Seat {
	return q.sit(&Seat{by: by, token: true, vouched: vouched})
}

// Aside makes a seat for a person who may not answer. It sees no question, answers none, and its person never counts as
// present.
func (q *Queue) Aside(by string) *Seat {
	return q.sit(&Seat{by: by, aside: true})
}

func (q *Queue) sit(s *Seat) *Seat {
	s.queue, s.news, s.seen = q, make(chan struct{}, 1), map[string]bool{}
	s.news <- struct{}{}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !s.aside {
		q.seats[s] = true
		q.presence()
	}
	return s
}

// presence tells the askers that somebody came or went. The caller holds q.mu.
func (q *Queue) presence() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// A Seat is one person's place at a Queue. Many goroutines may use its methods, also after Leave. After Leave the seat
// no longer counts as a person who is present.
type Seat struct {
	queue *Queue
	by    string
	news  chan struct{}

	aside   bool // see Aside
	token   bool // see SitByToken
	vouched func(principal string) bool

	mu   sync.Mutex
	seen map[string]bool // questions that this seat has shown whole, by ID
}

// Leave gives up the seat. It may be called twice.
func (s *Seat) Leave() {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if s.queue.seats[s] {
		delete(s.queue.seats, s)
		s.queue.presence()
	}
}

// News receives an element when the queue has changed.
func (s *Seat) News() <-chan struct{} { return s.news }

// An Open is a question in a Queue. Do not change its request.
type Open struct {
	Request *prompt.Request
	Since   time.Time
	Own     bool  // the person in the seat asked for it, and the profile wants somebody else to answer
	Notice  error // why it cannot be answered here, for people; nil if it can
}

// Pending lists the waiting questions that the person in the seat may see, oldest first.
func (s *Seat) Pending() []Open {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	var all []Open
	for it := range s.queue.all() {
		twice := it.remote != nil && len(s.queue.byID[it.request.ID]) > 1 // this process has just begun to ask it, too
		if !it.answered && !twice && s.queue.may(s, it.request) {
			o := Open{Request: it.request, Since: it.since, Own: it.request.Own(s.by)}
			if it.notice {
				o.Notice = ErrElsewhere
			}
			all = append(all, o)
		}
	}
	return all
}

// Show returns whole questions, shown together: nothing cut and nothing masked. If a question of high risk is otherwise
// not shown whole, a person must call Show for it alone before they can approve it.
func (s *Seat) Show(o prompt.RenderOptions, ids ...string) (prompt.View, error) {
	var calls []*prompt.Request
	for _, id := range ids {
		it, err := s.find(id)
		if err != nil {
			return prompt.View{}, err
		}
		calls = append(calls, it.request)
	}
	o.Whole = true
	view := prompt.RenderAll(calls, o)
	if len(ids) == 1 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen[ids[0]] = true
	}
	return view, nil
}

// Reasons why an answer does not count. After all of them but ErrTaken the question stays open.
var (
	// ErrOwn says that the profile requires an answer from somebody other than the person who started the run.
	ErrOwn = errors.New("the profile wants somebody else to answer than who asked")
	// ErrOwnCritical says that a token does not approve a call of critical risk of its own principal: the program that
	// made the call may have the token.
	ErrOwnCritical = errors.New("a token approves no call of critical risk of its own principal: log in to the page")
	// ErrNotVouched says that a token does not approve a call of critical risk of this principal.
	ErrNotVouched = errors.New("a token approves a call of critical risk only where the configuration says that " +
		"its principal answers for who asks: log in to the page")

	// ErrElsewhere says that this place only shows the question.
	ErrElsewhere = errors.New("a call of critical risk is answered only where it is known who answers: on the page " +
		"(codemode console opens it), or in the terminal that runs the program")

	errNotTheirs   = errors.New("nobody but the principal itself connects its account")
	errOtherDigest = errors.New("the digest is not that of the open question")
	errCode        = errors.New("a yes to a call of this risk needs the code of the question")
	errWrongCode   = errors.New("the code is wrong: type the one that the question shows")
	errTooFast     = errors.New("too fast")
	errUnseen      = errors.New("a call of this risk has to be seen whole before it is allowed")
)

// Request returns an open question that the person in the seat may answer.
func (s *Seat) Request(id string) (*prompt.Request, error) {
	it, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return it.request, nil
}

// find returns an open question. It does not find a question that this person may not answer.
func (s *Seat) find(id string) (*item, error) {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, it := range q.byID[id] {
		if id != "" && !it.answered && q.may(s, it.request) {
			return it, nil
		}
	}
	return nil, fmt.Errorf("the question is not open any more: %w", ErrTaken)
}

// Answer answers the question with that ID, once. The error is for the person: somebody else was faster, or changed
// arguments are invalid. The digest and, for a high risk, the code must be those of the question.
func (s *Seat) Answer(id, digest, code string, r call.Answer) error {
	it, err := s.find(id)
	if err != nil {
		return err
	}
	if it.notice {
		return ErrElsewhere
	}
	if r.Err != nil { // it would not count, although the person would be told that it is accepted
		return r.Err
	}
	if digest != it.request.Digest {
		return errOtherDigest
	}
	if it.request.Own(s.by) {
		return ErrOwn
	}
	if r.Allowed {
		if err := s.mayAllow(it.request, code, &r); err != nil {
			return err
		}
	}
	if took, least := time.Since(it.shown), it.request.MinHuman; took < least {
		return fmt.Errorf("%w: the profile takes an answer within %v of the question for a program's: read it, and answer again", errTooFast, least)
	}
	r.By, r.Checked = s.by, true
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if it.answered {
		return fmt.Errorf("somebody else was faster: %w", ErrTaken)
	}
	if it.remote != nil {
		return s.answerRemote(it, r)
	}
	it.answered = true
	it.reply <- r
	s.queue.tell()
	return nil
}

// answerRemote answers a question of another process. The caller holds queue.mu, which answerRemote releases meanwhile.
func (s *Seat) answerRemote(it *item, r call.Answer) error {
	s.queue.mu.Unlock()
	err := it.remote(r)
	s.queue.mu.Lock()
	if err == nil || errors.Is(err, ErrTaken) {
		it.answered = true
		s.queue.tell()
	}
	return err
}

// mayApprove returns an error if the person in the seat has no way to approve a call. It is the one place that judges
// who approves whose calls.
func (s *Seat) mayApprove(r *prompt.Request) error {
	switch {
	case r.Own(s.by): // it takes no answer of theirs at all
		return ErrOwn
	case r.Kind() == "account" && (s.token || s.by != r.Principal):
		return errNotTheirs
	case !s.token || r.Inquiry != nil || !r.Risk.Grave() || r.Risk == call.High:
		return nil
	case r.Principal == "" || r.Principal == s.by:
		return ErrOwnCritical
	case s.vouched == nil || !s.vouched(r.Principal):
		return ErrNotVouched
	}
	return nil
}

func (s *Seat) mayAllow(r *prompt.Request, code string, reply *call.Answer) error {
	if r.Inquiry != nil {
		return r.Inquiry.CheckAnswer(reply)
	}
	if err := s.mayApprove(r); err != nil {
		return err
	}
	if r.Risk.Grave() {
		switch code = strings.TrimSpace(code); {
		case code == "" || r.Code == "":
			return errCode
		case code != r.Code:
			return errWrongCode
		}
		s.mu.Lock()
		seen := s.seen[r.ID]
		s.mu.Unlock()
		if !seen && !prompt.Render(r, prompt.RenderOptions{}).Complete {
			return errUnseen
		}
	}
	if reply.Scope != "" && reply.Scope != call.Once {
		if _, err := r.Draft(*reply, time.Now()); err != nil {
			return err
		}
	}
	if reply.Args != nil {
		if r.Edit == nil {
			return errors.New("the profile does not let people change the arguments")
		}
		if _, err := strictjson.Parse(reply.Args, strictjson.Options{}); err != nil {
			return fmt.Errorf("the arguments have no canonical form: %w", err)
		}
		return r.Edit(reply.Args)
	}
	return nil
}
