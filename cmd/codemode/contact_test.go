package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/server"
)

// A contact is a program as a model writes it, with what its first answer has to say. testdata/contact has them.
type contact struct {
	ID        int
	Kind      string
	Arguments map[string]any // of codemode_eval
	Meant     string
	Expect    string         // works, helped: an error that says what to write, or either
	Says      []string       // in the answer, each; alternatives are separated by |
	Lead      string         // in its first line
	Effects   map[string]int // what happened at the server, by tool; absent where it is not settled
	Check     []string       // in what codemode check says, each
}

// TestFirstContact runs each program over MCP, with codemode run and with codemode check. No answer may be a success
// that did nothing, or a failure that hides its cause, and the three doors say the same.
func TestFirstContact(t *testing.T) {
	t.Parallel()
	f := openContacts(t)
	for _, c := range readContacts(t) {
		if wrong := f.judge(t, &c); len(wrong) > 0 {
			t.Errorf("%d %s, meant: %s\n%v\n%s", c.ID, c.Kind, c.Meant, c.Arguments, strings.Join(wrong, "\n"))
		}
	}
}

func readContacts(t *testing.T) []contact {
	t.Helper()
	data, err := os.ReadFile("../../testdata/contact/programs.json")
	checktest.OK(t, err)
	var all []contact
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	checktest.OK(t, d.Decode(&all))
	return all
}

// contacts are the doors to one Evaluator.
type contacts struct {
	crm       *crm
	evaluator *codemode.Evaluator
	session   *mcp.ClientSession
}

