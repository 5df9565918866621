package codemode_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/testwait"
)

// rules decides in every way there is.
const rules = `{
	"evaluation": {
		"profiles": {
			"p": {
				"allowlist": ["time__*", "filesystem__read_*"],
				"asklist": [{ "id": "writes", "tool": "filesystem__write_file", "reason": "changes files" }],
				"denylist": [
					{ "id": "no-deletion", "tool": "filesystem__delete_file" },
					{ "id": "private", "tool": "filesystem__*", "when": { "/path": { "prefix": "private" } }, "reason": "it is private" }
				]
			},
			"checked": { "extends": ["p"], "requirePreflight": true },
			"other": { "allowlist": ["time__*"], "requirePreflight": true }
		}
	}
}`

func check(t *testing.T, e *codemode.Evaluator, profile, code string) *preflight.Plan {
	t.Helper()
	plan, err := e.Check(t.Context(), codemode.Request{Profile: profile, Code: code, Tool: "codemode_eval_" + profile})
	must(t, err)
	return plan
}

// TestS41CheckSaysWhatWouldHappen is FEATURES.md S4.1: allowed or not, why, what to change,
// and whom to ask, with every argument that stands in the text held against schema and rules.
func TestS41CheckSaysWhatWouldHappen(t *testing.T) {
	e := open(t, rules)
	for _, tt := range []struct {
		call    string
		verdict string // and what it is for, if it depends
		parts   []string
	}{
		{`codemode.time__now({})`, "allow", []string{"rule time__*"}},
		{`codemode.time__now({timezone: 1})`, "allow!", []string{"he arguments do not fit: /timezone: expected a string"}},
		{`codemode.time__now({timezone: z, foo: 1})`, "allow!", []string{"he arguments do not fit: /foo"}},
		{`codemode.time__now(z)`, "allow", []string{"Its arguments are not known before it runs"}},
		{`codemode.filesystem__write_file({path: "a", content: z})`, "ask",
			[]string{"risk medium (rule writes, codemode.json:", "changes files", "Not known before it runs: /content"}},
		{`codemode.filesystem__write_file({path: "private/a", content: z})`, "deny",
			[]string{"rule private", "it is private", "narrow or remove the rule private, codemode.json:9, which denies it"}},
		{`codemode.filesystem__write_file({path: z, content: "x"})`, "deny or ask",
			[]string{"it depends on /path, which only the running program knows (rule private"}},
		{`codemode.filesystem__write_file({...z, content: "x"})`, "deny or ask", []string{"it depends on /path"}},
		{`codemode.filesystem__write_file({path: "a", contents: z})`, "ask!", []string{"/content"}},
		{`codemode.filesystem__delete_file({path: "a"})`, "deny",
			[]string{"leave filesystem__delete_file out, or catch ToolCallDeniedError"}},
		{`codemode.filesystem__move_file(z)`, "deny", []string{"no rule decides", "add it to the allowlist"}},
		{`codemode.filesystem__read_text_fil({path: "a"})`, "unknown tool!",
			[]string{"did you mean filesystem__read_text_file",
				"line 2: there is no filesystem__read_text_fil; did you mean filesystem__read_text_file"}},
		{`codemode.filesystem__delete_fil({path: "a"})`, "unknown tool!",
			[]string{`here is no tool "filesystem__delete_fil"`}},
		{`codemode.nothing__here()`, "unknown tool!", []string{"search_tools"}},
	} {
		plan := check(t, e, "p", "const z = input;\nawait "+tt.call+"; return 1")
		if len(plan.Calls) != 1 {
			t.Errorf("%s: %d calls", tt.call, len(plan.Calls))
			continue
		}
		c, text := plan.Calls[0], plan.Text()
		verdict := c.Verdict
		if verdict == preflight.VerdictDepends {
			verdict = strings.Join(c.Verdicts, " or ")
		}
		if c.Problem != "" {
			verdict += "!"
		}
		if diff := cmp.Diff(tt.verdict, verdict); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.call, diff)
		}
		if refused := strings.HasSuffix(tt.verdict, "!") || tt.verdict == "deny"; c.Refused() != refused ||
			plan.Allowed == refused {
			t.Errorf("%s: refused %v, allowed %v", tt.call, c.Refused(), plan.Allowed)
		}
		for _, part := range tt.parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is missing from\n%s", tt.call, part, text)
			}
		}
		if c.Line != 2 || plan.Token == "" || !strings.Contains(text, plan.Token) {
			t.Errorf("%s: line %d, token %q", tt.call, c.Line, plan.Token)
		}
		if strings.Contains(text, "did you mean filesystem__delete_file") {
			t.Errorf("a hidden tool is suggested:\n%s", text)
		}
	}
}

