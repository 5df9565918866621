package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/preflight"
)

// evalPrefix begins the names of the tools that are bound to a profile.
const evalPrefix = preflight.BaseTool + "_"

// The input schemas are written by hand: what SDKs generate is not portable.
var (
	evalSchema = json.RawMessage(`{"type":"object","properties":{"code":{"type":"string"},"input":{"description":"any JSON, the program's input"},` +
		`"preflight":{"type":"string","description":"token of codemode_check, if required"},"listCalls":{"type":"boolean","description":"list each call in the answer"},` +
		`"role":{"type":"string","description":"who asks, for the record"}},"required":["code"],"additionalProperties":false}`)
	// moreSchema is evalSchema for tools that refer to the first one.
	moreSchema = json.RawMessage(`{"type":"object","properties":{"code":{"type":"string"},"input":{},"preflight":{"type":"string"},"listCalls":{"type":"boolean"},` +
		`"role":{"type":"string"}},"required":["code"],"additionalProperties":false}`)
	checkSchema = json.RawMessage(`{"type":"object","properties":{"code":{"type":"string"},` +
		`"profile":{"type":"string","description":"left out, that of codemode_eval"},` +
		`"script":{"type":"string","description":"a saved program, instead of code"},"ask":{"type":"boolean"}},"additionalProperties":false}`)
	searchSchema = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"what the task needs, with commas: read a file, create an issue"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":200,"description":"20 if left out"}},"additionalProperties":false}`)
	getSchema = json.RawMessage(`{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"},"description":"of tools (fs__read_file) or servers (fs)"}},` +
		`"additionalProperties":false}`)

	evalArguments   = argumentsOf(evalSchema)
	scriptArguments = argumentsOf(scriptSchema)
	askArguments    = argumentsOf(askSchema)
	checkArguments  = argumentsOf(checkSchema)
)

// helpers are the tools that run no program.
func (s *Server) helpers() []helper {
	return []helper{
		{checkTool, "Check a program", "Says what a program would do without running it: mistakes, each call with verdict " +
			"(allow, ask, deny) and rule, what to change, a pre-flight token. With ask, a person allows its calls now.", checkSchema, s.check},
		{"search_tools", "Search the tools", "Start here: finds the tools that a task needs, on all servers at once, and declares " +
			"them in TypeScript, with what the rules say about them and who can be asked. Without a query it names all tools.", searchSchema, s.search},
		{"get_tools", "Describe tools", "Declares tools by name or server, with all that their servers say.", getSchema, s.get},
	}
}

type helper struct {
	name, title, description string
	schema                   json.RawMessage
	handle                   func(context.Context, *mcp.CallToolRequest, arguments) (string, error)
}

// offer makes the tools what the configuration says. A tool that goes away
// takes no more calls; those under way finish, and are come back to through it.
func (s *Server) offer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if text := s.evaluator.Checker().SecretWarning(); text != "" && !s.warned {
		s.warned = true
		s.log.Warn(text)
	}
	want := map[string]string{}
	maps.Copy(want, s.fixed)
	for _, profile := range s.offered(nil) {
		name, digest := evalName(profile), ""
		if cfg := s.evaluator.Config(); cfg != nil && cfg.Profile(profile) != nil {
			digest = cfg.Profile(profile).Digest()
		}
		digest += s.describe(nil, profile)
		want[name] = digest
		if had, ok := s.tools[name]; !ok || had != digest {
			s.mcp.AddTool(s.runner(name, profile), s.eval(profile))
		}
	}
	if s.offersScripts() {
		want[scriptTool] = ""
		if _, ok := s.tools[scriptTool]; !ok {
			s.mcp.AddTool(s.scriptRunner(), s.interactive(s.runScript))
		}
	}
	if s.offersAskUser() {
		want[askTool] = ""
		if _, ok := s.tools[askTool]; !ok {
			s.mcp.AddTool(s.askUserTool(), s.interactive(s.askUser))
		}
	}
	for _, h := range s.helpers() {
		if cfg := s.evaluator.Config(); cfg != nil && !cfg.Exposes(h.name) {
			continue
		}
		want[h.name] = ""
		if _, ok := s.tools[h.name]; !ok {
			s.mcp.AddTool(&mcp.Tool{Name: h.name, Title: h.title, Description: h.description, InputSchema: h.schema,
				Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)}}, s.handlerOf(h))
		}
	}
	var gone []string
	waited := s.exchanges.tools()
	for _, name := range slices.Concat(slices.Collect(maps.Keys(s.tools)), slices.Collect(maps.Keys(s.retired))) {
		if _, ok := want[name]; ok {
			delete(s.retired, name)
		} else if waited[name] {
			s.retired[name] = true
		} else {
			delete(s.retired, name)
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		s.mcp.RemoveTools(gone...)
	}
	s.tools = want
}

// handlerOf is the handler of a helper. A check that asks people takes the way of what may wait for them.
func (s *Server) handlerOf(h helper) mcp.ToolHandler {
	answer := text(h.schema, h.handle)
	if h.name != checkTool {
		return answer
	}
	asking := s.interactive(s.checkAndAsk)
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, err := readArguments(req.Params.Arguments, checkArguments)
		if err == nil {
			if ask, err := args.flag("ask"); err == nil && ask {
				return asking(ctx, req)
			}
		}
		return answer(ctx, req)
	}
}

// hasRetired reports whether a tool only takes calls back that are under way.
func (s *Server) hasRetired(tool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retired[tool]
}

// evalTool returns the profile that a tool runs programs under.
func (s *Server) evalTool(name string) (profile string, ok bool) {
	if name == preflight.BaseTool {
		return "", true
	}
	profile, ok = strings.CutPrefix(name, evalPrefix)
	return profile, ok && profile != ""
}

