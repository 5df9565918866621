package upstream

import (
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

// The actions of an [Answer], as the protocol calls them.
const (
	Accepted  = "accept"
	Declined  = "decline" // a person said no
	Dismissed = "cancel"  // no person answered
)

// The limits of a question's length, and of the number of questions of one call.
const (
	questionMax  = 64 << 10
	questionsMax = 10
)

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
