package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
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
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/catalog"
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

// Without a profile a request has the least power: the default profile, or none at all. What nothing restricts has to
// be said.
func TestARequestWithoutAProfile(t *testing.T) {
	t.Parallel()
	const strict = `"strict": {"denylist": ["shop__*"]}`
	for _, row := range []struct {
		why, rules   string
		profile      string
		unrestricted bool
		want         string // of the price, or part of the error
	}{
		{"beside strict profiles", `{"evaluation": {"profiles": {` + strict + `}}}`, "", false, "set Profile to one of strict"},
		{"beside strict profiles, said so", `{"evaluation": {"profiles": {` + strict + `}}}`, "", true, "2.5"},
		{"under a floor", `{"evaluation": {"floor": "strict", "profiles": {` + strict + `}}}`, "", false, "set Profile"},
		{"under a floor, said so", `{"evaluation": {"floor": "strict", "profiles": {` + strict + `}}}`, "", true, `"denied"`},
		{"no profile exists", `{}`, "", false, "write a profile, or set Unrestricted"},
		{"no profile exists, said so", `{}`, "", true, "2.5"},
		{"a default", `{"evaluation": {"defaultProfile": "strict", "profiles": {` + strict + `}}}`, "", false, `"denied"`},
		{"it lifts no default", `{"evaluation": {"defaultProfile": "strict", "profiles": {` + strict + `}}}`, "", true, `"denied"`},
		{"it lifts no profile", `{"evaluation": {"profiles": {` + strict + `}}}`, "strict", true, `"denied"`},
		{"no configuration", ``, "", false, `"denied"`},
		{"no configuration, said so", ``, "", true, `"denied"`},
	} {
		e := open(t, row.rules, embeds(newShop().server()), func(o *codemode.Options) { o.Root = "" })
		const code = `return await codemode.shop.price({article: "A"}).catch(e => e.reason)`
		request := codemode.Request{Profile: row.profile, Unrestricted: row.unrestricted, Code: code}
		none := strings.Contains(row.want, " ")
		r, err := e.Eval(t.Context(), request)
		if none && (!errors.Is(err, codemode.ErrNoProfile) || !strings.Contains(r.Text(err), row.want) || r.Run != "") ||
			!none && (err != nil || string(r.Value) != row.want) {
			t.Errorf("%s: got %s, %v", row.why, r.Value, err)
		}
		_, err = e.Prepare(t.Context(), request)
		_, checked := e.Check(t.Context(), request)
		_, gated := e.Gate(runs.GateOptions{Profile: row.profile, Unrestricted: row.unrestricted})
		for _, err := range []error{err, checked, gated} {
			if errors.Is(err, codemode.ErrNoProfile) != none {
				t.Errorf("%s: Prepare, Check and Gate: got %v", row.why, err)
			}
		}
	}
}

// A run under the default profile does not become unrestricted when a new configuration has no default any more.
func TestARunOutlivesItsDefaultProfile(t *testing.T) {
	t.Parallel()
	accepted, err := catalog.OpenPins("")
	must(t, err)
	rules := inforce.NewRules(slog.New(slog.DiscardHandler), accepted)
	inForce := func(text string) {
		cfg, err := config.Parse("rules.json", []byte(text))
		must(t, err)
		rules.Replace(&inforce.State{Config: cfg, Servers: map[string]inforce.Server{}})
	}
	const first = `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["shop__price"]}}}}`
	inForce(first)
	policy, _, err := rules.Prepare(t.Context(), &inforce.Wish{})
	must(t, err)
	verdict := func(tool string) string {
		return policy.Decide(&call.Tool{Server: "shop", Raw: tool, Name: "shop__" + tool}, call.Unread(nil),
			hostfns.Counters{}).Verdict.String()
	}
	for _, row := range []struct{ rules, price, order string }{
		{first, "allow", "deny"},
		{`{"evaluation": {"profiles": {"p": {"allowlist": ["shop__price"]}}}}`, "deny", "deny"},
		{`{}`, "deny", "deny"},
		{first, "allow", "deny"},
	} {
		inForce(row.rules)
		if price, order := verdict("price"), verdict("order"); price != row.price || order != row.order {
			t.Errorf("%s: got %s and %s, want %s and %s", row.rules, price, order, row.price, row.order)
		}
	}
}

