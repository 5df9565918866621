package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPreflightWithARealClient is what issue 5 has to show: a program that its profile refuses at
// call three of five lists what was done; the check of the same program predicts every verdict;
// and where a check is required, the run needs its token. S4.1, S4.3, S4.4, B7.
func TestPreflightWithARealClient(t *testing.T) {
	t.Parallel()
	config, files := realServers(t, `{"profiles": {
		"careful": {"allowlist": ["filesystem__read_*", "everything__*"], "asklist": ["filesystem__write_file"],
			"denylist": [{"id": "no-env", "tool": "everything__get_env", "reason": "the environment is nobody's business"}]},
		"strict": {"extends": ["careful"], "requirePreflight": true}
	}}`)
	write(t, filepath.Join(files, "a.txt"), "alpha")
	program := fmt.Sprintf(`
const dir = %q;
const echo = await codemode.everything__echo({ message: "one" });
const file = await codemode.filesystem__read_text_file({ path: dir + "/a.txt" });
const env = await codemode.everything__get_env({});
await codemode.filesystem__write_file({ path: dir + "/b.txt", content: file.content });
await codemode.everything__get_sum({ a: 1, b: 2 });
return "all";`, files)
	c := connect(t, config)

	check := func(code, profile string) string {
		t.Helper()
		c.send(map[string]any{"call": "codemode_check", "arguments": map[string]any{"code": code, "profile": profile}})
		r := c.read()
		if r.Error != "" || r.IsError {
			t.Fatalf("check: %+v", r)
		}
		return r.Text
	}
	run := func(tool, code, token string) reply {
		t.Helper()
		args := map[string]any{"code": code}
		if token != "" {
			args["preflight"] = token
		}
		c.send(map[string]any{"call": tool, "arguments": args, "answer": "yes"})
		r := c.read()
		if r.Error != "" {
			t.Fatalf("%s: %s", tool, r.Error)
		}
		return r
	}
	verdicts := func(plan string) []string {
		var all []string
		for _, m := range regexp.MustCompile(`(?m)^  \d+:\d+ (\S+): (allow|ask|deny)`).FindAllStringSubmatch(plan, -1) {
			all = append(all, m[1]+" "+m[2])
		}
		return all
	}

	plan := check(program, "careful")
	want := []string{"everything__echo allow", "filesystem__read_text_file allow", "everything__get_env deny",
		"filesystem__write_file ask", "everything__get_sum allow"}
	if got := verdicts(plan); !slices.Equal(got, want) {
		t.Errorf("predicted %q, want %q in\n%s", got, want, plan)
	}
	if !regexp.MustCompile(`Link for that person: file:///\S+/codemode\.json#L\d+\n`).MatchString(plan) ||
		!strings.Contains(plan, "Reply to paste:") {
		t.Errorf("no link and no reply:\n%s", plan)
	}
	r := run("codemode_eval_careful", program, "")
	for _, part := range []string{"ToolCallDeniedError", "calls: 3 (2 done, 1 refused)",
		"3. everything__get_env refused (denied)", "1. everything__echo done", "2. filesystem__read_text_file done",
		"the environment is nobody's business"} {
		if !r.IsError || !strings.Contains(r.Text, part) {
			t.Errorf("the run lacks %q:\n%s", part, r.Text)
		}
	}

	// The same calls, each tried: every verdict is the one predicted.
	var attempts strings.Builder
	attempts.WriteString("const out = [];\n")
	for line := range strings.Lines(program) {
		if strings.Contains(line, "await ") {
			call := line[strings.Index(line, "codemode."):strings.LastIndex(line, ";")]
			call = strings.NewReplacer("dir + ", fmt.Sprintf("%q + ", files), "file.content", `"x"`).Replace(call)
			fmt.Fprintf(&attempts, "try { await %s; out.push('done') } catch (e) { out.push(e.reason ?? e.name) }\n", call)
		}
	}
	attempts.WriteString("return out.join(' ')")
	if got := verdicts(check(attempts.String(), "careful")); !slices.Equal(got, want) {
		t.Errorf("predicted %q, want %q", got, want)
	}
	r = run("codemode_eval_careful", attempts.String(), "")
	if !strings.HasPrefix(belowSummary(r.Text), `"done done denied done done"`) || len(r.Asked) != 1 ||
		!strings.Contains(r.Text, "filesystem__write_file done, approved (person, elicitation)") {
		t.Errorf("asked %d times, and happened:\n%s", len(r.Asked), r.Text)
	}

	// Where a check is required.
	r = run("codemode_eval_strict", program, "")
	if !r.IsError || !strings.Contains(r.Text, "preflight_missing") || strings.Contains(r.Text, "calls:") {
		t.Errorf("without a token:\n%s", r.Text)
	}
	token := regexp.MustCompile(`(?m)^[\w-]+\.[\w-]+\.[\w-]+$`).FindString(check(program, "strict"))
	for _, test := range []struct{ name, code, token, want string }{
		{"wrong", program, token[:len(token)-5] + "AAAAA", "preflight_wrong"},
		{"for another program", program + "\n", token, "preflight_other_program"},
		{"for another profile", program, regexp.MustCompile(`(?m)^[\w-]+\.[\w-]+\.[\w-]+$`).FindString(plan),
			"preflight_other_profile"},
	} {
		if r := run("codemode_eval_strict", test.code, test.token); !r.IsError || !strings.Contains(r.Text, test.want) {
			t.Errorf("%s:\n%s", test.name, r.Text)
		}
	}
	if r = run("codemode_eval_strict", program, token); !strings.Contains(r.Text, "calls: 3 (2 done, 1 refused)") {
		t.Errorf("with the token:\n%s", r.Text)
	}
}

// TestBoundConnectionWithARealClient is POLICY.md B7.
func TestBoundConnectionWithARealClient(t *testing.T) {
	t.Parallel()
	config, _ := realServers(t, `{"profiles": {"supervised": {"allowlist": ["everything__echo"]}, "loose": {}}}`)
	c := connectWith(t, []string{"--config", config, "--profile", "supervised"})
	var runs []string
	for _, name := range c.toolNames() {
		if strings.HasPrefix(name, "codemode_eval") {
			runs = append(runs, name)
		}
	}
	if !slices.Equal(runs, []string{"codemode_eval_supervised"}) {
		t.Errorf("run tools: %q", runs)
	}
	c.send(map[string]any{"call": "codemode_eval", "arguments": map[string]any{"code": "return 1"}})
	if r := c.read(); r.Error == "" && !r.IsError {
		t.Errorf("a tool that is not listed ran: %+v", r)
	}
}
