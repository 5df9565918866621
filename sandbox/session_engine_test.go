package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

// secondEngine is another engine of the same guest and the same key: another process, for a session.
func secondEngine(t testing.TB) *Engine {
	t.Helper()
	e, err := New(t.Context(), Options{CacheDir: cachetest.Dir(), ParkKey: []byte("a key for tests")})
	checktest.OK(t, err)
	t.Cleanup(func() { e.Close(context.Background()) })
	return e
}

func sessionSays(t testing.TB, s *Session, source string) string {
	t.Helper()
	return said(s.Run(t.Context(), Program{Source: source, Limits: Limits{CPU: time.Second}}, slowEcho))
}

func TestASessionRunsOneProgramAtATime(t *testing.T) {
	t.Parallel()
	s := newSession(t, testEngine(t))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := s.Start(ctx, Program{Source: "let x = 1; await codemode.a__slow()"}, slowEcho)
	checktest.OK(t, err)
	if _, err := s.Run(t.Context(), Program{Source: "return 1"}, echo); !errors.Is(err, ErrSessionBusy) {
		t.Errorf("a second program gives %v, want ErrSessionBusy", err)
	}
	if _, err := s.Names(t.Context()); !errors.Is(err, ErrSessionBusy) {
		t.Errorf("Names gives %v, want ErrSessionBusy", err)
	}
	cancel()
	if _, err := r.Wait(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := sessionSays(t, s, "return typeof x"); got != `"undefined"` {
		t.Errorf("after a canceled program, x is %s", got)
	}
	s.Close()
	if _, err := s.Run(t.Context(), Program{Source: "return 1"}, echo); !errors.Is(err, ErrSessionClosed) {
		t.Errorf("a closed session gives %v", err)
	}
}

// A parked program of a session goes on in another process, and its end is the state of the session there.
func TestAParkedProgramOfASession(t *testing.T) {
	t.Parallel()
	e, other := testEngine(t), secondEngine(t)
	s := newSession(t, e)
	sessionSays(t, s, "let n = 1; const up = () => ++n")
	before, err := s.Image()
	checktest.OK(t, err)
	r, err := s.Start(t.Context(), Program{Source: "up(); const got = await codemode.a__later(); up(); " +
		"return [n, got]"}, later)
	checktest.OK(t, err)
	parked, err := r.Park(t.Context())
	checktest.OK(t, err)
	if got := sessionSays(t, s, "return n"); got != "1" {
		t.Errorf("while its program is parked, the session has n = %s, want 1", got)
	}
	if _, err := s.Resume(t.Context(), parked, Program{}, later); !errors.Is(err, ErrImage) ||
		!strings.Contains(err.Error(), "program 3 is next") {
		t.Errorf("resuming in a session that went on gives %v", err)
	}
	if _, err := other.Resume(t.Context(), parked, Program{}, later); !errors.Is(err, ErrImage) {
		t.Errorf("resuming it outside a session gives %v", err)
	}
	s2, err := other.Open("anna", before)
	checktest.OK(t, err)
	defer s2.Close()
	r, err = s2.Resume(t.Context(), parked, Program{}, later)
	checktest.OK(t, err)
	r.Settle(1, []byte(`"answer"`), nil)
	if got := said(r.Wait()); got != `[3,"answer"]` {
		t.Errorf("the resumed program says %s", got)
	}
	if got := sessionSays(t, s2, "return [up(), got]"); got != `[4,"answer"]` {
		t.Errorf("after it the session says %s", got)
	}
}

func TestSmallSessionsMakeSmallImages(t *testing.T) {
	t.Parallel()
	s := newSession(t, testEngine(t))
	sessionSays(t, s, smallSession)
	image, err := s.Image()
	checktest.OK(t, err)
	if n := len(image); n > 12<<10 {
		t.Errorf("the image has %d bytes, more than 12 KiB", n)
	}
}

func TestImagesOfSessions(t *testing.T) {
	t.Parallel()
	e := testEngine(t)
	s := newSession(t, e)
	sessionSays(t, s, "let x = 1")
	image, err := s.Image()
	checktest.OK(t, err)
	a, b := reopened(t, secondEngine(t), s), reopened(t, e, s)
	if got := sessionSays(t, a, "x = 2; return x") + sessionSays(t, b, "return x") + sessionSays(t, s,
		"return x"); got != "211" {
		t.Errorf("two sessions of one image and their origin say %s, want 211", got)
	}
	flipped := bytes.Clone(image)
	flipped[len(flipped)-1] ^= 1
	run, err := e.Start(t.Context(), Program{Source: "await codemode.a__later()"}, later)
	checktest.OK(t, err)
	parked, err := run.Park(t.Context())
	checktest.OK(t, err)
	crossed := append(append(bytes.Clone(imageMagic), image[len(sessionMagic):len(sessionMagic)+32]...),
		image[len(sessionMagic)+32:]...)
	for name, err := range map[string]error{
		"changed":      second(e.Open("anna", flipped)),
		"of another":   second(e.Open("bob", image)),
		"cut off":      second(e.Open("anna", image[:40])),
		"of a run":     second(e.Open("anna", parked)),
		"as a run":     second(e.Resume(t.Context(), image, Program{}, later)),
		"under a name": second(e.Resume(t.Context(), crossed, Program{}, later)),
	} {
		if !errors.Is(err, ErrImage) {
			t.Errorf("an image %s gives %v, want ErrImage", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestStacksOfASession(t *testing.T) {
	t.Parallel()
	s := newSession(t, testEngine(t))
	sessionSays(t, s, "function thrower() {\n  null.x\n}")
	_, err := s.Run(t.Context(), Program{Name: "p.ts", Source: "let a = 1\n\n thrower()",
		Lookup:  func(line, column int) (int, int) { return line + 100, column },
		Earlier: func(n, line, column int) (int, int) { return line + 1000*n, column }}, echo)
	var e *Error
	if !errors.As(err, &e) || e.Pos != (Position{103, 2}) ||
		e.Stack != "    at thrower (program-1.js:1002:3)\n    at <anonymous> (program-2.ts:103:2)\n" {
		t.Errorf("%+v at %+v\n%s", e, e.Pos, e.Stack)
	}
	s2 := newSession(t, testEngine(t))
	sessionSays(t, s2, "\n\n\n\n\nfunction loop() { for (;;); }")
	_, err = s2.Run(t.Context(), Program{Source: "1\nloop()", Limits: Limits{CPU: 50 * time.Millisecond}}, echo)
	if !errors.As(err, &e) || e.Pos.Line != 2 {
		t.Errorf("a program that hangs in an earlier one's function hangs at %+v, want line 2", e.Pos)
	}
}

// What sessions hold is their owner's; it is bounded, gives way to programs, and all comes back.
func TestMemoryOfSessions(t *testing.T) {
	t.Parallel()
	e := limited(t, 96<<20)
	var open []*Session
	var full *Error
	for full == nil {
		s, err := e.NewSession("anna")
		checktest.OK(t, err)
		open = append(open, s)
		_, err = s.Run(t.Context(), Program{Source: "const held = new Uint8Array(2 << 20).map((_, " +
			"i) => i * 7 + (i >> 8))"}, echo)
		if errors.As(err, &full); len(open) > 100 {
			t.Fatal("sessions have no bound")
		}
	}
	if full.Kind != OutOfMemory || !strings.Contains(full.Error(),
		"no room to keep the session") || e.sessions.Used() > 24<<20 {
		t.Errorf("%d sessions hold %d bytes; one more is %v", len(open), e.sessions.Used(), full)
	}
	if got := sessionSays(t, open[len(open)-1], "return typeof held"); got != `"undefined"` {
		t.Errorf("what had no room is %s", got)
	}
	if got := said(e.Run(t.Context(), Program{Source: "return new Uint8Array(30 << 20).fill(1).length",
		Owner: "anna"}, echo)); got != "31457280" {
		t.Errorf("beside the sessions, a large program of their owner says %s", got)
	}
	for i, s := range open[:len(open)-1] {
		if got := sessionSays(t, s, "return held[257]"); got != "8" {
			t.Errorf("session %d says %s, want 8", i, got)
		}
	}
	for _, s := range open {
		s.Close()
		s.Close()
	}
	if used, total := e.SessionMemory(); e.memory.Used() != 0 || used != 0 || total != 24<<20 {
		t.Errorf("after the last session, %d and %d of %d bytes are in use", e.memory.Used(), used, total)
	}
}

func TestAnEngineClosesWithSessions(t *testing.T) {
	t.Parallel()
	e := secondEngine(t)
	s := newSession(t, e)
	sessionSays(t, s, "let x = 1")
	if s.guest == nil {
		t.Error("the session has no guest")
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := s.Run(t.Context(), Program{Source: "return x"}, echo); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close, a session gives %v", err)
	}
	s.Close()
}

// Random programs change, grow and shrink what a session holds, some are stopped, and sessions are put away, cooled and
// opened: the session always says what a model says.
func TestRandomPrograms(t *testing.T) {
	t.Parallel()
	engines := []*Engine{testEngine(t), secondEngine(t)}
	var all sync.WaitGroup
	for seed := range uint64(4) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			s, err := engines[0].NewSession("anna")
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { s.Close() }()
			sessionSays(t, s, "const cells = new Map(); class Cell { #v; "+
				"constructor(v) { this.#v = v } get v() { return this.#v } }")
			model := map[int]int{}
			for step := range 120 {
				k, v, ends := r.IntN(40), r.IntN(1000), ""
				pad := 1 << r.IntN(16)
				switch r.IntN(4) {
				case 0:
					ends = "; for (;;) await codemode.a__b()"
				case 1:
					ends = "; throw new Error('no')"
				}
				source := fmt.Sprintf("cells.set(%d, new Cell(%d)); var pad = new Array(%d).fill(%d)%s", k, v, pad, step, ends)
				_, err := s.Run(t.Context(), Program{Source: source, Limits: Limits{Calls: 3}}, echo)
				if Keeps(err) {
					model[k] = v
				}
				switch r.IntN(8) {
				case 0:
					s.engine.warm.coolAll()
				case 1:
					image, err := s.Image()
					s.Close()
					if err == nil {
						s, err = engines[r.IntN(2)].Open("anna", image)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
				if got := sessionSays(t, s, fmt.Sprintf("return [cells.size, cells.get(%d)?.v ?? null]",
					k)); got != modelSays(model, k) {
					t.Errorf("seed %d, step %d: the session says %s, want %s", seed, step, got, modelSays(model, k))
					return
				}
			}
		})
	}
	all.Wait()
}

func modelSays(model map[int]int, k int) string {
	if v, ok := model[k]; ok {
		return fmt.Sprintf("[%d,%d]", len(model), v)
	}
	return fmt.Sprintf("[%d,null]", len(model))
}

// A thousand programs that leave nothing in the session do not make it larger.
func TestASessionDoesNotLeak(t *testing.T) {
	t.Parallel()
	s := newSession(t, testEngine(t))
	program := `let x = {a: 1}; class C { #p = x;
		m() { return this.#p } } function f() { return new C().m() } const {a, ...rest} = f();
		console.log(rest, new Map([[1, 2]])); await codemode.a__echo({x});
			const bad = await codemode.a__fail().catch(e => e.message);
		setTimeout(f, 1); setInterval(f, 1000); codemode.a__echo(1).then(f); codemode.background(Promise.reject(1));
			(async () => { await new Promise(() => {}) })();
		return {big: "x".repeat(2000), bad}`
	for _, p := range []string{program, "nobody()", "throw {a: 1}", "Promise.reject(new Error('unhandled')); return {a: 1}",
		"return {a: [Promise.reject(new Error('in the value'))]}", "setTimeout(() => { throw 1 }, 0); let y = 1; " +
			"await new Promise(() => {})"} {
		run := func(n int) int64 {
			for range n {
				if _, err := s.Run(t.Context(), Program{Source: p}, slowEcho); !Keeps(err) {
					t.Fatal(err)
				}
			}
			return s.Size()
		}
		first := run(200)
		if last := run(400); last > first+64<<10 {
			t.Errorf("%.20s: the session grew from %d to %d bytes", p, first, last)
		}
	}
}

func FuzzOpenSession(f *testing.F) {
	e := testEngine(f)
	s, err := e.NewSession("anna")
	if err != nil {
		f.Fatal(err)
	}
	defer s.Close()
	sessionSays(f, s, "let x = {a: 1}; const f = () => x")
	image, err := s.Image()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(image[len(sessionMagic)+32:])
	f.Add([]byte("\x02\x00\x00\x00{}"))
	// The fuzzer knows the key: what is behind the authentication must hold by itself, and so must the host when the
	// memory of a guest is anything.
	f.Fuzz(func(t *testing.T, rest []byte) {
		image := append(append(append([]byte(nil), sessionMagic...), e.sign(sessionMagic, rest)...), rest...)
		s, err := e.Open("anna", image)
		if err != nil {
			return
		}
		defer s.Close()
		limits := Limits{CPU: 20 * time.Millisecond, Wall: time.Second, Memory: 16 << 20}
		_, _ = s.Names(t.Context())
		_, _ = s.Run(t.Context(), Program{Source: "return f()", Limits: limits}, echo)
		_, _ = s.Run(t.Context(), Program{Source: "let x = 2; return f()", Limits: limits}, echo)
		if got := said(e.Run(t.Context(), Program{Source: "return [typeof x, 1]"}, echo)); got != `["undefined",1]` {
			t.Errorf("a single program says %s", got)
		}
	})
}
