package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// A step of a task is some calls at once, in JSON: [[tool, arguments], ...]; "login" logs the person in at the server
// that wants it.
type doorStep string

const loginStep doorStep = "login"

// The 30 tasks. The person refuses what has "no" in its arguments.
var doorTasks = []struct {
	name  string
	steps []doorStep
}{
	{"reads a file", []doorStep{`[["filesystem__read_text_file", {"path": "in.txt"}]]`}},
	{"reads a part of it", []doorStep{`[["filesystem__read_text_file", {"path": "in.txt", "head": 1}]]`}},
	{"reads the clock", []doorStep{`[["time__now", {}]]`}},
	{"converts a time", []doorStep{`[["time__convert", {"time": "2026-11-30T10:00:00Z", "timezone": "Asia/Tokyo"}]]`}},
	{"lists a folder", []doorStep{`[["filesystem__list_directory", {}]]`}},
	{"reads two files at once", []doorStep{
		`[["filesystem__read_text_file", {"path": "in.txt"}], ["filesystem__read_text_file", {"path": "large.txt", "head": 2}]]`}},
	{"reads a file that is not there", []doorStep{`[["filesystem__read_text_file", {"path": "gone.txt"}]]`}},
	{"reads a large file", []doorStep{`[["filesystem__read_text_file", {"path": "large.txt"}]]`}},
	{"reads many files", []doorStep{`[["filesystem__read_multiple_files", {"paths": ["in.txt", "large.txt", "gone.txt"]}]]`}},
	{"searches for files", []doorStep{`[["filesystem__search_files", {"pattern": "*.txt"}]]`}},
	{"writes a file", []doorStep{`[["filesystem__write_file", {"path": "w1.md", "content": "yes"}]]`}},
	{"writes an empty file", []doorStep{`[["filesystem__write_file", {"path": "w2.md", "content": ""}]]`}},
	{"writes, then reads", []doorStep{`[["filesystem__write_file", {"path": "w3.md", "content": "yes"}]]`,
		`[["filesystem__read_text_file", {"path": "w3.md"}]]`}},
	{"writes twice", []doorStep{`[["filesystem__write_file", {"path": "w4.md", "content": "first"}]]`,
		`[["filesystem__write_file", {"path": "w4.md", "content": "second"}]]`}},
	{"writes three at once", []doorStep{`[["filesystem__write_file", {"path": "a1.md", "content": "1"}],
		["filesystem__write_file", {"path": "a2.md", "content": "2"}], ["filesystem__write_file", {"path": "a3.md", "content": "3"}]]`}},
	{"writes two at once, one of them refused", []doorStep{`[["filesystem__write_file", {"path": "b1.md", "content": "1"}],
		["filesystem__write_file", {"path": "b2.md", "content": "no"}]]`}},
	{"reads and writes at once", []doorStep{`[["filesystem__read_text_file", {"path": "in.txt"}],
		["filesystem__write_file", {"path": "c1.md", "content": "1"}]]`}},
	{"a write that is refused", []doorStep{`[["filesystem__write_file", {"path": "d1.md", "content": "no"}]]`}},
	{"another one", []doorStep{`[["filesystem__write_file", {"path": "d2.md", "content": "no"}]]`}},
	{"a refusal, then a write", []doorStep{`[["filesystem__write_file", {"path": "e1.md", "content": "no"}]]`,
		`[["filesystem__write_file", {"path": "e2.md", "content": "yes"}]]`}},
	{"a denied call", []doorStep{`[["filesystem__move_file", {"source": "in.txt", "destination": "out.txt"}]]`}},
	{"a call that no rule allows", []doorStep{`[["filesystem__create_directory", {"path": "d"}]]`}},
	{"a denial beside a read", []doorStep{`[["filesystem__move_file", {"source": "in.txt", "destination": "o.txt"}],
		["filesystem__read_text_file", {"path": "in.txt"}]]`}},
	{"arguments of another type", []doorStep{`[["filesystem__read_text_file", {"path": 5}]]`}},
	{"arguments that are missing", []doorStep{`[["filesystem__write_file", {"path": "f.md"}]]`}},
	{"a path that leads out", []doorStep{`[["filesystem__read_text_file", {"path": "../secret.txt"}]]`}},
	{"a budget of two", []doorStep{`[["filesystem__edit_file", {"path": "in.txt", "edits": [{"oldText": "one", "newText": "two"}]}]]`,
		`[["filesystem__edit_file", {"path": "in.txt", "edits": [{"oldText": "two", "newText": "three"}]}]]`}},
	{"what is beyond it", []doorStep{
		`[["filesystem__edit_file", {"path": "in.txt", "edits": [{"oldText": "three", "newText": "four"}]}]]`}},
	{"an account that is missing", []doorStep{`[["linear__whoami", {}]]`}},
	{"a login in the middle", []doorStep{`[["linear__whoami", {}]]`, loginStep, `[["linear__whoami", {}]]`,
		`[["filesystem__write_file", {"path": "g.md", "content": "logged in"}]]`}},
}

