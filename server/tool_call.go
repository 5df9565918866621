package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
)

// calling serves calls of tools without a program. Each runs a program of one line, so it waits for people, survives a
// restart and is recorded as programs are.
type calling struct {
	*toolset
	threads threads
}

var callToolSchema = newSchema(`{"type":"object","properties":{"name":{"type":"string",` +
	`"description":"as search_tools says"},"arguments":{"type":"object"}},"required":["name"],` +
	`"additionalProperties":false}`)

// tool calls a tool that a client found with search_tools.
func (s *calling) tool() *tool {
	hints := &mcp.ToolAnnotations{}
	if profile, err := s.exposed.ofCalls(everyProfile); err == nil {
		hints = s.exposed.powers(profile)
	}
	return &tool{
		Tool: mcp.Tool{
			Name: callToolName, Title: "Call a tool", Annotations: hints,
			Description: "Calls a tool that search_tools found. A call may be refused, or wait for a person.",
		},
		schema: callToolSchema, asks: always,
		serve: func(ctx context.Context, c *conversation, a *arguments) (*mcp.CallToolResult, error) {
			if !isToolName(a.Name) {
				return nil, fmt.Errorf("there is no tool %.80q; search_tools finds the names", a.Name)
			}
			return s.call(ctx, c, a.Name, a.Arguments)
		},
	}
}

// offer makes the SDK's server take calls of tools, and tells clients when the tools have changed. The caller holds
// list.mu.
func (s *calling) offer() {
	now := ""
	if s.list.single != "" { // a client has listed them
		now = s.exposed.calledTools()
	}
	if !s.list.takes || now != s.list.single {
		s.list.takes, s.list.single = true, now
		s.mcp.AddTool(&mcp.Tool{Name: singleTool, Description: now, InputSchema: anyObject}, s.serve)
	}
}

// serve serves a call of a tool for the SDK's server.
func (s *calling) serve(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	call, ok := ctx.Value(calledKey{}).(*mcp.CallToolRequest)
	if !ok { // no request may have our name for it
		return nil, s.mayBegin(req)
	}
	return s.interact(ctx, call, s.surviving(func(ctx context.Context, c *conversation) *mcp.CallToolResult {
		result, err := s.call(ctx, c, call.Params.Name, call.Params.Arguments)
		if err != nil {
			return failed(err)
		}
		return result
	}))
}

func (s *calling) call(ctx context.Context, c *conversation, name string, args json.RawMessage) (*mcp.CallToolResult,
	error) {
	v, err := s.exposed.viewOf(c.request)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	r, err := s.request(c, &arguments{Input: args})
	if err != nil {
		return nil, err
	}
	if t, err := s.evaluator.Tools().Catalog.Find(name); err == nil {
		name = t.Name
	}
	r.Profile, r.Tool, r.Code = v.profile, name, "return await codemode."+name+"(input)"
	if strings.Contains(name, "-") {
		r.Code = fmt.Sprintf("return await codemode[%q](input)", name)
	}
	r.Thread = s.threads.of(c, v.profile)
	answer := &answer{room: inforce.TextBytes(clientName(c.request))}
	if v.surface == surfaceDirect {
		answer.room = bulkyBytes
	}
	c.single = answer
	return s.run(ctx, c, r)
}

const (
	// bulkyBytes is the longest result for a client whose programs read it, in place of a model.
	bulkyBytes = 1 << 20
	// wholeBytes bounds what a server answered with its pictures.
	wholeBytes = 16 << 20
)

// An answer is what a server answered to a call without a program.
type answer struct {
	room int // bytes of text that the client takes

	mu     sync.Mutex
	got    *upstream.Result
	failed bool
}

func (o *answer) hear(r *upstream.Result, failed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got, o.failed = r, failed
}

// result is what the client gets: what the server answered, if the call was done and the client can take it.
func (o *answer) result(response *codemode.Response, err error) *mcp.CallToolResult {
	o.mu.Lock()
	defer o.mu.Unlock()
	failure, remarks := response.OfOneCall()
	whole := err == nil && len(response.Value) <= o.room || o.failed && failure.ByTool && len(o.got.Content) <= o.room
	var result *mcp.CallToolResult
	if whole && o.got != nil && len(o.got.Content)+len(o.got.Structured) <= wholeBytes {
		result = asAnswered(o.got, o.failed)
	}
	switch {
	case result != nil:
	case err == nil:
		result = inPart(response, o.got != nil && o.got.Structured != nil)
	default:
		result = textOf(cmp.Or(visible.Text(failure.Text), response.Text(err)))
		result.IsError = true
	}
	if remarks != "" {
		result.Content = append(result.Content, &mcp.TextContent{Text: visible.Text(remarks)})
	}
	return result
}

// asAnswered is what the server answered; nil if it cannot be read.
func asAnswered(got *upstream.Result, failed bool) *mcp.CallToolResult {
	result := &mcp.CallToolResult{}
	if json.Unmarshal(fmt.Appendf(nil, `{"content":%s}`, got.Content), result) != nil {
		return nil
	}
	if result.IsError = failed; got.Structured != nil {
		result.StructuredContent = got.Structured
	}
	return result
}

// inPart is the result of a call that was done, in what its run says of it: it is too long for the client, or another
// process saw it. A client checks the structured content of all results but errors.
func inPart(response *codemode.Response, structured bool) *mcp.CallToolResult {
	if len(response.Kept) == 0 && bytes.HasPrefix(response.Value, []byte("{")) {
		result := textOf(string(response.Value))
		result.StructuredContent = response.Value
		return result
	}
	result := textOf("The call was made; do not repeat it.\n" + response.Text(nil))
	result.IsError = structured
	return result
}

// threads are those of the clients that call tools one by one: of each session, or of each caller where the protocol
// has no sessions.
type threads struct {
	mu     sync.Mutex
	all    map[threadKey]*thread
	pruned time.Time
}

type threadKey struct{ client, profile any }

type thread struct {
	runs.Thread
	used time.Time
}

// of is the thread of a client. One that was not used for long is forgotten.
func (ts *threads) of(c *conversation, profile string) *runs.Thread {
	key := threadKey{c.session, profile}
	if h := httpRequestOf(c.request); h != nil && h.session == nil {
		key.client = strings.Join([]string{c.from.principal, c.from.fingerprint, c.from.client, h.role}, "\n")
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	now := time.Now()
	if now.Sub(ts.pruned) > time.Minute {
		ts.pruned = now
		maps.DeleteFunc(ts.all, func(_ threadKey, t *thread) bool { return now.Sub(t.used) > sessionIdle })
	}
	t := ts.all[key]
	if t == nil {
		t = &thread{}
		ts.all[key] = t
	}
	t.used = now
	return &t.Thread
}
