package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/testwait"
)

// stranger is an upstream that nobody trusts, with a tool that the test defines.
type stranger struct {
	*mcp.Server
	url string
}

func newStranger(t *testing.T) *stranger {
	t.Helper()
	s := &stranger{Server: mcp.NewServer(&mcp.Implementation{Name: "stranger", Version: "1"}, nil)}
	s.url = mcptest.Serve(t, s.Server)
	return s
}

func (s *stranger) define(name, description string) {
	s.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if strings.Contains(string(r.Params.Arguments), "fail") {
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "do as I say"}}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + " answers"}}}, nil
		})
}

// verdicts runs a program of attempts and says of each call how it came to its end.
func verdicts(t *testing.T, e *codemode.Evaluator, p *person, code string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := e.Eval(ctx, codemode.Request{Profile: "p", Code: code, Channels: []approvals.Channel{p}})
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Text(err))
	}
	var out []string
	for _, c := range r.Calls {
		verdict := "allow"
		switch {
		case c.Approved != "":
			verdict = "ask"
		case c.State == hostfns.Refused:
			verdict = "deny"
		}
		out = append(out, strings.TrimPrefix(c.Tool, "s__")+" "+verdict)
	}
	return strings.Join(out, ", ")
}

// TestN4TaintedRuns is POLICY.md N4: after anything that an untrusted server said, a call is asked about unless its
// arguments are written in the program, or single values of trusted servers in such a call: whatever was done to the
// words since.
func TestN4TaintedRuns(t *testing.T) {
	s := newStranger(t)
	s.define("read", "reads mail")
	config := func(trust bool) string {
		return fmt.Sprintf(`{"mcpServers": {"s": {"type": "http", "url": %q, "trustAnnotations": %t}},
			"evaluation": {"profiles": {"p": {"allowlist": ["*"], "raise": {"tainted": "ask"}}}}}`, s.url, trust)
	}
	e := open(t, config(false))
	for _, tt := range []struct{ name, code, want string }{
		{"a literal", `await codemode.time__now({timezone: "UTC"})`, "time__now allow"},
		{"a literal after it", `const m = await codemode.s__read({}); await codemode.time__now({timezone: "UTC"}); return m`,
			"read allow, time__now allow"},
		{"no arguments", `const m = await codemode.s__read({}); await codemode.time__now(); await codemode.time__now({}); return m`, "read allow, time__now allow, time__now allow"},
		{"an echoed literal", `await codemode.s__read({}); await codemode.s__read({q: "read answers"}); await codemode.s__read({q: "read answers", n: 2})`, "read allow, read allow, read allow"},
		{"the answer", `const m = await codemode.s__read({}); await codemode.s__read({m})`, "read allow, read ask"},
		{"a part of it", `const m = await codemode.s__read({}); await codemode.s__read({m: m.slice(0, 4)})`,
			"read allow, read ask"},
		{"laundered by a sum", `const m = await codemode.s__read({}); await codemode.s__read({m: "x" + m})`,
			"read allow, read ask"},
		{"laundered by JSON", `const m = await codemode.s__read({}); await codemode.s__read(JSON.parse(JSON.stringify({m})))`,
			"read allow, read ask"},
		{"laundered by a number", `const m = await codemode.s__read({}); await codemode.s__read({n: m.length})`,
			"read allow, read ask"},
		{"laundered by a key", `const m = await codemode.s__read({}); await codemode.s__read({[m]: 1})`,
			"read allow, read ask"},
		{"laundered by a table", `const T = {r: "ring", e: "echo"}; const m = await codemode.s__read({}); await codemode.s__read({w: [...m].map(c => T[c] ?? "none")})`, "read allow, read ask"},
		{"laundered by branches", `const m = await codemode.s__read({}); await codemode.s__read({w: m[0] == "r" ? "ring" : "none"})`, "read allow, read ask"},
		{"laundered by an object",
			`const o = {w: ""}; const m = await codemode.s__read({}); o.w = m; await codemode.s__read(o)`,
			"read allow, read ask"},
		{"an error's words", `let w; try { await codemode.s__read({fail: 1}) } catch (e) { w = e.message } await codemode.s__read({w})`, "read allow, read ask"},
		{"before it", `await codemode.time__now({}); await codemode.s__read({})`, "time__now allow, read allow"},
		{"trusted ones only", `const f = await codemode.filesystem__read_text_file({path: "a.md"}); await codemode.s__read({f})`, "filesystem__read_text_file allow, read allow"},
	} {
		p := says(yes, nil)
		plan, err := e.Check(t.Context(), codemode.Request{Profile: "p", Code: tt.code})
		must(t, err)
		var predicted []string
		for _, c := range plan.Calls {
			verdict := c.Verdict
			// it may be one of several
			if i := len(predicted); verdict == preflight.VerdictDepends && i < len(strings.Split(tt.want, ", ")) {
				for _, v := range c.Verdicts {
					if strings.HasSuffix(strings.Split(tt.want, ", ")[i], " "+v) {
						verdict = v
					}
				}
			}
			predicted = append(predicted, strings.TrimPrefix(c.Tool, "s__")+" "+verdict)
		}
		got := verdicts(t, e, p, tt.code)
		if got != tt.want || strings.Join(predicted, ", ") != tt.want {
			t.Errorf("%s: got %s, predicted %s, want %s", tt.name, got, strings.Join(predicted, ", "), tt.want)
		}
	}
	// What the program's text alone does not settle: the arguments are known when the call is made.
	for _, tt := range []struct{ name, code, want string }{
		{"a value of a trusted server",
			`const w = (await codemode.filesystem__read_text_file({path: "a.md"})).content; const m = await codemode.s__read({}); await codemode.s__read({w})`, "filesystem__read_text_file allow, read allow, read allow"},
		{"many values of a trusted server",
			`const w = (await codemode.filesystem__read_text_file({path: "a.md"})).content; const m = await codemode.s__read({}); await codemode.s__read({w: [...m].map(() => w)})`, "filesystem__read_text_file allow, read allow, read ask"},
		{"a part of such a value",
			`const w = (await codemode.filesystem__read_text_file({path: "a.md"})).content; const m = await codemode.s__read({}); await codemode.s__read({w: w.slice(0, m.length)+w[0]})`, "filesystem__read_text_file allow, read allow, read ask"},
		{"a loop", `let m = 0; for (let i = 0; i < 2; i++) { await codemode.time__now({timezone: m ? "UTC" : undefined}); m = await codemode.s__read({}) }`, "time__now allow, read allow, time__now ask, read allow"},
		{"a tool that the text does not show",
			`const m = await codemode.s__read({}); await codemode["time__" + m.slice(0, 0) + "now"]({})`,
			"read allow, time__now ask"},
	} {
		if got := verdicts(t, e, says(yes, nil), tt.code); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		for _, c := range check(t, e, "p", tt.code).Calls {
			if slices.Contains([]string{"s__read", "time__now"}, c.Tool) && len(c.Unknown) > 0 &&
				c.Verdict != preflight.VerdictDepends && !strings.Contains(tt.want, c.Tool+" "+c.Verdict) &&
				!strings.Contains(tt.want, "read "+c.Verdict) {
				t.Errorf("%s: check says %s", tt.name, c.Verdict)
			}
		}
	}
	asking := says(yes, nil)
	verdicts(t, e, asking, `const m = await codemode.s__read({}); await codemode.s__read({q: {m}}); await codemode.s__read({q: m + "!"})`)
	for i, want := range []string{`the argument /q/m is what s__read answered (call 1), and the server "s" is not trusted`,
		`its arguments are not all written in the program, and the run has read s__read (call 1), whose server "s" is not trusted`} {
		if len(asking.asked) != 2 || !slices.Contains(asking.asked[i].Reasons, want) {
			t.Errorf("question %d does not say %q: %+v", i+1, want, asking.asked)
		}
	}
	if got := verdicts(t, open(t, config(true)), says(yes, nil),
		`const m = await codemode.s__read({}); await codemode.time__now({}); await codemode.s__read({m})`); got != "read allow, time__now allow, read allow" {
		t.Errorf("a server that is trusted: %s", got)
	}
}

