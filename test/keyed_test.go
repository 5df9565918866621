package codemode_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
)

// stores are the two that processes share.
var stores = []struct {
	name string
	at   func(*testing.T) string
}{
	{"in a file", func(*testing.T) string { return `"codemode.db"` }},
	{"in PostgreSQL", func(t *testing.T) string { return fmt.Sprintf("%q", pgtest.Start(t).URL("keyed")) }},
}

// Requests with one idempotency key are one run, in whatever process they come and however many at once; another
// request with it is refused, and another principal's is another one.
func TestOneKeyIsOneRun(t *testing.T) {
	for _, row := range stores {
		t.Run(row.name, func(t *testing.T) {
			up := newPerformed(t)
			dir := fleetFolder(t, up, row.at(t))
			var replicas []*codemode.Evaluator
			for range 2 {
				e, _ := newReplica(t, dir)
				defer e.Close(context.WithoutCancel(t.Context()))
				replicas = append(replicas, e)
			}
			request := codemode.Request{
				Principal: "local:anna", Client: "one", IdempotencyKey: "5e2f0e7e-8f5b-4f7e-9d8a-1f6f8c6f2a10",
				Code:  `const a = await codemode.up__first(input); console.log("once"); return a`,
				Input: json.RawMessage(`{"a": 12345678901234567890, "b": 2}`),
			}
			var all sync.WaitGroup
			texts := make([]string, 12)
			for i := range texts {
				all.Go(func() {
					r := request
					if i%3 == 0 {
						r.Input, r.Client = json.RawMessage(`{ "b":2,"a": 12345678901234567890}`), "two"
					}
					resp, err := replicas[i%2].Eval(t.Context(), r)
					texts[i] = fmt.Sprint(resp.Run, err, resp.Text(err))
				})
			}
			all.Wait()
			for _, text := range texts {
				if text != texts[0] || !strings.Contains(text, "once") || !strings.Contains(text, "up__first") {
					t.Errorf("one got\n%s\nanother\n%s", texts[0], text)
				}
			}
			if did := up.times(); len(did) != 1 {
				t.Errorf("the upstream was called for %v", did)
			}
			for what, n := range up.times() {
				if n != 1 {
					t.Errorf("%s was done %d times", what, n)
				}
			}
			for what, change := range map[string]func(*codemode.Request){
				"another program": func(r *codemode.Request) { r.Code += " " },
				"another input":   func(r *codemode.Request) { r.Input = json.RawMessage(`{"a": 12345678901234567891, "b": 2}`) },
				"another profile": func(r *codemode.Request) { r.Profile = "p" },
				"a seed":          func(r *codemode.Request) { r.Deterministic = &codemode.Deterministic{Seed: 1} },
			} {
				r := request
				change(&r)
				resp, err := replicas[1].Eval(t.Context(), r)
				told := strings.Contains(resp.Text(err), "was used with another request before")
				if !errors.Is(err, codemode.ErrKeyReused) || resp.Run != "" || !told {
					t.Errorf("%s: %v\n%s", what, err, resp.Text(err))
				}
			}
			r := request
			r.Principal = "local:bert"
			resp, err := replicas[0].Eval(t.Context(), r)
			if err != nil || resp.Run == "" || strings.HasPrefix(texts[0], resp.Run) {
				t.Errorf("of another principal: %s, %v", resp.Run, err)
			}
		})
	}
}

