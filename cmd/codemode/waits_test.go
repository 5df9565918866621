//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A lineClient speaks MCP 2026-07-28 over stdio by hand: it shows no forms, and may take tasks.
type lineClient struct {
	t     *testing.T
	house *house
	cmd   *exec.Cmd
	in    *json.Encoder
	out   *bufio.Scanner
	caps  map[string]any
	id    int
	read  int // bytes of what a model reads while it waits
}

func (c *lineClient) start() {
	c.t.Helper()
	c.cmd = exec.Command(os.Args[0], c.house.args...)
	c.cmd.Env, c.cmd.Stderr = c.house.environment, c.house.log
	in, err := c.cmd.StdinPipe()
	checktest.OK(c.t, err)
	out, err := c.cmd.StdoutPipe()
	checktest.OK(c.t, err)
	checktest.OK(c.t, c.cmd.Start())
	c.in, c.out = json.NewEncoder(in), bufio.NewScanner(out)
}

func (c *lineClient) kill() {
	checktest.OK(c.t, c.cmd.Process.Kill())
	_ = c.cmd.Wait() // it says that it was killed
}

// ask sends a request and reads its result.
func (c *lineClient) ask(method string, params map[string]any) map[string]any {
	c.t.Helper()
	c.id++
	params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "by hand", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": c.caps}
	checktest.OK(c.t, c.in.Encode(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params}))
	for c.out.Scan() {
		var message struct {
			ID     int
			Result map[string]any
			Error  any
		}
		checktest.OK(c.t, json.Unmarshal(c.out.Bytes(), &message))
		if message.ID == c.id {
			if message.Error != nil {
				c.t.Fatalf("%s: %v", method, message.Error)
			}
			return message.Result
		}
	}
	c.t.Fatalf("%s has no answer: %v\n%s", method, c.out.Err(), c.house.log)
	return nil
}

// call calls a tool and returns its text.
func (c *lineClient) call(tool string, arguments map[string]any) string {
	c.t.Helper()
	result := c.ask("tools/call", map[string]any{"name": tool, "arguments": arguments})
	content, _ := result["content"].([]any)
	if len(content) == 0 {
		c.t.Fatalf("%s: %v", tool, result)
	}
	text, _ := content[0].(map[string]any)["text"].(string)
	c.read += len(text)
	return text
}

// A client ends each call after a while, its person answers later, and the process dies in between. The model gets the
// result, the write happens once, and next to nothing was read meanwhile: by polling, and as a task of MCP. With
// CODEMODE_LONG=1 the person takes ten minutes.
func TestAWaitThatNoClientCanHold(t *testing.T) {
	for _, row := range []struct {
		name, surface, want string
		call                func(*lineClient) (run string)
		poll                func(*lineClient, string) (result string)
		caps                map[string]any
	}{
		{"a program", "programs", `"written"`, func(c *lineClient) string {
			return notOver(t, c.call("codemode_eval_p", map[string]any{"code": writesAFile}))
		}, collects, map[string]any{}},
		{"a tool", "tools", "{\n  \"bytes\": 1,\n  \"path\": \"a.txt\"", func(c *lineClient) string {
			return notOver(t, c.call("filesystem__write_file", map[string]any{"path": "a.txt", "content": "x"}))
		}, collects, map[string]any{}},
		{"a task", "programs", `"written"`, func(c *lineClient) string {
			return c.task("working")
		}, getsTask, map[string]any{"extensions": takesTasks}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			after, thinks := `"returnAfter": "1s", `, 3*time.Second
			if os.Getenv("CODEMODE_LONG") != "" {
				after, thinks = "", 10*time.Minute
			}
			h := newHouse(t, `{"asklist": ["filesystem__*"], "ask": {"timeout": "30m"}}`, "--console", "127.0.0.1:0",
				"--surface", row.surface)
			text, err := os.ReadFile(h.config)
			checktest.OK(t, err)
			write(t, h.config, strings.Replace(string(text), `"evaluation": {`, `"evaluation": {`+after, 1))
			c := &lineClient{t: t, house: h, caps: row.caps}
			c.start()
			run := row.call(c)
			asked := time.Now()
			h.waits(run)
			if got := row.poll(c, run); got != "" {
				t.Fatalf("it is over: %s", got)
			}
			c.kill()
			c.start()
			defer c.kill()
			result := ""
			for result == "" && time.Since(asked) < thinks {
				result = row.poll(c, run)
			}
			if result != "" {
				t.Fatalf("it is over before anybody answered: %s", result)
			}
			if tokens := c.read / 4; tokens > 400 {
				t.Errorf("the model has read about %d tokens", tokens)
			}
			p := atThePage(t, h.environment)
			p.allow(p.one(), "20s")
			for range 100 {
				if result = row.poll(c, run); result != "" {
					break
				}
				time.Sleep(50 * time.Millisecond) // for the run to end
			}
			if !strings.HasPrefix(strings.TrimPrefix(result, "map[content:[map[text:"), row.want) {
				t.Errorf("the model got %q", result)
			}
			var states []string
			db := h.store()
			defer db.Close()
			err = audit.Entries(t.Context(), db, store.Query{Run: run, Kinds: []string{audit.Call}},
				func(e *audit.Entry) error { states = append(states, e.State); return nil })
			slices.Sort(states)
			if want := []string{"ok", "pending", "running"}; err != nil || !slices.Equal(states, want) {
				t.Errorf("the record has %v (%v), want %v", states, err, want)
			}
			t.Logf("about %d tokens", c.read/4)
		})
	}
}

