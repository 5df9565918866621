// Command gate puts the gate around the tool executor of an agent: the agent calls tools as before, and rules, a person
// and the record decide and note which of its calls happen. No program and no MCP server are involved.
//
//	go run ./examples/gate
//
// It runs a few calls, as a model would ask for them, and asks on this terminal.
package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
)

//go:embed rules.json
var rules []byte

// A toolCall is what a model's API gives an agent: a name, and arguments as JSON.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// An executor is what the agent has already: it executes a call and returns the text for the model.
type executor func(ctx context.Context, c toolCall) (string, error)

// notes is somebody's executor: a notebook in memory.
type notes map[string]string

func (n notes) execute(_ context.Context, c toolCall) (string, error) {
	var args struct{ Title, Text string }
	if err := json.Unmarshal(c.Arguments, &args); err != nil {
		return "", err
	}
	switch c.Name {
	case "read":
		text, ok := n[args.Title]
		if !ok {
			return "", fmt.Errorf("there is no note %q", args.Title)
		}
		return text, nil
	case "write":
		n[args.Title] = args.Text
		return "written", nil
	case "remove":
		delete(n, args.Title)
		return "removed", nil
	}
	return "", fmt.Errorf("there is no tool %q", c.Name)
}

// guarded returns an executor of the same tools whose calls pass the gate. Rules know the tools as notes__<name>. What
// a person changed is what is executed.
func guarded(g *codemode.Gate, x executor) executor {
	return func(ctx context.Context, c toolCall) (string, error) {
		do := func(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
			text, err := x(ctx, toolCall{c.Name, args})
			if err != nil {
				return nil, err
			}
			return json.Marshal(text)
		}
		result, err := g.Execute(ctx, codemode.GateCall{Server: "notes", Tool: c.Name, Args: c.Arguments}, do)
		if err != nil {
			return "", err
		}
		var text string
		err = json.Unmarshal(result, &text)
		return text, err
	}
}

// tools describes the tools whose arguments the gate checks. Rules decide about the others too.
var tools = []codemode.GateTool{{
	Server: "notes", Tool: "write", Description: "Writes a note.",
	Input: json.RawMessage(`{
		"type": "object",
		"properties": {"title": {"type": "string", "minLength": 1}, "text": {"type": "string"}},
		"required": ["title", "text"],
		"additionalProperties": false
	}`),
}}

// terminal is the person who is asked.
func terminal(in io.Reader, out io.Writer) approvals.Channel {
	lines := bufio.NewReader(in)
	return approvals.Approver("terminal", func(_ context.Context, q *prompt.Request) (call.Answer, error) {
		fmt.Fprintf(out, "%s\nyes, no, or other arguments as JSON? ", prompt.Text(q, prompt.RenderOptions{}))
		line, err := lines.ReadString('\n')
		answer := strings.TrimSpace(line)
		switch {
		case err != nil:
			return call.Answer{}, err // no answer, and so no call
		case strings.HasPrefix(answer, "{"):
			return call.Answer{Allowed: true, Args: json.RawMessage(answer)}, nil
		}
		return call.Answer{Allowed: answer == "yes", Reason: answer}, nil
	})
}

// run makes calls in turn, as an agent does, and prints what its model would be told.
func run(ctx context.Context, n notes, calls []toolCall, in io.Reader, out io.Writer) error {
	cfg, err := config.Parse("rules.json", rules)
	if err != nil {
		return err
	}
	e, err := codemode.New(ctx, codemode.Options{Config: cfg})
	if err != nil {
		return err
	}
	defer e.Close(ctx)
	g, err := e.Gate(codemode.GateOptions{Profile: "agent", Channels: []approvals.Channel{terminal(in, out)}, Tools: tools})
	if err != nil {
		return err
	}
	execute := guarded(g, n.execute)
	for _, c := range calls {
		text, err := execute(ctx, c)
		if denied, ok := errors.AsType[*codemode.DeniedError](err); ok {
			text = "refused: " + denied.Detail
		} else if err != nil {
			text = "error: " + err.Error()
		}
		fmt.Fprintf(out, "%s %s: %s\n", c.Name, c.Arguments, text)
	}
	for _, report := range g.Close() {
		fmt.Fprintf(out, "call %d: %s %s\n", report.Call, report.Tool, report.State)
	}
	return nil
}

func main() {
	calls := []toolCall{
		{"read", json.RawMessage(`{"title": "shopping"}`)},
		{"write", json.RawMessage(`{"title": "shopping", "text": "tea, milk"}`)},
		{"remove", json.RawMessage(`{"title": "shopping"}`)},
		{"read", json.RawMessage(`{"title": "shopping"}`)},
	}
	if err := run(context.Background(), notes{"shopping": "tea"}, calls, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
