package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode/sandbox"
)

// A room is a session with state of its own and a secret, which no program of another session may see.
type room struct {
	*sandbox.Session
	secret string
	looks  string // what look said before the case
}

// owner is the owner of the sessions of a suite.
const owner = "bench"

// furnish is the program that gives a session its state; the secret is where the %q is.
const furnish = `
	let kept = 41;
	const raise = () => ++kept;
	class Box { #inside; constructor(v) { this.#inside = v } get inside() { return this.#inside } }
	const box = new Box(%q), seen = new Map([[box, raise()]]);
	Symbol.for("key of " + box.inside);
	/(s)(?<name>ecret)/.exec("secret of " + box.inside);
	return kept`

// look says what a session has that programs can reach, and changes nothing.
const look = `return (() => {
	const keys = o => Reflect.ownKeys(o).map(k => String(k) + (Object.getOwnPropertyDescriptor(o, k).writable ?? "")).join(" ");
	const tops = [globalThis, Object, Array, Function, Promise, String, RegExp, Map, Error, JSON, Math, Reflect, codemode];
	return [kept, box.inside, seen.get(box), raise.toString(), RegExp.lastMatch, [].concat(1).length, JSON.stringify({a: 1}),
		...tops.map(keys), ...tops.map(o => o.prototype ? keys(o.prototype) : "")];
})()`

// newRoom makes a session and furnishes it.
func (r *isolation) newRoom(ctx context.Context) (*room, error) {
	s, err := r.engine.NewSession(owner)
	if err != nil {
		return nil, err
	}
	m := &room{Session: s, secret: rand.Text()}
	if _, err = r.tell(ctx, m, "furnish.js", fmt.Sprintf(furnish, m.secret), nil); err == nil {
		m.looks, err = r.look(ctx, m)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return m, nil
}

func (r *isolation) look(ctx context.Context, m *room) (string, error) {
	value, err := r.tell(ctx, m, "look.js", look, nil)
	return string(value), err
}

// tell runs the next program of a session.
func (r *isolation) tell(ctx context.Context, m *room, name, source string, h sandbox.Host) (json.RawMessage, error) {
	program, err := r.compile(ctx, name, source)
	if err != nil {
		return nil, err
	}
	names, err := m.Names(ctx)
	var known []string
	for _, n := range names {
		known = append(known, n.Name)
	}
	in, problems := program.InSession(name, known)
	if err == nil && len(problems) > 0 { // a guest that does not list its names has any name
		return nil, fmt.Errorf("%w: %s", errUndeclared, problems[0])
	}
	result, err := m.Run(ctx, sandbox.Program{Source: in.JS, Name: name, Limits: r.limits, Lookup: in.Lookup}, h)
	return result.Value, err
}

// errUndeclared says that a program of a session was refused because nothing declares a name in it. Outside of sessions
// the same program runs, and may catch the ReferenceError.
var errUndeclared = errors.New("refused")

// onceInSession runs a program like once, in a session that has state, beside another one.
func (r *isolation) onceInSession(ctx context.Context, c *Case) (v verdict) {
	mine, err := r.newRoom(ctx)
	if err != nil {
		return verdict{outcome: Error, leak: "no session could be made for it: " + err.Error()}
	}
	defer func() { mine.Close() }() // it may be another one by then
	other, err := r.newRoom(ctx)
	if err != nil {
		return verdict{outcome: Error, leak: "no session could be made beside it: " + err.Error()}
	}
	defer func() { other.Close() }()
	before, started := mine.Programs(), time.Now()
	gate := admit(r.gate, r.limits)
	value, err := r.tell(ctx, mine, c.File, c.source, gate.call)
	v = verdict{outcome: outcomeOf(err, gate), value: value, took: time.Since(started), detail: detailOf(err),
		refused: errors.Is(err, errUndeclared)}
	gate.run.End()
	if ctx.Err() == nil {
		v.leak = r.leak(ctx, mine, other, v, mine.Programs()-before, err)
	}
	return v
}

// leak says what a case has left where nothing may be left; "" is nothing.
func (r *isolation) leak(ctx context.Context, mine, other *room, v verdict, versions int, ended error) string {
	if all := string(v.value) + v.detail; strings.Contains(all, other.secret) {
		return "it got the secret of another session"
	}
	threw, ok := errors.AsType[*sandbox.Error](ended)
	switch counts := ended == nil || ok && threw.Kind == sandbox.Threw; {
	case counts && versions != 1:
		return "it returned or threw, and is no part of its session"
	case counts:
		// It may have made of its session what it liked, but the session has to go on, or to end in order.
		if problem := r.goesOn(ctx, mine, other); problem != "" {
			return problem
		}
	case versions != 0:
		return "it was stopped, and is a part of its session"
	default:
		for _, when := range []string{"", ", put away and opened again,"} {
			if looks, err := r.look(ctx, mine); err != nil || looks != mine.looks {
				return fmt.Sprintf("it was stopped, and its session%s is not as before: %s (%v), which was %s", when, looks, err,
					mine.looks)
			}
			if problem := r.again(mine); problem != "" {
				return problem
			}
		}
	}
	if looks, err := r.look(ctx, other); err != nil || looks != other.looks {
		return fmt.Sprintf("another session is not as before: %s (%v), which was %s", looks, err, other.looks)
	}
	return ""
}

// again puts a session away and opens it.
func (r *isolation) again(m *room) string {
	image, err := m.Image()
	if err != nil {
		return "its session cannot be put away: " + err.Error()
	}
	m.Close()
	opened, err := r.engine.Open(owner, image)
	if err != nil {
		return "its session cannot be opened again: " + err.Error()
	}
	m.Session = opened
	return ""
}

// goesOn runs another program in a session that a hostile one has left, there and put away and opened again.
func (r *isolation) goesOn(ctx context.Context, m, other *room) string {
	for range 2 {
		started := time.Now()
		value, err := r.tell(ctx, m, "after.js", `return [typeof box, Object.getOwnPropertyNames(globalThis)].join()`, nil)
		if took := time.Since(started); took > r.limits.CPU+probeWait {
			return fmt.Sprintf("the next program of its session took %v", took.Round(time.Millisecond))
		}
		if text := string(value) + detailOf(err); strings.Contains(text, other.secret) {
			return "the next program of its session got the secret of another session"
		}
		if problem := r.again(m); problem != "" {
			return problem
		}
	}
	return ""
}
