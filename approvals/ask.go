package approvals

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// An ask is one question while it is open.
type ask struct {
	desk    *Desk
	request *prompt.Request
	options Options
	start   time.Time
	asked   time.Time  // when it was put first, which was in another process if that is earlier than start
	replies chan reply // holds one of each channel, so that sending never blocks
	moves   chan move
	inner   context.Context // of channels that show this question alone
	stop    context.CancelCauseFunc
	round   *round        // what it was put with
	told    chan struct{} // closed when whoever asked has been told the answer

	// Touched by AskAll and then by decide.
	waiting int // channels that have not answered
	tried   []Try
	digest  string
	expires time.Time
	failed  error  // it cannot be asked
	refused bool   // it has its answer, a no
	over    func() // says that the yes which decided has been told

	mu    sync.Mutex
	ended bool
}

// A round is the questions that are put at the same moment. What people allow of them takes effect before what they refuse
// later, or with the same form: a refusal may end the program that asked.
type round struct {
	asks []*ask

	mu   sync.Mutex
	open int           // yeses that were given, and not told yet
	none chan struct{} // closed when open is 0
}

func newRound() *round {
	r := &round{none: make(chan struct{})}
	close(r.none)
	return r
}

// came counts a yes; over says that it was told, or does not count.
func (r *round) came() (over func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open++; r.open == 1 {
		r.none = make(chan struct{})
	}
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.open--; r.open == 0 {
			close(r.none)
		}
	})
}

// afterYeses waits until every yes that was given so far has been told, here or over a store that others share.
func (a *ask) afterYeses(ctx context.Context) {
	if store, ok := a.desk.store().(SharedStore); ok {
		reading, cancel := context.WithTimeout(ctx, farWait)
		defer cancel()
		for _, other := range a.round.asks {
			if other == a || other.failed != nil || other.isOver() {
				continue
			}
			if p, err := store.Find(reading, other.request.ID); err == nil && p.Allowed {
				select {
				case <-other.told:
				case <-reading.Done():
				}
			}
		}
	}
	a.round.mu.Lock()
	none := a.round.none
	a.round.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
}

func (a *ask) isOver() bool {
	select {
	case <-a.told:
		return true
	default:
		return false
	}
}

// A source is the channel that something comes from.
type source struct {
	n     int // among the channels of the question
	name  string
	edits bool
}

// A reply is what one channel brought.
type reply struct {
	prompt.Reply
	source
	err   error
	took  time.Duration // since the channel showed the question
	grant *prompt.Grant
	kept  *kept  // it was given in another process, and is in the store
	over  func() // of a yes, see round.came; nil for all else
}

// settled says that a reply decides nothing.
func (r *reply) settled() {
	if r.over != nil {
		r.over()
	}
}

// A move is what a channel says while the question is open.
type move struct {
	source
	turn int // +1: it has to wait for its turn; -1: it is showing the question now
	away int // +1: nobody is there; -1: somebody is
}

// useWithin is how long a yes is good for after the last moment at which it can be given.
const useWithin = time.Minute

// said is what a program and a person may read of an error: of one of the store, no names of files and hosts.
func said(err error) string {
	if known, ok := errors.AsType[interface {
		error
		Reason() string
	}](err); ok {
		return known.Reason()
	}
	return prompt.Words(err.Error())
}