// A doorCall is one call of a step.
type doorCall struct {
	tool string
	args json.RawMessage
}

func (s doorStep) calls(t *testing.T) (calls []doorCall) {
	t.Helper()
	var list [][2]json.RawMessage
	checktest.OK(t, json.Unmarshal([]byte(s), &list))
	for _, pair := range list {
		c := doorCall{args: pair[1]}
		checktest.OK(t, json.Unmarshal(pair[0], &c.tool))
		calls = append(calls, c)
	}
	return calls
}

// code is a program that makes the calls at once.
func (s doorStep) code(t *testing.T) string {
	t.Helper()
	var all []string
	for _, c := range s.calls(t) {
		all = append(all, fmt.Sprintf("codemode.%s(%s)", c.tool, c.args))
	}
	return fmt.Sprintf("return (await Promise.allSettled([%s])).map(r => r.status);", strings.Join(all, ", "))
}

// The same tasks through each door have the same decisions, the same record and the same end.
func TestTasksThroughEveryDoor(t *testing.T) {
	if len(doorTasks) != 30 {
		t.Fatalf("there are %d tasks", len(doorTasks))
	}
	type end struct{ Record, Files []string }
	ends := map[string]end{}
	var mu sync.Mutex
	t.Run("doors", func(t *testing.T) {
		for door, do := range map[string]func(*house, *mcp.ClientSession, doorStep){
			"programs": func(h *house, c *mcp.ClientSession, s doorStep) { h.mustCall(c, "codemode_eval", "code", s.code(t)) },
			"search": func(h *house, c *mcp.ClientSession, s doorStep) {
				h.each(s, func(call doorCall) { h.mustCall(c, "call_tool", "name", call.tool, "arguments", call.args) })
			},
			"tools": func(h *house, c *mcp.ClientSession, s doorStep) {
				h.each(s, func(call doorCall) {
					_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: call.tool, Arguments: call.args})
					checktest.OK(t, err)
				})
			},
			"shell": func(h *house, _ *mcp.ClientSession, s doorStep) {
				cmd := exec.Command("sh", "-c", `result=$("$0" "$@") && test -n "$result"`, os.Args[0], "run", "--config", h.config,
					"--root", h.files, "--wait-for-answer", "1m", "-e", s.code(t))
				cmd.Env = h.environment
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", s, err, out)
				}
			},
			"cron": func(h *house, _ *mcp.ClientSession, s doorStep) {
				cmd := exec.Command(os.Args[0], "run", "--config", h.config, "--root", h.files, "--wait-for-answer", "1m",
					"-e", s.code(t))
				cmd.Env = slices.DeleteFunc(slices.Clone(h.environment), func(v string) bool { // cron sets little else
					return !strings.HasPrefix(v, asCommand) && !strings.HasPrefix(v, "HOME=") && !strings.HasPrefix(v, "XDG_") &&
						!strings.HasPrefix(v, "PATH=") && !strings.HasPrefix(v, "USER=") && !strings.HasPrefix(v, "LOGNAME=")
				})
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", s, err, out)
				}
			},
		} {
			t.Run(door, func(t *testing.T) {
				t.Parallel()
				hosted := personalServer(t)
				surface := "auto"
				if door == "search" || door == "tools" {
					surface = door
				}
				h := newHouse(t, "{}", "--console", "127.0.0.1:0", "--surface", surface)
				write(t, h.config, fmt.Sprintf(`{"mcpServers": {"linear": {"url": %q, "oauth": {"per": "principal"}}},
					"budgets": [{"id": "edits", "tool": "filesystem__edit_file", "calls": 2, "every": "day"}],
					"evaluation": {"defaultProfile": "p", "profiles": {"p": {
						"allowlist": ["time__*", "filesystem__{read,list,search}_*", "filesystem__edit_file", "linear__*"],
						"asklist": ["filesystem__write_file"], "denylist": ["filesystem__move_file"]}}}}`, hosted.URL))
				checktest.Write(t, filepath.Join(h.files, "in.txt"), "one\nof these lines\n")
				checktest.Write(t, filepath.Join(h.files, "large.txt"), strings.Repeat("a long line of a large file\n", 20_000))
				client := h.connect()
				stop := h.decide(atThePage(t, h.environment))
				for _, task := range doorTasks {
					for _, step := range task.steps {
						if step == loginStep {
							h.logIn("linear")
							continue
						}
						do(h, client, step)
					}
				}
				stop()
				mu.Lock()
				defer mu.Unlock()
				ends[door] = end{h.decisions(), h.holdings()}
			})
		}
	})
	for _, door := range slices.Sorted(maps.Keys(ends)) {
		if diff := cmp.Diff(ends["programs"], ends[door]); diff != "" {
			t.Errorf("programs, and %s:\n%s", door, diff)
		}
		t.Logf("%-8s %d entries, %d files", door, len(ends[door].Record), len(ends[door].Files))
	}
	if len(ends) != 5 || len(ends["programs"].Record) < 80 {
		t.Errorf("%d doors; the record of programs: %q", len(ends), ends["programs"].Record)
	}
}

