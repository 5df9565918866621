package codemode_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/profiles"
)

// agreements is how many random calls explain, check and the running Gate are compared on.
var agreements = flag.Int("agreements", 3000, "random calls that explain, check and the Gate must decide alike")

// aTool is a tool of the random servers, with what its server says of it.
type aTool struct {
	server, name string
	annotations  *mcp.ToolAnnotations
	meta         mcp.Meta
}

func (a aTool) full() string { return a.server + "__" + a.name }

// randomTools are on two servers, "t", which is trusted, and "u".
func randomTools() []aTool {
	yes := true
	var all []aTool
	for _, server := range []string{"t", "u"} {
		all = append(all,
			aTool{server, "plain", nil, nil},
			aTool{server, "reads", &mcp.ToolAnnotations{ReadOnlyHint: true}, nil},
			aTool{server, "destroys", &mcp.ToolAnnotations{DestructiveHint: &yes}, nil},
			aTool{server, "opens", &mcp.ToolAnnotations{OpenWorldHint: &yes, DestructiveHint: &yes}, nil},
			aTool{server, "marked", nil, mcp.Meta{"codemode/approval": "ask"}},
			aTool{server, "unmarked", nil, mcp.Meta{"codemode/approval": "never"}},
			aTool{server, "usual", nil, mcp.Meta{"anthropic/requiresUserInteraction": true}})
	}
	return all
}

// draw makes random rules and programs.
type draw struct{ *rand.Rand }

func (d draw) chance(percent int) bool   { return d.IntN(100) < percent }
func (d draw) of(words ...string) string { return words[d.IntN(len(words))] }
func (d draw) value() string {
	return d.of(`"aa"`, `"ab"`, `"b"`, `1`, `20`, `true`, `null`, `["aa"]`, `{"x":"b"}`)
}
func (d draw) pattern() string {
	return d.of("*", "t__*", "u__*", "*__plain", "*__reads", "u__d*", "*__{opens,marked}", "t__unmarked")
}
func (d draw) pick(n int, of func() string) string {
	var all []string
	for range n {
		all = append(all, of())
	}
	return strings.Join(all, ", ")
}

