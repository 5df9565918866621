package direct

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Session carries the calls of one session over HTTP, up to MCP 2025-11-25. Each call gets a connection of its own to
// the SDK's server, which knows what the client said of itself when the session began. Questions to the client travel
// in the stream of the call. Everything else of the session is for the SDK's handler, also the answers to questions and
// cancellations: when it has accepted them, [Session.Take] gives them to the calls. The zero value is a session without
// calls.
type Session struct {
	mu    sync.Mutex
	calls map[jsonrpc.ID]*connection // in progress
	count int                        // of all calls so far
}

// Serve serves a call in a session of the SDK's server, or returns false: then the request with this body is for the
// SDK's handler. It returns when the client has its answer or has left; a call goes on without its client, because the
// protocol does not take a disconnection for a cancellation. extra goes to the handlers with the call.
func (s *Session) Serve(w Response, r *http.Request, body []byte, server *mcp.Server, of *mcp.ServerSession,
	extra *mcp.RequestExtra) bool {
	call := readInSession(r, body)
	if call == nil {
		return false
	}
	call.Extra = extra
	s.serveCall(w, r, call, server, of)
	return true
}

// Take gives the calls in progress what this body says of them. The SDK's handler has accepted it, and knows none of
// these calls.
func (s *Session) Take(body []byte) {
	s.mu.Lock()
	idle := len(s.calls) == 0
	s.mu.Unlock()
	if idle {
		return
	}
	messages := []json.RawMessage{body}
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) && json.Unmarshal(body, &messages) != nil {
		return
	}
	for _, m := range messages {
		message, err := jsonrpc.DecodeMessage(m)
		if err != nil {
			return
		}
		if to, news := s.addressee(message); to != nil {
			select {
			case to.incoming <- news:
			case <-to.ended:
			}
		}
	}
}

// readInSession returns the call that a request in a session makes, or nil if it is for the SDK's handler.
func readInSession(r *http.Request, body []byte) *jsonrpc.Request {
	if !isPlainInSession(r) {
		return nil
	}
	message, err := strictjson.Parse(body, strictjson.Options{})
	if err != nil || !isText(message, "jsonrpc", "2.0") {
		return nil
	}
	return readCall(message, body)
}

// isPlainInSession reports whether the headers are those of a message in a session, each of them once.
func isPlainInSession(r *http.Request) bool {
	if !isPost(r) {
		return false
	}
	for header, values := range r.Header {
		of := header == "Mcp-Session-Id" || header == versionHeader
		if strings.HasPrefix(header, "Mcp-") && (!of || len(values) != 1) {
			return false
		}
	}
	spoken := r.Header.Get(versionHeader)
	return spoken == "2025-06-18" || spoken == "2025-11-25"
}

// readCall returns the call that a message is, or nil.
func readCall(message strictjson.Value, body []byte) *jsonrpc.Request {
	if !onlyHas(message, "jsonrpc", "id", "method", "params") || !isText(message, "method", callTool) {
		return nil
	}
	params, _ := message.Member("params")
	name, _ := params.Member("name")
	meta, hasMeta := params.Member("_meta")
	_, newer := meta.Member(mcp.MetaKeyProtocolVersion)
	id := idOf(message)
	if !id.IsValid() || name.Kind() != strictjson.String || hasMeta && meta.Kind() != strictjson.Object || newer ||
		!onlyHas(params, "_meta", "name", "arguments") {
		return nil
	}
	return &jsonrpc.Request{ID: id, Method: callTool, Params: body[params.Offset():params.End()]}
}

// addressee returns the call that a message is about, and the message as the SDK's server understands it there: the
// answer to a question, or a cancellation. It returns nil for every other message.
func (s *Session) addressee(message jsonrpc.Message) (*connection, jsonrpc.Message) {
	switch m := message.(type) {
	case *jsonrpc.Request:
		var params mcp.CancelledParams
		if m.Method != cancelled || m.IsCall() || json.Unmarshal(m.Params, &params) != nil {
			return nil, nil
		}
		id, err := jsonrpc.MakeID(params.RequestID)
		if err != nil {
			return nil, nil
		}
		return s.call(id), m
	case *jsonrpc.Response:
		text, _ := m.ID.Raw().(string)
		rest, ok := strings.CutPrefix(text, questionPrefix)
		number, question, _ := strings.Cut(rest, "-")
		n, err := strconv.ParseInt(question, 10, 64)
		if !ok || err != nil {
			return nil, nil
		}
		reply := *m
		if reply.ID, err = jsonrpc.MakeID(float64(n)); err != nil {
			return nil, nil
		}
		return s.numbered(number), &reply
	}
	return nil, nil
}

// numbered returns the call in progress with a number, or nil.
func (s *Session) numbered(number string) *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c.number == number {
			return c
		}
	}
	return nil
}

// call returns the call in progress with an id, or nil.
func (s *Session) call(id jsonrpc.ID) *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[id]
}

// begin adds a call, unless there is one with its id.
func (s *Session) begin(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[c.call.ID] != nil {
		return false
	}
	if s.calls == nil {
		s.calls = map[jsonrpc.ID]*connection{}
	}
	s.count++
	c.number = strconv.Itoa(s.count)
	s.calls[c.call.ID] = c
	return true
}

// end removes a call. From then on another one may have its id.
func (s *Session) end(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[c.call.ID] == c {
		delete(s.calls, c.call.ID)
	}
}

func (s *Session) serveCall(w Response, r *http.Request, call *jsonrpc.Request, server *mcp.Server,
	of *mcp.ServerSession) {
	c := &connection{call: call, w: w, session: of.ID(), incoming: make(chan jsonrpc.Message), ended: make(chan struct{})}
	if !s.begin(c) {
		refuseSecond(w, call.ID)
		return
	}
	c.answers = func() { s.end(c) }
	session := c.open(context.WithoutCancel(r.Context()), server,
		&mcp.ServerSessionState{InitializeParams: of.InitializeParams(), InitializedParams: &mcp.InitializedParams{}})
	if session == nil {
		s.end(c)
		return
	}
	over := func() {
		<-c.ended
		s.end(c)
		_ = session.Close() // it waits for the handler
	}
	select {
	case <-c.ended:
		over()
	case <-r.Context().Done():
		c.mu.Lock()
		c.gone = true
		c.mu.Unlock()
		go over()
	}
}

// refuseSecond refuses a call with the id of one in progress, as the SDK's handler does: its client would not know of
// which of them an answer or a cancellation is.
func refuseSecond(w Response, id jsonrpc.ID) {
	data, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: fmt.Sprintf("duplicate in-flight request ID %v", id.Raw())}})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Cache-Control", noCache)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(data)
}
