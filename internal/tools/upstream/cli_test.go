package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// commandLines manages a server of command lines; tools is JSON.
func commandLines(t testing.TB, command, tools, more string) *upstream.Manager {
	t.Helper()
	s, warnings, err := servers.Parse("s", fmt.Appendf(nil, `{"cli": {"command": %q, "tools": {%s}}%s}`, command, tools, more),
		os.LookupEnv)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	return manage(t, upstream.Options{}, upstream.Server{Server: s})
}

// self is this test binary as a fake, see fakeServer.
func self(t testing.TB, mode, tools string) *upstream.Manager {
	t.Helper()
	path, err := os.Executable()
	checktest.OK(t, err)
	return commandLines(t, path, tools, fmt.Sprintf(`, "env": {"CODEMODE_FAKE": %q, "CANARY_TOKEN": "c4n4ry-0123456789"}`, mode))
}

// said is the value of a call.
func said(t testing.TB, m *upstream.Manager, tool, args string) (string, error) {
	t.Helper()
	r, err := call(t, m, "s", tool, args)
	if err != nil {
		return "", err
	}
	return string(r.Value), nil
}

// Real programs, as people would configure them.
func TestCommandLinesOfRealPrograms(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"commit", "-q", "--allow-empty", "-m", "first"},
		{"commit", "-q", "--allow-empty", "-m", "second; $(id) `id`"}} {
		c := exec.Command(git, append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b.invalid"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	}
	m := commandLines(t, "git", `
		"log": {"description": "The latest commits", "args": ["log", "--max-count={count}", ["--grep={word}"], "--format=%s",
			{"flag": "--reverse", "if": "reverse"}, "--", "{paths...}"], "output": "lines", "effect": "reads",
			"input": {"count": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}, "word": {"type": "string"},
				"reverse": {"type": "boolean"}, "paths": {"type": "array", "items": {"type": "string"}}}},
		"hash": {"args": ["hash-object", "--stdin"], "stdin": "{text}", "input": {"text": {"type": "string"}}},
		"show": {"args": ["show", "{what}"], "input": {"what": {"type": "string"}}}`, fmt.Sprintf(`, "cwd": %q`, dir))
	for _, row := range []struct{ tool, args, want string }{
		{"log", `{}`, `["second; $(id) ` + "`id`" + `","first"]`},
		{"log", `{"count": 1}`, `["second; $(id) ` + "`id`" + `"]`},
		{"log", `{"count": 1e1, "reverse": true, "word": "irs"}`, `["first"]`},
		{"log", `{"paths": ["--all", "nothing"]}`, `[]`},
		{"log", `{"count": 0}`, `/count`},
		{"log", `{"cuont": 1}`, `cuont`},
		{"hash", `{"text": ""}`, `"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"`},
		{"hash", `{"text": "x\n"}`, `"587be6b4c3f93f93c489c0111bba5596147a26cb\n"`},
		{"hash", `{}`, `text`},
		{"show", `{"what": "--output=x"}`, `begins with -, which the command would take for an option`},
		{"show", `{"what": "nothing"}`, `it ended with exit status 128, and wrote: fatal: `},
	} {
		got, err := said(t, m, row.tool, row.args)
		failed, isFailure := errors.AsType[*upstream.ToolError](err)
		switch {
		case err == nil && got != row.want:
			t.Errorf("%s %s: got %s, want %s", row.tool, row.args, got, row.want)
		case err != nil && (!isFailure || !strings.Contains(failed.Message, row.want)):
			t.Errorf("%s %s: %v, want %s", row.tool, row.args, err, row.want)
		}
		if isFailure && failed.Result != nil && string(failed.Result.Value) != `{"exitCode":128,"output":""}` {
			t.Errorf("%s: the program learns %s", row.tool, failed.Result.Value)
		}
	}
}

func TestJSONOfCommands(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("no jq")
	}
	m := commandLines(t, "jq", `"field": {"args": ["-c", "--arg", "name", "{name}", ".[$name]"], "stdin": "{value}",
		"output": "json", "exitCodes": [0, 5], "input": {"name": {"type": "string"}, "value": {"type": "string"}}}`, "")
	for args, want := range map[string]string{
		`{"name": "a", "value": "{\"a\": {\"b\": 1e400}}"}`:    `{"b":1E+400}`,
		`{"name": "a\"] | .[\"b", "value": "{\"a\": 1}"}`:      `null`,
		`{"name": "a", "value": "{\"a\": 1} {\"a\": 2}"}`:      `its output is no JSON`,
		`{"name": "a", "value": ""}`:                           `its output is no JSON`,
		`{"name": "a", "value": "[1]"}`:                        `its output is no JSON`, // code 5 is no failure here
		`{"name": "a", "value": "{\"a\""}`:                     `Unfinished JSON term`,
		`{"name": "a", "value": "{\"a\": \"$block\\u00e4\"}"}`: `"$blockä"`,
	} {
		if got, err := said(t, m, "field", args); got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			if strings.Contains(want, "E+400") && strings.HasPrefix(got, `{"b":`) {
				continue // versions of jq write it in their own ways
			}
			t.Errorf("%s: got %s, %v, want %s", args, got, err, want)
		}
	}
}

