package server

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	words "github.com/codemode-project/codemode/call"
)

// elicitation asks the person at the client that made one call, and lives as
// long as the conversation about it.
type elicitation struct {
	*conversation
	server *Server
}

func (e *elicitation) Name() string { return "elicitation" }

func (e *elicitation) Inquires() bool { return true }

// Ask puts one form to the client. It gives up with ctx, and with the call.
func (e *elicitation) Ask(ctx context.Context, s *approvals.Showing) (words.Answer, error) {
	answers, err := e.AskAll(ctx, s)
	if err != nil {
		return words.Answer{}, err
	}
	return answers[0], answers[0].Err
}

// AskAll puts one form about several calls.
func (e *elicitation) AskAll(ctx context.Context, s *approvals.Showing) ([]words.Answer, error) {
	calls := s.Calls
	message, schema := prompt.Form(calls, e.request.ProtocolVersion())
	f := &form{
		params:  &mcp.ElicitParams{Message: message, RequestedSchema: schema},
		showing: s, about: calls[0].Name, run: calls[0].Run, within: e.server.askTimeout(calls[0].Profile),
	}
	if len(calls) > 1 {
		f.about = fmt.Sprintf("%s and %d more", f.about, len(calls)-1)
	}
	for _, c := range calls {
		f.questions = append(f.questions, c.ID)
	}
	begun := time.Now()
	f.late = func(r *mcp.ElicitResult) {
		for i, a := range prompt.ReadForm(calls, r.Action, r.Content) {
			if a.Err == nil {
				a.Channel, a.Took = e.Name(), time.Since(begun)
				e.server.evaluator.LateAnswer(calls[i], a)
			}
		}
	}
	got, err := e.ask(ctx, f)
	if err != nil {
		return nil, err
	}
	return prompt.ReadForm(calls, got.Action, got.Content), nil
}

// askTimeout is how long a question of a profile's run may be open, as far as the profile says.
func (s *Server) askTimeout(profile string) time.Duration {
	if cfg := s.evaluator.Config(); cfg != nil {
		if p := cfg.Profile(profile); p != nil {
			return p.Ask().Timeout
		}
	}
	return 0
}
