package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/sandbox"
)

func newServed(t *testing.T) *served {
	engine, err := sandbox.New(t.Context(), sandbox.Options{CacheDir: cachetest.Dir()})
	checktest.OK(t, err)
	t.Cleanup(func() { engine.Close(t.Context()) })
	return &served{engine: engine, limits: suiteLimits(time.Minute), reader: &analysis.Reader{}}
}

// A search finds a secret wherever a program may have left it.
func TestSeek(t *testing.T) {
	t.Parallel()
	r := newServed(t)
	for _, plant := range []string{
		"globalThis.x = S", "globalThis[S] = 1", "Object.prototype.x = S", "Array.prototype.push.x = { y: [S] }",
		"Object.defineProperty(globalThis, 'x', { get() { return S } })", "globalThis.x = Symbol(S)",
		"globalThis.x = new Map([[1, new Set([S])]])", "globalThis.x = new WeakRef(globalThis.y = { S })",
		"Promise.prototype.then = function then() { 'SECRET' }", "console.x = S", "Function.prototype.x = S",
		"Object.getPrototypeOf(async function* () {}).x = S", "Error.prototype.toString = () => { throw S }",
		"Object.setPrototypeOf(Math, { x: S })", "Object.getPrototypeOf(''.matchAll(/x/g)).x = S",
		"globalThis.x = { get y() { throw new Error(S) } }",
	} {
		s, err := r.engine.NewSession(attacker)
		checktest.OK(t, err)
		secret := newSecret()
		code := "const S = 'SECRET'; {" + plant + "}; return 0"
		if got := r.probed(t.Context(), s, strings.ReplaceAll(code, "SECRET", secret)); got != "0" {
			t.Errorf("%s: %s", plant, got)
		}
		got := r.probed(t.Context(), s, "return "+seek())
		if got != `["`+secret+`"]` && !strings.HasPrefix(plant, "Error.prototype") {
			t.Errorf("%s: a search found %s, want %s", plant, got, secret)
		}
		if got := r.probed(t.Context(), s, "return "+seek(secret)); got != "[]" {
			t.Errorf("%s: a search that knows the secret found %s", plant, got)
		}
		s.Close()
	}
}

// What is wrong with a session after a program is told.
func TestAWrongSessionIsTold(t *testing.T) {
	t.Parallel()
	r := newServed(t)
	threw, stopped := &sandbox.Error{Kind: sandbox.Threw}, &sandbox.Error{Kind: sandbox.TimedOut}
	for _, row := range []struct {
		why       string
		mine      string // what runs in the session
		other     string // and in another one
		err       error
		tells     bool // the program tells the secret of another session
		unchanged bool // the image from before is the one of now
		want      string
	}{
		{"nothing is wrong", "0", "", threw, false, false, ""},
		{"a program that threw left nothing", "", "", threw, false, false, "did not keep"},
		{"a stopped program left something", "0", "", stopped, false, false, "not as it was"},
		{"a stopped program left nothing", "", "", stopped, false, true, ""},
		{"it learned a secret", "0", "", nil, true, false, "told the secret"},
		{"its state is another", "bench_n = 7", "", nil, false, false, "its session answered 1811"},
		{"it changed another session", "0", "bench_n = 7", nil, false, false, "another session answered 1811"},
		{"another session has a secret", "0", "globalThis.x = 'secret_ABCDEFGHIJKLMNOPQRSTUVWXYZ'", nil, false, false,
			"a search in another session answered"},
	} {
		mine, err := r.newHeld(t.Context(), attacker)
		checktest.OK(t, err)
		other, err := r.newHeld(t.Context(), neighbour)
		checktest.OK(t, err)
		before, err := mine.Image()
		checktest.OK(t, err)
		if row.mine != "" {
			r.probed(t.Context(), mine.Session, row.mine)
		}
		if row.other != "" {
			r.probed(t.Context(), other.Session, row.other)
		}
		if row.unchanged {
			before, _ = mine.Image()
		}
		v := isolation.Outcome{}
		if row.tells {
			v.Message = "it is " + other.secret
		}
		got := r.afterwards(t.Context(), mine, other, before, &v, row.err)
		if row.want == "" && got != "" || !strings.Contains(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.why, got, row.want)
		}
		mine.Close()
		other.Close()
	}
}
