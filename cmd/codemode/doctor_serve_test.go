package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
)

// What codemode serve refuses, doctor refuses too, and profiles lint tells: with the same words, at the same place, and
// all of it at once.
func TestDoctorRefusesWhatServeRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		config string
		places []string // line:column, and words
		lint   int      // its exit code
	}{
		"the form of four keys": {`{
"http": {"tokns": []},
"console": true,
"store": "postgres",
"responder": {"start": "always"}}`, []string{":2:10", `did you mean "tokens"?`, ":3:12", "must be false, a string or an object", ":4:10", "neither a file", ":5:24", `"auto"`}, cli.ExitUsage},
		"variables that are not set": {`{
"http": {"tokens": [
  {"token": "${NO_SUCH_A}"},
  {"token": "${NO_SUCH_B}"}]}}`, []string{":3:13", "NO_SUCH_A is not set", ":4:13", "NO_SUCH_B is not set"}, 0},
		"a store in a variable": {`{
"store": {"path": "${NO_SUCH_A}",
  "key": "${NO_SUCH_B}"}}`, []string{":2:19", "NO_SUCH_A is not set", ":3:10", "NO_SUCH_B is not set"}, cli.ExitUsage},
		"two servers": {`{"mcpServers": {
"a": {"command": 7},
"b": {"command": 8}}}`, []string{":2:18", ":3:18"}, cli.ExitUsage},
		"all of a server, beside a profile": {`{"mcpServers": {
"a": {"command": "x", "args": "-y",
  "env": {"A": "1",
    "B": ["2"]},
  "timeout": "30s", "disable": true,
  "excludeTool": ["drop"]},
"b": {"comand": "x"},
"c": {"type": "carrier pigeon", "disabled": "yes"},
"d": {"url": "ftp://d.example", "headers": {"A B": "x"}, "oauth": {"callbackPort": "x"}}},
"evaluation": {"profiles": {"p": {"denylst": []}}}}`, []string{
			":2:31", `server "a": "args" must be a list of strings`, ":4:10", `the value of "B" must be a string`, ":5:14",
			`"timeout" must be a number`,
			":5:21", `did you mean "disabled"?`, ":6:3", `did you mean "excludeTools"?`, ":7:7", `did you mean "command"?`,
			":8:15", "carrier pigeon", ":8:45", "true or false", ":9:14", "https://", ":9:52", "cannot be sent", ":9:84",
			"callbackPort",
			":10:35", `did you mean "denylist"?`}, cli.ExitUsage},
		"a variable that makes no URL": {`{"mcpServers": {
"a": {"url": "${HOME}"}}}`, []string{":2:14", "https://"}, cli.ExitUsage},
	} {
		config := write(t, filepath.Join(t.TempDir(), "codemode.json"), test.config)
		for _, args := range [][]string{{"serve", "--http", "127.0.0.1:0"}, {"doctor"}, {"profiles", "lint", "--offline"}} {
			cmd := command(t, append(args, "--config", config, "--project", "none")...)
			cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+t.TempDir())
			out, err := cmd.CombinedOutput()
			want := cli.ExitUsage
			if args[0] == "profiles" {
				want = test.lint
			}
			if cmd.ProcessState.ExitCode() != want {
				t.Errorf("%s: %s ended with %v:\n%s", name, args[0], err, out)
			}
			for _, place := range test.places {
				if !strings.Contains(string(out), place) {
					t.Errorf("%s: %q is not in what %s says:\n%s", name, place, args[0], out)
				}
			}
		}
	}
}

// A page that is switched off is no mistake.
func TestConsoleFalseServesNoPage(t *testing.T) {
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"),
		`{"console": false, "evaluation": {"profiles": {"p": {}}}}`)
	s := serveOverHTTP(t, "0", nil, "--config", config)
	res, err := http.Get(strings.TrimSuffix(s.url, "/mcp") + "/console")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("the page: %s", res.Status)
	}
	s.end()
}

// An overlay that misses whom it is about is a failure of doctor and a finding of lint.
func TestOverlaysForNobodyAreProblems(t *testing.T) {
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{"evaluation": {"profiles": {"p": {}}, "defaultProfile": "p", "overlays": [
		{"id": "lost", "principal": "ana", "denylist": ["time__*"]}]},
		"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}]}}`)
	for code, args := range map[int][]string{cli.ExitUsage: {"doctor"},
		cli.ExitProgram: {"profiles", "lint", "--offline"}} {
		cmd := command(t, append(args, "--config", config, "--project", "none")...)
		cmd.Env = append(cmd.Env, "ANNA=the-token-of-anna", "XDG_STATE_HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(out), `the overlay "lost" can fit nobody`) ||
			!strings.Contains(string(out), ":2:3") {
			t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
}
