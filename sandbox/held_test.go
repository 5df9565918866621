package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// What is held for a program outside its guest counts with the guest's memory.
func TestHeldOutside(t *testing.T) {
	e := testEngine(t)
	text := func(bytes int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("y", bytes) + `"`) }
	var release atomic.Value // of chan struct{}: calls of a run may go on after it
	host := func(ctx context.Context, c *Call) (json.RawMessage, error) {
		switch c.Name {
		case "held":
			select {
			case <-ctx.Done():
			case <-release.Load().(chan struct{}):
			}
		case "release":
			close(release.Load().(chan struct{}))
		case "large":
			return text(60 << 20), nil
		case "some":
			return text(4 << 20), nil
		case "fail":
			return text(4 << 20), &Throw{Class: "Error", Message: strings.Repeat("é", 4<<20),
				Props: map[string]any{"detail": strings.Repeat("z", 4<<20)}}
		}
		return nil, nil
	}
	for _, test := range []struct{ name, source, want string }{
		{"a call beyond what may be held throws",
			`const s = 'x'.repeat(1e6), e = []; try { for (let i = 0; i < 99; i++) e.push(codemode.held(s)) } catch (x) { codemode.release({}); return [x.name, x.message.includes('(1000002 bytes)'), e.length > 15, e.length < 50] }`,
			`["RangeError",true,true,true]`},
		{"a small one can always be made",
			`const s = 'x'.repeat(1e6); try { for (;;) codemode.held(s) } catch {} return await codemode.release({}) === undefined`, `true`},
		{"an answered one is held no more",
			`const s = 'x'.repeat(1e6); for (let i = 0; i < 99; i++) await codemode.quick(s); return 'done'`, `"done"`},
		{"a name is cut",
			`const s = 'x'.repeat(1e6); for (let i = 0; i < 99; i++) codemode[s]({}); return 'done'`, `"done"`},
		{"an answer without room fails its call",
			`try { await codemode.large() } catch (x) { return [x instanceof RangeError, x.name, x.toolName, x.message.includes('62914562 bytes')] }`, `[true,"RangeError","large",true]`},
		{"of many large answers, those that fit arrive",
			`const r = await Promise.allSettled(Array.from({length: 16}, async () => (await codemode.some()).length)); return r.every(x => x.value === 4 << 20 || x.status === 'rejected') && r.some(x => x.value)`, `true`},
		{"an error is cut",
			`try { await codemode.fail() } catch (x) { return [x.message.length < 100000, x.message.endsWith('é…'), x.detail ?? null] }`, `[true,true,null]`},
		{"the program has what calls leave",
			`const s = 'x'.repeat(1e6), a = []; for (let i = 0; i < 20; i++) codemode.held(s); for (let i = 0; i < 12; i++) a.push(new Uint8Array(1 << 20).fill(1)); return 'enough'`, "out of memory"},
		{"and all of it without",
			`const a = []; for (let i = 0; i < 12; i++) a.push(new Uint8Array(1 << 20).fill(1)); return 'enough'`, `"enough"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			release.Store(make(chan struct{}))
			r, err := e.Run(t.Context(), Program{Source: test.source, Limits: Limits{Memory: 24 << 20, CPU: time.Minute}}, host)
			if ended := new(Error); errors.As(err, &ended) {
				if got := ended.Kind.String(); got != test.want {
					t.Errorf("ended: %v (%v), want %s", got, err, test.want)
				}
			} else if string(r.Value) != test.want {
				t.Errorf("got %s, %v, want %s", r.Value, err, test.want)
			}
		})
	}
}

// A Host may answer a call once; what it returns after Settle did is dropped.
func TestAnsweredOnce(t *testing.T) {
	e := testEngine(t)
	settled := make(chan *Run, 1)
	r, err := e.Start(t.Context(), Program{Source: `return [await codemode.a(), await codemode.b()]`},
		func(ctx context.Context, c *Call) (json.RawMessage, error) {
			if c.Name == "a" {
				if run := <-settled; !run.Settle(c.ID, json.RawMessage(`"settled"`), nil) || run.Settle(c.ID, nil, nil) {
					t.Error("a call can be settled once, and was not or twice")
				}
			}
			return json.RawMessage(`"returned"`), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	settled <- r
	result, err := r.Wait()
	if err != nil || string(result.Value) != `["settled","returned"]` {
		t.Errorf("got %s, %v", result.Value, err)
	}
	if r.memory.held != 0 {
		t.Errorf("%d bytes are still counted as held", r.memory.held)
	}
}

// Garbage that comes while other garbage is collected is collected after it: it does not lie until a later run leaves
// some.
func TestGarbageOfManyCallsAtOnceIsCollected(t *testing.T) {
	for range 20 {
		var d dump
		var done sync.WaitGroup
		for range 16 { // the calls under way of a run that has ended
			done.Go(func() { d.add(1 << 20) })
		}
		done.Wait()
		if d.full() {
			t.Fatalf("%d bytes of garbage are left", d.bytes.Load())
		}
	}
}
