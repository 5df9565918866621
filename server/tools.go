package server

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// now lists the tools that the configuration exposes at this moment.
func (s *toolset) now() []*tool {
	all := slices.Clone(s.fixed)
	for _, profile := range s.exposed.offered(everyProfile) {
		all = append(all, s.evalTool(profile))
	}
	if s.exposed.offersScripts() {
		all = append(all, s.scriptTool())
	}
	helpers := []*tool{s.askTool(), s.checkTool(), s.searchTool(), s.getTool(), s.calling.tool(), s.collectTool()}
	if s.exposed.hasSessions() {
		helpers = append(helpers, s.sessionTool())
	}
	for _, t := range helpers {
		if t.Name == callToolName || s.exposed.exposes(t.Name) {
			all = append(all, t)
		}
	}
	return all
}

// offer updates the tools of the SDK's server. A tool that the configuration removed takes no new calls. Its calls in
// progress finish, and their clients come back to them through it.
func (s *toolset) offer() {
	s.list.mu.Lock()
	defer s.list.mu.Unlock()
	if s.list.closed {
		return
	}
	if text := s.evaluator.Checker().SecretWarning(); text != "" {
		s.warned.Do(func() { s.log.Warn(text) })
	}
	want := map[string]string{}
	for _, t := range s.now() {
		hints, _ := json.Marshal(t.Annotations) // it holds words and truth values
		digest := t.digest + string(t.schema.text) + string(hints)
		want[t.Name] = digest
		if had, ok := s.list.tools[t.Name]; !ok || had != digest {
			t.InputSchema = t.schema.text
			s.mcp.AddTool(&t.Tool, s.handlerOf(t))
		}
	}
	if gone := s.list.replace(want, s.exchanges.tools()); len(gone) > 0 {
		s.mcp.RemoveTools(gone...)
	}
	s.calling.offer()
	s.offerTypes()
}

// handlerOf makes the function that the SDK calls for a tool.
func (s *toolset) handlerOf(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, wrong := t.schema.read(req.Params.Arguments)
		serve := s.surviving(func(ctx context.Context, c *conversation) *mcp.CallToolResult {
			if wrong != nil {
				return failed(wrong)
			}
			result, err := t.serve(ctx, c, args)
			if err != nil {
				return failed(err)
			}
			return result
		})
		if t.asks != nil && (wrong != nil || t.asks(args)) { // check a returning request against its state first
			return s.interact(ctx, req, serve)
		}
		return serve(ctx, s.newConversation(req, s.senderOf(req), nil)), nil
	}
}

// interact serves a call that may ask the person at the client. Its context ends when nobody waits for the result any
// longer.
func (s *toolset) interact(ctx context.Context, req *mcp.CallToolRequest, do handler) (*mcp.CallToolResult, error) {
	h := httpRequestOf(req)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	modern := req.ProtocolVersion() >= stateless
	asking, survives := ctx, !modern && hasIdempotencyKey(req)
	if h != nil { // the SDK ends ctx only when the client sends a cancellation
		end := cancel
		if survives { // the client comes back for the result
			asking, end = context.WithCancelCause(ctx)
			defer end(nil)
		}
		defer context.AfterFunc(h.gone, func() { end(errClientGone) })()
	}
	if (!modern || req.Params.RequestState == "") && !isUse(ctx) {
		if err := s.mayBegin(req); err != nil { // the configuration may have changed since the middleware checked it
			return nil, err
		}
	}
	slot, _ := ctx.Value(taskSlotKey{}).(*taskSlot)
	if modern && slot == nil {
		return s.exchanges.serve(ctx, req, do)
	}
	defer s.calls.begin(&activeCall{session: sessionOf(req), http: h, cancel: cancel})()
	if h != nil && h.session != nil && h.session.ending.Load() { // since before the call was one in progress
		return nil, errClientGone
	}
	if h != nil {
		h.stream.keepAlive()
		s.work.begin()
		defer s.work.end()
	}
	var e elicitor = &sessionElicitor{server: s.shared, call: asking, request: req, survives: survives}
	if slot != nil {
		e = newTaskForms(ableOf(req))
	}
	c := s.newConversation(req, s.senderOf(req), e)
	if slot != nil && h != nil { // the SDK's session ends with the request
		c.session = e
	}
	defer c.report(ctx, req)()
	return do(ctx, c), nil
}
