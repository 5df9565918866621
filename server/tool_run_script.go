package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/runs/inforce"
)

const scriptToolName = "codemode_run_script"

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

// offersScripts reports whether this server may have saved programs.
func (e *exposure) offersScripts() bool {
	cfg := e.evaluator.Config()
	return cfg != nil && cfg.Scripts != nil && cfg.Exposes(scriptToolName)
}

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

// placeScript chooses the profile of a saved program for a caller: the one that the program's rule names, else the
// caller's own. The program runs under no other profile, even if its rule changes meanwhile.
func (e *exposure) placeScript(by reach, r *codemode.Request) error {
	saved, err := e.evaluator.Rules().Script(r.Script)
	if err != nil {
		return err
	}
	script := saved.Script
	r.Bound = true
	if profile, ok := e.profileOf(by, script); ok {
		r.Profile = profile
		return nil
	}
	if only := e.only; only != "" && script.Profile != "" {
		return fmt.Errorf("the saved program %.80q runs under the profile %s, and only %s is offered here", r.Script,
			script.Profile, only)
	}
	if script.Profile == "" {
		return fmt.Errorf("the saved program %.80q has no profile here: its rule in the configuration names none, and the default profile is not for you", r.Script)
	}
	return fmt.Errorf("the saved program %.80q would run under a profile that is not for you", r.Script)
}

// profileOf is the profile that a saved program runs under for a caller. ok is false if the caller may use none.
func (e *exposure) profileOf(by reach, script inforce.Script) (profile string, ok bool) {
	if script.Profile == "" {
		return e.scriptsProfile(by)
	}
	only := e.only
	return script.Profile, e.reaches(by, script.Profile) && (only == "" || only == script.Profile)
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
