package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
)

// scriptTool is the tool that runs saved programs. No tool saves any: what is
// in their folder is what a person put there.
const scriptTool = "codemode_run_script"

var scriptSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"name": {"type": "string", "description": "the name of the saved program, as search_tools lists it"},
		"input": {"description": "what the saved program takes; it sees it as input"},
		"preflight": {"type": "string", "description": "the token that codemode_check gave, where one is required"},
		"role": {"type": "string", "description": "who asks, for the record"}
	},
	"required": ["name"],
	"additionalProperties": false
}`)

// offersScripts reports whether there may be saved programs here.
func (s *Server) offersScripts() bool {
	cfg := s.evaluator.Config()
	return cfg != nil && cfg.Scripts != nil && cfg.Exposes(scriptTool)
}

func (s *Server) scriptRunner() *mcp.Tool {
	const title = "Run a saved program"
	return &mcp.Tool{
		Name: scriptTool, Title: title, InputSchema: scriptSchema,
		Description: "Runs a program that a person saved and allowed, by its name and with its input. search_tools lists the saved programs with what they take. " + resultForm,
		Annotations: &mcp.ToolAnnotations{Title: title, DestructiveHint: new(true), OpenWorldHint: new(true)},
		Meta:        mcp.Meta{"anthropic/maxResultSizeChars": codemode.DefaultTextBytes},
	}
}

func (s *Server) runScript(ctx context.Context, c *conversation) *mcp.CallToolResult {
	args, err := readArguments(c.request.Params.Arguments)
	if err != nil {
		return failed(err)
	}
	r, err := s.request(c.request, args)
	if err == nil {
		r.Script, err = args.text("name", true)
	}
	if err == nil {
		err = s.placeScript(ctx, visitorOf(c.request), &r)
	}
	if err != nil {
		return failed(err)
	}
	r.Input = args["input"]
	return s.run(ctx, c, r)
}

// placeScript says under which profile a saved program is run for a visitor, whom not all of them are for.
func (s *Server) placeScript(ctx context.Context, v *visitor, r *codemode.Request) error {
	r.Profile = s.options.Profile
	if v == nil || v.profiles == nil && v.bound == "" {
		return nil
	}
	var of string
	for _, script := range s.evaluator.Scripts(ctx) {
		if script.Name == r.Script {
			of = script.Profile
		}
	}
	if cfg := s.evaluator.Config(); cfg != nil {
		r.Profile = cmp.Or(of, v.bound, r.Profile, cfg.Default)
	}
	if r.Profile == "" || !v.mayUse(r.Profile) {
		return fmt.Errorf("the saved program %.80q would run under a profile that is not for you", r.Script)
	}
	r.Bound = true // also if its rule changes meanwhile
	return nil
}

// maxSaved is how many saved programs one answer lists.
const maxSaved = 20

// savedPrograms lists those that fit a query; "" if there are none.
func (s *Server) savedPrograms(ctx context.Context, v *visitor, query string) string {
	if !s.offersScripts() {
		return ""
	}
	words := strings.Fields(strings.ToLower(query))
	var b strings.Builder
	shown, more := 0, 0
	for _, script := range s.evaluator.Scripts(ctx) {
		if s.options.Profile != "" && script.Profile != "" && script.Profile != s.options.Profile || !v.mayUse(script.Profile) {
			continue // it could not be run here
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
			fmt.Fprintf(&b, "\nSaved programs, run by name with %s:\n", scriptTool)
		}
		b.WriteString(scriptLine(script))
	}
	if more > 0 {
		fmt.Fprintf(&b, "(%d more; search for words of their names)\n", more)
	}
	return b.String()
}

func scriptLine(s codemode.Script) string {
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