// open enters a question into the store, before writing ends.
func (d *Desk) open(ctx, writing context.Context, r *prompt.Request, channels []Channel, o Options) *ask {
	copied := *r
	copied.OtherOnly, copied.MinHuman = o.OtherOnly, o.MinHuman
	start := time.Now()
	if !o.Borrowed || copied.Until.IsZero() {
		copied.Until = start.Add(o.Timeout)
	}
	copied.Ends = &atomic.Pointer[time.Time]{}
	copied.Ends.Store(&copied.Until)
	if copied.ID == "" {
		copied.ID = newID()
	}
	a := &ask{
		desk: d, request: &copied, options: o, start: start,
		replies: make(chan reply, len(channels)+1), moves: make(chan move), told: make(chan struct{}), round: newRound(),
	}
	a.asked = a.start
	a.inner, a.stop = context.WithCancelCause(ctx)
	again := a.start.Before(copied.Expires)
	if again {
		a.expires = copied.Expires
		a.digest, a.failed = copied.Bind(a.expires)
		again = a.digest == copied.Digest // else it is another question by now
	}
	if again && !copied.Time.IsZero() {
		a.asked = copied.Time
	}
	if !again && !copied.Expires.IsZero() {
		if a.refused = a.answeredBefore(ctx); a.refused {
			a.digest, a.expires, a.failed = copied.Digest, copied.Expires, nil
			return a
		}
		copied.ID = newID()
	}
	if !again {
		a.expires = a.start.Add(maxTurns*o.Timeout + useWithin).UTC().Truncate(time.Microsecond) // as stores keep times
		if a.digest, a.failed = copied.Bind(a.expires); a.failed == nil {
			copied.Digest, copied.Expires = a.digest, a.expires
			d.mine(copied.ID, true) // before others can see it
			a.failed = d.propose(writing, &copied, channels, o)
		}
	}
	if !again || !o.Borrowed { // one that is put again may be this process's, which asks another client
		d.mine(copied.ID, !o.Borrowed)
	}
	return a
}

// answeredBefore closes the question as it was before it became another one: while nobody went on with its run, the
// call or what decides it has changed. If it has its answer, a no stands: it is brought, and reported. A yes was to
// something else, and is late.
func (a *ask) answeredBefore(ctx context.Context) (refused bool) {
	store, ok := a.desk.store().(SharedStore)
	if !ok {
		return false
	}
	reading, cancel := context.WithTimeout(ctx, farWait)
	defer cancel()
	if err := store.Withdraw(reading, a.request.ID); !errors.Is(err, ErrTaken) {
		return false
	}
	got, err := a.inStore(reading, store)
	if err != nil { // it was closed before
		return false
	}
	if got.Decision != prompt.AllowOnce {
		a.replies <- got
		return true
	}
	a.tooLate(got)
	return false
}

func newID() string { return "q_" + rand.Text() }

// stage is what a channel can say to the questions that it shows, through its context.
func stage(ctx context.Context, from source, asks []*ask, shown func()) context.Context {
	tell := func(m move) {
		m.source = from
		for _, a := range asks {
			select {
			case a.moves <- m:
			case <-a.inner.Done():
			}
		}
	}
	ctx = context.WithValue(ctx, pauseKey{}, func() func() {
		tell(move{turn: +1})
		return sync.OnceFunc(func() { shown(); tell(move{turn: -1}) })
	})
	return context.WithValue(ctx, presenceKey{}, func() func() {
		tell(move{away: +1})
		return sync.OnceFunc(func() { tell(move{away: -1}) })
	})
}

// a clock remembers when a question was shown.
type shownAt struct {
	mu sync.Mutex
	at time.Time
}

func (s *shownAt) now() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = time.Now()
}

func (s *shownAt) since() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.at)
}

func (a *ask) inquires() bool { return a.request.Inquiry != nil }

// put asks over one channel.
func (a *ask) put(c Channel, from source) {
	shown := &shownAt{at: a.start}
	got := reply{source: from}
	got.Reply, got.err = askOver(stage(a.inner, from, []*ask{a}, shown.now), c, a.request)
	got.took = shown.since()
	a.bring(got)
}

// putAll asks over a channel that shows several questions together.
func putAll(ctx context.Context, g Gatherer, from source, asks []*ask) {
	shown := &shownAt{at: asks[0].start}
	var calls []*prompt.Request
	for _, a := range asks {
		calls = append(calls, a.request)
	}
	brought := make([]bool, len(asks)) // touched by the channel's goroutine alone
	bring := func(i int, r prompt.Result, took time.Duration) {
		if !brought[i] {
			brought[i] = true
			asks[i].bring(reply{source: from, Reply: r.Reply, err: r.Err, took: took})
		}
	}
	staged := context.WithValue(stage(ctx, from, asks, shown.now), answeredKey{}, func(i int, r prompt.Result) { bring(i, r, shown.since()) })
	results, err := askAllOver(staged, g, calls)
	took := shown.since()
	for _, yes := range []bool{true, false} { // see round
		for i := range asks {
			r := prompt.Result{Err: err}
			if err == nil {
				r = results[i]
			}
			if yes == (r.Err == nil && r.Reply.Decision == prompt.AllowOnce) {
				bring(i, r, took)
			}
		}
	}
}