func openContacts(t *testing.T) *contacts {
	t.Helper()
	f := &contacts{crm: &crm{}}
	web := httptest.NewServer(f.crm.handler())
	t.Cleanup(web.Close)
	path := filepath.Join(t.TempDir(), "codemode.json")
	text := fmt.Sprintf(`{
  "mcpServers": {"crm": {"url": %q}},
  "evaluation": {"defaultProfile": "p", "profiles": {"p": {
    "denylist": ["crm__delete_customer"], "unmatched": "allow", "limits": {"cpu": "1s"}
  }}}
}`, web.URL)
	checktest.Write(t, path, text)
	e, err := codemode.New(t.Context(), codemode.Options{ConfigPath: path, Root: t.TempDir(), CacheDir: cachetest.Dir(),
		Log: slog.New(slog.DiscardHandler)})
	checktest.OK(t, err)
	f.evaluator = e
	s := server.New(e, server.Options{Log: slog.New(slog.DiscardHandler)})
	here, there := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, there) }()
	f.session, err = mcp.NewClient(&mcp.Implementation{Name: "model", Version: "1"}, nil).Connect(ctx, here, nil)
	checktest.OK(t, err)
	t.Cleanup(func() {
		f.session.Close()
		cancel()
		<-served
		s.Close()
		closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := e.Close(closing); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return f
}

// An outcome is what one door answers, and what happened at the server.
type outcome struct {
	text    string
	failed  bool
	effects map[string]int
}

// judge says what is wrong with the answers to a program; nothing is best.
func (f *contacts) judge(t *testing.T, c *contact) (wrong []string) {
	t.Helper()
	say := func(door, what string, o outcome) {
		const most = 1500
		wrong = append(wrong, fmt.Sprintf("%s: %s\n%s\neffects: %v", door, what, o.text[:min(len(o.text), most)], o.effects))
	}
	over := f.tool(t, "codemode_eval", c.Arguments)
	c.judge("MCP", over, say)
	code, plain := c.Arguments["code"].(string)
	for name := range c.Arguments {
		plain = plain && (name == "code" || name == "input")
	}
	if !plain { // no other door has these arguments
		checked := maps.Clone(c.Arguments)
		delete(checked, "input")
		c.judgeCheck(over, f.tool(t, "codemode_check", checked), say)
		return wrong
	}
	run := f.run(t, code, c.Arguments["input"])
	c.judge("codemode run", run, say)
	if over.failed != run.failed || comparable(over.text) != comparable(run.text) {
		say("MCP", "the doors differ", over)
		say("codemode run", "the doors differ", run)
	}
	c.judgeCheck(over, f.check(t, code), say)
	return wrong
}

// comparable is the part of an answer that all doors show: no console, no names of runs, and none of the limits of one.
func comparable(text string) string {
	text, _, _ = strings.Cut("\n"+text, "\nconsole:")
	text, _, _ = strings.Cut(text, "\ncalls")
	text = cutNote.ReplaceAllString(text, "\n")
	const most = 2000 // one of them cuts more than the other
	text = strings.TrimSpace(text)
	return strings.TrimSpace(strings.TrimPrefix(text[:min(len(text), most)], "undefined")) // which a command does not print
}

// cutNote says that a value did not fit, which a command prints whole.
var cutNote = regexp.MustCompile(`^\n\(cut: .*\n`)

func (c *contact) judge(door string, o outcome, say func(door, what string, o outcome)) {
	if o.failed && c.Expect == "works" {
		say(door, "failed", o)
	}
	if !o.failed && c.Expect == "helped" {
		say(door, "a success", o)
	}
	for _, phrase := range c.Says {
		if !hasOne(o.text, phrase) {
			say(door, "does not say "+phrase, o)
		}
	}
	if first, _, _ := strings.Cut(o.text, "\n"); !strings.Contains(first, c.Lead) {
		say(door, "does not begin with "+c.Lead, o)
	}
	if c.Effects != nil && !maps.Equal(c.Effects, o.effects) {
		say(door, fmt.Sprintf("want the effects %v", c.Effects), o)
	}
	if o.failed && c.Expect != "works" && strings.Contains(o.text, "ToolCallDeniedError") && !c.denied() {
		say(door, "speaks of a refusal", o)
	}
}

// judgeCheck compares what check says with what happened. check does not know what only a running program meets.
func (c *contact) judgeCheck(over, checked outcome, say func(door, what string, o outcome)) {
	phrases := c.Check
	if strings.HasPrefix(over.text, "The program was not started.") {
		phrases = append(phrases, c.Says...)
	}
	for _, phrase := range phrases {
		if !hasOne(checked.text, phrase) {
			say("codemode check", "does not say "+phrase, checked)
		}
	}
	if len(checked.effects) > 0 {
		say("codemode check", "did something", checked)
	}
	if strings.Contains(checked.text, "allowlist") && !c.denied() {
		say("codemode check", "blames the rules", checked)
	}
	alarm := strings.Contains(checked.text, "cannot run") || strings.Contains(checked.text, "would not get through")
	if alarm && !over.failed && !c.denied() {
		say("codemode check", "an alarm about what works", checked)
	}
}

// denied reports whether the rules of this test refuse what the program does.
func (c *contact) denied() bool {
	return strings.Contains(strings.Join(c.Says, " "), "refused (denied)")
}

func hasOne(text, alternatives string) bool {
	for one := range strings.SplitSeq(alternatives, "|") {
		if strings.Contains(text, one) {
			return true
		}
	}
	return false
}

func (f *contacts) tool(t *testing.T, name string, args map[string]any) outcome {
	t.Helper()
	f.crm.take()
	res, err := f.session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return outcome{text: err.Error(), failed: true, effects: f.crm.take()}
	}
	var text strings.Builder
	for _, c := range res.Content {
		if block, ok := c.(*mcp.TextContent); ok {
			text.WriteString(block.Text)
		}
	}
	return outcome{text.String(), res.IsError, f.crm.take()}
}

// run is codemode run, without the time that it takes to start.
func (f *contacts) run(t *testing.T, code string, input any) outcome {
	t.Helper()
	r := codemode.Request{Unrestricted: true, Code: code, Name: "program.ts", Tool: "codemode run", Local: true}
	if text, ok := input.(string); ok && json.Valid([]byte(text)) && !strings.Contains(code, "JSON.parse(input") {
		r.Input = json.RawMessage(text) // --input takes JSON
	} else if input != nil {
		r.Input, _ = json.Marshal(input)
	}
	return f.command(func(s cli.Streams) error { return run(t.Context(), s, f.evaluator, r, false) })
}

func (f *contacts) check(t *testing.T, code string) outcome {
	t.Helper()
	r := codemode.Request{Unrestricted: true, Code: code, Name: "program.ts", Tool: "codemode run", Local: true}
	return f.command(func(s cli.Streams) error { return check(t.Context(), s, f.evaluator, r, false, false) })
}

// command runs a command. Its value comes first and what is said about the run after it, as over MCP.
func (f *contacts) command(do func(cli.Streams) error) outcome {
	f.crm.take()
	var out, problems bytes.Buffer
	err := do(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems})
	rest := belowSummary(problems.String())
	text := strings.TrimSuffix(problems.String(), rest) + out.String() + rest
	if err != nil && err.Error() != "" {
		text += err.Error()
	}
	return outcome{text, err != nil, f.crm.take()}
}
