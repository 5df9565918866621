package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// A program that has taken the interpreter over calls codemode_call with
// whatever it likes: it gets a call with bytes of its own memory, or is stopped.
func FuzzHostCall(f *testing.F) {
	e := testEngine(f)
	g, err := e.get(f.Context(), 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { g.waste = true; e.put(g) })
	size := uint32(g.mem.Size)
	for _, v := range []uint32{0, 1, size - 1, size, 1 << 31, 1<<32 - 1} {
		f.Add(v, uint32(4), uint32(0), v)
		f.Add(uint32(0), v, v, uint32(4))
	}
	f.Fuzz(func(t *testing.T, name, nameLen, args, argsLen uint32) {
		var got *Call
		arrived := make(chan struct{})
		r := newRun(t.Context(), e, g, Program{}, DefaultLimits(), func(ctx context.Context, c *Call) (json.RawMessage,
			error) {
			got = c
			close(arrived)
			return nil, nil
		}, 0)
		inside := uint64(name)+uint64(nameLen) <= uint64(size) && uint64(args)+uint64(argsLen) <= uint64(size) &&
			argsLen <= 1<<20
		defer func() {
			if p := recover(); p != nil && (inside || p != errOutOfBounds) {
				t.Fatalf("stopped with %v although the bytes are inside: %v", p, inside)
			}
		}()
		stack := []uint64{uint64(name), uint64(nameLen), uint64(args), uint64(argsLen)}
		hostCall(g.ctx, g.module, stack)
		question := nameLen > 0 && uint64(name)+uint64(nameLen) <= uint64(size) && g.mem.Bytes[name] == 0
		if !inside && !question {
			t.Fatal("bytes outside the memory made a call")
		}
		if nameLen > 0 && g.mem.Bytes[name] == 0 { // a question, and nobody knows names
			if int32(stack[0]) != -1 {
				t.Fatalf("a question was answered with %d", int32(stack[0]))
			}
			r.end()
			return
		}
		if id := int32(stack[0]); id != 1 {
			t.Fatalf("the first call has the id %d", id)
		}
		r.performNext()
		<-arrived
		if got.Name != callName(g.mem.Bytes[name:name+nameLen], new(string)) || len(got.Args) != int(argsLen) {
			t.Fatal("the call does not have the bytes that were named")
		}
		r.end()
	})
}

func (r *Run) end() {
	if r.cancel != nil {
		r.cancel(errEnded)
	}
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.memory.release()
}

// The same program writes what it likes into the struct that the host reads.
func FuzzShared(f *testing.F) {
	e := testEngine(f)
	g, err := e.get(f.Context(), 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { g.waste = true; e.put(g) })
	forge := func(status, out, n uint32) []byte {
		b := make([]byte, sharedSize)
		for at, v := range map[int]uint32{sharedStatus: status, sharedOut: out, sharedOutLen: n, sharedConsole: out,
			sharedConsoleLen: n} {
			binary.LittleEndian.PutUint32(b[at:], v)
		}
		return b
	}
	for status := range uint32(8) {
		f.Add(forge(status, 0, 1<<32-1))
		f.Add(forge(status, 1<<32-1, 8))
		f.Add(forge(status, 1<<20, 64))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > sharedSize {
			b = b[:sharedSize]
		}
		g.shared.write(0, b)
		r := newRun(t.Context(), e, g, Program{}, DefaultLimits(), echo, 0)
		defer r.end()
		r.wall.started -= r.limits.Wall // it must not wait for a forged timer
		if _, err := r.finished(g); err != nil && !errors.As(err, new(*Error)) {
			t.Errorf("got %v, want an *Error", err)
		}
		if _, err := r.failed(g, errStop); !errors.As(err, new(*Error)) {
			t.Errorf("got %v, want an *Error", err)
		}
		if answers, err := r.wait(g); err == nil && len(answers) > 0 {
			t.Error("answers came from nowhere")
		}
	})
}

