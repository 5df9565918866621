package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A capture takes the answer to one request off the wire, byte for byte. The
// SDK decodes answers into Go values, which rounds integers beyond 2^53, loses
// the order of keys, and gives up on content it does not know. It travels with
// the request's context, and the connection fills it.
type capture struct {
	// alone keeps the result from the SDK, which gets errTaken in its place: it would
	// take 64 KiB of memory to decode the shortest one.
	alone bool

	// party is for whom the request is made; nil is nobody in particular.
	party *party

	over <-chan struct{} // closed when nobody waits for the answer any more

	mu     sync.Mutex
	sent   bool            // at least a part of the request left us
	status int             // of the HTTP answer, 0 if there was none
	result json.RawMessage // nil until it is there
	failed *jsonrpc.Error  // the answer was an error of the server
}

// errTaken is what the SDK gets in place of a result that it shall not decode. Nobody sees
// it: where the result is there, no error counts.
var errTaken = &jsonrpc.Error{Code: 1, Message: "the result was taken off the wire"}

type captureKey struct{}

// with returns a context that makes the connection fill c with the answer to
// the last request made with it before ctx ends.
func (c *capture) with(ctx context.Context) context.Context {
	c.over = ctx.Done()
	return context.WithValue(ctx, captureKey{}, c)
}

// captureOf returns the capture of ctx, nil if there is none or it is over: the SDK tells
// the server that a call was given up with a context that has the values of the call's.
// What is known of the call must not become what is known of that message.
func captureOf(ctx context.Context) *capture {
	c, _ := ctx.Value(captureKey{}).(*capture)
	if c == nil {
		return nil
	}
	select {
	case <-c.over:
		return nil
	default:
		return c
	}
}

func (c *capture) noteSent() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = true
}

// begin makes the capture ready for the next request made with it: one that a
// server answered with a question is sent again with the answer.
func (c *capture) begin() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent, c.status, c.result, c.failed = false, 0, nil, nil
}

func (c *capture) noteError(e *jsonrpc.Error) {
	if c == nil || e == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = e
}

func (c *capture) noteStatus(code int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = code
}

// take keeps the result, and reports whether the SDK shall not see it.
func (c *capture) take(result json.RawMessage) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result = result
	return c.alone && !wantsInput(result)
}

// wantsInput reports whether a result is no result but a question: protocol
// 2026-07-28 answers a call that way, and the SDK has to see it.
func wantsInput(result json.RawMessage) bool {
	if !bytes.Contains(result, []byte(`resultType`)) && !bytes.Contains(result, []byte(`\u`)) { // most have none
		return false
	}
	var r map[string]json.RawMessage
	var kind string
	return json.Unmarshal(result, &r) == nil && json.Unmarshal(r["resultType"], &kind) == nil && kind != "complete"
}

// answer returns what came: whether the request left us, the HTTP status, the
// result, the error that stood in its place.
func (c *capture) answer() (sent bool, status int, result json.RawMessage, failed *jsonrpc.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent, c.status, c.result, c.failed
}

// A waitingList holds the requests on one stream that wait for their answers, by their ids.
type waitingList struct {
	mu   sync.Mutex
	byID map[jsonrpc.ID]waiter

	needless atomic.Int64 // answers that nobody waited for
}

type waiter struct {
	capture *capture    // nil for what the SDK asks on its own account
	forget  func() bool // when the request's context ends
}

// add notes that the request made with ctx waits for its answer, and returns its
// capture. An answer that nobody waits for any more finds nothing.
func (l *waitingList) add(ctx context.Context, id jsonrpc.ID) *capture {
	c := captureOf(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil {
		l.byID = map[jsonrpc.ID]waiter{}
	}
	c.begin()
	l.byID[id] = waiter{c, context.AfterFunc(ctx, func() { l.remove(id) })}
	return c
}

func (l *waitingList) remove(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byID, id)
}

// answer gives a response to the capture that waits for it.
func (l *waitingList) answer(r *jsonrpc.Response) {
	l.mu.Lock()
	w, waited := l.byID[r.ID]
	if waited {
		w.forget()
		delete(l.byID, r.ID)
	} else {
		l.needless.Add(1)
	}
	l.mu.Unlock()
	if r.Error == nil {
		if w.capture.take(r.Result) {
			r.Result, r.Error = nil, errTaken
		}
		return
	}
	var e *jsonrpc.Error
	if errors.As(r.Error, &e) {
		w.capture.noteError(e)
	}
}
