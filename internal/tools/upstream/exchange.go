package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// An exchange is the transports' record of one request: whether they sent it, and the answer byte for byte. The SDK
// decodes answers into Go values, which rounds integers beyond 2^53, loses the order of keys, and fails at content that
// it does not know. The SDK calls our transports with the context of the request, so the record travels in it, as a
// trace of net/http/httptrace does.
type exchange struct {
	// alone withholds the result from the SDK, which gets errWithheld instead:
	// decoding the shortest result allocates 64 KiB.
	alone bool

	id     string          // of the request over HTTP, as we wrote it
	trace  map[string]any  // traceparent and tracestate, which HTTP servers get in headers too
	onSent func()          // called when the request is sent; nil is ignored
	caller *caller         // the caller behind the request; nil is nobody in particular
	args   json.RawMessage // of a call
	over   <-chan struct{} // closed when nobody waits for the answer any more

	mu     sync.Mutex
	sent   bool            // the transport sent at least a part of the request
	status int             // of the HTTP answer, 0 if there was none
	result json.RawMessage // nil until it arrives
	failed *jsonrpc.Error  // the answer was an error of the server
	broken *unreadable     // the answer was none
}

// The SDK gets errWithheld in place of a result. Nobody sees it: if there is a result, no error counts.
var errWithheld = &jsonrpc.Error{Code: 1, Message: "the transport kept the result"}

type exchangeKey struct{}

// context returns a context for the SDK. The exchange records the last request that the SDK makes with it before ctx
// ends.
func (x *exchange) context(ctx context.Context) context.Context {
	x.over = ctx.Done()
	return context.WithValue(ctx, exchangeKey{}, x)
}

// exchangeOf returns the exchange of a request's context; nil if there is none or it is over. The SDK sends the notice
// of a cancelled call with a context that has the values of the call's context: that notice is not part of the
// exchange.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	if x == nil {
		return nil
	}
	select {
	case <-x.over:
		return nil
	default:
		return x
	}
}

// begin makes the exchange ready for another request: the SDK repeats a
// request that the server answered with a question.
func (x *exchange) begin() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent, x.status, x.result, x.failed, x.broken = false, 0, nil, nil, nil
}

func (x *exchange) noteSent() {
	if x == nil {
		return
	}
	x.mu.Lock()
	x.sent = true
	x.mu.Unlock()
}

// passOn lets the next request follow.
func (x *exchange) passOn() {
	if x != nil && x.onSent != nil {
		x.onSent()
	}
}

func (x *exchange) noteStatus(code int) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status = code
}

func (x *exchange) noteUnreadable(e *unreadable) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.broken = e
}

// unreadable returns the error of an answer that could not be read, nil if there was none.
func (x *exchange) unreadable() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.broken == nil {
		return nil
	}
	return x.broken
}

// given returns the arguments of the call.
func (x *exchange) given() json.RawMessage {
	if x == nil {
		return nil
	}
	return x.args
}

// noteAnswer records the answer, and reports whether to withhold it from the SDK.
func (x *exchange) noteAnswer(result json.RawMessage, failed *jsonrpc.Error) (withhold bool) {
	if x == nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed = failed; failed == nil {
		x.result = result
	}
	return x.alone && failed == nil && result != nil && !wantsInput(result)
}

// wantsInput reports whether a result is a question: protocol 2026-07-28
// answers a call that way, and the SDK puts it to the elicitation handler.
func wantsInput(result json.RawMessage) bool {
	if !bytes.Contains(result, []byte(`resultType`)) && !bytes.Contains(result, []byte(`\u`)) { // most have none
		return false
	}
	var r map[string]json.RawMessage
	var kind string
	return json.Unmarshal(result, &r) == nil && json.Unmarshal(r["resultType"], &kind) == nil && kind != "complete"
}

// outcome returns the record.
func (x *exchange) outcome() (sent bool, status int, result json.RawMessage, failed *jsonrpc.Error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sent, x.status, x.result, x.failed
}

// A pending has the unanswered requests on one stream.
type pending struct {
	mu   sync.Mutex
	byID map[jsonrpc.ID]waiter

	unexpected atomic.Int64 // answers that nobody waited for

	// stuck is called when the request that opens the connection got an answer that cannot be read, and no other one
	// for stuckTime. Nil is ignored.
	stuck func(error)
}