// TestA14ChangedDefinitions is POLICY.md A14: one character of a description, and the tool is
// asked about until a person has accepted it, also in a later process.
func TestA14ChangedDefinitions(t *testing.T) {
	s := newStranger(t)
	s.define("read", "reads mail")
	s.define("other", "does something else")
	state := filepath.Join(t.TempDir(), "state")
	start := func() *codemode.Evaluator {
		return open(t, fmt.Sprintf(`{"mcpServers": {"s": {"type": "http", "url": %q}}, "evaluation": {"profiles": {"p": {"allowlist": ["*"]}}}}`, s.url),
			func(o *codemode.Options) { o.StateDir = state })
	}
	const both = `await codemode.s__read({}); await codemode.s__other({})`
	e := start()
	if got := verdicts(t, e, says(yes, nil), both); got != "read allow, other allow" {
		t.Fatalf("at first: %s", got)
	}
	s.define("read", "reads mail.")
	eventually(t, "the changed tool", func() bool { return len(e.Rules().Pins.Changes()) == 1 })
	if got := verdicts(t, e, says(yes, nil), both); got != "read ask, other allow" {
		t.Errorf("after the change: %s", got)
	}
	p := says(no, nil)
	r, err := eval(t, e, "p", refused(`codemode.s__read({})`), p)
	if err != nil || !strings.Contains(string(r.Value), "elicitation_declined") || len(p.asked) != 1 ||
		!strings.Contains(strings.Join(p.asked[0].Reasons, " "), "reviewed") {
		t.Errorf("a person is not told why: %s %v", r.Value, p.asked)
	}
	e.Close(t.Context())

	// Another process remembers.
	e = start()
	if got := verdicts(t, e, says(yes, nil), both); got != "read ask, other allow" {
		t.Errorf("in a later process: %s", got)
	}
	changed := e.Rules().Pins.Changes()
	if len(changed) != 1 || changed[0].Name != "s__read" || strings.Join(changed[0].Diff,
		"\n") != "- /description: \"reads mail\"\n+ /description: \"reads mail.\"" {
		t.Fatalf("changed: %+v", changed)
	}
	if err := e.Rules().Pins.Accept("s__read", "another digest"); err == nil {
		t.Error("a definition that nobody saw was accepted")
	}
	if err := e.Rules().Pins.Accept("s__none", changed[0].Digest); err == nil {
		t.Error("a tool that does not exist was accepted")
	}
	must(t, e.Rules().Pins.Accept("s__read", changed[0].Digest))
	if got := verdicts(t, e, says(yes, nil), both); got != "read allow, other allow" ||
		len(e.Rules().Pins.Changes()) != 0 {
		t.Errorf("once it is accepted: %s", got)
	}
	e.Close(t.Context())
	if got := verdicts(t, start(), says(yes, nil), both); got != "read allow, other allow" {
		t.Errorf("accepted, in a later process: %s", got)
	}
}

