package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/mcptest"
)

// inEmptyHome is a command in a home of its own, in an empty folder.
func inEmptyHome(t *testing.T, environment []string, args ...string) (cmd *exec.Cmd, home string) {
	t.Helper()
	cmd = command(t, args...)
	home = t.TempDir()
	cmd.Dir = t.TempDir()
	cmd.Env = append(cmd.Env, "HOME="+home, "XDG_STATE_HOME=")
	cmd.Env = append(cmd.Env, environment...)
	return cmd, home
}

// outOf runs such a command and gives its exit code and all it prints.
func outOf(t *testing.T, environment []string, args ...string) (int, string) {
	t.Helper()
	cmd, _ := inEmptyHome(t, environment, args...)
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// Without a file, variables are the configuration, and the flags bring servers.
func TestS39ServeIsSetUpByVariablesAlone(t *testing.T) {
	root := t.TempDir()
	cmd, _ := inEmptyHome(t, []string{"CODEMODE_DENYLIST=filesystem__write_file",
		"CODEMODE_ALLOWLIST=time__*, filesystem__*"}, "serve", "--root", root)
	c := mcptest.Connect(t, &mcp.CommandTransport{Command: cmd})
	tools, err := c.ListTools(t.Context(), nil)
	checktest.OK(t, err)
	for _, tool := range tools.Tools { // the default profile is listed once
		if strings.HasPrefix(tool.Name, "codemode_eval") && tool.Name != "codemode_eval" {
			t.Errorf("there is a tool %s", tool.Name)
		}
	}
	const program = `await codemode.time__now({}); try { await codemode.filesystem__write_file({path: "x", content: "y"}) } catch (e) { return e.reason + ", " + e.detail }`
	if got := callText(t, c, program); !strings.Contains(got, "denied") || !strings.Contains(got, "CODEMODE_DENYLIST") {
		t.Errorf("got %s", got)
	}
}

// Beside a file, variables deny more and allow nothing.
func TestS39VariablesOnlyNarrowAFile(t *testing.T) {
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"),
		`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"denylist": ["time__convert_time"]}}}}`)
	for _, test := range []struct {
		variable, tool, want string
	}{
		{"CODEMODE_DENYLIST=time__now", "time__now", "DENY"},
		{"CODEMODE_DENYLIST=time__now", "x__y", "ALLOW"},
		{"CODEMODE_ALLOWLIST=time__convert_time", "time__convert_time", "DENY"},
		{"CODEMODE_ALLOWLIST=*", "time__convert_time", "DENY"},
		{"CODEMODE_UNMATCHED=allow", "time__convert_time", "DENY"},
		{"CODEMODE_UNMATCHED=ask", "x__y", "ASK"},
	} {
		code, out := outOf(t, []string{test.variable}, "explain", "--offline", "--config", config, "p", test.tool)
		if code != 0 || !strings.HasPrefix(out, test.want) {
			t.Errorf("%s: %s: exit code %d\n%s", test.variable, test.tool, code, out)
		}
	}
}

// doctor, explain and lint tell that a variable decides.
func TestS39DoctorExplainAndLintNameTheVariables(t *testing.T) {
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"),
		`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}}`)
	environment := []string{"CODEMODE_DENYLIST=time__now"}
	for _, test := range []struct {
		args  []string
		file  bool
		wants []string
	}{
		{[]string{"explain", "--offline", "-", "time__now"}, false,
			[]string{"DENY", "CODEMODE_DENYLIST:1  time__now in the denylist of environment"}},
		{[]string{"explain", "--offline", "p", "time__now"}, true,
			[]string{"DENY", "CODEMODE_DENYLIST:1  time__now in the denylist of environment (environment)",
				"of the environment at CODEMODE_DENYLIST:1:1"}},
		{[]string{"doctor"}, false, []string{"CODEMODE_DENYLIST: the environment is the configuration", "0 failures"}},
		{[]string{"doctor"}, true, []string{"CODEMODE_DENYLIST: the environment binds every profile", "0 failures"}},
		{[]string{"profiles", "lint", "--offline"}, false,
			[]string{"CODEMODE_DENYLIST:1:1: [note, environment] the environment is the configuration"}},
		{[]string{"profiles", "lint", "--offline"}, true,
			[]string{"CODEMODE_DENYLIST:1:1: [note, environment] the environment binds every profile"}},
		{[]string{"profiles", "show"}, true, []string{"environment: CODEMODE_DENYLIST, sha256:"}},
		{[]string{"profiles", "show", "p"}, true, []string{"bound by the environment", "CODEMODE_DENYLIST:1"}},
	} {
		args := test.args
		if test.file {
			args = append(slices.Clone(args), "--config", config)
		}
		code, out := outOf(t, environment, args...)
		for _, want := range test.wants {
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("%v: exit code %d, %q is not in\n%s", args, code, want, out)
			}
		}
	}
}