// No argument becomes another word, an option, the content of a file, or a command: it is refused, or arrives as it is.
func TestArgumentsStayInTheirPlaces(t *testing.T) {
	t.Parallel()
	bait := filepath.Join(t.TempDir(), "bait")
	parts := []string{"--", "-", "-x", "--output=" + bait, "--upload-pack=touch " + bait, "-oProxyCommand=touch " + bait,
		"@/etc/passwd", "@" + bait, "$(touch " + bait + ")", "`touch " + bait + "`", "; touch " + bait, "| touch " + bait,
		"&& touch " + bait, "> " + bait, "\ntouch " + bait, "\r\n--x", "\x00", "a\x00--x", "*", "?[a-z]", "{a,b}", "~", "$HOME",
		"${HOME}", "%PATH%", "!!", "\\", "\"", "'", "'\"'", "\u2010x", "\u2013x", "\u2014-x", "\u2212x", "\uff0dx", "\u00a0-x",
		" -x", "\t-x", "", " ", "{word}", "{list...}", "{env:HOME}", "=", "a=b", "\u202e", "\U0010ffff", "#x", "/x", "+x",
		strings.Repeat("x", 127<<10), strings.Repeat("x", 128<<10)}
	helper := filepath.Join(t.TempDir(), "words") // a small one: it starts hundreds of times
	checktest.OK(t, os.WriteFile(helper+".go", []byte(`package main
import ("encoding/json"; "os")
func main() { _ = json.NewEncoder(os.Stdout).Encode(os.Args[1:]) }`), 0o600))
	if out, err := exec.Command("go", "build", "-o", helper+".exe", helper+".go").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	m := commandLines(t, helper+".exe", `
		"alone": {"args": ["{word}", "end"], "input": {"word": {"type": "string"}}},
		"behind": {"args": ["--", "{word}", "end"], "input": {"word": {"type": "string"}}},
		"glued": {"args": ["--x={word}", "end"], "input": {"word": {"type": "string"}}},
		"within": {"args": ["a/{word}/b", "end"], "input": {"word": {"type": "string"}}},
		"spread": {"args": ["{list...}", "end"], "input": {"list": {"type": "array", "items": {"type": "string"}}}},
		"group": {"args": [["-f", "{word}"], "end"], "input": {"word": {"type": "string"}}},
		"files": {"args": ["{word}", "end"], "input": {"word": {"type": "string", "allowAt": true}}},
		"two": {"args": ["{word}{word}", "end"], "input": {"word": {"type": "string"}}}`, "")
	n := 0
	for _, part := range parts {
		option, at, long := strings.HasPrefix(part, "-"), strings.HasPrefix(part, "@"), len(part) >= 128<<10
		for tool, want := range map[string]struct {
			words   []string
			refused bool
		}{
			"alone":  {[]string{part}, option || at},
			"behind": {[]string{"--", part}, at},
			"glued":  {[]string{"--x=" + part}, at},
			"within": {[]string{"a/" + part + "/b"}, false},
			"spread": {[]string{part, part}, option || at || len(part) > 64<<10},
			"group":  {[]string{"-f", part}, option || at},
			"files":  {[]string{part}, option},
			"two":    {[]string{part + part}, option || at || len(part) > 64<<10},
		} {
			n++
			args := map[string]any{"word": part}
			if tool == "spread" {
				args = map[string]any{"list": []string{part, part}}
			}
			raw, err := json.Marshal(args)
			checktest.OK(t, err)
			got, err := said(t, m, tool, string(raw))
			refused := want.refused || strings.Contains(part, "\x00") || long
			switch {
			case refused && (err == nil || !strings.Contains(err.Error(), "nothing was started")):
				t.Errorf("%s %.40q: got %.80s, %v, want a refusal", tool, part, got, err)
			case !refused:
				var text string
				var words []string
				_ = json.Unmarshal([]byte(got), &text)
				if err != nil || json.Unmarshal([]byte(text), &words) != nil || !slices.Equal(words, append(want.words, "end")) {
					t.Errorf("%s %.40q: got %.80s, %v", tool, part, got, err)
				}
			}
		}
	}
	if _, err := os.Stat(bait); err == nil || n < 200 {
		t.Errorf("after %d attempts: something wrote the file", n)
	}
	for _, args := range []string{`{"word": "\ud800"}`, "{\"word\": \"\xff\"}", `{"word": 1}`, `{"word": ["a"]}`, `{"word": null}`,
		`{}`, `{"word": "a", "word": "b"}`, `{"word": "a", "other": "b"}`, `[]`} {
		if got, err := said(t, m, "alone", args); err == nil {
			t.Errorf("%s: got %s", args, got)
		}
	}
	if _, err := said(t, m, "spread", `{"list": [`+strings.Repeat(`"x",`, 1000)+`"x"]}`); err == nil {
		t.Error("a thousand words are taken")
	}
}