// A definition that changes and changes back during a run is asked about in that run.
func TestA14DefinitionChangesDuringARun(t *testing.T) {
	s := newStranger(t)
	s.define("read", "reads mail")
	e := open(t, fmt.Sprintf(`{"mcpServers": {"s": {"type": "http", "url": %q}}, "evaluation": {"profiles": {"p": {"allowlist": ["s__*"], "asklist": ["time__*"]}}}}`, s.url))
	if got := verdicts(t, e, says(yes, nil), `await codemode.s__read({})`); got != "read allow" {
		t.Fatal(got)
	}
	p := says(yes, nil)
	answer, first := p.answer, true
	p.answer = func(ctx context.Context, r *prompt.Request) (call.Answer, error) {
		if first {
			first = false
			s.define("read", "reads mail and more")
			eventually(t, "the changed tool", func() bool { return len(e.Rules().Pins.Changes()) == 1 })
			s.define("read", "reads mail")
			eventually(t, "the tool as it was", func() bool { return len(e.Rules().Pins.Changes()) == 0 })
		}
		return answer(ctx, r)
	}
	const code = `await codemode.s__read({}); await codemode.time__now({}); await codemode.s__read({n: 2})`
	if got := verdicts(t, e, p, code); got != "read allow, time__now ask, read ask" {
		t.Errorf("in the run: %s", got)
	}
	// It counts as accepted before it is listed again: a run in between meets the one that changed.
	eventually(t, "a run that is asked about nothing but the time", func() bool {
		return verdicts(t, e, says(yes, nil), code) == "read allow, time__now ask, read allow"
	})
}

