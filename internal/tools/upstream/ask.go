package upstream

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Question is a server's question (elicitation/create) to the person behind a call. All of it is the server's words.
type Question struct {
	Server  string
	Message string
	Schema  json.RawMessage // of the form to fill in; nil asks for a yes only
}

// An Answer is the answer to a [Question].
type Answer struct {
	Action  string // Accepted, Declined or Dismissed
	Content map[string]any
}

// The actions of an [Answer], as the protocol calls them.
const (
	Accepted  = "accept"
	Declined  = "decline" // a person said no
	Dismissed = "cancel"  // no person answered
)

// An askFunc puts a question to a person; see [CallOptions.Ask].
type askFunc = func(context.Context, *Question) (*Answer, error)

// The limits of a question's length, and of the number of questions of one call.
const (
	questionMax  = 64 << 10
	questionsMax = 10
)

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

// callers determines which caller a question concerns. A question about one person's call must never reach another
// person. Since protocol 2026-07-28 it is the answer to that call. Before, over HTTP, it comes in the stream of that
// call if the server follows the specification. Otherwise, as over stdio, nothing says which call it belongs to: then
// the session passes it on only while all calls in flight belong to one caller.
type callers struct {
	mu        sync.Mutex
	bySession map[any]*caller
}

// enter adds a call until leave is called.
func (cs *callers) enter(ctx context.Context, session any, ask askFunc) (c *caller, leave func()) {
	if session == nil {
		session = new(int) // a caller of its own
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c = cs.bySession[session]
	if c == nil {
		c = &caller{key: rand.Text()}
		c.over, c.finished = context.WithCancel(context.WithoutCancel(ctx))
		if cs.bySession == nil {
			cs.bySession = map[any]*caller{}
		}
		cs.bySession[session] = c
	}
	c.calls++
	c.made++
	c.ask = ask
	return c, func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		if c.calls--; c.calls == 0 {
			c.finished()
			delete(cs.bySession, session)
		}
	}
}

// of returns the caller that a question concerns, and how to reach it.
func (cs *callers) of(ctx context.Context, meta mcp.Meta) (*caller, askFunc, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	var c *caller
	if x := exchangeOf(ctx); x != nil {
		c = x.caller
	}
	key, _ := meta[callerMeta].(string)
	for _, one := range cs.bySession {
		if one.key == key {
			c = one
		}
	}
	if c == nil {
		if len(cs.bySession) == 0 {
			return nil, nil, errors.New("it asks while no call is in flight")
		}
		if len(cs.bySession) > 1 {
			return nil, nil, errors.New("calls of several sessions are in flight, and it does not say which of them it asks")
		}
		for _, c = range cs.bySession {
		}
	}
	if c.asked++; c.asked > questionsMax*c.made {
		return nil, nil, fmt.Errorf("it asks more than %d questions about a call", questionsMax)
	}
	return c, c.ask, nil
}

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

// elicit answers a question of the server. It refuses, with the reason, a question that cannot reach exactly the person
// concerned, and dismisses a question for nobody.
func (s *session) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	c, ask, err := s.callers.of(ctx, r.Params.Meta)
	q, badly := question(s.server.Name, r.Params)
	if err == nil {
		err = badly
	}
	if err != nil {
		s.log.Warn("refused a question of an upstream", "server", s.server.Name, "error", err)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "not passed on: " + err.Error()}
	}
	if ask == nil {
		s.log.Warn("dismissed a question of an upstream: there is nobody to ask", "server", s.server.Name)
		return &mcp.ElicitResult{Action: Dismissed}, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.over, func() { cancel(errors.New("the call is over")) })()
	defer context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })()
	a, err := ask(ctx, q)
	if err != nil {
		s.log.Warn("dismissed a question of an upstream", "server", s.server.Name, "error", err)
		return &mcp.ElicitResult{Action: Dismissed}, nil
	}
	return &mcp.ElicitResult{Action: a.Action, Content: a.Content}, nil
}

func question(server string, p *mcp.ElicitParams) (*Question, error) {
	if p.Mode != "" && p.Mode != "form" || p.URL != "" {
		if p.URL != "" {
			return nil, errors.New(toOpen(p.URL))
		}
		return nil, fmt.Errorf("it asks in the mode %.20q, which was not offered", p.Mode)
	}
	q := &Question{Server: server, Message: p.Message}
	if p.RequestedSchema != nil {
		var err error
		if q.Schema, err = json.Marshal(p.RequestedSchema); err != nil {
			return nil, fmt.Errorf("reading its form: %w", err)
		}
	}
	if len(q.Message)+len(q.Schema) > questionMax {
		return nil, fmt.Errorf("its question has more than %d KiB", questionMax>>10)
	}
	return q, nil
}

// toOpen describes the pages that a server wants a person to open. We do not offer such questions and do not relay
// them: the person cannot see what the page will ask, and a link from a program's call looks like one of ours.
func toOpen(addresses ...string) string {
	var all []string
	for _, a := range addresses {
		all = append(all, fmt.Sprintf("%.300q", a))
	}
	return "it wants a person to open " + strings.Join(all, " and ") +
		", which is not passed on: open it yourself if you trust the server with it, then make the call again"
}

// errorText is the message of a server's error, with the pages that it wants opened first.
func errorText(e *jsonrpc.Error) string {
	if e.Code != mcp.CodeURLElicitationRequired {
		return short(e.Message)
	}
	var data struct {
		Elicitations []struct {
			URL string `json:"url"`
		} `json:"elicitations"`
	}
	_ = json.Unmarshal(e.Data, &data) // without addresses return only its message
	var addresses []string
	for _, one := range data.Elicitations[:min(len(data.Elicitations), questionsMax)] {
		if one.URL != "" {
			addresses = append(addresses, one.URL)
		}
	}
	if len(addresses) == 0 {
		return short(e.Message)
	}
	return short(e.Message) + ": " + toOpen(addresses...)
}
