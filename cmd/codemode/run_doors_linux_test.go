package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

// A program that cron, CI or an agent's shell runs is answered elsewhere, and its exit code says how a question ended.
func TestRunWithoutATerminal(t *testing.T) {
	t.Parallel() // it waits for a person's pauses
	endToEnd(t)
	home, err := os.MkdirTemp("", "cm") // sockets have short paths
	checktest.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	files := t.TempDir()
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {
		"asklist": ["filesystem__write_file"], "denylist": ["filesystem__move_file"]},
		"refuses": {"asklist": ["filesystem__write_file"], "ask": {"absent": "refuse"}}}}}`)
	environment := append(os.Environ(), asCommand+"=codemode", "HOME="+home, "XDG_CONFIG_HOME="+home,
		"XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+cachetest.Dir(), "CODEMODE_CONFIG=")
	run := func(args ...string) (code int, text string) {
		cmd := exec.Command(os.Args[0], append([]string{"run", "--config", config, "--root", files}, args...)...)
		cmd.Env = environment
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	const writes = `await codemode.filesystem__write_file({path: "a.md", content: "x"}); return "written"`
	for _, row := range []struct {
		name string
		args []string
		want int
	}{
		{"nobody is there", []string{"-e", writes}, cli.ExitNobody},
		{"nobody answers in time", []string{"--wait-for-answer", "1s", "-e", writes}, cli.ExitUnanswered},
		{"the profile does not wait", []string{"--wait-for-answer", "1s", "--profile", "refuses", "-e", writes}, cli.ExitNobody},
		{"the rules refuse", []string{"--wait-for-answer", "1m", "-e", `await codemode.filesystem__move_file({source: "a", destination: "b"})`}, cli.ExitDenied},
		{"a time that is none", []string{"--wait-for-answer", "-1s", "-e", writes}, cli.ExitUsage},
	} {
		if got, text := run(row.args...); got != row.want {
			t.Errorf("%s: got %d, want %d:\n%s", row.name, got, row.want, text)
		}
	}
	r := startResponder(t, environment)
	r.see(noneTitle)
	for _, row := range []struct {
		keys []string
		want int
	}{
		{[]string{enterKey, downKey, enterKey, "no", enterKey}, cli.ExitDenied},
		{[]string{enterKey, downKey, downKey, enterKey}, cli.ExitOK},
	} {
		codes := make(chan int, 1)
		texts := make(chan string, 1)
		go func() {
			code, text := run("--wait-for-answer", "1m", "-e", writes)
			codes <- code
			texts <- text
		}()
		r.see(oneTitle)
		r.press(row.keys...)
		if got, text := <-codes, <-texts; got != row.want {
			t.Errorf("answered: got %d, want %d:\n%s", got, row.want, text)
		}
		r.see(noneTitle)
	}
	if _, err := os.Stat(filepath.Join(files, "a.md")); err != nil {
		t.Error(err)
	}
}