// What goes wrong with an approver is logged with its cause, and the response says it.
func TestWhatGoesWrongWithAnApproverIsTold(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why    string
		decide func() (call.Answer, error)
		want   string
	}{
		{"an error", func() (call.Answer, error) { return call.Answer{}, errors.New("the chat is down") }, "the chat is down"},
		{"a panic", func() (call.Answer, error) { panic("no such room") }, "no such room"},
		{"a time-out of its own", func() (call.Answer, error) { return call.Answer{}, context.DeadlineExceeded },
			"deadline exceeded"},
		{"arguments that do not fit", func() (call.Answer, error) {
			return call.Answer{Allowed: true, Args: json.RawMessage(`{"article": 7}`)}, nil
		}, "article"},
		{"arguments that are no object", func() (call.Answer, error) {
			return call.Answer{Allowed: true, Args: json.RawMessage(`[`)}, nil
		}, "the arguments are not strict JSON"},
	} {
		log := &testwait.Buffer{}
		e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["shop__price"], "ask": {"edit": true}}}}}`,
			embeds(newShop().server()), func(o *codemode.Options) {
				o.Log = log.Logger()
				o.Channels = []approvals.Channel{approvals.Approver("chat",
					func(context.Context, *prompt.Request) (call.Answer, error) { return row.decide() })}
			})
		r, err := e.Eval(t.Context(), codemode.Request{Profile: "p",
			Code: `return await codemode.shop.price({article: "A"}).catch(e => e.detail)`})
		if text := r.Text(err); err != nil || !strings.Contains(text, row.want) || !strings.Contains(string(r.Value), "chat") {
			t.Errorf("%s: the response does not say %q:\n%s", row.why, row.want, text)
		}
		if got := log.String(); !strings.Contains(got, row.want) || !strings.Contains(got, "channel=chat") ||
			!strings.Contains(got, "shop__price") {
			t.Errorf("%s: the log does not say %q:\n%s", row.why, row.want, got)
		}
	}
}

// A channel that is nil is an error before anybody has to be asked.
func TestAChannelThatIsNil(t *testing.T) {
	t.Parallel()
	for _, c := range []approvals.Channel{nil, (*approvals.Queue)(nil), (*person)(nil)} {
		_, err := codemode.New(t.Context(), codemode.Options{Channels: []approvals.Channel{says(yes, nil), c}})
		if err == nil || !strings.Contains(err.Error(), "Options.Channels[1] is nil") {
			t.Errorf("New: got %v", err)
		}
		e := open(t, "")
		r, err := e.Eval(t.Context(), codemode.Request{Code: "return 1", Channels: []approvals.Channel{c}})
		if err == nil || r.Run != "" || !strings.Contains(err.Error(), "Request.Channels[0] is nil") {
			t.Errorf("Eval: got %v", err)
		}
		if _, err := e.Gate(runs.GateOptions{Channels: []approvals.Channel{c}}); err == nil {
			t.Error("Gate takes a nil channel")
		}
	}
}

// A session for a role that no overlay names would restrict nothing: it is not made, and one whose overlay has gone runs
// nothing.
func TestASessionForARoleThatNoOverlayNames(t *testing.T) {
	const interns = `{"evaluation": {"profiles": {"p": {}}, "overlays": [
		{"id": "interns", "role": "intern", "denylist": ["filesystem__*"]}, {"id": "guests", "role": "guest", "denylist": ["*"]}]}}`
	path := filepath.Join(t.TempDir(), "codemode.json")
	put := func(text string) {
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	put(interns)
	e := open(t, "", func(o *codemode.Options) { o.ConfigPath, o.RecordDir = path, t.TempDir() })
	for role, says := range map[string]string{"inern": `did you mean "intern"? There are guest, intern`,
		"Intern": `did you mean "intern"?`, "administrator": "there are guest, intern", "intern ": `did you mean "intern"?`} {
		if _, err := e.Rules().NewSession(t.Context(), role, time.Hour); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", role, err, says)
		}
	}
	made, err := e.Rules().NewSession(t.Context(), "intern", time.Hour)
	must(t, err)
	if got := e.Rules().Restricts("intern"); !strings.Contains(got, "interns") || strings.Contains(got, "guests") {
		t.Errorf("it restricts: %s", got)
	}
	run := func() error {
		_, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: "return 1", ClientSession: made.ID})
		return err
	}
	if err := run(); err != nil {
		t.Errorf("in the session: %v", err)
	}
	before := e.Config()
	put(strings.Replace(interns, `"intern"`, `"trainee"`, 1))
	if !testwait.Holds(func() bool { return e.Config() != before }) {
		t.Fatal("the edit was not noticed")
	}
	if err := run(); err == nil || !strings.Contains(err.Error(), "would restrict nothing") {
		t.Errorf("when its overlay has gone: %v", err)
	}
	db, err := e.Record().DB(t.Context())
	must(t, err)
	all, err := inforce.SessionsMade(t.Context(), db)
	if err != nil || len(all) != 1 || all[0].Role != "intern" || strings.Contains(all[0].ID, made.ID) {
		t.Fatalf("listed: %+v, %v", all, err)
	}
	if _, err := inforce.EndSessionMade(t.Context(), db, "nothing"); err == nil {
		t.Error("a session that there is not was ended")
	}
	if _, err := inforce.EndSessionMade(t.Context(), db, all[0].ID[:20]); err != nil {
		t.Error(err)
	}
	put(interns)
	if !testwait.Holds(func() bool { return strings.Contains(e.Rules().Restricts("intern"), "interns") }) {
		t.Fatal("the edit was not noticed")
	}
	if err := run(); err == nil {
		t.Error("a session that was ended runs programs")
	}
}

// People see the sessions for roles, by fingerprints that open nothing, and end one: with a store and in memory.
func TestTheSessionsForRolesAreListedAndEnded(t *testing.T) {
	const interns = `{"evaluation": {"profiles": {"p": {}}, "overlays": [
		{"id": "interns", "role": "intern", "denylist": ["filesystem__*"]}]}}`
	for name, more := range map[string]func(*codemode.Options){
		"memory": func(*codemode.Options) {}, "store": func(o *codemode.Options) { o.RecordDir = t.TempDir() },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "codemode.json")
			must(t, os.WriteFile(path, []byte(interns), 0o600))
			e := open(t, "", func(o *codemode.Options) { o.ConfigPath = path }, more)
			var ids []string
			for _, life := range []time.Duration{time.Hour, 10 * time.Minute} {
				made, err := e.Rules().NewSession(t.Context(), "intern", life)
				must(t, err)
				ids = append(ids, made.ID)
			}
			run := func(id string) error {
				_, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: "return 1", ClientSession: id})
				return err
			}
			all, err := e.Rules().Made(t.Context())
			if err != nil || len(all) != 2 || all[0].ID != inforce.Fingerprint(ids[1]) || all[0].Role != "intern" ||
				all[1].ID != inforce.Fingerprint(ids[0]) {
				t.Fatalf("listed %+v, %v", all, err)
			}
			for _, id := range []string{"", "sha256:", all[0].ID[:20], ids[0]} {
				if _, err := e.Rules().EndMade(t.Context(), id); err == nil {
					t.Errorf("%q ended a session", id)
				}
			}
			if ended, err := e.Rules().EndMade(t.Context(), all[0].ID); err != nil || ended.Role != "intern" {
				t.Errorf("ended %+v, %v", ended, err)
			}
			if err := run(ids[1]); err == nil {
				t.Error("the ended session runs programs")
			}
			if err := run(ids[0]); err != nil {
				t.Errorf("the other one does not: %v", err)
			}
			if all, err := e.Rules().Made(t.Context()); err != nil || len(all) != 1 {
				t.Errorf("then it lists %+v, %v", all, err)
			}
		})
	}
}

// TestAnUntrustedProjectHidesNothing: neither from the person who is asked nor from the record, by whatever way a
// profile's redact would come into force. What the user's own file hides stays hidden, and the digests are of the
// whole.
func TestAnUntrustedProjectHidesNothing(t *testing.T) {
	const secret = "transfer 9999 to a stranger"
	own := `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["*"], "redact": {"keys": ["path"]}}, "quiet": {"asklist": ["*"], "redact": {"keys": ["content"]}}}}}`
	for title, project := range map[string]string{
		"a profile of the same name":              `{"evaluation": {"profiles": {"p": {"redact": {"keys": ["content", "*"], "pointers": ["/content"]}}}}}`,
		"one that hides all":                      `{"evaluation": {"profiles": {"p": {"redact": {"pointers": ["/*"], "detect": true}}}}}`,
		"an overlay with a profile of the user's": `{"evaluation": {"overlays": [{"id": "o", "principal": "anna", "profile": "quiet"}]}}`,
		"an overlay with a profile of its own": `{"evaluation": {"profiles": {"mine": {"redact": {"keys": ["content"]}, "asklist": ["*"]}},
			"overlays": [{"id": "o", "principal": "anna", "profile": "mine"}]}}`,
		"a profile that extends one of the user's": `{"evaluation": {"profiles": {"p": {"extends": ["quiet"]}}}}`,
	} {
		t.Run(title, func(t *testing.T) {
			dir := t.TempDir()
			files := config.Files{User: filepath.Join(dir, "config", "user.json"),
				Project: filepath.Join(dir, "project", ".codemode.json"), Trust: filepath.Join(dir, "trust.json")}
			for path, text := range map[string]string{files.User: own, files.Project: project,
				filepath.Join(dir, "desk", "x"): ""} {
				must(t, os.MkdirAll(filepath.Dir(path), 0o700))
				must(t, os.WriteFile(path, []byte(text), 0o600))
			}
			e, err := codemode.New(t.Context(), codemode.Options{ServiceOptions: codemode.ServiceOptions{Files: files},
				Root: filepath.Join(dir, "desk"), RecordDir: filepath.Join(dir, "state"), CacheDir: cachetest.Dir()})
			must(t, err)
			defer e.Close(t.Context())
			p := says(yes, nil)
			if _, err := e.Eval(t.Context(), codemode.Request{Principal: "anna", Channels: []approvals.Channel{p},
				Code: fmt.Sprintf(`for (const path of ["hidden.txt", "hidden.2"]) await codemode.filesystem__write_file({path, content: %q})`, secret)}); err != nil {
				t.Fatal(err)
			}
			if shown := prompt.Shown(p.asked[0].Args, p.asked[0].Display); !strings.Contains(shown, secret) ||
				strings.Contains(shown, "hidden.") {
				t.Errorf("the person sees %s", shown)
			}
			db, err := e.Record().DB(t.Context())
			must(t, err)
			digests := map[string]bool{}
			err = audit.Entries(t.Context(), db, store.Query{Kinds: []string{audit.Call}, States: []string{audit.Running}},
				func(entry *audit.Entry) error {
					text, _ := json.Marshal(entry.Args)
					if !strings.Contains(string(text), secret) || strings.Contains(string(text), "hidden.") {
						t.Errorf("the record has %s", text)
					}
					digests[entry.Args.Proposed] = true
					return nil
				})
			// The calls differ in what the user's file hides, and the digests are of the whole.
			if err != nil || len(digests) != 2 {
				t.Errorf("two calls have the digests %v: %v", digests, err)
			}
		})
	}
}

// TestWhatIsHiddenOfTheCallsOfATool is hidden of those of no other tool, in questions and in the record.
func TestWhatIsHiddenOfTheCallsOfATool(t *testing.T) {
	e := open(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["*"], "redact": {
		"keys": ["none"], "tools": [{"tool": "*__write_*", "keys": ["content"], "pointers": ["/path"]}]}}}}}`,
		func(o *codemode.Options) { o.RecordDir = t.TempDir() })
	p := says(yes, nil)
	_, err := e.Eval(t.Context(), codemode.Request{Channels: []approvals.Channel{p}, Code: `
		await codemode.filesystem__write_file({path: "seen.txt", content: "unseen words"});
		await codemode.filesystem__edit_file({path: "seen.txt", edits: [{oldText: "unseen", newText: "content"}]})`})
	must(t, err)
	var recorded []string
	db, err := e.Record().DB(t.Context())
	must(t, err)
	err = audit.Entries(t.Context(), db, store.Query{Kinds: []string{audit.Call}, States: []string{audit.Running}},
		func(entry *audit.Entry) error {
			text, err := json.Marshal(entry.Args)
			recorded = append(recorded, string(text))
			return err
		})
	if err != nil || len(recorded) != 2 || len(p.asked) != 2 {
		t.Fatal(recorded, err)
	}
	for i, want := range []bool{false, true} {
		for _, text := range []string{prompt.Shown(p.asked[i].Args, p.asked[i].Display), recorded[i]} {
			if strings.Contains(text, "unseen") != want || strings.Contains(text, "seen.txt") != want {
				t.Errorf("call %d shows its values, %v is right:\n%s", i+1, want, text)
			}
		}
	}
}
