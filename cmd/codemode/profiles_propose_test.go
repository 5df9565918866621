package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/cachetest"
)

// codemode profiles propose says what the accepted rule would change in the calls of the record, its own and others.
func TestProfilesProposeSaysWhatElseChanges(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", cachetest.Dir())
	state, root := t.TempDir(), t.TempDir()
	config := filepath.Join(t.TempDir(), "codemode.json")
	rules := "{\"evaluation\": {\"profiles\": {\"p\": {\n  \"asklist\": [\n    \"filesystem__*\"\n  ],\n  \"allowlist\": []\n}}}}\n"
	if err := os.WriteFile(config, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) (int, string) {
		t.Helper()
		var out, err bytes.Buffer
		code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err}, args...)
		return code, out.String() + err.String()
	}
	propose := func(more ...string) string {
		t.Helper()
		code, text := command(append([]string{"profiles", "propose", "--config", config, "--state", state, "p",
			"filesystem__write_file"}, more...)...)
		if code != cli.ExitOK {
			t.Fatalf("exit code %d\n%s", code, text)
		}
		return text
	}
	if text := propose(); !strings.Contains(text, "recent calls are not compared: there is no record") {
		t.Errorf("without a record:\n%s", text)
	}
	if err := os.WriteFile(config, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	program := `for (const path of ["a.md", "b.md", "b.md"]) try { await codemode.filesystem__write_file({path, content: "x"}) } catch {}
		try { await codemode.filesystem__read_text_file({path: "a.md"}) } catch {}`
	if code, text := command("run", "--config", config, "--state", state, "--root", root, "--profile", "p", "-e",
		program); code != cli.ExitOK {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	text := propose(`{"path": "a.md", "content": "x"}`)
	if !strings.Contains(text, "of 4 recent calls (30 days) it changes 1 as proposed, and no other") ||
		!strings.Contains(text, "proposed in ") {
		t.Errorf("exact:\n%s", text)
	}
	// With its first allow rule a profile denies what no rule names.
	if err := os.WriteFile(config, []byte(`{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"]}}}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	text = propose(`{"path": "b.md", "content": "x"}`)
	for _, want := range []string{
		"of 4 recent calls (30 days) it changes 2 as proposed", "it also changes 1 of 4 recent calls:",
		`ALLOW -> DENY: filesystem__read_text_file {"path":"a.md"} under p (1 call)`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
