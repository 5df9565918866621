// Package direct carries a call of a tool from an HTTP request to the SDK's server, and its answer back.
//
// The SDK's HTTP handler can do that too. It reads the JSON of a request about a dozen times (in a session five times),
// each time into a new buffer of 32 KiB, which takes a quarter of the time of a short call and most of the memory that
// it allocates. This package reads it once. It takes only what it can read in one way: a single call with the headers
// that the protocol wants, in JSON on which all readers agree. All else, with everything that is wrong, is for the SDK's
// handler, which knows how to answer it.
package direct

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// version is the one without sessions. A [Session] speaks earlier ones.
const version = "2026-07-28"

// Headers of the protocol (MCP 2026-07-28, "Transports", "Standard Request Headers").
const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// callTool is the method of the requests that this package takes.
const callTool = "tools/call"

// Read returns the call that a request with this body makes, or nil if the request is for the SDK's handler.
func Read(r *http.Request, body []byte) *jsonrpc.Request {
	if !isPlain(r) {
		return nil
	}
	message, err := strictjson.Parse(body, strictjson.Options{})
	if err != nil || !onlyHas(message, "jsonrpc", "id", "method", "params") {
		return nil
	}
	id := idOf(message)
	params, _ := message.Member("params")
	name, _ := params.Member("name")
	meta, _ := params.Member("_meta")
	spoken, _ := meta.Member(mcp.MetaKeyProtocolVersion)
	if !id.IsValid() || !isText(message, "jsonrpc", "2.0") || !isText(message, "method", callTool) ||
		name.Kind() != strictjson.String || name.Text() != r.Header.Get(nameHeader) ||
		spoken.Kind() != strictjson.String || spoken.Text() != version ||
		!onlyHas(params, "_meta", "name", "arguments", "inputResponses", "requestState") {
		return nil
	}
	call := &jsonrpc.Request{ID: id, Method: callTool, Params: body[params.Offset():params.End()]}
	if !isContinued(params) {
		return call
	}
	var continued mcp.CallToolParamsRaw // the SDK's handler has an answer to what it cannot read
	if state, _ := params.Member("requestState"); state.Kind() == strictjson.Null ||
		json.Unmarshal(call.Params, &continued) != nil {
		return nil
	}
	return call
}

// isContinued reports whether a call goes on with an earlier one.
func isContinued(params strictjson.Value) bool {
	_, hasState := params.Member("requestState")
	_, hasResponses := params.Member("inputResponses")
	return hasState || hasResponses
}

// isPlain reports whether the headers are those of a call, each of them once.
func isPlain(r *http.Request) bool {
	if !isPost(r) || !once(r, versionHeader, version) || !once(r, methodHeader, callTool) || !once(r, nameHeader, "") {
		return false
	}
	for header := range r.Header {
		if strings.HasPrefix(header, "Mcp-Param-") { // an argument that is in a header too
			return false
		}
	}
	return true
}

// isPost reports whether a request sends JSON, and takes JSON and events from their beginning.
func isPost(r *http.Request) bool {
	return r.Method == http.MethodPost && len(r.Header["Last-Event-Id"]) == 0 &&
		once(r, "Content-Type", "application/json") && once(r, "Accept", "") && accepts(r.Header.Get("Accept"))
}

// once reports whether a request has a header once, with this value; "" is any but the empty one.
func once(r *http.Request, header, value string) bool {
	values := r.Header[header]
	return len(values) == 1 && (value == "" && values[0] != "" || value != "" && values[0] == value)
}

// accepts reports whether a list of media types has both that answers are of, as they are written.
func accepts(list string) bool {
	var json, stream bool
	for kind := range strings.SplitSeq(list, ",") {
		switch strings.TrimSpace(kind) {
		case "application/json":
			json = true
		case events:
			stream = true
		}
	}
	return json && stream
}

