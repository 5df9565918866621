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

// A Question is what a server asks the person for whom a call is made
// (elicitation/create). It is the server's words throughout.
type Question struct {
	Server  string
	Message string
	Schema  json.RawMessage // of the form to fill in; nil wants no more than a yes
}

// An Answer is what became of a [Question].
type Answer struct {
	Action  string // Accepted, Declined or Dismissed
	Content map[string]any
}

// The actions of an [Answer], as the protocol calls them.
const (
	Accepted  = "accept"
	Declined  = "decline" // a person said no
	Dismissed = "cancel"  // no person said anything
)

// A Question may be this long, and a call may lead to so many.
const (
	questionMax  = 64 << 10
	questionsMax = 10
)

// A party is one of those for whom calls are in flight at a server.
type party struct {
	key      string                                            // marks the questions that came in answer to one of the calls
	ask      func(context.Context, *Question) (*Answer, error) // of the latest call; nil reaches nobody
	calls    int                                               // in flight
	made     int                                               // in all
	asked    int
	over     context.Context // ends with the last of the calls
	finished context.CancelFunc
}

// parties finds out whom a question concerns. It must never be put to another
// person than the one whose call it is about. Since protocol 2026-07-28 it is
// the answer to that call. Before, over HTTP, it comes in the stream of that
// call if the server does as it should. Elsewhere, as over stdio, nothing says
// which call it belongs to, so it is passed on only when all the calls in
// flight there are made for one and the same.
type parties struct {
	mu  sync.Mutex
	all map[any]*party
}

type partyKey struct{}

// enter notes a call until leave is called. The context tells the party, for
// protocols in which a question comes as the answer to a call.
func (ps *parties) enter(ctx context.Context, session any, ask func(context.Context, *Question) (*Answer, error)) (_ context.Context, leave func()) {
	if session == nil {
		session = new(int) // like nobody else
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.all[session]
	if p == nil {
		p = &party{key: rand.Text()}
		p.over, p.finished = context.WithCancel(context.WithoutCancel(ctx))
		if ps.all == nil {
			ps.all = map[any]*party{}
		}
		ps.all[session] = p
	}
	p.calls++
	p.made++
	p.ask = ask
	return context.WithValue(ctx, partyKey{}, p), func() {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		if p.calls--; p.calls == 0 {
			p.finished()
			delete(ps.all, session)
		}
	}
}

// of returns the party that a question which came with ctx concerns, and how to reach it.
func (ps *parties) of(ctx context.Context, meta mcp.Meta) (*party, func(context.Context, *Question) (*Answer, error), error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := partyOf(ctx)
	key, _ := meta[partyMeta].(string)
	for _, one := range ps.all {
		if one.key == key {
			p = one
		}
	}
	if p == nil {
		if len(ps.all) == 0 {
			return nil, nil, errors.New("it asks while no call is in flight")
		}
		if len(ps.all) > 1 {
			return nil, nil, errors.New("calls of several sessions are in flight, and it does not say which of them it asks")
		}
		for _, p = range ps.all {
		}
	}
	if p.asked++; p.asked > questionsMax*p.made {
		return nil, nil, fmt.Errorf("it asks more than %d questions about a call", questionsMax)
	}
	return p, p.ask, nil
}

// partyMeta is where a question carries the key of its party, once it is with us.
const partyMeta = "codemode/party"

// partyOf returns the party of the call that ctx belongs to, nil if there is none.
func partyOf(ctx context.Context) *party {
	p, _ := ctx.Value(partyKey{}).(*party)
	return p
}

// mark writes into a question that came in the stream of a call whom it
// concerns. Servers do not know the keys, so that they cannot.
func (p *party) mark(message []byte) []byte {
	if p == nil || !bytes.Contains(message, []byte(`"elicitation/create"`)) {
		return message
	}
	var m, params, meta map[string]json.RawMessage
	var method string
	if json.Unmarshal(message, &m) != nil || json.Unmarshal(m["method"], &method) != nil || method != "elicitation/create" ||
		json.Unmarshal(m["params"], &params) != nil || params == nil {
		return message
	}
	if json.Unmarshal(params["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	meta[partyMeta] = quote(p.key)
	params["_meta"] = marshal(meta)
	m["params"] = marshal(params)
	return marshal(m)
}

// elicit answers a question of the server. What cannot be put to the one
// person whom it concerns is refused with the reason, or dismissed if there is nobody.
func (s *session) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	p, ask, err := s.parties.of(ctx, r.Params.Meta)
	q, badly := question(s.server.Name, r.Params)
	if err == nil {
		err = badly
	}
	if err != nil {
		s.log.Warn("a question of an upstream was not passed on", "server", s.server.Name, "reason", err)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "not passed on: " + err.Error()}
	}
	if ask == nil {
		s.log.Warn("a question of an upstream was dismissed: there is nobody to ask", "server", s.server.Name)
		return &mcp.ElicitResult{Action: Dismissed}, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.over, func() { cancel(errors.New("the call is over")) })()
	defer context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })()
	a, err := ask(ctx, q)
	if err != nil {
		s.log.Warn("a question of an upstream was dismissed", "server", s.server.Name, "reason", err)
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

// toOpen says what a server wants that sends a person to a page. Such questions are not offered and not
// relayed: whoever answers them cannot see what the page will ask, and a link that comes out of a
// program's call looks like one of ours.
func toOpen(addresses ...string) string {
	var all []string
	for _, a := range addresses {
		all = append(all, fmt.Sprintf("%.300q", a))
	}
	return "it wants a person to open " + strings.Join(all, " and ") + ", which is not passed on: open it yourself if you trust the server with it, then make the call again"
}

// errorText is what an error of a server says, with the pages that it wants opened first.
func errorText(e *jsonrpc.Error) string {
	if e.Code != mcp.CodeURLElicitationRequired {
		return short(e.Message)
	}
	var data struct {
		Elicitations []struct {
			URL string `json:"url"`
		} `json:"elicitations"`
	}
	_ = json.Unmarshal(e.Data, &data) // without addresses there is its message alone
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