// A repeated request gets the value and the error of the first one, as Go sees them.
func TestARepeatedRequestGetsTheValue(t *testing.T) {
	t.Parallel()
	e, _ := newReplica(t, fleetFolder(t, newPerformed(t), `"codemode.db"`))
	defer e.Close(context.WithoutCancel(t.Context()))
	for _, row := range []struct{ why, code, value, err, decode string }{
		{"a value", `return {n: 9007199254740993n}`, `{"n":9007199254740993}`, "<nil>", "<nil>"},
		{"undefined", `return`, ``, "<nil>", "<nil>"},
		{"more than the text shows", `return "x".repeat(100000)`, ``, "<nil>", "only the text is stored"},
		{"an exception", `throw new TypeError("no")`, ``, "TypeError: no", "<nil>"},
		{"a program that is stopped", `await new Promise(() => {})`, ``, "the program waits for ", "<nil>"},
	} {
		r := codemode.Request{Principal: "local:anna", IdempotencyKey: strings.ReplaceAll(row.why, " ", "-"), Code: row.code}
		first, err := e.Eval(t.Context(), r)
		again, errAgain := e.Eval(t.Context(), r)
		if first.Run != again.Run || string(again.Value) != row.value || first.Text(err) != again.Text(errAgain) ||
			first.Outcome(err) != again.Outcome(errAgain) || fmt.Sprint(err) != fmt.Sprint(errAgain) ||
			!strings.HasPrefix(fmt.Sprint(err), row.err) {
			t.Errorf("%s: first %s, %v, then %s, %v, %s\n%s", row.why, first.Outcome(err), err, again.Outcome(errAgain),
				errAgain, again.Value, again.Text(errAgain))
		}
		var value json.RawMessage
		if err := fmt.Sprint(again.Decode(&value)); !strings.Contains(err, row.decode) {
			t.Errorf("%s: Decode says %v", row.why, err)
		}
	}
}

// Keys that nothing could be kept for are refused, and nothing runs.
func TestKeysThatAreNoKeys(t *testing.T) {
	up := newPerformed(t)
	e, _ := newReplica(t, fleetFolder(t, up, `"codemode.db"`))
	defer e.Close(context.WithoutCancel(t.Context()))
	for key, want := range map[string]string{
		strings.Repeat("k", 256): "the idempotency key has 256 bytes, the limit is 255",
		"two words":              "no spaces",
		"schlüssel":              "of ASCII",
	} {
		resp, err := e.Eval(t.Context(), codemode.Request{Code: `return await codemode.up__first({})`, IdempotencyKey: key})
		if err == nil || !strings.Contains(err.Error(), want) || resp.Run != "" {
			t.Errorf("%.20s: %v", key, err)
		}
	}
	without, err := codemode.New(t.Context(), codemode.Options{CacheDir: cachetest.Dir()})
	must(t, err)
	defer without.Close(context.WithoutCancel(t.Context()))
	_, err = without.Eval(t.Context(), codemode.Request{Code: `return 1`, IdempotencyKey: "k"})
	if err == nil || !strings.Contains(err.Error(), "needs a store") {
		t.Errorf("without a store: %v", err)
	}
	if did := up.times(); len(did) > 0 {
		t.Errorf("it ran: %v", did)
	}
}

// A process is killed in the middle of a run. Who sends the request again is told what the run had done, nothing is
// done twice, and nothing runs again.
func TestARetryAfterAKillIsToldWhatWasDone(t *testing.T) {
	t.Parallel() // it waits
	for _, row := range stores {
		t.Run(row.name, func(t *testing.T) {
			up := newPerformed(t)
			dir := fleetFolder(t, up, row.at(t))
			me, _ := newReplica(t, dir)
			defer me.Close(context.WithoutCancel(t.Context()))
			up.hold("second")
			first := startReplica(t, "keyed", dir)
			up.until(t, "second")
			must(t, first.cmd.Process.Kill())
			ctx, cancel := context.WithTimeout(t.Context(), longWait)
			defer cancel()
			var texts []string
			for range 2 {
				resp, err := me.Eval(ctx, keyedRequest())
				text := resp.Text(err)
				for _, part := range []string{"the process that the run was in ended", "up__first done", "up__second unknown"} {
					if err == nil || !strings.Contains(text, part) {
						t.Errorf("it is not told %q: %v\n%s", part, err, text)
					}
				}
				texts = append(texts, text)
			}
			if texts[0] != texts[1] {
				t.Errorf("it is told\n%s\nand then\n%s", texts[0], texts[1])
			}
			for what, n := range up.times() {
				if n != 1 || strings.HasPrefix(what, "third") {
					t.Errorf("%s was done %d times", what, n)
				}
			}
		})
	}
}

func keyedRequest() codemode.Request {
	return codemode.Request{Principal: "local:anna", IdempotencyKey: "key", Code: `
		const a = await codemode.up__first({n: 1});
		const b = await codemode.up__second({n: 2});
		return await codemode.up__third({n: 3})`, Profile: "q"}
}

