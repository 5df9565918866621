package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A person at the terminal sees the plan, and says no, and then yes. The rules are what the moved server's tools say
// about themselves, and the last line of the output is a command that proves it.
func TestInitAsksAndProposesRules(t *testing.T) {
	endToEnd(t)
	home, err := filepath.EvalSymlinks(t.TempDir())
	checktest.OK(t, err)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	t.Setenv("XDG_CACHE_HOME", cachetest.Dir())
	tools := filepath.Join(home, "tools.json")
	write(t, tools, `[
		{"name": "list_things", "input": {"type": "object"}, "annotations": {"readOnlyHint": true}},
		{"name": "get_secret", "input": {"type": "object"}, "annotations": {"readOnlyHint": true}},
		{"name": "change", "input": {"type": "object"}, "annotations": {"destructiveHint": false}},
		{"name": "drop", "input": {"type": "object"}, "annotations": {"destructiveHint": true}},
		{"name": "lies", "input": {"type": "object"}, "annotations": {"readOnlyHint": true, "destructiveHint": true}},
		{"name": "says_nothing", "input": {"type": "object"}}]`)
	file := filepath.Join(home, ".cursor", "mcp.json")
	checktest.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"things": map[string]any{"command": os.Args[0], "env": map[string]string{asCommand: "listed", "CODEMODE_TEST_LIST": tools}},
		"gone":   map[string]any{"command": filepath.Join(home, "not-there")},
	}})
	checktest.OK(t, err)
	write(t, file, string(text))

	answer := func(typed string) (int, string) {
		t.Helper()
		keys, terminal := openTerminal(t)
		var out, errs screen
		done := make(chan int, 1)
		go func() {
			done <- runMain(t, cli.Streams{In: terminal, Out: &out, Err: &errs}, "init", "--install")
		}()
		if !testwait.Holds(func() bool { return strings.Contains(out.String(), "Go on? [y/N]") }) {
			t.Fatalf("nothing was asked:\n%s%s", out.String(), errs.String())
		}
		if now, err := os.ReadFile(file); err != nil || string(now) != string(text) {
			t.Fatalf("it was changed before anybody said yes: %v\n%s", err, now)
		}
		keys.WriteString(typed)
		return <-done, out.String() + errs.String()
	}
	config := filepath.Join(home, ".config", "codemode", "codemode.json")
	code, said := answer("n\n")
	if _, err := os.Stat(config); code != cli.ExitOK || !os.IsNotExist(err) || !strings.Contains(said, "Nothing was changed.") {
		t.Errorf("after no: exit code %d, %v\n%s", code, err, said)
	}
	code, said = answer("y\n")
	for _, want := range []string{"Of 6 tools, 3 only read", "a high risk for 1 that destroy", "gone stays in Cursor, and no rule applies to it: it did not start",
		"codemode.things__list_things({})"} {
		if code != cli.ExitOK || !strings.Contains(said, want) {
			t.Errorf("after yes: exit code %d, want %q in\n%s", code, want, said)
		}
	}
	for tool, want := range map[string]string{"list_things": "allow", "get_secret": "allow", "change": "ask", "drop": "ask",
		"says_nothing": "ask", "added_later": "ask"} {
		var out, errs screen
		runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, "explain", "--config", config, "--json",
			"careful", "things__"+tool)
		var got struct{ Verdict, Risk string }
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
			t.Errorf("%s: %v\n%s%s", tool, err, out.String(), errs.String())
		} else if got.Verdict != want || (tool == "drop") != (got.Risk == "high") {
			t.Errorf("%s: got %+v, want %s", tool, got, want)
		}
	}
}
