package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/runs/asking"
)

// askSchema contains only what a model needs: a model reads every byte of it each time. The error for a text that is
// too long names the limit.
var askSchema = newSchema(`{"type":"object","properties":{"question":{"type":"string"},"header":{"type":"string"},` +
	`"options":{"type":"array","items":{"type":"object","properties":{"label":{"type":"string"},"description":{"type":"string"}},"required":["label"]}},` +
	`"multiple":{"type":"boolean"},"freeText":{"type":"boolean"}},"required":["question"],"additionalProperties":false}`)

// askTool puts a model's question to a person. It approves nothing: calls that need a person's approval still need it.
func (s *toolset) askTool() *tool {
	return &tool{
		Tool: mcp.Tool{
			Name:        prompt.InquiryTool,
			Description: "Asks the person something and waits: {action: accept, decline or cancel, answer, selected, text}. Without options, or with freeText, they answer in words. It approves nothing. Never ask for a password.",
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)},
		},
		schema: askSchema, asks: always, serve: s.askUser,
	}
}

func (s *toolset) askUser(ctx context.Context, c *conversation, a *arguments) (*mcp.CallToolResult, error) {
	r, err := s.request(c, &arguments{})
	if err != nil {
		return nil, err
	}
	offered := s.exposed.offered(c.from.reach)
	if len(offered) == 0 {
		return nil, errors.New("there is no profile here under which people could be asked")
	}
	r.Profile = offered[0]
	c.asksFor(&r)
	answer, err := s.evaluator.Runs().AskUser(ctx, r, a.all)
	if err != nil {
		return nil, fmt.Errorf("nobody was asked: %w", err)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	result := textOf(string(text))
	result.StructuredContent = json.RawMessage(text)
	// A client that reads only the action should know that nobody was there.
	result.IsError = answer.Action == asking.ActionCancel && answer.Reason != call.CodeCanceled
	return result, nil
}