// stuckTime is how long a server that wrote an unreadable answer to the opening has to write another.
const stuckTime = 2 * time.Second

type waiter struct {
	exchange *exchange        // nil for what the SDK asks on its own account
	request  *jsonrpc.Request // nil unless it opens the connection
	forget   func() bool      // stops the removal at the end of the request's context
}

// add adds the request made with ctx, and returns its exchange. When ctx ends,
// nobody waits any more.
func (p *pending) add(ctx context.Context, r *jsonrpc.Request) *exchange {
	w := waiter{exchange: exchangeOf(ctx)}
	if r.Method == methodInitialize {
		w.request = r
	}
	w.exchange.begin()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byID == nil {
		p.byID = map[jsonrpc.ID]waiter{}
	}
	w.forget = context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.byID, r.ID)
	})
	p.byID[r.ID] = w
	return w.exchange
}

// take removes the request that a response answers, and gives the response its id: some servers make text of numbers.
func (p *pending) take(r *jsonrpc.Response) (waiter, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text, ok := r.ID.Raw().(string); ok && p.byID[r.ID].forget == nil {
		if id, ok := idOf(text); ok {
			r.ID = id
		}
	}
	w, waited := p.byID[r.ID]
	delete(p.byID, r.ID)
	return w, waited
}

// idOf makes an id of the SDK of its text.
func idOf(text string) (jsonrpc.ID, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.MakeID(float64(n))
	return id, err == nil
}

// answer records a response in the exchange that waits for it. It returns a request to send again instead, if the
// server knows only other versions of the protocol.
func (p *pending) answer(r *jsonrpc.Response) (again *jsonrpc.Request) {
	w, waited := p.take(r)
	if !waited {
		p.unexpected.Add(1)
		return nil
	}
	w.forget()
	var failed *jsonrpc.Error
	if !errors.As(r.Error, &failed) && r.Error != nil {
		return nil
	}
	if w.request != nil {
		if again = otherVersion(w.request, failed); again != nil {
			return again
		}
		r.Result = tidyInitialize(r.Result)
	}
	if w.exchange.noteAnswer(r.Result, failed) {
		r.Result, r.Error = nil, errWithheld
	}
	return nil
}

// lost returns the message that ends the request to which a text is an unreadable answer; nil if there is none. A
// request that opens the connection goes on for a moment: servers print much before their first answer.
func (p *pending) lost(text []byte, masked masking) []byte {
	id, ok := idOf(answerID(text))
	if !ok {
		return nil
	}
	p.mu.Lock()
	w, waited := p.byID[id]
	p.mu.Unlock()
	if !waited {
		return nil
	}
	e := &unreadable{"its answer cannot be read: " + words(text, masked, w.exchange.given())}
	if w.exchange == nil {
		if w.request != nil && p.stuck != nil {
			time.AfterFunc(stuckTime, func() {
				p.mu.Lock()
				_, waits := p.byID[id]
				p.mu.Unlock()
				if waits {
					p.stuck(e)
				}
			})
		}
		return nil
	}
	w.exchange.noteUnreadable(e)
	return unreadableAnswer(answerID(text), e)
}

// A caller is one with calls in flight at a server.
type caller struct {
	key      string  // marks the questions in the streams of its calls
	ask      askFunc // of the latest call; nil reaches nobody
	calls    int     // in flight
	made     int     // in all
	asked    int
	over     context.Context // ends with the last of the calls
	finished context.CancelFunc
}

// An askFunc puts a question to a person; see [CallOptions.Ask].
type askFunc = func(context.Context, *Question) (*Answer, error)

// callerMeta is the key of _meta that carries a question's caller inside this process.
const callerMeta = "codemode/caller"

// mark writes the caller into a question that came in the stream of a call. Servers cannot do so: they do not know the
// keys.
func (c *caller) mark(message []byte) []byte {
	if c == nil || !bytes.Contains(message, []byte(`"elicitation/create"`)) {
		return message
	}
	var m, params, meta map[string]json.RawMessage
	var method string
	if json.Unmarshal(message, &m) != nil || json.Unmarshal(m["method"], &method) != nil ||
		method != "elicitation/create" || json.Unmarshal(m["params"], &params) != nil || params == nil {
		return message
	}
	if json.Unmarshal(params["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	meta[callerMeta] = quote(c.key)
	params["_meta"] = marshal(meta)
	m["params"] = marshal(params)
	return marshal(m)
}