func (s *Server) runner(name, profile string) *mcp.Tool {
	title := "Run a program"
	if profile != "" {
		title += " (" + profile + ")"
	}
	schema := evalSchema
	if slices.Index(s.listed(nil), profile) > 0 {
		schema = moreSchema
	}
	return &mcp.Tool{
		Name: name, Title: title, Description: s.describe(nil, profile), InputSchema: schema,
		// What a program does is up to its profile; the hints promise nothing.
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(true)},
		Meta:        mcp.Meta{"anthropic/maxResultSizeChars": inforce.DefaultTextBytes},
	}
}

// eval is the handler of one eval tool. The profile is bound here: nothing in
// a request can change it.
func (s *Server) eval(profile string) mcp.ToolHandler {
	return s.interactive(func(ctx context.Context, c *conversation) *mcp.CallToolResult {
		args, err := readArguments(c.request.Params.Arguments, evalArguments)
		if err != nil {
			return failed(err)
		}
		code, err := args.text("code", true)
		if err != nil {
			return failed(err)
		}
		r, err := s.request(c.request, args)
		if err != nil {
			return failed(err)
		}
		r.Profile, r.Code, r.Input = profile, code, args["input"]
		return s.run(ctx, c, r)
	})
}

// run runs a program for the client that made a call.
func (s *Server) run(ctx context.Context, c *conversation, r codemode.Request) *mcp.CallToolResult {
	r.Channels = []approvals.Channel{&elicitation{c, s}}
	r.Caller = c.caller()
	c.profile = &r.Profile
	response, err := c.evaluate(ctx, r)
	if response == nil {
		return failed(err)
	}
	if x, ok := c.line.(*exchange); ok && response.Run != "" && errors.Is(err, approvals.ErrLeaving) {
		return x.moveOn(response.Run)
	}
	result := &mcp.CallToolResult{IsError: err != nil, Content: []mcp.Content{&mcp.TextContent{Text: response.Text(err)}}}
	for _, b := range response.Blocks {
		content, err := contentOf(b.JSON)
		if err != nil {
			s.log.Warn("a block of an upstream's answer cannot be passed on", "run", response.Run, "handle", b.Handle, "error", err)
			continue
		}
		result.Content = append(result.Content, content)
	}
	return result
}

// contentOf decodes one content block as an upstream sent it.
func contentOf(block []byte) (mcp.Content, error) {
	var r mcp.CallToolResult
	if err := json.Unmarshal(fmt.Appendf(nil, `{"content":[%s]}`, block), &r); err != nil {
		return nil, err
	}
	if len(r.Content) != 1 {
		return nil, errors.New("not one content block")
	}
	return r.Content[0], nil
}

// text makes a handler of a function that answers with text.
func text(schema json.RawMessage, f func(context.Context, *mcp.CallToolRequest, arguments) (string, error)) mcp.ToolHandler {
	taken := argumentsOf(schema)
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, err := readArguments(req.Params.Arguments, taken)
		if err != nil {
			return failed(err), nil
		}
		answer, err := f(ctx, req, args)
		if err != nil {
			return failed(err), nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer}}}, nil
	}
}

// failed is the answer to a call that could not be served. The error is for
// the model, so it is a result and not an error of the protocol.
func failed(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "error: " + err.Error()}}}
}

// arguments are those of one tool call, by their exact names.
type arguments map[string]json.RawMessage

// readArguments takes no names but those of the schema that clients are given: who passes a profile, or a session, has to learn that
// it has no effect.
func readArguments(raw json.RawMessage, taken []string) (arguments, error) {
	var a arguments
	if len(raw) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, errors.New("the arguments have to be an object")
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		switch {
		case slices.Contains(taken, name):
		case len(taken) == 0:
			return nil, fmt.Errorf("there is no argument %.80q: this tool takes none", name)
		case name == "profile":
			return nil, fmt.Errorf("there is no argument %q: a program runs under the profile of the tool that it is given to; there are %s", name, quoted(taken))
		default:
			return nil, fmt.Errorf("there is no argument %.80q; there are %s", name, quoted(taken))
		}
	}
	return a, nil
}

// argumentsOf names the arguments that a schema has.
func argumentsOf(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		panic("server: the schema of a tool is no JSON: " + err.Error())
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(all, ", ")
}

func (a arguments) text(name string, required bool) (string, error) {
	raw, ok := a[name]
	if !ok || string(raw) == "null" {
		if required {
			return "", fmt.Errorf("the argument %q is missing", name)
		}
		return "", nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("the argument %q has to be text", name)
	}
	return s, nil
}

func (a arguments) flag(name string) (bool, error) {
	raw, ok := a[name]
	if !ok || string(raw) == "null" {
		return false, nil
	}
	var b bool
	if err := json.Unmarshal(raw, &b); err != nil {
		return false, fmt.Errorf("the argument %q has to be true or false", name)
	}
	return b, nil
}

func (a arguments) names(name string) ([]string, error) {
	raw, ok := a[name]
	if !ok || string(raw) == "null" {
		return nil, nil
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err == nil {
		return list, nil
	}
	one, err := a.text(name, false)
	if err != nil {
		return nil, fmt.Errorf("the argument %q has to be a list of names", name)
	}
	return []string{one}, nil
}

func (a arguments) number(name string, byDefault, most int) (int, error) {
	raw, ok := a[name]
	if !ok || string(raw) == "null" {
		return byDefault, nil
	}
	var n int
	if err := json.Unmarshal(raw, &n); err != nil || n < 1 {
		return 0, fmt.Errorf("the argument %q has to be a whole number above 0", name)
	}
	return min(n, most), nil
}