// What a person accepts in one process counts in another that runs meanwhile.
func TestA14AcceptedElsewhere(t *testing.T) {
	s := newStranger(t)
	s.define("read", "reads mail")
	state := filepath.Join(t.TempDir(), "state")
	start := func() *codemode.Evaluator {
		return open(t, fmt.Sprintf(`{"mcpServers": {"s": {"type": "http", "url": %q}}, "evaluation": {"profiles": {"p": {"allowlist": ["*"]}}}}`, s.url),
			func(o *codemode.Options) { o.StateDir = state })
	}
	running := start()
	const call = `await codemode.s__read({})`
	if got := verdicts(t, running, says(yes, nil), call); got != "read allow" {
		t.Fatal(got)
	}
	s.define("read", "reads mail, and more")
	eventually(t, "the changed tool", func() bool { return len(running.Rules().Pins.Changes()) == 1 })
	if got := verdicts(t, running, says(yes, nil), call); got != "read ask" {
		t.Fatal(got)
	}
	person := start()
	person.Tools().Ready(t.Context(), 10*time.Second)
	changed := person.Rules().Pins.Changes()
	if len(changed) != 1 {
		t.Fatalf("changed: %+v", changed)
	}
	must(t, person.Rules().Pins.Accept("s__read", changed[0].Digest))
	if got := verdicts(t, running, says(yes, nil), call); got != "read allow" {
		t.Errorf("accepted elsewhere: %s", got)
	}
}

// A fallback that lets calls through unseen is not for what asks beside the rules.
func TestFallbackDoesNotUndoWhatRaisesACall(t *testing.T) {
	s := newStranger(t)
	s.define("read", "reads mail")
	e := open(t, fmt.Sprintf(`{"mcpServers": {"s": {"type": "http", "url": %q}}, "evaluation": {"profiles": {
		"p": {"allowlist": ["*"], "asklist": ["filesystem__*"], "elicitationFallback": "allow", "raise": {"tainted": "ask"}, "limits": {"repeat": 1}}}}}`, s.url))
	for code, want := range map[string]string{
		`await codemode.filesystem__read_text_file({path: "a.md"})`:                "happened",
		`await codemode.time__now({timezone: String(await codemode.s__read({}))})`: "no_approver",
		`await codemode.time__now({}); await codemode.time__now({})`:               "no_approver",
	} {
		r, err := eval(t, e, "p", "try { "+code+"; return 'happened' } catch (e) { return e.reason }")
		if err != nil || string(r.Value) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: got %s, %v, want %s", code, r.Value, err, want)
		}
	}
	s.define("read", "reads mail.")
	eventually(t, "the changed tool", func() bool { return len(e.Rules().Pins.Changes()) == 1 })
	if r, err := eval(t, e, "p", refused("codemode.s__read({})")); err != nil || !strings.Contains(string(r.Value),
		"no_approver") {
		t.Errorf("a changed tool: %s %v", r.Value, err)
	}
}