// onlyHas reports whether an object has no members but these. The SDK might know others.
func onlyHas(object strictjson.Value, names ...string) bool {
	if object.Kind() != strictjson.Object {
		return false
	}
	for name := range object.Members() {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

func isText(object strictjson.Value, member, text string) bool {
	v, _ := object.Member(member)
	return v.Kind() == strictjson.String && v.Text() == text
}

// longestNumber is how many digits an id may have so that a double holds it exactly.
const longestNumber = 15

// idOf returns the id of a message, which is not valid unless it is a text or a whole number.
func idOf(message strictjson.Value) jsonrpc.ID { return idIn(message, "id") }

func idIn(object strictjson.Value, member string) jsonrpc.ID {
	var id jsonrpc.ID
	switch v, _ := object.Member(member); v.Kind() {
	case strictjson.String:
		id, _ = jsonrpc.MakeID(v.Text())
	case strictjson.Number:
		digits := v.Source()
		n, err := strconv.ParseInt(digits, 10, 64)
		if err == nil && len(digits) <= longestNumber && strconv.FormatInt(n, 10) == digits {
			id, _ = jsonrpc.MakeID(float64(n))
		}
	}
	return id
}

// A Response is what the answer to a request is written to.
type Response interface {
	http.ResponseWriter
	FlushError() error
	// WriteLast writes the end of the response and flushes it: event, if the response has begun as a stream of events;
	// otherwise all of it, with its status, its media type and a length, so that one packet can have it all.
	WriteLast(status int, kind string, all, event []byte) error
}

// Serve lets the server handle a call that [Read] has read, and returns when the client has its answer, or has left and
// the call has ended. extra goes to the handlers with the request.
func Serve(w Response, r *http.Request, call *jsonrpc.Request, server *mcp.Server, extra *mcp.RequestExtra) {
	call.Extra = extra
	c := &connection{call: call, w: w, left: r.Context().Done(), ended: make(chan struct{})}
	session := c.open(r.Context(), server, &mcp.ServerSessionState{})
	if session == nil {
		return
	}
	select {
	case <-c.ended:
	case <-c.left:
	}
	_ = session.Close() // it waits for the handler
}

// A connection carries one call to the SDK's server, and what the server has to say of it to the client.
type connection struct {
	call *jsonrpc.Request
	w    Response
	left <-chan struct{} // closed when the client has left; nil in a session

	session  string               // its id; "" without one
	number   string               // of the call in its session
	incoming chan jsonrpc.Message // what else the client says of the call; nil without a session

	answers func() // called before the answer is written; nil without a session
	read    bool   // the server has the call; for Read alone

	mu    sync.Mutex
	over  bool          // the response is complete
	gone  bool          // nobody reads the response any more, and nothing may write to it
	ended chan struct{} // closed by end
	end   sync.Once
}

// open begins a session of the SDK's server for the call. If it cannot, it says so to the client and returns nil.
func (c *connection) open(ctx context.Context, server *mcp.Server, state *mcp.ServerSessionState) *mcp.ServerSession {
	c.w.Header().Set("Cache-Control", noCache)
	c.w.Header().Set("Content-Type", events)
	session, err := server.Connect(ctx, c, &mcp.ServerSessionOptions{State: state})
	if err != nil {
		http.Error(c.w, "the server does not take calls", http.StatusInternalServerError)
		return nil
	}
	return session
}

// Connect and the methods below are those of [mcp.Transport] and [mcp.Connection].
func (c *connection) Connect(context.Context) (mcp.Connection, error) { return c, nil }

func (c *connection) SessionID() string { return c.session }

// Read returns the call, and then what else the client says of it. Its error is io.EOF: at the end of the connection,
// and outside of a session also when the client has left, because the SDK cancels what is in progress then.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	if !c.read { // mu would wait for a client that does not read its answer
		c.read = true
		return c.call, nil
	}
	select {
	case m := <-c.incoming:
		return m, nil
	case <-c.ended:
	case <-c.left:
	case <-ctx.Done():
	}
	return nil, io.EOF
}

// Close ends the connection. Callers may call it twice.
func (c *connection) Close() error {
	c.end.Do(func() { close(c.ended) })
	return nil
}

// errNoRequests refuses a question of the server to the client: since MCP 2026-07-28, it is a part of the answer.
var errNoRequests = errors.New("this connection carries no requests to the client")

// Write sends a message to the client. It sends of the notifications only those that belong to the call, and none after
// the answer.
func (c *connection) Write(_ context.Context, message jsonrpc.Message) error {
	if m, ok := message.(*jsonrpc.Request); ok && c.session != "" {
		own, err := c.forClient(m)
		if own == nil || err != nil {
			return err
		}
		message = own
	}
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil
	}
	switch m := message.(type) {
	case *jsonrpc.Request:
		switch {
		case m.IsCall() && c.session == "":
			return errNoRequests
		case c.gone:
		case c.session != "" || m.Method == "notifications/progress" || m.Method == "notifications/message":
			if _, err := c.w.Write(event(data)); err == nil { // a client that has left ends the call
				_ = c.w.FlushError()
			}
		}
		return nil
	case *jsonrpc.Response:
		c.over = true
		defer func() { _ = c.Close() }()
		if c.answers != nil { // a client may use the id again as soon as it has the answer
			c.answers()
		}
		if c.gone {
			return nil
		}
		last := event(data)
		status, kind, all := http.StatusOK, events, last
		if code := errorStatus(m.Error); code != 0 && c.session == "" {
			status, kind, all = code, "application/json", data
		}
		_ = c.w.WriteLast(status, kind, all, last)
	}
	return nil
}

const noCache = "no-cache, no-transform"

// events is the media type of a stream of server-sent events.
const events = "text/event-stream"

// event makes an event of a message.
func event(message []byte) []byte {
	b := make([]byte, 0, len(message)+32)
	b = append(b, "event: message\ndata: "...)
	b = append(b, message...)
	return append(b, "\n\n"...)
}

// errorStatus returns the status that the protocol wants for an error, 0 for that of any other answer (MCP 2026-07-28,
// "Transports", "Error Responses").
func errorStatus(err error) int {
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return 0
	}
	switch wire.Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidParams, mcp.CodeUnsupportedProtocolVersion, mcp.CodeMissingRequiredClientCapabilities:
		return http.StatusBadRequest
	}
	return 0
}

// questionPrefix begins the ids of questions to the client: the SDK numbers those of each connection, and a session has
// several. The number of the call follows, a dash, and the number of the question.
const questionPrefix = "call-"

const cancelled = "notifications/cancelled"

// forClient returns a message of the SDK's server as the client gets it in a session; nil is for no client.
func (c *connection) forClient(m *jsonrpc.Request) (*jsonrpc.Request, error) {
	own := *m
	switch {
	case m.IsCall():
		id, err := jsonrpc.MakeID(c.idOf(m.ID.Raw()))
		own.ID = id
		return &own, err
	case m.Method == cancelled:
		var params struct {
			RequestID json.RawMessage `json:"requestId"`
			Reason    string          `json:"reason,omitempty"`
		}
		err := json.Unmarshal(m.Params, &params)
		if err == nil {
			params.RequestID, err = json.Marshal(c.idOf(string(params.RequestID)))
		}
		if err == nil {
			own.Params, err = json.Marshal(params)
		}
		return &own, err
	case strings.HasSuffix(m.Method, "/list_changed"):
		return nil, nil // the session's own stream has it
	}
	return &own, nil
}

// idOf is the id of a question of this call.
func (c *connection) idOf(question any) string {
	return fmt.Sprintf("%s%s-%v", questionPrefix, c.number, question)
}
