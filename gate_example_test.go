package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
)

// A Go program puts its own tools behind the same gate that programs pass: rules, a person, the record.
func ExampleEvaluator_Gate() {
	ctx := context.Background()
	config, err := config.Parse("rules.json", []byte(`{
		"evaluation": { "profiles": { "careful": {
			"allowlist": ["mail__list"],
			"asklist":   [{ "tool": "mail__send", "risk": "medium", "reason": "leaves the house" }],
			"denylist":  ["mail__delete_*"],
			"unmatched": "ask",
			"ask":       { "edit": true }
		} } }
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := codemode.New(ctx, codemode.Options{Config: config})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close(ctx)

	// In a real program this asks somebody: over a chat, a page, a terminal (approvals.Terminal).
	person := approvals.Approver("chat", func(_ context.Context, r *prompt.Request) (call.Answer, error) {
		fmt.Println("asked:", prompt.Summary(r), "risk", r.Risk)
		switch r.Tool {
		case "send":
			return call.Answer{Allowed: true, Args: json.RawMessage(`{"to":"anna","text":"see you at 9"}`)}, nil
		}
		return call.Answer{Reason: "not while I am away"}, nil
	})
	g, err := e.Gate(codemode.GateOptions{Profile: "careful", Channels: []approvals.Channel{person}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()

	execute := func(_ context.Context, args json.RawMessage) (json.RawMessage, error) {
		fmt.Println("executed with", string(args))
		return json.RawMessage(`"done"`), nil
	}
	for _, call := range []codemode.GateCall{
		{Server: "mail", Tool: "list"},
		{Server: "mail", Tool: "send",
			Args: json.RawMessage(`{"to":"anna","text":"see you at 8","password":"hunter2hunter2"}`)},
		{Server: "mail", Tool: "delete_all"},
		{Server: "mail", Tool: "forward", Args: json.RawMessage(`{"to":"bob"}`)},
	} {
		out, err := g.Execute(ctx, call, execute)
		var denied *codemode.DeniedError
		switch {
		case errors.As(err, &denied):
			fmt.Println("not executed:", denied.Reason)
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println("result:", string(out))
		}
	}
	// Output:
	// executed with {}
	// result: "done"
	// asked: mail.send to: "anna", text: "see you at 8", password: (hidden: 14 characters) risk medium
	// executed with {"to":"anna","text":"see you at 9"}
	// result: "done"
	// not executed: denied
	// asked: mail.forward to: "bob" risk medium
	// not executed: elicitation_declined
}
