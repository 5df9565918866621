package hostfns

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/codemode-project/codemode/call"
)

// withResources is a world whose server fs has resources.
func withResources() (*world, *Run) {
	w := newWorld()
	w.decide = verdict(call.Allow)
	w.tools["fs__read_resource"] = &call.Tool{Server: "fs", Raw: "read_resource", Name: "fs__read_resource",
		Digest: "resources/read", Resource: true}
	gate := NewGate(Deps{Tools: w, Recorder: w, Sender: w, ResourceTool: func(server string) string {
		return server +
			"__read_resource"
	}})
	return w, gate.Run(RunInfo{ID: "r1", Profile: "safe", Policy: w, Prompter: w})
}

func TestReadingAResourcePassesTheGate(t *testing.T) {
	for name, args := range map[string]string{
		"server and URI":        `["fs","file:///a.md"]`,
		"an object":             `{"server":"fs","uri":"file:///a.md"}`,
		"an object, other ways": ` { "uri" : "file:///a.md" , "server" : "fs" } `,
	} {
		t.Run(name, func(t *testing.T) {
			w, r := withResources()
			if v, x := use(t, r, 1, ReadResource, args); x != nil || string(v) != `"ok"` {
				t.Fatalf("got %s, %v", v, x)
			}
			wantLog(t, w, `decide fs__read_resource {"uri":"file:///a.md"}: allow`, `record running`,
				`send fs__read_resource {"uri":"file:///a.md"}`, `record ok`)
			if e := w.entries[0]; e.Tool != "fs__read_resource" || e.Server != "fs" || e.Args == nil {
				t.Errorf("the entry is %+v", e)
			}
			if reports := r.End(); len(reports) != 1 || reports[0].Tool != "fs__read_resource" || reports[0].State != Done {
				t.Errorf("the report is %+v", reports)
			}
		})
	}
}

func TestAResourceIsDeniedAndAskedAboutLikeATool(t *testing.T) {
	w, r := withResources()
	w.decide = verdict(call.Deny)
	if _, x := use(t, r, 1, ReadResource, `["fs","file:///a.md"]`); x == nil || x.Class != ToolCallDenied ||
		x.Props["toolName"] != "fs__read_resource" {
		t.Errorf("denied: got %v", x)
	}
	w.decide, w.answer = verdict(call.Ask), answer(no)
	if _, x := use(t, r, 2, ReadResource, `["fs","file:///a.md"]`); x == nil || x.Props["reason"] != reasonDeclined {
		t.Errorf("refused by a person: got %v", x)
	}
	if w.sent() != 0 {
		t.Errorf("something was sent: %q", w.log)
	}
}

func TestWrongReadingsOfResources(t *testing.T) {
	w, r := withResources()
	w.tools["own__read_resource"] = &call.Tool{Server: "own", Raw: "read_resource", Name: "own__read_resource"}
	for _, row := range []struct{ args, class, message string }{
		{`"fs"`, InvalidArguments,
			`read_resource: the argument: expected a server and a URI: read_resource(server, uri), got "fs"`},
		{`null`, InvalidArguments,
			`read_resource: the argument: expected a server and a URI: read_resource(server, uri), got null`},
		{`["fs"]`, InvalidArguments,
			`read_resource: the argument: expected a server and a URI: read_resource(server, uri), got ["fs"]`},
		{`["fs",7]`, InvalidArguments, `read_resource: /uri: expected the URI of a resource, got 7`},
		{`["fs",null]`, InvalidArguments, `read_resource: /uri: expected the URI of a resource, got null`},
		{`["","x"]`, InvalidArguments, `read_resource: /server: expected the name of a server, got ""`},
		{`{"server":"fs","url":"x"}`, InvalidArguments,
			`read_resource: /url: expected one of the keys server and uri, got "x"`},
		{`["nobody","x:y"]`, toolNotFound, `there is no tool "nobody__read_resource"; did you mean fs__read?`},
		{`["own","x:y"]`, toolNotFound,
			`the server has a tool of its own that is named like this: call codemode.own__read_resource(arguments)`},
	} {
		_, x := use(t, r, 1, ReadResource, row.args)
		if x == nil || x.Class != row.class || x.Message != row.message {
			t.Errorf("%s:\n got  %v\n want %s: %s", row.args, x, row.class, row.message)
		}
	}
	if w.sent() != 0 {
		t.Errorf("something was sent: %q", w.log)
	}
}

func TestResultsAreHeldAgainstTheirSchema(t *testing.T) {
	reply := func(context.Context, *call.Tool, json.RawMessage) (*Reply, error) {
		return &Reply{Value: json.RawMessage(`{"n":"x"}`), Structured: json.RawMessage(`{"n":"x"}`),
			Blocks: map[string]json.RawMessage{"h1": json.RawMessage(`{}`)}}, nil
	}
	check := func(_ context.Context, structured json.RawMessage) error {
		if string(structured) != `{"n":"x"}` {
			t.Errorf("checked %s", structured)
		}
		return &ArgumentError{Path: "/n", Expected: "a number", Got: `the string "x"`}
	}
	w := newWorld()
	w.reply = reply
	w.tools["fs__read"].ValidateOutput = check
	w.tools["fs__write"].ValidateOutput, w.tools["fs__write"].StrictOutput = check, true
	r := w.run()
	if v, x := use(t, r, 1, "fs__read", `{}`); x != nil || string(v) != `{"n":"x"}` {
		t.Errorf("with a warning: got %s, %v", v, x)
	}
	_, x := use(t, r, 2, "fs__write", `{}`)
	if x == nil || x.Class != invalidResult || x.Props["path"] != "/n" || x.Props["toolName"] != "fs__write" {
		t.Errorf("strict: got %v", x)
	}
	if x != nil && x.Message != `fs__write: the call happened, but its result does not fit the tool's output schema: /n: expected a number, got the string "x"` {
		t.Errorf("strict: the message is %s", x.Message)
	}
	reports := r.End()
	if w := reports[0]; w.State != Done ||
		w.Warning != `its result does not fit its output schema: /n: expected a number, got the string "x"` {
		t.Errorf("the report with a warning is %+v", w)
	}
	if s := reports[1]; s.State != Failed || s.Reason != invalidResult {
		t.Errorf("the strict report is %+v", s)
	}
	for _, e := range w.entries {
		if e.State != call.Running && e.State != call.OK {
			t.Errorf("the call happened, but its outcome is %q", e.State)
		}
	}
	if blocks, _ := r.Blocks(json.RawMessage(`["h1"]`)); len(blocks) != 1 {
		t.Errorf("%d blocks are kept, want those of the result that the program got", len(blocks))
	}
}