// While a person answers, somebody edits the rules. The yes counts while the rules put the same question or none. Where
// they put another one, people are asked that; where they deny the call, it is refused.
func TestRulesThatChangeUnderAYes(t *testing.T) {
	const rules = `{"evaluation": {"floor": "house", "profiles": {
	"house": {"denylist": ["none__*"]},
	"p": {"asklist": [{"id": "w", "tool": "filesystem__write_file", "reason": "writes"}],
		"allowlist": ["time__*"], "denylist": ["filesystem__delete_file"], "unmatched": "deny", "ask": {"timeout": "1m"},
		"remember": {"scopes": ["run", "time"]}}
}}}`
	const again, kept, denied = "asked again", "", "policy_changed"
	for _, test := range []struct {
		name, old, new string // in rules
		want, says     string
	}{
		{"nothing", ``, ``, kept, ""},
		{"another space", `"asklist": `, "\"asklist\":\n\n\n ", kept, ""},
		{"a rule for another tool", `["time__*"]`, `["time__*", "memory__*"]`, kept, ""},
		{"a rule for another tool before it", `{"id": "w"`, `"memory__*", {"id": "w"`, kept, ""},
		{"a denial of another tool", `__delete_file"]`, `__delete_file", "memory__*"]`, kept, ""},
		{"another profile", `"house": {`, `"other": {}, "house": {`, kept, ""},
		{"the time to answer", `"1m"`, `"3m"`, kept, ""},
		{"limits", `"unmatched"`, `"limits": {"calls": 77}, "unmatched"`, kept, ""},
		{"the fallback", `"unmatched"`, `"elicitationFallback": "deny", "unmatched"`, kept, ""},
		{"what may be remembered, for a yes to one call", `["run", "time"]`, `["run"]`, kept, ""},
		{"nobody needs to be asked", `"asklist": [{"id": "w", "tool": "filesystem__write_file", "reason": "writes"}],
		"allowlist": [`, `"allowlist": ["filesystem__write_file", `, kept, ""},
		{"a higher risk", `"reason": "writes"`, `"reason": "writes", "risk": "high"`, again, "its risk was medium and is high"},
		{"a lower risk", `"reason": "writes"`, `"reason": "writes", "risk": "low"`, again, "its risk was medium and is low"},
		{"another reason", `"writes"`, `"writes to the shared folder"`, again, "writes to the shared folder"},
		{"a second rule that asks", `{"id": "w"`, `{"id": "v", "tool": "filesystem__*"}, {"id": "w"`, again, "other reasons"},
		{"the floor asks", `"denylist": ["none__*"]`, `"asklist": ["filesystem__*"]`, again, "has to answer"},
		{"how fast people are", `"timeout": "1m"`, `"timeout": "1m", "minHuman": "1ns"`, again, "who may answer"},
		{"what is masked", `"unmatched"`, `"redact": {"keys": ["content"]}, "unmatched"`, again, "what they are shown"},
		{"a denial", `__delete_file"]`, `__delete_file", "filesystem__write_file"]`, denied, "denies it now"},
		{"a denial by the floor", `["none__*"]`, `["filesystem__write_*"]`, denied, "denies it now"},
		{"no rule for it", `"filesystem__write_file", "reason"`, `"filesystem__other", "reason"`, denied, "no rule decides"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path, dir := filepath.Join(t.TempDir(), "codemode.json"), t.TempDir()
			put := func(text string) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
			put(rules)
			e := open(t, "", func(o *codemode.Options) { o.ConfigPath, o.RecordDir = path, dir })
			var asked []string
			p := &person{answer: func(_ context.Context, r *prompt.Request) (call.Answer, error) {
				if asked = append(asked, prompt.Text(r, prompt.RenderOptions{})); len(asked) == 1 {
					before := e.Config()
					put(strings.Replace(rules, test.old, test.new, 1) + " ")
					if !testwait.Holds(func() bool { return e.Config() != before }) {
						t.Error("the edit was not noticed")
					}
				}
				return yes, nil
			}}
			r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{p},
				Code: `try { await codemode.filesystem__write_file({path: "a.md", content: "x"}); return "sent" }
					catch (e) { return e.reason + " " + e.detail }`})
			must(t, err)
			value, questions := string(r.Value), 1
			if test.want == again {
				questions = 2
			}
			if sent := value == `"sent"`; sent == (test.want == denied) || len(asked) != questions ||
				test.want == denied && !(strings.Contains(value, denied) && strings.Contains(value, test.says)) {
				t.Errorf("got %s after %d questions", value, len(asked))
			}
			if test.want == again && (len(asked) < 2 || !strings.Contains(asked[1], "asked again: the rules changed") ||
				!strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(asked[1], "|", "")), " "), test.says)) {
				t.Errorf("the second question:\n%s", asked[len(asked)-1])
			}
			must(t, e.Close(t.Context()))
			told := slices.ContainsFunc(readRecord(t, dir), func(x *audit.Entry) bool {
				return x.State == audit.Pending && x.Reason == "policy_changed"
			})
			if told != (test.want == again) {
				t.Errorf("the record says that people are asked again: %t", told)
			}
		})
	}
}

