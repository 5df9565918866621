package changes

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/profiles"
)

// parse loads a configuration that has to be good.
func parse(t testing.TB, content string) *config.Config {
	t.Helper()
	c, err := config.Parse("codemode.json", []byte(content))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, content)
	}
	return c
}

func inProfile(body string) string {
	return `{"evaluation": {"profiles": {"p": {` + body + `}}}}`
}

// profile loads one profile from the text between its braces.
func profile(t testing.TB, body string) *profiles.Profile {
	t.Helper()
	return parse(t, inProfile(body)).Profile("p")
}

// described writes a decision for a failure message.
func described(d call.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (risk %q, code %q)", d.Verdict, d.Risk, d.Code)
	for _, r := range d.Reasons {
		fmt.Fprintf(&b, "\n    %s %s at %s is %s: %s", r.List, r.Rule, r.Pos, r.Result, r.Text)
	}
	return b.String()
}

func contains(s, part string) bool { return strings.Contains(s, part) }

func write(t testing.TB, path, content string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// verdicts decides calls, written as "tool args", by one profile.
func wantVerdicts(t *testing.T, p *profiles.Profile, rows ...string) {
	t.Helper()
	for _, row := range rows {
		want, rest, _ := strings.Cut(row, " ")
		tool, args, _ := strings.Cut(rest, " ")
		server, name, _ := strings.Cut(tool, "__")
		if d := p.Decide(profiles.Call{Server: server, Tool: name,
			Args: call.Unread(json.RawMessage(args))}); d.Verdict.String() != want {
			t.Errorf("%s %s: got %s\nwant %s", tool, args, described(d), want)
		}
	}
}