// Whatever is in a program, it stays the body of its function: nothing behind
// a return at its beginning runs.
func FuzzBody(f *testing.F) {
	e := testEngine(f)
	for _, s := range []string{
		"return 1; }); evil(); (async () => {", "})\n;evil();(async function(){", "}, async function () {", "*/ evil() /*",
		"` + evil() + `",
		"-->", "<!--", "//", "/*", "'", "`", "\\u007d", "}", "{", ")", "(", "}})(", "function f() {} }); evil(); ({ f() {",
		"\u2028})", "#!x", "${", "/}/", "/[}]/",
		"}); evil(); async function g() {", "};async function x(){",
		"});(async function () {\n}); evil(); (async function () {", "await 0; } finally {",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if !utf8.ValidString(body) || strings.ContainsRune(body, 0) {
			return
		}
		calls := 0
		host := func(ctx context.Context, c *Call) (json.RawMessage, error) { calls++; return nil, nil }
		source := "return 'first';\nfunction evil() { console.log('out') }\n" + body
		r, err := e.Run(t.Context(), Program{Source: source, Limits: Limits{CPU: time.Second}}, host)
		var refused *Error
		if err != nil {
			if !errors.As(err, &refused) {
				t.Fatal(err)
			}
			if refused.Kind == Refused {
				return
			}
			t.Fatalf("%q: %v: %v", body, refused.Kind, err)
		}
		if string(r.Value) != `"first"` || len(r.Console) > 0 || calls > 0 {
			t.Fatalf("%q ran: value %s, console %q, %d calls", body, r.Value, r.Console, calls)
		}
	})
}

// JSON.stringify has a quick way for plain data; with a replacer it has not.
const stringifyBothWays = `const v = await codemode.a__b();
	const slow = JSON.stringify([v], (k, x) => typeof x === "bigint" ? "big" : x);
	if (!slow.includes('"big"') && slow !== JSON.stringify([v])) throw new RangeError("stringify differs");
	return [v]`

// A JSON value comes back from a program as it went in.
func FuzzValues(f *testing.F) {
	e := testEngine(f)
	for _, s := range []string{
		`null`, `true`, `-0`, `1e400`, `1E-7`, `123456789012345678901234567890`, `9007199254740993`,
		`"\ud83d\ude00\ud800\u0000\\"`, `[[],{},[{}]]`,
		`{"a":{"__proto__":1,"constructor":2,"then":3,"toJSON":4}}`, `{"a":1,"a":2}`, `"é` + "\u2028" + `"`, `[1,2.5,-3e2]`,
		` { "x" : [ 1 , 2 ] } `,
		`[`, `{"a"`, `"\u12"`, `"\x"`, `1e`, `-`, `tru`, `[1,]`, "\"\xff\"", `{"":""}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) == 0 {
			return
		}
		host := func(ctx context.Context, c *Call) (json.RawMessage, error) { return in, nil }
		r, err := e.Run(t.Context(), Program{Source: stringifyBothWays}, host)
		if err != nil {
			var ended *Error
			if !errors.As(err, &ended) || strings.Contains(ended.Message, "differs") {
				t.Fatal(err)
			}
			return
		}
		if !json.Valid(r.Value) || !utf8.Valid(r.Value) {
			t.Fatalf("%q came back as %q, which is no JSON", in, r.Value)
		}
		want, ok := decode(in)
		if !ok {
			return // the guest reads some things that Go does not
		}
		got, _ := decode(r.Value)
		if list, isList := got.([]any); !isList || len(list) != 1 || !reflect.DeepEqual(list[0], want) {
			t.Errorf("%q came back as %q", in, r.Value)
		}
	})
}

// decode reads JSON whose numbers JavaScript has exactly.
func decode(p []byte) (any, bool) {
	d := json.NewDecoder(bytes.NewReader(p))
	var v any
	if d.Decode(&v) != nil || d.More() || !utf8.Valid(p) {
		return nil, false
	}
	return v, true
}
