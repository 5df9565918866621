package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// drive runs the program until it ends or parks. It reports false if another goroutine took over.
func (r *Run) drive() bool {
	g := r.guest
	result, err := r.loop(g)
	if errors.Is(err, errRelieved) {
		return false
	}
	r.result, r.err = result, err
	if r.alarm.timer != nil {
		r.alarm.timer.Stop()
	}
	r.performNext()
	if r.cancel != nil {
		r.cancel(errEnded)
	}
	r.mu.Lock()
	r.ended = true
	if r.relief != nil {
		r.relief.Stop()
	}
	unused := 0
	for _, c := range r.queue {
		unused += c.held()
	}
	for _, a := range r.answers {
		unused += len(a.value)
	}
	r.queue, r.answers = nil, nil
	if !errors.Is(r.err, ErrParked) {
		r.open = nil
	}
	r.mu.Unlock()
	r.guest = nil
	if r.session == nil || !r.session.keepsGuest(r, g) {
		r.engine.put(g)
	}
	r.memory.release()
	if r.session != nil {
		r.session.ended()
	}
	if r.done != nil {
		close(r.done)
	}
	r.engine.dump.add(unused)
	return true
}

var errEnded = errors.New("the run has ended")

func (r *Run) loop(g *guest) (*Result, error) {
	if !r.begun {
		r.begun = true
		g.enter()
		err := r.begin(g)
		if err == nil {
			err = r.rest(g)
		}
		g.leave()
		if err != nil {
			return r.failed(g, err)
		}
	}
	for g.shared.uint32(sharedStatus) == statusWaiting {
		r.watch(g, nil, true)
		answers, err := r.wait(g)
		if errors.Is(err, errRelieved) {
			return nil, err
		}
		g.rest(false)
		r.idle.Store(false)
		if errors.Is(err, ErrParked) {
			return r.left(g), err
		}
		if err != nil {
			return r.failed(g, err)
		}
		g.enter()
		// a program that has taken over the interpreter may never poll, and may wake itself for ever
		if !r.mustStop(g.began, r.cpu) {
			err = r.proceed(g, answers)
		} else {
			err = errStop
		}
		if err == nil {
			err = r.rest(g)
		}
		g.leave()
		clear(answers)
		r.engine.dump.add(r.taken)
		r.taken = 0
		if err != nil {
			return r.failed(g, err)
		}
	}
	if r.session != nil {
		return r.session.end(r, g)
	}
	return r.finished(g)
}

// rest ends what is left in its guest of a program of a session that has ended by itself, before the guest's leave. It
// reads the result first.
func (r *Run) rest(g *guest) error {
	if r.session == nil || g.shared.uint32(sharedStatus) == statusWaiting {
		return nil
	}
	r.result, r.err = r.finished(g)
	if !Keeps(r.err) {
		return nil
	}
	if r.mustStop(now(), r.cpu) {
		return errStop
	}
	if err := g.call(doRest); err != nil {
		return err
	}
	r.result.Dropped = Dropped{Timers: int(g.shared.uint32(sharedTimers)), Promises: int(g.shared.uint32(sharedPromises))}
	return nil
}

// proceed hands answers to the guest and runs the program until it waits again.
func (r *Run) proceed(g *guest, answers []answer) error {
	if len(answers) == 0 {
		return g.call(doPump)
	}
	for i, a := range answers {
		answers[i] = answer{}
		r.taken += len(a.value)
		if err := r.settle(g, a, i == len(answers)-1); err != nil {
			return err
		}
	}
	return nil
}

// begin passes the guest its limits, its randomness and the program, and runs the program until it first waits.
func (r *Run) begin(g *guest) error {
	p := &r.program
	if r.session != nil {
		if err := r.session.load(g); err != nil {
			return err
		}
		g.setClock(g.began)
	}
	r.steps.begin(g, 0)
	var seed [40]byte // for crypto, and for Math.random
	if d := p.Deterministic; d != nil {
		copy(seed[:], d.randomness())
	} else if _, err := rand.Read(seed[:]); err != nil {
		return fmt.Errorf("reading randomness: %w", err)
	}
	g.shared.write(sharedSeed, seed[:])
	g.shared.setUint32(sharedConsoleMax, clampUint32(r.limits.ConsoleBytes))
	g.shared.setUint32(sharedArgsMax, clampUint32(r.limits.ArgumentBytes))
	g.shared.setUint32(sharedResultMax, clampUint32(r.limits.ResultBytes))
	g.shared.setUint32(sharedFlags, flagBigIntegers)
	if r.session != nil {
		g.shared.setUint32(sharedFlags, flagBigIntegers|flagSession)
		g.shared.setUint32(sharedOutOfMemory, 0)
	}
	name := p.fileName()
	at, err := g.room(len(p.Source) + len(name) + len(p.Input))
	if err != nil {
		return err
	}
	mem, n := g.module.Memory(), uint32(len(p.Source))
	if !mem.WriteString(at, p.Source) || !mem.WriteString(at+n, name) || !mem.Write(at+n+uint32(len(name)), p.Input) {
		return errOutOfBounds
	}
	return g.call(doStart, uint64(len(p.Source)), uint64(len(name)), uint64(len(p.Input)))
}

