package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/visible"
)

// The surfaces of a profile: what a client sees of it. A call of a tool is a program of one line, see [calling], so the
// Gate, people, budgets and the record are the same on each.
const (
	surfaceAuto     = "auto"     // programs, or direct for a client that runs programs itself
	surfacePrograms = "programs" // codemode_eval_<profile>, and what helps to write programs
	surfaceSearch   = "search"   // search_tools and call_tool
	surfaceTools    = "tools"    // the tools themselves
	surfaceDirect   = "direct"   // tools, or search where they are many
)

// directBytes is how many bytes of tools a client that runs programs itself gets as a list.
const directBytes = 64 << 10

// A view is what one client sees.
type view struct {
	surface string
	profile string // of its calls; programs have their own
}

// single reports whether the client calls tools one by one, and runs no programs here.
func (v view) single() bool { return v.surface != surfacePrograms }

// searches and lists report whether the client may find tools, or has a list of them.
func (v view) searches() bool { return v.surface == surfaceSearch || v.surface == surfaceDirect }
func (v view) lists() bool    { return v.surface == surfaceTools || v.surface == surfaceDirect }

// surfaceOf reads what the address of a request says about the surface; "" is nothing. Without a surface it is the
// parameter codemode, by which clients ask servers that run programs for their tools: OpenCode sends true or false,
// Cloudflare's servers take false or off.
func surfaceOf(r *http.Request) (string, error) {
	if r.URL.RawQuery == "" {
		return "", nil
	}
	query := r.URL.Query()
	switch want := query.Get("surface"); {
	case slices.Contains([]string{surfaceAuto, surfacePrograms, surfaceSearch, surfaceTools}, want):
		return want, nil
	case query.Has("surface"):
		return "", fmt.Errorf("there is no surface %.80q; there are auto, programs, search and tools", want)
	}
	switch query.Get("codemode") {
	case "false", "off":
		return surfaceDirect, nil
	case "true", "on":
		return surfacePrograms, nil
	}
	return "", nil
}

// runsPrograms reports whether a client runs programs itself: programs here would run inside of its own. OpenCode does
// from version 2 on, whose betas have no number.
func runsPrograms(client string) bool {
	return strings.HasPrefix(client, "opencode 2.") || strings.HasPrefix(client, "opencode 0.0.0-beta")
}

// nameIn is the name of the client of any request, with its version.
func nameIn(req mcp.Request) string {
	if name := openingClient(req); name != "" {
		return name
	}
	if r, ok := req.(interface{ ClientInfo() *mcp.Implementation }); ok {
		return nameOf(r.ClientInfo())
	}
	return ""
}

// usualWait is how long a call takes at most for a client that nothing is known of: many end calls after a minute.
const usualWait = 50 * time.Second

// waits is how long clients that wait for longer do, as they come: Claude Code 30 minutes, or 5 over HTTP; Gemini CLI,
// and Qwen Code after it, 10. codemode itself waits as long as its person.
var waits = []struct {
	name        string // how the client's name begins
	local, http time.Duration
}{
	{"claude-code", 29 * time.Minute, 4 * time.Minute},
	{"gemini-cli", 9 * time.Minute, 9 * time.Minute},
	{"qwen", 9 * time.Minute, 9 * time.Minute},
	{"codemode", 24 * time.Hour, 24 * time.Hour},
}

// returnAfter is how long the call of a tool that runs programs takes at most, for the client of a request. Where
// nothing is offered that collects results, it takes as long as its program.
func (e *exposure) returnAfter(req *mcp.CallToolRequest) time.Duration {
	if !e.exposes(collectToolName) {
		return 24 * time.Hour
	}
	if cfg := e.evaluator.Config(); cfg != nil && cfg.ReturnAfter > 0 {
		return cfg.ReturnAfter
	}
	name := clientName(req)
	for _, w := range waits {
		if strings.HasPrefix(name, w.name) {
			if httpRequestOf(req) != nil {
				return w.http
			}
			return w.local
		}
	}
	return usualWait
}