// bring hands a reply to decide. What comes after the end goes to Desk.Late.
func (a *ask) bring(got reply) {
	if got.err == nil && got.Decision == prompt.AllowOnce {
		got.over = a.round.came()
	}
	a.mu.Lock()
	late := a.ended
	if !late {
		a.replies <- got
	}
	a.mu.Unlock()
	if late {
		got.settled()
		a.late(got)
	}
}

// late has an answer recorded as one, unless another process has done so, or counts it.
func (a *ask) late(got reply) {
	if got.kept == nil && got.err == nil && !a.leftBehind(got) {
		a.tooLate(got)
	}
}

// leftBehind puts an answer into the store that came while this process leaves, for the process that goes on with the run. It
// reports whether it is there.
func (a *ask) leftBehind(got reply) bool {
	if _, shared := a.desk.store().(SharedStore); !shared || !a.leaving() {
		return false
	}
	ctx := context.Background()
	switch a.judge(&got) {
	case saidYes:
		_, err := a.allow(ctx, got)
		return err == nil
	case saidNo:
		return a.keep(ctx, a.request.ID, a.digest, false, got, "") == nil
	}
	return false
}

// leaving reports whether the question stays open for another process, which goes on with the run.
func (a *ask) leaving() bool { return a.options.Leaving != nil && a.options.Leaving() }

// tooLate has an answer recorded that decides nothing.
func (a *ask) tooLate(got reply) {
	if a.desk.Late != nil {
		a.desk.Late(LateAnswer{Request: a.request, Channel: got.name, Reply: got.Reply, Took: time.Since(a.start)})
	}
}

// decide waits for the answer and closes the question: replies that nobody looked at any more are late.
func (a *ask) decide(ctx context.Context) Answer {
	var answer Answer
	if a.failed != nil {
		answer = Answer{How: ByNobody, Code: CodeNoApprover}
		answer.Detail = "a person cannot be asked about this call: " + said(a.failed)
	} else {
		answer = a.wait(ctx)
	}
	a.stop(fmt.Errorf("%s", answer.closing()))
	a.shut()
	answer = a.withdraw(ctx, answer)
	if !a.options.Borrowed {
		a.desk.mine(a.request.ID, false)
	}
	answer.Tried, answer.Took = a.tried, cmp.Or(answer.Took, time.Since(a.asked))
	if a.inquires() && !answer.Allowed {
		answer.Detail = unanswered(&answer)
	}
	return answer
}

// shut has every other reply be late.
func (a *ask) shut() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	for {
		select {
		case got := <-a.replies:
			got.settled()
			a.late(got)
		default:
			return
		}
	}
}

