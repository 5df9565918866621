package auditcmd

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
)

// What a run passed as secrets, and behind padding, is shown to whoever has the key of the record, and that is
// recorded. Without the key nothing is shown or recorded.
func TestP39_1RevealNeedsTheKeyAndIsRecorded(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	place, err := recorder.PlaceOf(dir, &config.Config{}, os.LookupEnv)
	checktest.OK(t, err)
	freeze := func(text string) *call.EntryArgs {
		args, err := call.Freeze(json.RawMessage(text), 1<<20)
		checktest.OK(t, err)
		return &call.EntryArgs{RawProposed: args, RawExecuted: args}
	}
	padded := `{"pad":["` + strings.Repeat(strings.Repeat("x", 999)+`","`, 20) + `"],"to":"mallory"}`
	entry := func(n int, state, tool, args string) call.Entry {
		return call.Entry{Kind: audit.Call, State: state, Run: "r_1", Call: n, Principal: "local:anna",
			Client: "claude-code", Profile: "safe", Server: "bank", Tool: tool, Args: freeze(args)}
	}
	checktest.OK(t, place.Write(t.Context(), nil,
		entry(1, audit.Refused, "time__now", `{"password":"bank__transfer","token":"local:anna"}`),
		entry(2, audit.Running, "bank__transfer", padded)))
	run := func(args ...string) (string, error) {
		var out, problems strings.Builder
		cmd := New(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems})
		cmd.SetArgs(append(args, "--state", dir))
		err := cmd.ExecuteContext(context.Background())
		return out.String() + problems.String(), err
	}
	found := func(args ...string) string {
		t.Helper()
		out, err := run(args...)
		if err != nil {
			t.Fatalf("audit %v: %v\n%s", args, err, out)
		}
		return out
	}
	for _, args := range [][]string{{"list", "--tool", "bank__*"}, {"list", "--principal", "local:anna"}} {
		if out := found(args...); !strings.Contains(out, "bank__transfer") || !strings.Contains(out, "local:anna") {
			t.Errorf("audit %v finds %q", args, out)
		}
	}
	if out := found("show", "r_1"); strings.Contains(out, "mallory") || !strings.Contains(out, "[redacted]") ||
		!strings.Contains(out, "arguments  20") {
		t.Errorf("without --reveal: %s", out)
	}
	checktest.OK(t, os.Rename(place.Key, place.Key+".away"))
	if out, err := run("show", "r_1", "--reveal"); err == nil ||
		!strings.Contains(err.Error(), "there is none at "+place.Key) || strings.Contains(out, "mallory") {
		t.Errorf("without the key: %v\n%s", err, out)
	}
	if _, err := os.Stat(place.Key); err == nil {
		t.Error("a new key was made")
	}
	if _, err := audit.LoadKey(place.Key); err != nil { // another one
		t.Fatal(err)
	}
	if out, err := run("show", "r_1", "--reveal"); err == nil || !strings.Contains(err.Error(), "another key") ||
		strings.Contains(out, "mallory") {
		t.Errorf("with another key: %v\n%s", err, out)
	}
	checktest.OK(t, os.Rename(place.Key+".away", place.Key))
	if out := found("list", "--kind", "access"); out != "" {
		t.Errorf("the record says that something was revealed: %s", out)
	}
	out := found("show", "r_1", "--reveal")
	for _, want := range []string{padded, `{"password":"bank__transfer","token":"local:anna"}`} {
		if !strings.Contains(out, want) {
			t.Errorf("%.60s… is not revealed in %.2000s", want, out)
		}
	}
	if out := found("list", "--kind", "access"); !strings.Contains(out, "revealed") ||
		!strings.Contains(out, "2 entries") || !strings.Contains(out, "r_1") {
		t.Errorf("the record says %q", out)
	}
	if lines := found("show", "r_1", "--reveal", "--json"); !strings.Contains(lines, padded) {
		t.Errorf("as JSON: %.500s", lines)
	}
	for _, format := range []string{"jsonl", "json", "csv", "calls"} {
		file := filepath.Join(dir, "export."+format)
		found("export", "--format", format, "--out", file)
		text, err := os.ReadFile(file)
		if err != nil || len(text) == 0 || strings.Contains(string(text), "mallory") {
			t.Errorf("the export as %s: %v, %d bytes", format, err, len(text))
		}
		if format != "calls" {
			found("verify", file)
		}
	}
	found("verify")
}

// Where the share of the record was used up, audit show says why it shows no values, also with --reveal.
func TestP39_9ShowSaysWhatWasNotKept(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	place, err := recorder.PlaceOf(dir, &config.Config{}, os.LookupEnv)
	checktest.OK(t, err)
	place.Share = 8 << 10 // the first entry uses half of it
	answer := func(n int) call.Entry {
		return call.Entry{Kind: audit.Call, State: audit.OK, Run: "r_1", Call: n, Owner: "anna", Tool: "bank__read",
			Result: &call.EntryResult{Raw: json.RawMessage(`{"password":"` + strings.Repeat("x", 4000) + `"}`)}}
	}
	end := call.Entry{Kind: audit.Run, State: audit.OK, Run: "r_1", Owner: "anna",
		Program: &call.EntryProgram{Text: "return 1"}}
	checktest.OK(t, place.Write(t.Context(), nil, answer(1), answer(2), end))
	for _, args := range [][]string{{"show", "r_1"}, {"show", "r_1", "--reveal"}} {
		var out strings.Builder
		cmd := New(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
		cmd.SetArgs(append(args, "--state", dir))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err, out.String())
		}
		const why = "not kept   digests only, because more than half of the caller's share of the record was used up"
		text := out.String()
		if n := strings.Count(text, why); n != 2 || strings.Contains(text, "return 1") ||
			strings.Contains(text, strings.Repeat("x", 4000)) != (len(args) == 3) {
			t.Errorf("%v: %d values were not kept:\n%s", args, n, text)
		}
	}
}
