package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
)

// askTool puts a model's question to a person. It approves nothing: what a
// profile asks about is asked about all the same.
const askTool = approvals.InquiryTool

var (
	askSchema = json.RawMessage(`{
		"type": "object",
		"properties": {
			"header": {"type": "string", "maxLength": 80, "description": "a word or two about what it is about"},
			"question": {"type": "string", "maxLength": 2000, "description": "what the person is asked"},
			"options": {
				"type": "array",
				"maxItems": 20,
				"description": "answers to choose from; without any, the person answers in words",
				"items": {
					"type": "object",
					"properties": {
						"label": {"type": "string", "maxLength": 200},
						"description": {"type": "string", "maxLength": 400}
					},
					"required": ["label"],
					"additionalProperties": false
				}
			},
			"multiple": {"type": "boolean", "description": "several options may be chosen"},
			"freeText": {"type": "boolean", "description": "the person may also answer in words of their own"}
		},
		"required": ["question"],
		"additionalProperties": false
	}`)
	answerSchema = json.RawMessage(`{
		"type": "object",
		"properties": {
			"action": {"type": "string", "enum": ["accept", "decline", "cancel"]},
			"answer": {"type": "string"},
			"selected": {"type": "array", "items": {"type": "string"}},
			"text": {"type": "string"},
			"reason": {"type": "string"},
			"detail": {"type": "string"}
		},
		"required": ["action", "answer", "selected", "text"]
	}`)
)

// offersAskUser reports whether models may ask people something here.
func (s *Server) offersAskUser() bool {
	cfg := s.evaluator.Config()
	return cfg == nil || cfg.Exposes(askTool)
}

func (s *Server) askUserTool() *mcp.Tool {
	const title = "Ask the person"
	return &mcp.Tool{
		Name: askTool, Title: title, InputSchema: askSchema, OutputSchema: answerSchema,
		Description: `Asks the person something, in your words, and waits for the answer: {action, answer, selected, text}. action is accept, decline (the person does not want to answer) or cancel (closed, or nobody could be asked: reason says which). It approves nothing: calls that need approval are asked about by themselves. Never ask for a password. Inside programs: codemode.ask_user({question, options}).`,
		Annotations: &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, OpenWorldHint: new(false)},
	}
}

// askUser is the handler of ask_user.
func (s *Server) askUser(ctx context.Context, c *conversation) *mcp.CallToolResult {
	args, err := readArguments(c.request.Params.Arguments)
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
	result.IsError = answer.Action == codemode.ActionCancel && answer.Reason != approvals.CodeCanceled
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