func TestS41ReplyAndLink(t *testing.T) {
	e := open(t, strings.Replace(rules, `"evaluation": {`, `"evaluation": { "adminURL": "https://codemode.example/admin",`,
		1))
	plan := check(t, e, "p", `await codemode.filesystem__delete_file({path: "a"}); await codemode.filesystem__delete_file({path: "b"}); await codemode.filesystem__write_file({path: "a", content: ""})`)
	if got, want := plan.Link,
		"https://codemode.example/admin?allow=filesystem__delete_file&profile=p&program=sha256%3A"; !strings.HasPrefix(got,
		want) {
		t.Errorf("link %s", got)
	}
	const reply = `My program would call filesystem__delete_file (rule no-deletion, codemode.json:8), which the profile p denies. If you want it to happen, the rules have to be changed; otherwise I go on without it. My program is going to call filesystem__write_file; you will be asked before that happens.`
	if diff := cmp.Diff(reply, plan.Reply); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	if plan = check(t, e, "p", "return 1"); plan.Reply != "" || plan.Link != "" || !plan.Allowed {
		t.Errorf("nothing to say, and it says %q %q", plan.Reply, plan.Link)
	}
	if plan = check(t, e, "p", "const a = 1;\ncodemode.time__now({});\nreturn a"); len(plan.Warnings) != 1 ||
		!strings.Contains(plan.Text(), "line 2, column 1: nobody awaits the call of time__now: write await") {
		t.Errorf("warnings %q", plan.Warnings)
	}
	if plan = check(t, e, "p", "let a = = 1"); plan.Allowed || plan.Token != "" || len(plan.Problems) != 1 {
		t.Errorf("a program that cannot run: %+v", plan)
	}
}

// TestCheckPredictsEveryVerdict runs what it has checked, with a person who always says yes.
func TestCheckPredictsEveryVerdict(t *testing.T) {
	e := open(t, rules)
	calls := []string{
		`codemode.time__now({})`, `codemode.filesystem__read_text_file({path: "a.md"})`,
		`codemode.filesystem__delete_file({path: "a.md"})`,
		`codemode.filesystem__write_file({path: "n.md", content: "x"})`,
		`codemode.filesystem__write_file({path: "private.md", content: "x"})`,
		`codemode.filesystem__list_directory({path: "."})`, `codemode["filesystem__delete" + "_file"]({path: "b.md"})`,
	}
	code := "const out = [];\n"
	for _, c := range calls {
		code += "try { await " + c + "; out.push('done') } catch (e) { out.push(e.reason) }\n"
	}
	plan := check(t, e, "p", code+"return out")
	p := says(yes, nil)
	r, err := eval(t, e, "p", code+"return out", p)
	must(t, err)
	var predicted, happened []string
	for _, c := range plan.Calls {
		predicted = append(predicted, c.Tool+" "+c.Verdict)
	}
	for _, c := range r.Calls {
		verdict := map[hostfns.State]string{hostfns.Done: "allow", hostfns.Refused: "deny"}[c.State]
		if c.Approved != "" {
			verdict = "ask"
		}
		happened = append(happened, c.Tool+" "+verdict)
	}
	if diff := cmp.Diff(happened, predicted); diff != "" {
		t.Errorf("happened and predicted (-happened +predicted):\n%s", diff)
	}
}