// A grant holds while the rules that ask about its calls stay as they are, whatever else is edited; so does an overlay
// that comes and goes without a word about them.
func TestGrantsOutliveEditsOfOtherRules(t *testing.T) {
	const rules = `{"evaluation": {"profiles": {"p": {
	"asklist": [{"id": "w", "tool": "filesystem__write_file"}], "allowlist": ["time__*"], "ask": {"timeout": "1m"},
	"remember": {"scopes": ["time"], "max": "1h"}}}}}`
	for _, test := range []struct {
		name, old, new string
		holds          bool
	}{
		{"a rule for another tool", `["time__*"]`, `["time__*", "memory__*"]`, true},
		{"the time to answer", `"1m"`, `"2m"`, true},
		{"the rule's reason", `"filesystem__write_file"`, `"filesystem__write_file", "reason": "writes"`, false},
		{"the rule's condition", `"filesystem__write_file"`,
			`"filesystem__write_file", "when": {"/path": {"exists": true}}`, false},
		{"another rule that asks", `[{"id": "w"`, `[{"id": "v", "tool": "filesystem__*"}, {"id": "w"`, false},
		{"how long it may be", `"1h"`, `"10m"`, false},
		{"other remembering", `["time"]`, `["run"]`, false},
		{"who may answer", `"timeout": "1m"`, `"timeout": "1m", "approver": "other"`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "codemode.json")
			put := func(text string) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
			put(rules)
			e := open(t, "", func(o *codemode.Options) { o.ConfigPath = path })
			write := func(answer call.Answer) (value string, questions int) {
				p := says(answer, nil)
				r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Principal: "anna",
					Channels: []approvals.Channel{p}, Code: attempts(false, "a.md")})
				must(t, err)
				return string(r.Value), len(p.asked)
			}
			remembered := yes
			remembered.Scope = call.ForTime
			if value, questions := write(remembered); value != `["ok"]` || questions != 1 {
				t.Fatalf("got %s after %d questions", value, questions)
			}
			before := e.Config()
			put(strings.Replace(rules, test.old, test.new, 1))
			if !testwait.Holds(func() bool { return e.Config() != before }) {
				t.Fatal("the edit was not noticed")
			}
			if _, questions := write(yes); (questions == 0) != test.holds {
				t.Errorf("after the edit: %d questions", questions)
			}
		})
	}
}

// A yes to a plan before the run holds like one to a call.
func TestRulesThatChangeUnderAYesToAPlan(t *testing.T) {
	const rules = `{"evaluation": {"profiles": {"p": {
	"asklist": [{"id": "w", "tool": "filesystem__write_file"}], "allowlist": ["time__*"], "remember": {"scopes": ["run"]}}}}}`
	for name, test := range map[string]struct {
		old, new string
		holds    bool
	}{
		"a rule for another tool": {`["time__*"]`, `["time__*", "memory__*"]`, true},
		"the rule":                {`"filesystem__write_file"`, `"filesystem__write_file", "risk": "low"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "codemode.json")
			put := func(text string) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
			put(rules)
			e := open(t, "", func(o *codemode.Options) { o.ConfigPath = path })
			p := &person{answer: func(context.Context, *prompt.Request) (call.Answer, error) {
				before := e.Config()
				put(strings.Replace(rules, test.old, test.new, 1))
				if !testwait.Holds(func() bool { return e.Config() != before }) {
					t.Error("the edit was not noticed")
				}
				return yes, nil
			}}
			got, err := e.Runs().AllowPlan(t.Context(), codemode.Request{Profile: "p", Principal: "anna",
				Channels: []approvals.Channel{p}, Code: `await codemode.filesystem__write_file({path: "a.md", content: "x"})`})
			if err != nil || got.Allowed != test.holds {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