// A run that waits for a person is given up by a process that stops. Its client comes back with the key, or with the
// name of the run, and gets what it came to in another process.
func TestARetryFindsARunThatWasPutAway(t *testing.T) {
	for name, key := range map[string]string{"with its key": "key", "with the name of the run": ""} {
		t.Run(name, func(t *testing.T) {
			up := newPerformed(t)
			dir := fleetFolder(t, up, `"codemode.db"`)
			first, _ := newReplica(t, dir)
			defer first.Close(context.WithoutCancel(t.Context()))
			other, q := newReplica(t, dir, func(o *codemode.Options) { o.GoOn = false })
			defer other.Close(context.WithoutCancel(t.Context()))
			request := codemode.Request{Principal: "local:anna", IdempotencyKey: key, Code: fleetProgram}
			request.Input = json.RawMessage(`1`)
			type told struct {
				*codemode.Response
				err error
			}
			answered := make(chan told, 2)
			send := func(to *codemode.Evaluator, r codemode.Request) {
				resp, err := to.Eval(t.Context(), r)
				answered <- told{resp, err}
			}
			go send(first, request)
			run := parked(t, other, 1)["local:anna"]
			if key != "" {
				go send(first, request) // again, to the same process
			} else {
				answered <- told{&codemode.Response{Run: run}, nil}
			}
			first.Runs().Drain(t.Context())
			for range 2 {
				got, comeBack := <-answered, fmt.Sprintf("with the idempotency key %q", cmp.Or(key, run))
				if got.Run != run || got.err != nil && !strings.Contains(got.Text(got.err), comeBack) {
					t.Errorf("its client is told %v\n%s", got.err, got.Text(got.err))
				}
			}
			if request.IdempotencyKey == "" {
				request.IdempotencyKey = run
			}
			third, _ := newReplica(t, dir)
			defer third.Close(context.WithoutCancel(t.Context()))
			go send(third, request)
			ctx, stop := context.WithCancel(t.Context())
			var answering sync.WaitGroup
			answering.Go(func() { answer(ctx, t, q, "") })
			got := <-answered
			stop()
			answering.Wait()
			if got.err != nil || !strings.Contains(got.Text(nil), "1 2 3 4") {
				t.Errorf("it came to %v\n%s", got.err, got.Text(got.err))
			}
			for what, n := range up.times() {
				if n != 1 {
					t.Errorf("%s was done %d times", what, n)
				}
			}
		})
	}
}

// A process is killed while it writes the end of a run whose process was killed. The client is told the same.
func TestARetryAfterTwoKillsIsToldTheSame(t *testing.T) {
	up := newPerformed(t)
	dir := fleetFolder(t, up, `"codemode.db"`)
	me, _ := newReplica(t, dir, func(o *codemode.Options) { o.GoOn = false })
	defer me.Close(context.WithoutCancel(t.Context()))
	db, err := me.Record().DB(t.Context())
	must(t, err)
	up.hold("second")
	first := startReplica(t, "keyed", dir)
	up.until(t, "second")
	_ = first.cmd.Process.Kill()
	var orphans []*store.ParkedRun
	dead := func() bool { _, orphans, err = db.Runs.List(t.Context()); return err != nil || len(orphans) > 0 }
	if !testwait.Holds(dead) || err != nil {
		t.Fatalf("it is not found that the process died: %v", err)
	}
	if _, err := db.Runs.Reap(t.Context(), orphans[0].Run, "the one that is killed next"); err != nil {
		t.Fatal(err)
	}
	must(t, me.Close(t.Context()))
	last, _ := newReplica(t, dir)
	defer last.Close(context.WithoutCancel(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), longWait)
	defer cancel()
	resp, err := last.Eval(ctx, keyedRequest())
	for _, part := range []string{"the process that the run was in ended", "up__first done", "up__second unknown"} {
		if text := resp.Text(err); err == nil || !strings.Contains(text, part) {
			t.Errorf("it is not told %q: %v\n%s", part, err, text)
		}
	}
}