// TestS44RunsNeedTheToken is FEATURES.md S4.4: a run without a valid token is refused, and each
// reason is told apart with the same guidance.
func TestS44RunsNeedTheToken(t *testing.T) {
	e := open(t, rules)
	const code = "return await codemode.time__now({})"
	run := func(profile, code, token string) (string, string) {
		t.Helper()
		_, err := e.Eval(t.Context(), codemode.Request{Profile: profile, Code: code, Preflight: token,
			Tool: "codemode_eval_" + profile})
		refused, ok := errors.AsType[*preflight.Error](err)
		if !ok {
			if err != nil {
				t.Errorf("%s: %v", profile, err)
			}
			return "", ""
		}
		return refused.Code, refused.Error()
	}
	token := check(t, e, "checked", code).Token
	foreign := check(t, open(t, rules), "checked", code).Token
	for _, tt := range []struct{ name, profile, code, token, want string }{
		{"checked", "checked", code, token, ""},
		{"checked, a second time", "checked", code, token, ""},
		{"a profile that requires nothing", "p", code, "", ""},
		{"a profile that requires nothing ignores it", "p", code, "nonsense", ""},
		{"missing", "checked", code, "", preflight.Missing},
		{"wrong", "checked", code, "nonsense", preflight.Wrong},
		{"changed", "checked", code, token[:len(token)-6] + "AAAAAA", preflight.Wrong},
		{"of another server", "checked", code, foreign, preflight.Wrong},
		{"another program", "checked", code + " ", token, preflight.OtherProgram},
		{"another profile", "other", code, token, preflight.OtherProfile},
		{"of a profile that requires nothing", "checked", code, check(t, e, "p", code).Token, preflight.OtherProfile},
	} {
		got, text := run(tt.profile, tt.code, tt.token)
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		if got == "" {
			continue
		}
		for _, part := range []string{tt.want, "The profile " + tt.profile + " requires", "Call codemode_check",
			fmt.Sprintf("%q as profile", tt.profile), "codemode_eval_" + tt.profile, "for 10m.", "Reply to paste"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is missing from\n%s", tt.name, part, text)
			}
		}
	}
	if n := len(e.Record().Journal().Entries()); n != 8 { // four runs that called, two entries each
		t.Errorf("%d entries: something was called by a run that was refused", n)
	}
}

func TestS43TokensExpireAndEndWithTheRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "codemode.json")
	config := strings.Replace(rules, `"evaluation": {`, `"evaluation": { "preflightLifetime": "1s",`, 1)
	write := func(text string) {
		t.Helper()
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write(config)
	e := open(t, "", func(o *codemode.Options) { o.ConfigPath = file })
	const code = "return 1"
	run := func(token string) string {
		_, err := e.Eval(t.Context(), codemode.Request{Profile: "checked", Code: code, Preflight: token})
		refused, _ := errors.AsType[*preflight.Error](err)
		if refused == nil {
			return ""
		}
		return refused.Code
	}
	old := check(t, e, "checked", code)
	if life := time.Until(old.Expires); life > time.Second {
		t.Errorf("the token counts for %v", life)
	}
	time.Sleep(time.Until(old.Expires) + 10*time.Millisecond) // the files are watched, which no fake clock does
	if got := run(old.Token); got != preflight.Expired {
		t.Errorf("an old token: %q", got)
	}

	// A change of the profile makes the check one of something else.
	write(rules)
	eventually(t, "the new file", func() bool { return e.Config().PreflightLifetime == 0 })
	token := check(t, e, "checked", code).Token
	if got := run(token); got != "" {
		t.Fatalf("a fresh token: %q", got)
	}
	write(strings.Replace(rules, `"time__*", "filesystem__read_*"`, `"time__*"`, 1))
	eventually(t, "another change of the file", func() bool { return run(token) != "" })
	if got := run(token); got != preflight.ProfileChanged {
		t.Errorf("after a change of the profile: %q", got)
	}
	if got := run(check(t, e, "checked", code).Token); got != "" {
		t.Errorf("checked again: %q", got)
	}
}

var eventually = testwait.Until

// TestB4SixRoutesSixDenials is POLICY.md B4: six routes, nested eval among them, six denials, six entries.
func TestB4SixRoutesSixDenials(t *testing.T) {
	e := open(t, rules)
	got := value[[]string](t, e, "p", `
const args = {path: "a.md"}, out = [];
const attempt = async f => { try { await f(); out.push("done") } catch (e) { out.push(e.name + " " + e.reason) } };
const alias = codemode.filesystem__delete_file;
await attempt(() => codemode.filesystem__delete_file(args));
await attempt(() => alias(args));
await attempt(() => Promise.all([codemode.time__now({}), alias(args)]));
await attempt(async () => { for (const f of [codemode.filesystem.delete_file]) await f(args) });
await attempt(() => new Promise((ok, no) => setTimeout(() => alias(args).then(ok, no), 1)));
await attempt(() => eval("codemode['filesystem__delete' + '_file'](args)"));
return out`)
	want := slices.Repeat([]string{"ToolCallDeniedError denied"}, 6)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("denials (-want +got):\n%s", diff)
	}
	entries := 0
	for _, entry := range e.Record().Journal().Entries() {
		if entry.Tool == "filesystem__delete_file" && entry.State == call.Refused && entry.Rules[0].ID == "no-deletion" &&
			entry.Reason == "denied" {
			entries++
		} else if entry.Tool != "time__now" {
			t.Errorf("entry %+v", entry)
		}
	}
	if entries != 6 {
		t.Errorf("%d entries, want 6", entries)
	}
}

