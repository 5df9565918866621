package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// elicitation is the approval channel to the person at the client that made one call. It lasts as long as the call's
// conversation. It shows both questions about calls and programs' own questions as forms.
type elicitation struct{ *conversation }

func (e *elicitation) Name() string { return "elicitation" }

func (e *elicitation) Inquires() bool { return true }

// Edits is true: a form about one call has a field for other arguments, where the profile lets people change them.
func (e *elicitation) Edits() bool { return true }

// Ask shows one form to the client. It ends with ctx, and with the call.
func (e *elicitation) Ask(ctx context.Context, s *approvals.Showing) (call.Answer, error) {
	answers, err := e.AskAll(ctx, s)
	if errors.Is(err, errRefused) {
		return call.Answer{}, nil
	}
	if err != nil {
		return call.Answer{}, err
	}
	return answers[0], answers[0].Err
}

// AskAll shows one form about several calls.
func (e *elicitation) AskAll(ctx context.Context, s *approvals.Showing) ([]call.Answer, error) {
	calls := s.Calls
	if len(calls) == 1 && calls[0].Kind() == "account" {
		return nil, e.connect(ctx, s)
	}
	message, schema := prompt.Form(calls, e.request.ProtocolVersion())
	f := &form{
		params: &mcp.ElicitParams{Message: message, RequestedSchema: schema}, showing: s,
		about: calls[0].Name, run: calls[0].Run, within: e.server.exposed.askTimeout(calls[0].Profile),
	}
	if len(calls) > 1 {
		f.about = fmt.Sprintf("%s and %d more", f.about, len(calls)-1)
	}
	for _, c := range calls {
		f.questions = append(f.questions, c.ID)
	}
	read := func(action string, content map[string]any) []call.Answer {
		return prompt.ReadForm(calls, action, content)
	}
	begun := time.Now()
	f.late = func(r *mcp.ElicitResult) {
		for i, a := range read(r.Action, r.Content) {
			if a.Err == nil {
				a.Channel, a.Took = e.Name(), time.Since(begun)
				e.server.evaluator.People().Desk.Late(calls[i], a)
			}
		}
	}
	got, err := e.ask(ctx, f)
	if err != nil {
		return nil, err
	}
	again := prompt.Again(calls, e.request.ProtocolVersion(), got.Action, got.Content)
	if again == nil {
		return read(got.Action, got.Content), nil
	}
	second := *f
	second.params = &mcp.ElicitParams{Message: again.Message, RequestedSchema: again.Schema}
	read = again.Read
	more, err := e.ask(ctx, &second)
	if errors.Is(err, approvals.ErrTooMany) { // the first reply is all there is
		return prompt.ReadForm(calls, got.Action, got.Content), nil
	}
	if err != nil {
		return nil, err
	}
	return read(more.Action, more.Content), nil
}

// errRefused is the error of connect when the person refuses.
var errRefused = errors.New("the person refused")

// connect shows the client the address at which its person connects an account (MCP 2025-11-25, Elicitation, URL mode).
// That the client opens it is no answer: the login ends the question, and with it ctx.
func (e *elicitation) connect(ctx context.Context, s *approvals.Showing) error {
	r := s.Request
	f := &form{
		params: &mcp.ElicitParams{Mode: urlMode, URL: r.Inquiry.Connect,
			Message: prompt.Text(r, prompt.RenderOptions{Markdown: true})},
		showing: s, about: "connecting an account", run: r.Run, within: e.server.exposed.askTimeout(r.Profile),
		questions: []string{r.ID},
	}
	modern := e.request.ProtocolVersion() >= stateless
	if !modern {
		f.params.ElicitationID = r.ID
	}
	got, err := e.ask(ctx, f)
	switch {
	case err != nil:
		return err
	case got.Action == "decline":
		return errRefused
	case got.Action != "accept":
		return prompt.ErrDismissed
	}
	<-ctx.Done()
	if !modern {
		telling, cancel := context.WithTimeout(context.WithoutCancel(ctx), completeWait)
		defer cancel()
		// A client that is gone need not know.
		_ = e.request.Session.NotifyElicitationComplete(telling, &mcp.ElicitationCompleteParams{ElicitationID: r.ID})
	}
	return context.Cause(ctx)
}

// completeWait bounds how long it takes to tell a client that the question about an address is over.
const completeWait = 5 * time.Second

// askTimeout is how long the profile lets a question of its runs stay open, if the profile says.
func (e *exposure) askTimeout(profile string) time.Duration {
	if cfg := e.evaluator.Config(); cfg != nil && cfg.Profile(profile) != nil {
		return cfg.Profile(profile).Ask().Timeout
	}
	return 0
}

// urlMode is the mode of an elicitation that has an address to open instead of a form, and urlSince is the version of
// the protocol that brought it.
const urlMode, urlSince = "url", "2025-11-25"

// able says what a client can show to its person.
type able struct{ forms, addresses bool }

// ableOf says what the client that made a call can show.
func ableOf(req *mcp.CallToolRequest) able {
	caps := capabilities(req)
	if caps == nil || caps.Elicitation == nil {
		return able{}
	}
	return able{forms: caps.Elicitation.Form != nil || caps.Elicitation.URL == nil,
		addresses: caps.Elicitation.URL != nil && req.ProtocolVersion() >= urlSince}
}

func (a able) shows(f *form) bool {
	if f.params.Mode == urlMode {
		return a.addresses
	}
	return a.forms
}

// A sessionElicitor asks over the session that made the call, while the call lasts: MCP up to 2025-11-25.
type sessionElicitor struct {
	server   *shared
	call     context.Context // the client's reply travels in the stream of the call
	request  *mcp.CallToolRequest
	survives bool // the call continues without the client, which comes back for the result
}

func (e *sessionElicitor) canAsk(f *form) bool { return ableOf(e.request).shows(f) }

func (e *sessionElicitor) elicit(ctx context.Context, f *form) (*mcp.ElicitResult, error) {
	asking, cancel := context.WithCancelCause(e.call)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	f.shown()
	params := *f.params
	// Otherwise the SDK makes a copy that has it, and keepReplies would not recognize the copy.
	params.Mode = cmp.Or(params.Mode, "form")
	_, err := e.request.Session.Elicit(asking, &params)
	reply, replied := e.server.replies.LoadAndDelete(&params)
	if e.survives && e.call.Err() != nil {
		<-ctx.Done() // the question stays open until the client comes back
	}
	switch {
	case asking.Err() != nil:
		return nil, context.Cause(asking)
	case replied:
		return reply.(*mcp.ElicitResult), nil
	case err == nil:
		return nil, prompt.ErrUnclear
	}
	return nil, err
}

// keepReplies stores each reply to a question as the client sent it. The SDK turns an accept that does not fit the form
// into an error, and fills in defaults. But the person's answer must be exactly what arrived.
func (s *shared) keepReplies(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if params, ok := req.GetParams().(*mcp.ElicitParams); ok && err == nil {
			if r, ok := res.(*mcp.ElicitResult); ok && r != nil {
				s.replies.Store(params, &mcp.ElicitResult{Action: r.Action, Content: maps.Clone(r.Content)})
			}
		}
		return res, err
	}
}