func (d draw) rule(list string, n int) string {
	parts := []string{fmt.Sprintf(`"tool": %q`, d.pattern())}
	if list == "allowlist" {
		parts = append(parts, fmt.Sprintf(`"id": "a%d"`, n))
	}
	if d.chance(50) {
		parts = append(parts, fmt.Sprintf(`"when": {"/%s": %s}`, d.of("a", "b", "a/x"), d.of(
			`{"eq": "aa"}`, `{"prefix": "a"}`, `{"gte": "10"}`, `{"exists": true}`, `{"eq": "ab"}`,
			`{"in": ["aa", 1], "ifMissing": "match"}`)))
	}
	if d.chance(20) {
		parts = append(parts, fmt.Sprintf(`"annotations": {%q: %t}`, d.of("readOnlyHint", "destructiveHint"), d.chance(50)))
	}
	switch {
	case list == "asklist" && d.chance(40):
		parts = append(parts, `"unlessAllowed": `+d.of("true", `["a0"]`, `["a1", "nobody"]`))
	case list == "allowlist" && d.chance(20):
		parts = append(parts, `"others": "none"`)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (d draw) profile() string {
	parts := []string{`"limits": {"refusals": 100000}`}
	if d.chance(40) {
		parts[0] = fmt.Sprintf(`"limits": {"refusals": 100000, %q: %d}`, d.of("calls", "asks", "repeat"), 1+d.IntN(8))
	}
	for i, list := range []string{"denylist", "asklist", "allowlist"} {
		named := 0
		if n := d.IntN(i + 2); n > 0 && (list != "denylist" || d.chance(40)) {
			parts = append(parts, fmt.Sprintf("%q: [%s]", list, d.pick(n,
				func() string { named++; return d.rule(list, named-1) })))
		}
	}
	if d.chance(70) {
		parts = append(parts, fmt.Sprintf(`"unmatched": %q`, d.of("allow", "ask", "deny", "allow", "allow")))
	}
	var raise []string
	for _, key := range []string{"destructiveHint", "openWorldHint", "tainted", "approval"} {
		if d.chance(25) {
			raise = append(raise, fmt.Sprintf("%q: %q", key, d.of("ask", "deny")))
		}
	}
	if len(raise) > 0 {
		parts = append(parts, fmt.Sprintf(`"raise": {%s}`, strings.Join(raise, ", ")))
	}
	if d.chance(85) {
		parts = append(parts, fmt.Sprintf(`"remember": {"scopes": [%q], "args": %q}`, d.of("run", "time", "count"),
			d.of("any", "any", "rule", "exact")))
	}
	if d.chance(70) {
		parts = append(parts, fmt.Sprintf(`"elicitationFallback": %q`, d.of("allow", "allow", "deny")))
	}
	slices.Sort(parts)
	return "{" + strings.Join(parts, ", ") + "}"
}

// generous is a person who says yes, and to later calls too where that is offered.
func generous() *person {
	return &person{answer: func(_ context.Context, r *prompt.Request) (call.Answer, error) {
		a := yes
		for _, scope := range r.Terms.Scopes {
			a.Scope = scope
		}
		return a, nil
	}}
}

// aCall is one call of a random program.
type aCall struct {
	tool    aTool
	args    string // JSON
	written bool   // the program's text shows all of them
}

func (d draw) call(tools []aTool) (c aCall, code string) {
	c = aCall{tool: tools[d.IntN(len(tools))], written: true}
	var args, text []string
	for _, key := range []string{"a", "b"} {
		if !d.chance(60) {
			continue
		}
		value := d.value()
		args = append(args, fmt.Sprintf("%q:%s", key, value))
		if d.chance(25) {
			c.written = false
			value = "k(" + value + ")"
		}
		text = append(text, key+": "+value)
	}
	c.args = "{" + strings.Join(args, ",") + "}"
	return c, fmt.Sprintf("try { await codemode.%s({%s}) } catch (e) { if (e.name !== 'ToolCallDeniedError') throw e }",
		c.tool.full(), strings.Join(text, ", "))
}

// Explain, check and the running Gate decide every call alike, whatever the rules, raise, marks, overlays and limits
// are. Grants and the fallback answer no call whose question is firm.
func TestExplainCheckAndTheGateAgree(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	tools := randomTools()
	servers := map[string]*stranger{"t": newStranger(t), "u": newStranger(t)}
	for _, tool := range tools {
		servers[tool.server].AddTool(&mcp.Tool{Name: tool.name, InputSchema: json.RawMessage(`{"type":"object"}`),
			Annotations: tool.annotations, Meta: tool.meta},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "it answers"}}}, nil
			})
	}
	compared, seen := 0, map[string]int{}
	for seed := uint64(1); compared < *agreements; seed++ {
		d := draw{rand.New(rand.NewPCG(seed, 15))}
		var named []string
		for i := range 20 {
			named = append(named, fmt.Sprintf("%q: %s", fmt.Sprintf("p%d", i), d.profile()))
		}
		rules := fmt.Sprintf(`{"mcpServers": {"t": {"type": "http", "url": %q, "trustAnnotations": true}, "u": {"type": "http", "url": %q}},
			"evaluation": {"floor": "p0", "profiles": {%s}, "overlays": [
				{"id": "o1", "principal": "anna", "profile": "p1"}, {"id": "o2", "principal": "ben", "denylist": [%s], "tool": "u__*"}]}}`,
			servers["t"].url, servers["u"].url, strings.Join(named, ",\n"), d.rule("denylist", 0))
		if seed%3 != 1 {
			rules = strings.Replace(rules, `"floor": "p0", `, "", 1)
		}
		cfg, err := config.Parse("codemode.json", []byte(rules))
		if err != nil {
			t.Fatalf("%v\n%s", err, rules)
		}
		state := t.TempDir()
		e := open(t, rules, func(o *codemode.Options) { o.StateDir = state })
		for range 60 {
			compared += agree(t, d, e, cfg, state, tools, seen)
			if t.Failed() {
				t.Logf("seed %d, after %d calls", seed, compared)
				return
			}
		}
	}
	t.Logf("%d calls: %v", compared, seen)
	for _, how := range []string{"firm", call.ByPerson, call.ByGrant, call.ByFallback} {
		if seen["answered by "+how] < compared/300 {
			t.Errorf("only %d of %d calls were answered by %s", seen["answered by "+how], compared, how)
		}
	}
	for _, verdict := range []string{"allow", "ask", "deny"} {
		if seen[verdict] < compared/20 {
			t.Errorf("only %d of %d calls were %s: the rules are too alike", seen[verdict], compared, verdict)
		}
	}
	for _, by := range []string{"denylist", "asklist", "allowlist", "unmatched", "raise", "mark", "limits",
		"the floor", "an overlay"} {
		if seen["by "+by] < compared/500 {
			t.Errorf("only %d of %d calls were decided by %s", seen["by "+by], compared, by)
		}
	}
}