func (h *house) each(s doorStep, do func(doorCall)) {
	var all sync.WaitGroup
	for _, c := range s.calls(h.t) {
		all.Go(func() { do(c) })
	}
	all.Wait()
}

func (h *house) mustCall(c *mcp.ClientSession, tool string, arguments ...any) {
	args := map[string]any{}
	for i := 0; i < len(arguments); i += 2 {
		args[arguments[i].(string)] = arguments[i+1]
	}
	_, err := c.CallTool(h.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	checktest.OK(h.t, err)
}

// decide answers all questions at the page, until stop: no to what has "no" in its arguments.
func (h *house) decide(p *person) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case <-time.After(50 * time.Millisecond):
			}
			var got struct{ Pending []console.Asked }
			p.send("GET", "/api/pending", nil, &got)
			for _, a := range got.Pending {
				decision := "allow"
				if strings.Contains(a.Text, `content: "no"`) {
					decision = "deny"
				}
				var result console.Result
				p.send("POST", "/api/answer", console.Answered{ID: a.ID, Digest: a.Digest, Decision: decision, Code: a.Code},
					&result)
			}
		}
	}()
	return func() { close(over); <-done }
}

// logIn logs the person in at a server, as anna.
func (h *house) logIn(server string) {
	h.t.Helper()
	cmd := exec.Command(os.Args[0], "login", server, "--no-browser", "--config", h.config, "--principal", launch.Principal())
	cmd.Env = h.environment
	out, err := cmd.StdoutPipe()
	checktest.OK(h.t, err)
	checktest.OK(h.t, cmd.Start())
	address, err := bufio.NewReader(out).ReadString('\n')
	checktest.OK(h.t, err)
	answer, err := http.Get(strings.TrimSpace(address) + "&user=anna")
	checktest.OK(h.t, err)
	answer.Body.Close()
	checktest.OK(h.t, cmd.Wait())
}

// decisions are the entries of the record about calls, sorted: parallel ones have no order.
func (h *house) decisions() (all []string) {
	db := h.store()
	defer db.Close()
	checktest.OK(h.t, audit.Entries(h.t.Context(), db, store.Query{Kinds: []string{audit.Call, audit.Approval}},
		func(e *audit.Entry) error {
			all = append(all, fmt.Sprint(e.Principal, " ", e.Profile, " ", e.Kind, " ", e.Tool, " ", e.State, " ", e.Reason))
			return nil
		}))
	slices.Sort(all)
	return all
}

// holdings are the files that there are, with what is in them.
func (h *house) holdings() (all []string) {
	files, err := os.ReadDir(h.files)
	checktest.OK(h.t, err)
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(h.files, file.Name()))
		checktest.OK(h.t, err)
		all = append(all, fmt.Sprintf("%s: %d %.20s", file.Name(), len(text), text))
	}
	return all
}