// wait returns the answer of the first channel that brings a clear one, or says why there is none.
func (a *ask) wait(ctx context.Context) Answer {
	deadline := a.start.Add(a.options.Timeout)
	timer := time.NewTimer(a.options.Timeout)
	last := time.NewTimer(maxTurns * a.options.Timeout)
	defer timer.Stop()
	defer last.Stop()
	turns, away, taken := 0, map[int]string{}, a.refused
	for a.waiting > len(away) || taken {
		select {
		case <-ctx.Done():
			return withdrawn(ctx)
		case <-timer.C:
			return timedOut(a.options.Timeout)
		case <-last.C:
			return timedOut(maxTurns * a.options.Timeout)
		case m := <-a.moves:
			switch {
			case m.away > 0 && !a.options.Await:
				away[m.n] = m.name
			case m.away < 0:
				delete(away, m.n)
			}
			if m.turn == 0 {
				continue
			}
			if turns += m.turn; turns > 0 {
				timer.Stop()
				a.request.Ends.Store(nil)
			} else {
				deadline = time.Now().Add(a.options.Timeout)
				timer.Reset(a.options.Timeout)
				now := deadline
				a.request.Ends.Store(&now)
			}
		case got := <-a.replies:
			if got.kept != nil {
				a.over = got.over
				return a.elsewhere(ctx, got)
			}
			a.waiting--
			delete(away, got.n)
			switch outcome := a.note(&got); {
			case outcome == saidNo:
				return a.refuse(ctx, got)
			case outcome != saidYes:
				got.settled()
			case ctx.Err() != nil:
				got.settled()
				a.late(got)
				return withdrawn(ctx)
			case turns == 0 && !time.Now().Before(deadline):
				got.settled()
				a.late(got)
				return timedOut(a.options.Timeout)
			default:
				if no, ok := a.contradicted(); ok {
					got.settled()
					return a.refuse(ctx, no)
				}
				answer, err := a.allow(ctx, got)
				if err == nil {
					a.over = got.over
					return answer
				}
				got.settled()
				if !errors.Is(err, ErrTaken) {
					detail := "a person's yes could not be kept: " + said(err)
					return Answer{How: ByNobody, Code: CodeNoApprover, Detail: detail}
				}
				a.late(got)
				_, taken = a.desk.store().(SharedStore) // another process was faster; its answer is coming
			}
		}
	}
	if ctx.Err() != nil {
		return withdrawn(ctx)
	}
	for _, name := range away {
		a.tried = append(a.tried, Try{Channel: name, Outcome: Empty, Took: time.Since(a.start)})
	}
	answer := nobody(a.tried, a.request, a.options.Fallback && !a.inquires())
	if answer.Allowed {
		if err := a.desk.store().Answer(ctx, a.request.ID, a.digest, true, byFallback, json.RawMessage(`{}`)); err != nil {
			return Answer{How: ByNobody, Code: CodeNoApprover, Detail: "the answer could not be kept: " + said(err)}
		}
		answer.Ticket = &Ticket{id: a.request.ID, digest: a.digest, args: a.request.Args, expires: a.expires}
	}
	return answer
}

// contradicted looks for a no that arrived together with a yes: of two answers at the same moment the no counts.
func (a *ask) contradicted() (reply, bool) {
	for {
		select {
		case got := <-a.replies:
			if got.kept != nil { // the store will say so
				a.replies <- got
				return reply{}, false
			}
			switch a.note(&got) {
			case saidNo:
				return got, true
			case saidYes:
				a.late(got)
			}
			got.settled()
		default:
			return reply{}, false
		}
	}
}

// note judges a reply and remembers how its channel fared.
func (a *ask) note(got *reply) Outcome {
	outcome := a.judge(got)
	t := Try{Channel: got.name, Outcome: outcome, Took: got.took}
	if got.err != nil {
		t.Error = prompt.Words(got.err.Error())
	}
	a.tried = append(a.tried, t)
	return outcome
}

// judge says what a reply comes to. Of a yes that is none, it sets the error.
func (a *ask) judge(got *reply) Outcome {
	outcome := judge(*got, a.options.MinHuman)
	if a.options.OtherOnly && (outcome == saidYes || outcome == saidNo) && (got.By == "" || got.By == a.request.Principal) {
		outcome = own
	}
	if outcome == saidYes {
		if got.err = a.unwanted(got); got.err != nil {
			outcome = unclear
		}
	}
	return outcome
}

// unwanted says what was not offered about a yes: such a yes is none.
func (a *ask) unwanted(got *reply) (err error) {
	remembered := got.Scope != "" && got.Scope != prompt.Once
	switch {
	case a.inquires() && (remembered || got.Args != nil):
		return fmt.Errorf("%w: an answer is neither remembered nor has arguments", prompt.ErrUnclear)
	case a.inquires():
		return a.request.Inquiry.CheckReply(&got.Reply)
	case len(got.Selected) > 0 || got.Text != "":
		return fmt.Errorf("%w: it answers something else", prompt.ErrUnclear)
	case got.Args != nil && a.request.Edit == nil:
		return fmt.Errorf("%w: other arguments were not asked for", prompt.ErrUnclear)
	case got.Args != nil && !got.edits:
		return fmt.Errorf("%w: the channel is not one for other arguments", prompt.ErrUnclear)
	case got.Args != nil && remembered:
		return fmt.Errorf("%w: an answer with other arguments is not remembered", prompt.ErrUnclear)
	case got.Args != nil && got.Checked: // the policy may have changed since, and whoever asked decides again
	case got.Args != nil:
		return a.request.Edit(got.Args)
	case remembered:
		got.grant, err = a.request.Draft(got.Wish(), time.Now())
		return err
	}
	return nil
}

