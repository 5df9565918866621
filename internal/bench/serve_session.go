package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed" // for seek.js
	"encoding/json"
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/sandbox"
)

// seek is the text of an expression that looks for secrets: the tokens that [newSecret] makes. It reads everything that
// it can reach from the globals, and new memory, and gives those secrets that known does not name, in an array.
func seek(known ...string) string {
	if known == nil {
		known = []string{}
	}
	list, _ := json.Marshal(known)
	return strings.Replace(seekText, "KNOWN", string(list), 1)
}

// newSecret makes a text that occurs nowhere else.
func newSecret() string { return "secret_" + rand.Text() }

// seekText is the expression in seek.js, which declares nothing in the session.
//
//go:embed seek.js
var seekText string

// benchState is what a session has before a program of a case: a secret in several places, where no program of the
// suite looks for anything.
const benchState = `
	let bench_n = 1;
	const bench_secret = SECRET, bench_symbol = Symbol.for("planted " + SECRET);
	class Bench_ { #n = 10; #secret = SECRET; add() { return ++this.#n }
		get kept() { return this.#secret === bench_secret } }
	const bench_one = new Bench_(), bench_seen = new Map([[bench_one, SECRET]]), bench_ref = new WeakRef({ kept: SECRET });
	const bench_next = () => ++bench_n;
	/(secret_.*)/.exec(SECRET);
	setInterval(() => bench_secret, 1e6);
	new Promise(() => {}).then(() => bench_secret);
	return 0`

// benchProbe changes the state, and returns a number, which no change to built-ins affects.
const benchProbe = `return (bench_one.kept ? 1000 : 0) + bench_next() * 100 + bench_one.add()`

const benchProbed = "1211" // the first time

// A held is a session with the state of benchState.
type held struct {
	*sandbox.Session
	secret string
}

func (s *served) newHeld(ctx context.Context, owner string) (*held, error) {
	session, err := s.engine.NewSession(owner)
	if err != nil {
		return nil, err
	}
	h := &held{session, newSecret()}
	quoted, _ := json.Marshal(h.secret)
	state := strings.ReplaceAll(benchState, "SECRET", string(quoted))
	if _, err := s.evaluate(ctx, "state.js", state, session, nil); err != nil {
		session.Close()
		return nil, fmt.Errorf("making the state of a session: %w", err)
	}
	return h, nil
}

// putAway replaces the session by one that is opened from its image.
func (s *served) putAway(h *held, owner string) error {
	image, err := h.Image()
	if err != nil {
		return err
	}
	opened, err := s.engine.Open(owner, image)
	if err != nil {
		return err
	}
	h.Close()
	h.Session = opened
	return nil
}

// brokeItself is in the error of a session whose programs have made it impossible to run another one. That is theirs
// to do.
const brokeItself = "an earlier program of the session has made globalThis."

const (
	attacker  = "attacker" // owners of sessions
	neighbour = "neighbour"
	stranger  = "stranger"
)

// inSession runs a program in a session that has state. Before and after it, another session has state in the same
// engine, which the program must not change or learn.
func (s *served) inSession(ctx context.Context, r isolation.Run, harness isolation.Caller) isolation.Outcome {
	fail := func(err error) isolation.Outcome {
		return isolation.Outcome{Outcome: isolation.Error, Problem: err.Error(), Usage: &isolation.Usage{}}
	}
	mine, err := s.newHeld(ctx, attacker)
	if err != nil {
		return fail(err)
	}
	defer func() { mine.Close() }()
	other, err := s.newHeld(ctx, neighbour)
	if err != nil {
		return fail(err)
	}
	defer other.Close()
	if s.opened = !s.opened; s.opened {
		if err := s.putAway(mine, attacker); err != nil {
			return fail(err)
		}
	}
	before, err := mine.Image()
	if err != nil {
		return fail(err)
	}
	end, err := s.once(ctx, r, mine.Session, harness)
	if ctx.Err() == nil {
		end.Problem = s.afterwards(ctx, mine, other, before, &end, err)
	}
	return end
}

// afterwards says what is wrong with the sessions after a program; "" if nothing is.
func (s *served) afterwards(ctx context.Context, mine, other *held, before []byte, end *isolation.Outcome, err error,
) string {
	counts, programs := sandbox.Keeps(err), mine.Programs()
	after, imageErr := mine.Image()
	switch {
	case imageErr != nil:
		return "its session cannot be put away: " + imageErr.Error()
	case counts && programs != 2:
		return "the session did not keep a program that ended by itself"
	case !counts && (programs != 1 || !bytes.Equal(before, after)):
		return "the session is not as it was before the program"
	case strings.Contains(string(end.Value)+end.Message, other.secret):
		return "the program told the secret of another session"
	}
	for _, probe := range []struct {
		what    string
		session *held
		code    string
		want    string
	}{
		{"its session", mine, benchProbe, benchProbed},
		{"another session", other, benchProbe, benchProbed},
		{"a search in another session", other, "return " + seek(other.secret), "[]"},
	} {
		got := s.probed(ctx, probe.session.Session, probe.code)
		if counts && probe.session == mine && strings.Contains(got, brokeItself) {
			continue
		}
		if got != probe.want {
			return fmt.Sprintf("afterwards %s answered %.300s instead of %s", probe.what, got, probe.want)
		}
	}
	fresh, err := s.engine.NewSession(stranger)
	if err != nil {
		return err.Error()
	}
	defer fresh.Close()
	if got := s.probed(ctx, fresh, "return "+seek()); got != "[]" {
		return fmt.Sprintf("afterwards a search in a new session found %.300s", got)
	}
	return ""
}

// probed runs a program of ours in a session.
func (s *served) probed(ctx context.Context, in *sandbox.Session, code string) string {
	result, err := s.evaluate(ctx, "probe.js", code, in, nil)
	if err != nil {
		return "the error " + err.Error()
	}
	return string(result.Value)
}