// agree compares the three on one program, and returns how many calls it had.
func agree(t *testing.T, d draw, e *codemode.Evaluator, cfg *config.Config, state string, tools []aTool,
	seen map[string]int) int {
	t.Helper()
	var calls []aCall
	code := []string{"const k = x => x;"}
	for range 1 + d.IntN(15) {
		c, text := d.call(tools)
		calls, code = append(calls, c), append(code, text)
	}
	r := codemode.Request{
		Profile: fmt.Sprintf("p%d", d.IntN(20)), Principal: d.of("anna", "ben", "carl"), Code: strings.Join(code, "\n"),
	}
	if d.chance(70) {
		r.Channels = []approvals.Channel{generous()}
	}
	plan, err := e.Check(t.Context(), r)
	if err != nil || len(plan.Calls) != len(calls) {
		t.Fatalf("%v, %d calls are seen of\n%s", err, len(plan.Calls), r.Code)
	}
	ran, err := e.Eval(t.Context(), r)
	now := time.Now()
	profile := cfg.Narrowed(r.Profile, config.Subject{Principal: r.Principal}, now)
	most := profile.Limits().Calls // what is beyond it does not leave the guest, which throws the denial
	if err != nil || len(ran.Calls) != len(calls) && (most == 0 || len(ran.Calls) != most) {
		t.Fatalf("%v: %d of %d calls\n%s\n%s", err, len(ran.Calls), len(calls), ran.Text(err), r.Code)
	}
	var counters profiles.Counters
	// certain: no call before depends on what only the running program knows
	tainted, certain, made := false, true, map[string]int{}
	for i, c := range calls {
		key := c.tool.full() + c.args
		known, ok := registry.SeenTool(state, cfg, c.tool.server, c.tool.name)
		if !ok {
			t.Fatalf("%s was never seen", c.tool.full())
		}
		shown := slices.ContainsFunc(calls, func(o aCall) bool {
			return o.written && o.tool.full() == c.tool.full() &&
				o.args == c.args
		})
		counters.Calls, counters.Repeat = i, made[key]
		made[key]++
		decision := profile.Explain(profiles.Call{
			Server: c.tool.server, Tool: c.tool.name, Args: call.Unread(json.RawMessage(c.args)), Annotations: known.Annotations,
			Time:    now,
			Tainted: tainted && !shown, Counters: counters,
		}).Decision
		explained := decision.Verdict.String()
		got, report := "allow", hostfns.Report{State: hostfns.Refused, Detail: "the limit of calls"}
		if i < len(ran.Calls) {
			report = ran.Calls[i]
		}
		switch {
		case report.Approved != "":
			got = "ask"
		case report.Reason == "no_approver" || report.Reason == "elicitation_unsupported":
			got = "ask"
		case report.State == hostfns.Refused:
			got = "deny"
		case report.State != hostfns.Done:
			t.Fatalf("call %d ended as %s: %s", i+1, report.State, report.Detail)
		}
		checked := plan.Calls[i].Verdicts
		if plan.Calls[i].Verdict != preflight.VerdictDepends {
			checked = []string{plan.Calls[i].Verdict}
		}
		if explained != got || !slices.Contains(checked, got) || c.written && certain && len(checked) != 1 {
			t.Errorf("call %d, %s %s under %s for %s: the Gate says %s (%s), explain %s, check %s\n%s\n%s", i+1, c.tool.full(),
				c.args, r.Profile, r.Principal, got,
				report.Detail, explained, strings.Join(checked, " or "), r.Code, profile.Text())
			return i
		}
		how, _, _ := strings.Cut(report.Approved, ",")
		seen["answered by "+how]++
		switch {
		case decision.Firm && got == "ask":
			seen["answered by firm"]++
			if how != call.ByPerson && how != "" || how == "" && r.Channels != nil && !strings.Contains(report.Detail, "before") {
				t.Errorf("call %d, %s %s under %s for %s: %q answers a firm question\n%s\n%s", i+1, c.tool.full(), c.args,
					r.Profile, r.Principal, report.Approved, r.Code, profile.Text())
				return i
			}
		case how == call.ByFallback && !decision.Fallback:
			t.Errorf("call %d: the fallback answers, and explain says that it does not\n%s\n%s", i+1, r.Code, profile.Text())
			return i
		}
		seen[got]++
		for _, by := range deciders(decision) {
			seen["by "+by]++
		}
		certain = certain && len(checked) == 1
		if got == "ask" && how != call.ByGrant && !strings.Contains(report.Detail, "refused before") {
			counters.Asks++
		}
		if report.State == hostfns.Done && c.tool.server == "u" {
			tainted = true
		}
	}
	return len(calls)
}

// deciders are what decided a call, each once.
func deciders(d call.Decision) (all []string) {
	for _, r := range d.Reasons {
		all = append(all, r.List)
		switch {
		case r.Floor:
			all = append(all, "the floor")
		case strings.HasPrefix(r.Layer, "overlay"):
			all = append(all, "an overlay")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