// viewOf is what the sender of a request sees. The error says why it sees nothing.
func (e *exposure) viewOf(req mcp.Request) (view, error) {
	want := e.surface
	if cfg := e.evaluator.Config(); cfg != nil {
		want = cmp.Or(want, cfg.Surface)
	}
	if h := httpRequestOf(req); h != nil {
		want = cmp.Or(h.surface, want)
	}
	auto := want == "" || want == surfaceAuto
	if auto {
		want = surfacePrograms
		if runsPrograms(nameIn(req)) {
			want = surfaceDirect
		}
	}
	if want == surfacePrograms {
		return view{surface: want}, nil
	}
	profile, err := e.ofCalls(reachOf(req))
	if err != nil && auto {
		return view{surface: surfacePrograms}, nil
	}
	if err != nil {
		return view{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	return view{surface: want, profile: profile}, nil
}

// ofCalls is the profile of calls without programs: that of the address, or of codemode_eval, or the only one.
func (e *exposure) ofCalls(by reach) (string, error) {
	listed := e.listed(by)
	switch {
	case len(listed) == 0:
		return "", errors.New("no profile is offered here")
	case len(listed) == 1, listed[0] == "":
		return listed[0], nil
	}
	return "", fmt.Errorf("tools are offered for one profile at a time, and there are %s: name one in the address, as "+
		"in %s/%s, or start the server with --profile", strings.Join(listed, ", "), Path, listed[0])
}

// isToolName reports whether a name may be that of a tool of a server, as rules or programs write it.
func isToolName(name string) bool { return toolName.MatchString(name) }

var toolName = regexp.MustCompile(`^[A-Za-z_$][\w$-]*(__|\.)[\w$.-]+$`)

// singleTool is the SDK's name for all tools that are called without a program. No client sees it. That its description
// changes tells clients that their lists did.
const singleTool = "codemode.single"

type calledKey struct{}

// called makes the call of a tool one that the SDK's server knows.
func called(ctx context.Context, call *mcp.CallToolRequest) (context.Context, *mcp.CallToolRequest) {
	own, params := *call, *call.Params
	own.Params, params.Name = &params, singleTool
	return context.WithValue(ctx, calledKey{}, call), &own
}

// offeredPrompt is the SDK's name for all prompts, and serversURI that for all resources of servers.
const offeredPrompt = "codemode.offered"

// used makes the use of what a server offers a request that the SDK's server knows.
func used(ctx context.Context, req mcp.Request) (context.Context, mcp.Request) {
	switch r := req.(type) {
	case *mcp.GetPromptRequest:
		own, params := *r, *r.Params
		own.Params, params.Name = &params, offeredPrompt
		return context.WithValue(ctx, calledKey{}, req), &own
	case *mcp.ReadResourceRequest:
		if strings.HasPrefix(r.Params.URI, serversURI) || strings.HasPrefix(r.Params.URI, viewsURI) {
			own, params := *r, *r.Params
			own.Params, params.URI = &params, serversURI
			return context.WithValue(ctx, calledKey{}, req), &own
		}
	}
	return ctx, req
}

// isUse reports whether a request that is served as a call of a tool is another one.
func isUse(ctx context.Context) bool {
	switch ctx.Value(calledKey{}).(type) {
	case *mcp.GetPromptRequest, *mcp.ReadResourceRequest:
		return true
	}
	return false
}

// calledTools identifies what clients see at this moment that call tools one by one.
func (e *exposure) calledTools() string {
	digest := sha256.New()
	for _, profile := range e.offered(everyProfile) {
		tools, err := e.evaluator.Discovery().Known(context.Background(), registry.Query{Profiles: []string{profile}})
		fmt.Fprintln(digest, profile, err)
		for _, t := range tools {
			fmt.Fprintln(digest, t.Name, t.Digest, e.evaluator.Discovery().PowersOf(profile, t), t.View, t.Visibility)
		}
	}
	return fmt.Sprintf("%x", digest.Sum(nil))
}

// tools are those that servers have listed, as clients see them, and their size.
func (e *exposure) tools(ctx context.Context, from sender, profile string) (all []*mcp.Tool, bytes int, err error) {
	q := e.query(from, "", 0)
	q.Profiles = []string{profile}
	found, err := e.evaluator.Discovery().Known(ctx, q)
	for _, t := range found {
		shown := e.toolOf(profile, t)
		if t.View != "" || len(t.Visibility) > 0 {
			shown.Meta = toolMeta(t, e.evaluator.Discovery().MayRead(ctx, q, t.Server))
		}
		all = append(all, shown)
		bytes += len(t.Description) + len(t.InputSchema()) + len(t.OutputSchema())
	}
	return all, bytes, err
}

// toolOf is a tool of a server. Its hints say what a call can do at most, as those of a tool that runs programs do.
func (e *exposure) toolOf(profile string, t *catalog.Tool) *mcp.Tool {
	shown := &mcp.Tool{Name: t.Name, Title: visible.Line(t.Title), Description: visible.Text(t.Description),
		InputSchema: anyObject, Annotations: hintsOf(e.evaluator.Discovery().PowersOf(profile, t))}
	if input := t.InputSchema(); isObjectSchema(input) {
		shown.InputSchema = input
	}
	if output := t.OutputSchema(); isObjectSchema(output) {
		shown.OutputSchema = output
	}
	return shown
}

var anyObject = json.RawMessage(`{"type":"object"}`)

// isObjectSchema reports whether a JSON Schema is what MCP wants of tools: clients refuse a whole list for another one.
func isObjectSchema(schema json.RawMessage) bool {
	var s struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Type == "object"
}