// Whatever a command does, its call ends, and nothing of it is left.
func TestEndsOfCommands(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		mode, tool, want string
		unknown          bool
	}{
		{"prints its environment", `"args": []`, `"[\"CANARY_TOKEN=[secret]\",\"CODEMODE_CHILD=\",` +
			`\"CODEMODE_FAKE=prints its environment\",\"PATH=\"]"`, false},
		{"prints bytes", `"args": []`, `{"$block":`, false},
		{"prints bytes", `"args": [], "output": "lines"`, `its output is not UTF-8`, false},
		{"prints without end", `"args": [], "maxOutput": 100000`, `its output is longer than 100000 bytes`, false},
		{"never starts", `"args": [], "timeout": 300`, `it ran longer than 300ms`, true},
		{"closes its output and stays", `"args": [], "timeout": 300`, `it ran longer than 300ms`, true},
		{"stubborn", `"args": [], "timeout": 300, "stdin": "x"`, `it ran longer than 300ms`, true},
		{"exits at once", `"args": []`, `it ended with exit status 3, and wrote: cannot find the license file`, false},
		{"exits at once", `"args": [], "exitCodes": [0, 3]`, `""`, false},
		{"exits at once", `"args": ["x"], "stdin": "` + strings.Repeat("x", 1<<20) + `", "exitCodes": [3]`, `""`, false},
		{"kills itself", `"args": []`, `it ended with signal: killed`, false},
		{"leaves a grandchild", `"args": [], "timeout": 20000`, ``, false},
	} {
		if runtime.GOOS == "windows" && row.mode == "kills itself" {
			continue
		}
		t.Run(row.mode, func(t *testing.T) {
			t.Parallel()
			m := self(t, row.mode, `"f": {`+row.tool+`}`)
			began := time.Now()
			got, err := said(t, m, "f", `{}`)
			if err != nil {
				got = err.Error()
			}
			lost, _ := errors.AsType[*upstream.Error](err)
			if unknown := lost != nil && lost.Unknown; !strings.Contains(got, row.want) || unknown != row.unknown {
				t.Errorf("got %.300s, %v, want %s", got, err, row.want)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A call's end is its command's end, and so is the server's.
func TestCommandsEndWithTheirCalls(t *testing.T) {
	t.Parallel()
	m := self(t, "never starts", `"f": {"args": []}`)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := m.Call(ctx, "s", "f", nil, upstream.CallOptions{})
	if lost, ok := errors.AsType[*upstream.Error](err); !ok || !lost.Unknown || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := m.Call(t.Context(), "s", "f", nil, upstream.CallOptions{})
		done <- err
	}()
	time.Sleep(200 * time.Millisecond) // until the command runs
	now, cancel := context.WithCancel(t.Context())
	cancel()
	_ = m.Close(now)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "closed the connection") {
		t.Errorf("got %v", err)
	}
}

// What programs and people learn of a command line, and what they do not.
func TestCommandLinesAreDescribed(t *testing.T) {
	t.Parallel()
	var tools []upstream.Tool
	s, _, err := servers.Parse("s", []byte(`{"cli": {"command": "cat", "tools": {
		"b": {"args": ["--", "{a}", ["-n", "{n}"], {"flag": "-v", "if": "v"}], "stdin": "{a}", "effect": "sends", "output": "lines",
			"input": {"v": {"type": "boolean"}, "n": {"type": "integer"}, "a": {"type": "string", "allowAt": true}}},
		"a": {"args": ["a b"]}}}, "env": {"PATH": "/usr/bin:/bin"}}`), nil)
	checktest.OK(t, err)
	m := manage(t, upstream.Options{ToolsChanged: func(_ string, l []upstream.Tool, _ string) { tools = l }},
		upstream.Server{Server: s})
	checktest.OK(t, m.Ready(t.Context()))
	got, err := json.MarshalIndent(tools, "", "  ")
	checktest.OK(t, err)
	for _, want := range []string{`"cat [\"a b\"]"`, `{\"flag\":\"-v\",\"if\":\"v\"}] \u003c \"{a}\""`, `"openWorldHint": true`,
		`"readOnlyHint": false`, `"sends, by the configuration"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	const schema = `{"additionalProperties":false,"properties":{"a":{"type":"string"},"n":{"type":"integer"},` +
		`"v":{"type":"boolean"}},"required":["a"],"type":"object"}`
	if len(tools) != 2 || string(tools[1].Input) != schema {
		t.Errorf("got %s", got)
	}
}