// What is malformed keeps everything from starting, and names the variable.
func TestS39MalformedVariablesAreErrorsThatNameThem(t *testing.T) {
	t.Parallel()
	file := write(t, filepath.Join(t.TempDir(), "file"), "")
	for variable, want := range map[string]string{
		"CODEMODE_DENYLIST=!time__now": "CODEMODE_DENYLIST:1:1: a pattern cannot be negated",
		"CODEMODE_DENYLST=time__now":   "did you mean CODEMODE_DENYLIST?",
		"CODEMODE_UNMATCHED=":          "CODEMODE_UNMATCHED is set, and is empty",
		"CODEMODE_ASK_TIMEOUT=soon":    "CODEMODE_ASK_TIMEOUT is not a duration",
		"CODEMODE_STATE=":              "CODEMODE_STATE is set, and is empty: unset it",
		"CODEMODE_STATE=state":         `CODEMODE_STATE is "state": set it to an absolute path`,
		"CODEMODE_STATE=~/state":       `CODEMODE_STATE is "~/state": set it to an absolute path`,
		"CODEMODE_STATE=" + file:       "which is not a folder",
	} {
		for _, args := range [][]string{{"serve"}, {"run", "-e", "1"}, {"doctor"}, {"explain", "-", "time__now"},
			{"profiles", "lint", "--offline"}} {
			if code, out := outOf(t, []string{variable}, args...); code != cli.ExitUsage || !strings.Contains(out, want) {
				t.Errorf("%s: %v: exit code %d, want %d and %q\n%s", variable, args, code, cli.ExitUsage, want, out)
			}
		}
	}
}

// The record and all else that is remembered is where CODEMODE_STATE says, for every command.
func TestS39TheStateIsWhereTheVariableSays(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	named := []string{"CODEMODE_STATE=" + state}
	run, home := inEmptyHome(t, named, "run", "-e", "await codemode.time__now({}); return 1")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(home, ".local")); err == nil {
		t.Error("something was written into the home")
	}
	if _, err := os.Stat(filepath.Join(state, "codemode.db")); err != nil {
		t.Error(err)
	}
	if code, out := outOf(t, named, "audit", "list"); code != 0 || !strings.Contains(out, "time") {
		t.Errorf("audit list: exit code %d\n%s", code, out)
	}
	if code, out := outOf(t, named, "audit", "list", "--state", t.TempDir()); code == 0 {
		t.Errorf("--state does not come first:\n%s", out)
	}
	project := write(t, filepath.Join(t.TempDir(), ".codemode.json"), `{"evaluation": {"profiles": {"p": {}}}}`)
	if code, out := outOf(t, named, "profiles", "trust", project); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(state, "trust", "projects.json")); err != nil {
		t.Error(err)
	}
	if code, out := outOf(t, named, "profiles", "trust"); code != 0 || !strings.Contains(out, project) {
		t.Errorf("trust: exit code %d\n%s", code, out)
	}
}

// A folder for programs must not hold the state, where the variable puts it and where another codemode of this user
// would.
func TestS39ProgramsDoNotReachTheStateOfTheVariable(t *testing.T) {
	work := t.TempDir()
	state := filepath.Join(work, "memory", "state")
	const program = "return 1"
	for name, root := range map[string]string{"above it": work, "itself": state,
		"below it": filepath.Join(state, "trust")} {
		checktest.OK(t, os.MkdirAll(root, 0o700))
		if code, out := outOf(t, []string{"CODEMODE_STATE=" + state}, "run", "--root", root, "-e",
			program); code != cli.ExitUsage || !strings.Contains(out, "is refused") {
			t.Errorf("%s: exit code %d\n%s", name, code, out)
		}
	}
	usual := filepath.Join(work, "usual", "codemode")
	checktest.OK(t, os.MkdirAll(usual, 0o700))
	if code, out := outOf(t, []string{"CODEMODE_STATE=" + t.TempDir(), "XDG_STATE_HOME=" + filepath.Dir(usual)}, "run",
		"--root", usual, "-e", program); code != cli.ExitUsage || !strings.Contains(out, "the state of codemode") {
		t.Errorf("where it usually is: exit code %d\n%s", code, out)
	}
	free := filepath.Join(work, "notes")
	checktest.OK(t, os.MkdirAll(free, 0o700))
	if code, out := outOf(t, []string{"CODEMODE_STATE=" + state}, "run", "--root", free, "-e", program); code != 0 {
		t.Errorf("beside it: exit code %d\n%s", code, out)
	}
}
