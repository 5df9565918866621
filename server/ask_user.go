package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/asking"
	words "github.com/codemode-project/codemode/call"
)

// askTool puts a model's question to a person. It approves nothing: what a
// profile asks about is asked about all the same.
const askTool = prompt.InquiryTool

// askSchema says no more than a model needs: every byte of it is read each time. What is too long is refused with the limit.
var askSchema = json.RawMessage(`{"type":"object","properties":{"question":{"type":"string"},"header":{"type":"string"},` +
	`"options":{"type":"array","items":{"type":"object","properties":{"label":{"type":"string"},"description":{"type":"string"}},"required":["label"],"additionalProperties":false}},` +
	`"multiple":{"type":"boolean"},"freeText":{"type":"boolean"}},"required":["question"],"additionalProperties":false}`)

// offersAskUser reports whether models may ask people something here.
func (s *Server) offersAskUser() bool {
	cfg := s.evaluator.Config()
	return cfg == nil || cfg.Exposes(askTool)
}

func (s *Server) askUserTool() *mcp.Tool {
	const title = "Ask the person"
	return &mcp.Tool{
		Name: askTool, Title: title, InputSchema: askSchema,
		Description: "Asks the person something and waits: {action: accept, decline or cancel, answer, selected, text}. Without options, or with freeText, they answer in words. It approves nothing. Never ask for a password.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)},
	}
}

// askUser is the handler of ask_user.
func (s *Server) askUser(ctx context.Context, c *conversation) *mcp.CallToolResult {
	args, err := readArguments(c.request.Params.Arguments, askArguments)
	if err != nil {
		return failed(err)
	}
	r, err := s.request(c.request, nil)
	if err != nil {
		return failed(err)
	}
	offered := s.offered(visitorOf(c.request))
	if len(offered) == 0 {
		return failed(errors.New("there is no profile here under which people could be asked"))
	}
	r.Profile, r.Channels = offered[0], []approvals.Channel{&elicitation{c, s}}
	c.profile = &r.Profile
	question, err := json.Marshal(args)
	if err != nil {
		return failed(err)
	}
	answer, err := s.evaluator.AskUser(ctx, r, question)
	if err != nil {
		return failed(fmt.Errorf("nobody was asked: %w", err))
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return failed(err)
	}
	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: json.RawMessage(text)}
	// Whoever reads no further than to the action should know that nobody was there.
	result.IsError = answer.Action == asking.ActionCancel && answer.Reason != words.CodeCanceled
	return result
}

// people says how a person could be asked at the moment: the status of the responders.
func (s *Server) people(req *mcp.CallToolRequest) string {
	var ways []string
	if canAsk(req) {
		ways = append(ways, "by forms of this client")
	}
	for _, p := range s.evaluator.People() {
		switch p.Present {
		case 0:
			ways = append(ways, fmt.Sprintf("over %s (nobody is there now)", p.Channel))
		case 1:
			ways = append(ways, fmt.Sprintf("over %s (1 connected)", p.Channel))
		default:
			ways = append(ways, fmt.Sprintf("over %s (%d connected)", p.Channel, p.Present))
		}
	}
	if len(ways) == 0 {
		return "\nNo person can be asked here: calls that need approval are refused.\n"
	}
	return "\nA person is asked " + strings.Join(ways, ", ") + ".\n"
}