var takesTasks = map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}

// task makes a task of a program that writes a file.
func (c *lineClient) task(status string) (id string) {
	c.t.Helper()
	created := c.ask("tools/call", map[string]any{"name": "codemode_eval_p", "arguments": map[string]any{
		"code": writesAFile}})
	if created["resultType"] != "task" || created["status"] != status {
		c.t.Fatal(created)
	}
	return created["taskId"].(string)
}

// The form of a task is there again after its process has died, and its answer counts.
func TestAFormOfATaskOutlivesItsProcess(t *testing.T) {
	h := newHouse(t, `{"asklist": ["filesystem__*"], "ask": {"timeout": "5m"}}`)
	c := &lineClient{t: t, house: h, caps: map[string]any{"extensions": takesTasks,
		"elicitation": map[string]any{"form": map[string]any{}}}}
	c.start()
	id := c.task("input_required")
	h.waits(id)
	c.kill()
	c.start()
	defer c.kill()
	forms, _ := c.ask("tasks/get", map[string]any{"taskId": id})["inputRequests"].(map[string]any)
	if len(forms) != 1 {
		t.Fatalf("the forms are %v", forms)
	}
	time.Sleep(400 * time.Millisecond) // a faster yes is nobody's
	for key := range forms {
		c.ask("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{
			key: map[string]any{"action": "accept", "content": map[string]any{"decision": "allow_once"}}}})
	}
	status := any(nil)
	for range 100 {
		got := c.ask("tasks/get", map[string]any{"taskId": id})
		if status = got["status"]; status == "completed" {
			if !strings.Contains(fmt.Sprint(got["result"]), `"written"`) {
				t.Error(got)
			}
			return
		}
		time.Sleep(50 * time.Millisecond) // for the run to end
	}
	t.Errorf("the task is %v", status)
}

// A task whose process dies while its program computes ends with what it did.
func TestATaskEndsWithItsProcess(t *testing.T) {
	h := newHouse(t, `{"allowlist": ["time__now"]}`)
	c := &lineClient{t: t, house: h, caps: map[string]any{"extensions": takesTasks}}
	c.start()
	created := c.ask("tools/call", map[string]any{"name": "codemode_eval_p", "arguments": map[string]any{
		"code": `await codemode.time__now({}); await new Promise(r => setTimeout(r, 60000)); return 1`}})
	id, _ := created["taskId"].(string)
	c.kill()
	c.start()
	defer c.kill()
	for range 100 {
		got := c.ask("tasks/get", map[string]any{"taskId": id})
		if got["status"] == "completed" {
			result, _ := got["result"].(map[string]any)
			if text := fmt.Sprint(result["content"]); result["isError"] != true || !strings.Contains(text, "time__now done") {
				t.Error(got)
			}
			return
		}
		time.Sleep(50 * time.Millisecond) // for the process to find what the other one left
	}
	t.Error("the task does not end")
}

// waits waits until the run is stored as one that waits for a person.
func (h *house) waits(run string) {
	db := h.store()
	defer db.Close()
	testwait.Until(h.t, "the run is parked", func() bool {
		row, err := db.Runs.Get(h.t.Context(), run)
		return err == nil && row.Phase != store.Going
	})
}

func notOver(t *testing.T, text string) string {
	t.Helper()
	name := regexp.MustCompile(`^Not over yet: run (\S+) is waiting until .* person`).FindStringSubmatch(text)
	if name == nil {
		t.Fatal(text)
	}
	return name[1]
}

// collects polls with the tool for it; "" is that the run is not over.
func collects(c *lineClient, run string) string {
	text := c.call("codemode_collect", map[string]any{"run": run})
	if text == run+": not over. Collect again." {
		return ""
	}
	return text
}

// getsTask polls the task.
func getsTask(c *lineClient, run string) string {
	got := c.ask("tasks/get", map[string]any{"taskId": run})
	if got["status"] == "working" {
		time.Sleep(100 * time.Millisecond) // no longer than pollIntervalMs asks for
		return ""
	}
	if got["status"] != "completed" {
		c.t.Fatal(got)
	}
	return fmt.Sprint(got["result"])
}
