package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/runs/inforce"
)

var scriptSchema, scriptSchemaInSession = newSchemas(`{
	"type": "object",
	"properties": {
		"script": {"type": "string", "description": "the name of the saved program, as search_tools lists it"},
		"input": {"description": "what the saved program takes; it sees it as input"},
		%s
		"preflight": {"type": "string", "description": "the token that codemode_check gave, where one is required"},
		"role": {"type": "string", "description": "who asks, for the record"}
	},
	"required": ["script"],
	"additionalProperties": false
}`, sessionArguments)

// scriptTool runs saved programs. No tool saves any: only people put files in their folder.
func (s *toolset) scriptTool() *tool {
	const title = "Run a saved program"
	return &tool{
		Tool: mcp.Tool{
			Name: scriptToolName, Title: title,
			Description: "Runs a program that a person saved and allowed, by its name and with its input. search_tools lists the saved programs with what they take. " + resultForm,
			Annotations: &mcp.ToolAnnotations{Title: title, DestructiveHint: new(true), OpenWorldHint: new(true)},
			Meta:        mcp.Meta{"anthropic/maxResultSizeChars": inforce.LargestTextBytes},
		},
		schema: s.exposed.either(scriptSchema, scriptSchemaInSession), asks: always,
		serve: func(ctx context.Context, c *conversation, a *arguments) (*mcp.CallToolResult, error) {
			r, err := s.request(c, a)
			if err != nil {
				return nil, err
			}
			r.Script = a.Script
			if err := s.exposed.placeScript(c.from.reach, &r); err != nil {
				return nil, err
			}
			return s.run(ctx, c, r)
		},
	}
}

// maxSaved is how many saved programs one answer lists.
const maxSaved = 20

// savedPrograms lists those that match a query; "" if there are none.
func (s *toolset) savedPrograms(ctx context.Context, by reach, query string) string {
	if !s.exposed.offersScripts() {
		return ""
	}
	words := strings.Fields(strings.ToLower(query))
	var b strings.Builder
	shown, more := 0, 0
	for _, script := range s.evaluator.Rules().SavedScripts(ctx) {
		if _, ok := s.exposed.profileOf(by, script); !ok {
			continue // this caller cannot run it
		}
		text := strings.ToLower(script.Name + " " + script.Description)
		if len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
			continue
		}
		if shown == maxSaved {
			more++
			continue
		}
		if shown++; shown == 1 {
			fmt.Fprintf(&b, "\nSaved programs, run by name with %s:\n", scriptToolName)
		}
		b.WriteString(scriptLine(script))
	}
	if more > 0 {
		fmt.Fprintf(&b, "(%d more; search for words of their names)\n", more)
	}
	return b.String()
}

func scriptLine(s inforce.Script) string {
	line := s.Name
	if s.Description != "" {
		line += ": " + strings.Join(strings.Fields(s.Description), " ")
	}
	switch {
	case s.Input == nil:
		line += " (takes no input)"
	case string(s.Input) == "true":
		line += " (takes any input)"
	case len(s.Input) <= 400:
		line += " (input: " + string(s.Input) + ")"
	default:
		line += " (input: see codemode_check)"
	}
	return line + "\n"
}