// keeping gives the context in which an answer is stored. It does not end with ctx, because the person was told that the
// answer is taken.
func keeping(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), farWait)
}

// kept is an answer as the store has it.
type kept struct {
	Yes     bool          `json:"yes"` // as the store says beside it, but sealed with the rest where the store is
	Channel string        `json:"channel"`
	By      string        `json:"by,omitempty"`
	Given   time.Time     `json:"given,omitzero"`
	Reason  string        `json:"reason,omitempty"`
	Scope   prompt.Scope  `json:"scope,omitempty"`
	Length  time.Duration `json:"length,omitempty"` // of a grant
	Uses    int           `json:"uses,omitempty"`   // of a grant
	Edited  string        `json:"edited,omitempty"` // the question that stands for the arguments that were allowed instead

	Selected []int  `json:"selected,omitempty"` // the answer to an Inquiry
	Text     string `json:"text,omitempty"`
}

// keep puts an answer into the store, also if ctx ends.
func (a *ask) keep(ctx context.Context, id, digest string, yes bool, got reply, edited string) error {
	ctx, cancel := keeping(ctx)
	defer cancel()
	js, err := got.keeps(yes, edited)
	if err != nil {
		return err
	}
	return a.desk.store().Answer(ctx, id, digest, yes, got.By, js)
}

// keeps is a reply as the store has it.
func (r *reply) keeps(yes bool, edited string) (json.RawMessage, error) {
	return json.Marshal(kept{Yes: yes, Channel: r.name, By: r.By, Given: time.Now(), Reason: prompt.Words(r.Reason),
		Scope: r.Scope, Length: r.Length, Uses: r.Uses,
		Edited: edited, Selected: r.Selected, Text: r.Text})
}

func (a *ask) refuse(ctx context.Context, got reply) Answer {
	a.shut() // a yes to it that comes now is late, and nobody waits for it
	a.afterYeses(ctx)
	_ = a.keep(ctx, a.request.ID, a.digest, false, got, "") // a no stands, whether or not it can be kept
	return declined(got)
}

func (a *ask) yes(got reply) Answer {
	if got.grant != nil {
		got.grant.By, got.grant.Channel = got.By, got.name
	}
	return Answer{
		Allowed: true, How: ByPerson, Channel: got.name, By: got.By, Reason: prompt.Words(got.Reason), Grant: got.grant,
		Selected: got.Selected, Text: got.Text,
	}
}

// allow keeps a yes. One with other arguments is a no to the question and a yes to another one.
func (a *ask) allow(ctx context.Context, got reply) (Answer, error) {
	answer := a.yes(got)
	if got.Args == nil {
		answer.Ticket = &Ticket{id: a.request.ID, digest: a.digest, args: a.request.Args, expires: a.expires}
		return answer, a.keep(ctx, a.request.ID, a.digest, true, got, "")
	}
	var compact bytes.Buffer // as arguments are sent
	if err := json.Compact(&compact, got.Args); err != nil {
		return answer, err
	}
	other := *a.request
	other.ID, other.Args = newID(), compact.Bytes()
	digest, err := other.Bind(a.expires)
	if err != nil {
		return answer, err
	}
	other.Digest, other.Expires = digest, a.expires
	answer.Args = other.Args
	answer.Ticket = &Ticket{id: other.ID, digest: digest, args: other.Args, expires: a.expires}
	if store, ok := a.desk.store().(SharedStore); ok {
		p, err1 := pendingOf(&other, nil, a.options)
		no, err2 := got.keeps(false, other.ID)
		yes, err3 := got.keeps(true, "")
		if err := errors.Join(err1, err2, err3); err != nil {
			return answer, err
		}
		ctx, cancel := keeping(ctx)
		defer cancel()
		return answer, store.AnswerInstead(ctx, a.request.ID, a.digest, got.By, no, p, yes)
	}
	if err := a.keep(ctx, a.request.ID, a.digest, false, got, other.ID); err != nil {
		return answer, err
	}
	if err := a.desk.propose(ctx, &other, nil, a.options); err != nil {
		return answer, err
	}
	return answer, a.keep(ctx, other.ID, digest, true, got, "")
}