// trimAfter is how long a run waits before it releases memory that it does not need for waiting: longer than most tools
// take, also where many programs use them. Releasing it and getting it back take a tenth of a millisecond.
const trimAfter = 50 * time.Millisecond

// wait blocks until there are answers, a timer is due, or the run must stop.
func (r *Run) wait(g *guest) ([]answer, error) {
	due := time.Duration(-1)
	if t := g.shared.float64(sharedNextTimer); t >= 0 {
		due = g.clock + time.Duration(t)*time.Millisecond
	}
	if g.shared.uint32(sharedPending) == 0 && due < 0 {
		r.stop = Abandoned
		return nil, errStop
	}
	switch {
	case r.jump(g, due):
		return nil, nil
	case r.program.Deterministic != nil:
		due = -1
	}
	if r.next != nil {
		// Alone means that this goroutine has nothing else to do before relieve comes.
		alone := (due < 0 || due-g.left > reliefAfter) && r.limits.Wall-r.wall.at(g.left) > reliefAfter
		if !r.performLast(alone) {
			return nil, errRelieved
		}
	}
	r.idle.Store(true)
	var since time.Duration // start of the sleep
	yielded, trimmed := false, false
	for {
		r.mu.Lock()
		answers := r.take()
		busy := r.inFlight > 0
		park := r.park
		if park != nil && park.wanted > 0 && len(answers) == 0 && r.inFlight == 0 && len(r.open) > 0 {
			r.ended = true // an answer that comes now would get lost between the two runs
		} else {
			park = nil
		}
		r.mu.Unlock()
		if park != nil {
			return nil, r.parkNow(g, park)
		}
		r.spare = answers // the caller has read it by its next call of wait
		if len(answers) > 0 {
			return answers, nil
		}
		t := now()
		if due >= 0 && t >= due {
			return nil, nil
		}
		if busy && !yielded {
			// A Host with an immediate answer gives it now, which costs a fifth of a wake-up.
			yielded = true
			runtime.Gosched()
			continue
		}
		wall, running := r.wall.read(t)
		left := r.limits.Wall - wall
		switch {
		case running && left <= 0:
			r.stop = TimedOut
			return nil, errStop
		case !running:
			left = time.Hour
		}
		if due >= 0 {
			left = min(left, due-t)
		}
		switch {
		case since == 0:
			r.program.gives()
			since = t
			left = min(left, trimAfter)
		case trimmed:
		case t-since < trimAfter:
			left = min(left, trimAfter-(t-since))
		default:
			r.engine.snapshot.Trim(g.mem)
			g.do = nil // releases the native stack too; it is empty
			trimmed = true
			g.rest(true)
		}
		r.alarm.set(t + left)
		select {
		case <-r.wake:
		case <-r.alarm.timer.C:
			r.alarm.rings = 0
		case <-r.parent.Done():
			r.stop = Canceled
			return nil, errStop
		}
	}
}

// take takes the answers that the program gets now. The caller holds r.mu.
func (r *Run) take() []answer {
	if r.program.Deterministic != nil {
		return r.oldest()
	}
	answers := r.answers
	r.answers, r.spare = r.spare[:0], nil
	return answers
}

// jump moves the clock of a deterministic run to its next timer, which is due at, unless a call is open.
func (r *Run) jump(g *guest, due time.Duration) bool {
	if r.program.Deterministic == nil || due < 0 || g.shared.uint32(sharedPending) > 0 {
		return false
	}
	r.elapsed = due - g.clock
	return true
}

// oldest takes the answer of the oldest call of a deterministic run, if it has come. The caller holds r.mu.
func (r *Run) oldest() []answer {
	first := -1
	for i, a := range r.answers {
		if first < 0 || a.id < r.answers[first].id {
			first = i
		}
	}
	if first < 0 || len(r.open) > 0 && r.open[0].ID < r.answers[first].id {
		return nil
	}
	a, last := r.answers[first], len(r.answers)-1
	r.answers[first], r.answers[last] = r.answers[last], answer{}
	r.answers = r.answers[:last]
	return []answer{a}
}

// settle gives the program the answer to one of its calls, and runs the program if that is the last answer.
func (r *Run) settle(g *guest, a answer, last bool) error {
	how, body := settleValue, []byte(a.value)
	switch {
	case a.err != nil:
		how, body = settleError, throwJSON(a.err)
	case len(body) == 0:
		how = settleUndefined
	}
	if last {
		how |= settlePump
	}
	at, err := g.room(len(body))
	if err != nil {
		return err
	}
	if !g.module.Memory().Write(at, body) {
		return errOutOfBounds
	}
	r.memory.drop(len(a.value))
	return g.call(doSettle, uint64(a.id), uint64(how), uint64(len(body)))
}