// TestB3FrozenArguments is POLICY.md B3: a getter and a Proxy that change between reads are read
// once, and what is sent hashes to what was decided.
func TestB3FrozenArguments(t *testing.T) {
	e := open(t, rules)
	got := value[[]string](t, e, "p", `
let reads = 0;
const getter = { get path() { return reads++ === 0 ? "a.md" : "private.md" } };
let proxied = 0;
const proxy = new Proxy({ path: "a.md" }, { get: (o, k) => k === "path" && proxied++ > 0 ? "private.md" : o[k] });
const texts = [];
for (const args of [getter, proxy]) texts.push((await codemode.filesystem__read_text_file(args)).content);
return [...texts, String(reads)]`)
	if diff := cmp.Diff([]string{"alpha", "alpha", "1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	digests := map[string]int{}
	for _, entry := range e.Record().Journal().Entries() {
		if entry.State != call.OK {
			digests[entry.Args.RawProposed.Digest()]++
		}
	}
	if len(digests) != 1 {
		t.Errorf("decided on and sent: %v", digests)
	}
}

// TestE8ThreeRefusalsEndTheRun is POLICY.md E8 for a profile that does not say.
func TestE8ThreeRefusalsEndTheRun(t *testing.T) {
	e := open(t, rules)
	r, err := eval(t, e, "p", `for (let i = 0; i < 9; i++) { try { await codemode.filesystem__write_file({path: "f" + i, content: ""}) } catch {} }`, says(no, nil))
	if err == nil || !strings.Contains(err.Error(), "too_many_refusals") {
		t.Errorf("got %v", err)
	}
	refused := 0
	for _, c := range r.Calls {
		if c.State == hostfns.Refused && c.Reason == "elicitation_declined" {
			refused++
		}
	}
	if refused != 3 {
		t.Errorf("%d refusals: %+v", refused, r.Calls)
	}
}

// TestS45OverlaysNarrow is FEATURES.md S4.5, S4.6 and S4.8: by session, principal, program and
// folder, live, with an end, and never wider.
func TestS45OverlaysNarrow(t *testing.T) {
	e := open(t, rules)
	read := `codemode.filesystem__read_text_file({path: "a.md"})`
	program := refused(read)
	verdict := func(r codemode.Request) string {
		t.Helper()
		r.Profile, r.Code = "p", program
		plan, err := e.Check(t.Context(), r)
		must(t, err)
		response, err := e.Eval(t.Context(), r)
		must(t, err)
		happened := "allow"
		if response.Calls[0].State == hostfns.Refused {
			happened = "deny"
		}
		if plan.Calls[0].Verdict != happened {
			t.Errorf("checked %s, happened %s", plan.Calls[0].Verdict, happened)
		}
		return happened
	}
	anna, berta := codemode.Request{Principal: inforce.Fingerprint("token of anna")},
		codemode.Request{Principal: inforce.Fingerprint("token of berta")}
	overlay := func(text string) {
		t.Helper()
		must(t, e.Loader().SetOverlays([]byte(`{"evaluation": {"overlays": [`+text+`]}}`)))
	}
	if verdict(anna) != "allow" {
		t.Fatal("denied without an overlay")
	}
	overlay(`{"id": "contractor", "principal": "` + anna.Principal + `", "allowlist": ["time__*"]}`)
	if a, b := verdict(anna), verdict(berta); a != "deny" || b != "allow" {
		t.Errorf("by principal: %s, %s", a, b)
	}
	plan, _ := e.Check(t.Context(), codemode.Request{Profile: "p", Code: program, Principal: anna.Principal})
	if !strings.Contains(plan.Text(), "overlay contractor") {
		t.Errorf("the overlay is not named:\n%s", plan.Text())
	}
	last := e.Record().Journal().Entries()[len(e.Record().Journal().Entries())-3:]
	if !slices.ContainsFunc(last, func(entry call.Entry) bool {
		return len(entry.Rules) > 0 && entry.Rules[0].Layer == "overlay contractor" && entry.Principal == anna.Principal
	}) {
		t.Errorf("the record does not name the overlay: %+v", last)
	}

	overlay(`{"id": "here", "session": "s1", "denylist": ["filesystem__*"]}`)
	for session, want := range map[string]string{"s1": "deny", "s2": "allow", "": "allow"} {
		if got := verdict(codemode.Request{ClientSession: session}); got != want {
			t.Errorf("session %q: %s", session, got)
		}
	}
	overlay(`{"id": "wide", "session": "s1", "allowlist": ["*"], "unmatched": "allow", "limits": {"calls": 5000}}`)
	r := codemode.Request{Profile: "p", ClientSession: "s1", Code: refused(`codemode.filesystem__delete_file({path: "a.md"})`)}
	if plan, err := e.Check(t.Context(), r); err != nil || plan.Calls[0].Verdict != "deny" {
		t.Errorf("an overlay loosens: %v %+v", err, plan)
	}
	overlay(`{"id": "over", "session": "s1", "denylist": ["*"], "until": "2020-01-01T00:00:00Z"}`)
	if got := verdict(codemode.Request{ClientSession: "s1"}); got != "allow" {
		t.Errorf("an overlay whose time is over: %s", got)
	}
	if err := e.Loader().SetOverlays([]byte(`{"evaluation": {"overlays": [{"id": "x", "session": "s1", "denylst": []}]}}`)); err == nil || !strings.Contains(err.Error(), "denylist") {
		t.Errorf("a broken overlay: %v", err)
	} else if problems, ok := errors.AsType[config.Problems](err); !ok || problems[0].Line != 1 {
		t.Errorf("a broken overlay: %T", err)
	}
	if err := e.Loader().SetOverlays([]byte(`{"evaluation": {"profiles": {"p": {"allowlist": ["*"]}}}}`)); err == nil {
		t.Error("a profile was taken from a file of overlays")
	}
	overlay(``)
	if got := verdict(anna); got != "allow" {
		t.Errorf("with the overlays gone: %s", got)
	}
}

// TestOverlayReachesARunningProgram: the next call of a run meets an overlay that came meanwhile.
func TestOverlayReachesARunningProgram(t *testing.T) {
	e := open(t, rules)
	p := says(yes, nil)
	answer := p.answer
	p.answer = func(ctx context.Context, r *prompt.Request) (call.Answer, error) {
		if err := e.Loader().SetOverlays([]byte(`{"evaluation": {"overlays": [{"id": "stop", "session": "s1", "denylist": ["*"]}]}}`)); err != nil {
			t.Error(err)
		}
		return answer(ctx, r)
	}
	r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", ClientSession: "s1", Channels: []approvals.Channel{p}, Code: `
const out = [];
for (const f of [() => codemode.time__now({}), () => codemode.filesystem__write_file({path: "n.md", content: ""}), () => codemode.time__now({})])
	try { await f(); out.push("done") } catch (e) { out.push(e.reason) }
return out.join(" ")`})
	if err != nil || string(r.Value) != `"done policy_changed denied"` {
		t.Errorf("got %s, %v", r.Value, err)
	}
}

func TestS46SessionsOfRoles(t *testing.T) {
	e := open(t, rules)
	if err := e.Loader().SetOverlays([]byte(`{"evaluation": {"overlays": [{"id": "interns", "role": "intern", "denylist": ["filesystem__*"]}]}}`)); err != nil {
		t.Fatal(err)
	}
	read := refused(`codemode.filesystem__read_text_file({path: "a.md"})`)
	run := func(r codemode.Request) (string, error) {
		r.Profile, r.Code = "p", read
		response, err := e.Eval(t.Context(), r)
		if err != nil {
			return "", err
		}
		return string(response.Calls[0].State), nil
	}
	s, err := e.Rules().NewSession(t.Context(), "intern", 10*time.Minute)
	must(t, err)
	if got, err := run(codemode.Request{ClientSession: s.ID}); got != "refused" {
		t.Errorf("in a session made for the role: %s %v", got, err)
	}
	// Saying a role is for the record: it neither widens nor narrows.
	if got, err := run(codemode.Request{Role: "intern"}); got != "done" {
		t.Errorf("by saying so: %s %v", got, err)
	}
	if got, err := run(codemode.Request{ClientSession: s.ID, Role: "admin"}); got != "refused" {
		t.Errorf("by saying to be more: %s %v", got, err)
	}
	entries := e.Record().Journal().Entries()
	if last := entries[len(entries)-1]; last.Role != "admin" || last.Session != s.ID {
		t.Errorf("entry %+v", last)
	}
	for _, id := range []string{"cms_made_up", s.ID + "x"} {
		if _, err := run(codemode.Request{ClientSession: id}); !errors.Is(err, inforce.ErrSessionOver) {
			t.Errorf("session %s: %v", id, err)
		}
	}
	if err := e.Rules().EndSession(t.Context(), s.ID); err != nil {
		t.Error(err)
	}
	if _, err := run(codemode.Request{ClientSession: s.ID}); !errors.Is(err, inforce.ErrSessionOver) {
		t.Errorf("a session that was ended: %v", err)
	}
	if _, err := e.Rules().NewSession(t.Context(), "intern", 25*time.Hour); err == nil {
		t.Error("a session longer than a day")
	}
	if _, err := e.Rules().NewSession(t.Context(), "", time.Hour); err == nil {
		t.Error("a session for no role")
	}
}

// A session that was made in one process counts in all that share the store, also in those that are started later,
// until it ends; what the store has of it is of no use as its id.
func TestS46SessionsCountInEveryProcess(t *testing.T) {
	dir := t.TempDir()
	config := `{"evaluation": {"profiles": {"p": {}}, "overlays": [{"id": "interns", "role": "intern", "denylist": ["filesystem__*"]}]}}`
	read := refused(`codemode.filesystem__read_text_file({path: "a.md"})`)
	page := open(t, config, recorded(dir))
	before := open(t, config, recorded(dir))
	run := func(e *codemode.Evaluator, session string) (string, error) {
		r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: read, ClientSession: session})
		if err != nil {
			return "", err
		}
		return string(r.Calls[0].State), nil
	}
	s, err := page.Rules().NewSession(t.Context(), "intern", time.Hour)
	must(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "codemode.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err != nil || bytes.Contains(data, []byte(s.ID)) {
			t.Errorf("%s holds the id (%v)", file, err)
		}
	}
	after := open(t, config, recorded(dir))
	elsewhere := open(t, config, recorded(t.TempDir()))
	for name, e := range map[string]*codemode.Evaluator{"where it was made": page, "a process from before": before,
		"a process from later": after} {
		if got, err := run(e, s.ID); got != "refused" || err != nil {
			t.Errorf("%s: %s %v", name, got, err)
		}
		if _, err := run(e, s.ID+"x"); !errors.Is(err, inforce.ErrSessionOver) {
			t.Errorf("%s: an id that nobody made: %v", name, err)
		}
		if _, err := run(e, inforce.Fingerprint(s.ID)); err != nil {
			t.Errorf("%s: what the store has: %v", name, err) // a session like any other, of no role
		}
	}
	if _, err := run(elsewhere, s.ID); !errors.Is(err, inforce.ErrSessionOver) {
		t.Errorf("with another store: %v", err)
	}
	if err := before.Rules().EndSession(t.Context(), s.ID); err != nil {
		t.Error(err)
	}
	for _, e := range []*codemode.Evaluator{page, before, after} {
		if _, err := run(e, s.ID); !errors.Is(err, inforce.ErrSessionOver) {
			t.Errorf("after its end: %v", err)
		}
	}
}

func TestS46SessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := codemode.New(t.Context(), codemode.Options{})
		must(t, err)
		defer e.Close(context.Background())
		for _, life := range []time.Duration{10 * time.Minute, time.Hour, 24 * time.Hour} {
			s, err := e.Rules().NewSession(t.Context(), "r", life)
			if err != nil || !s.Expires.Equal(time.Now().Add(life)) {
				t.Fatalf("%v: %+v %v", life, s, err)
			}
			time.Sleep(life - 1)
			if _, err := e.Check(t.Context(), codemode.Request{Code: "return 1", ClientSession: s.ID}); err != nil {
				t.Errorf("%v: before its end: %v", life, err)
			}
			time.Sleep(time.Nanosecond)
			if _, err := e.Check(t.Context(), codemode.Request{Code: "return 1", ClientSession: s.ID}); !errors.Is(err,
				inforce.ErrSessionOver) {
				t.Errorf("%v: at its end: %v", life, err)
			}
		}
	})
}

// A text with more calls than anybody reads is checked in bounded time.
func TestCheckOfVeryManyCalls(t *testing.T) {
	e := open(t, rules, readInWorkers)
	plan := check(t, e, "p", strings.Repeat("await codemode.filesystem__raed_text_file({path: 'a'});\n", 1200)+"return 1")
	if len(plan.Calls) != 1000 || len(plan.Warnings) != 1 || !strings.Contains(plan.Warnings[0],
		"line 1001: this call and what follows it, 200 in all") {
		t.Errorf("%d calls, warnings %q", len(plan.Calls), plan.Warnings)
	}
	if text := plan.Text(); len(text) > 64<<10 || !strings.Contains(text, "(900 more)") {
		t.Errorf("a text of %d bytes", len(text))
	}
}

// Reading a resource is decided like a call of the server's tool read_resource.
func TestCheckOfResources(t *testing.T) {
	e := open(t, strings.Replace(rules, `"denylist": [`,
		`"denylist": [{ "id": "no-uri", "tool": "time__read_resource", "when": { "/uri": { "prefix": "secret:" } } },`, 1))
	for call, want := range map[string]string{
		`codemode.read_resource("time", "x:y")`:                     "time__read_resource depends",
		`codemode.read_resource({server: "time", uri: "x:y"})`:      "time__read_resource allow",
		`codemode.read_resource({server: "time", uri: "secret:y"})`: "time__read_resource deny",
		// private cannot be judged: there is no /path
		`codemode.read_resource({server: "filesystem", uri: input})`:        "filesystem__read_resource ask",
		`codemode.read_resource({server: "nothing", uri: "x:y"})`:           "nothing__read_resource unknown tool",
		`codemode.read_resource(input.server, "x:y")`:                       "dynamic",
		`codemode.time.now({}) && codemode.read_resource({uri: "secret:"})`: "time__now allow dynamic",
	} {
		plan := check(t, e, "p", "await ("+call+"); return 1")
		got := ""
		for _, c := range plan.Calls {
			got += c.Tool + " " + c.Verdict + " "
		}
		if len(plan.Dynamic) > 0 {
			got += "dynamic"
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%s: got %s, want %s", call, got, want)
		}
	}
}

// Overlays from an admin page are in force at once, kept in their file, and found there by the next process.
func TestOverlaysAreKept(t *testing.T) {
	dir := t.TempDir()
	file, overlays := filepath.Join(dir, "codemode.json"), filepath.Join(dir, "admin", "overlays.json")
	must(t, os.WriteFile(file, []byte(rules), 0o600))
	start := func() *codemode.Evaluator {
		return open(t, "", func(o *codemode.Options) { o.Files = config.Files{User: file, Overlays: overlays} })
	}
	e := start()
	verdict := func(e *codemode.Evaluator) string {
		t.Helper()
		plan, err := e.Check(t.Context(), codemode.Request{Profile: "p", ClientSession: "s",
			Code: "await codemode.time__now({}); return 1"})
		must(t, err)
		return plan.Calls[0].Verdict
	}
	if got := verdict(e); got != "allow" {
		t.Fatal(got)
	}
	const stop = `{"evaluation": {"overlays": [{"id": "stop", "session": "s", "denylist": ["*"]}]}}`
	for range 2 { // the same ones again replace themselves
		must(t, e.Loader().SetOverlays([]byte(stop)))
	}
	if got := verdict(e); got != "deny" || len(e.Config().Overlays()) != 1 {
		t.Errorf("at once: %s, %+v", got, e.Config().Overlays())
	}
	if err := e.Loader().SetOverlays([]byte(`{"evaluation": {"overlays": [{"id": "x"}]}}`)); err == nil {
		t.Error("a broken file was taken")
	}
	if data, err := os.ReadFile(overlays); err != nil || string(data) != stop {
		t.Errorf("kept: %s %v", data, err)
	}
	e.Close(t.Context())
	e = start()
	if got := verdict(e); got != "deny" {
		t.Errorf("in the next process: %s", got)
	}
	must(t, e.Loader().SetOverlays([]byte(`{}`)))
	if got := verdict(e); got != "allow" {
		t.Errorf("with none: %s", got)
	}
}
