package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/server"
)

// A taskClient follows SEP-2663 by hand: the SDK knows no tasks.
type taskClient struct {
	t          *testing.T
	url, token string
	extensions string // that it declares with each request
	requests   int
}

// A task is what a client reads of a result.
type task struct {
	ResultType, TaskID, Status, StatusMessage, CreatedAt, LastUpdatedAt string
	TTLMs, PollIntervalMs                                               int64
	InputRequests                                                       map[string]struct {
		Method string
		Params struct {
			Message         string
			RequestedSchema struct{ Required []string }
		}
	}
	Result *struct {
		Content []struct{ Text string }
		IsError bool
	}
	Content []struct{ Text string }
}

func (c *taskClient) send(method, name, params string) (task, error) {
	c.t.Helper()
	c.requests++
	body := fmt.Sprintf(`{"jsonrpc": "2.0", "id": %d, "method": %q, "params": {%s, "_meta": {
		"io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientInfo": {"name": "tasker", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}, "extensions": {%s}}}}}`,
		c.requests, method, params, c.extensions)
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url, strings.NewReader(body))
	checktest.OK(c.t, err)
	for name, value := range map[string]string{"Content-Type": "application/json", "Mcp-Method": method, "Mcp-Name": name,
		"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
		"Authorization": "Bearer " + c.token} {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	checktest.OK(c.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	checktest.OK(c.t, err)
	if i := bytes.Index(text, []byte("data: {")); i >= 0 {
		text, _, _ = bytes.Cut(text[i+len("data: "):], []byte("\n"))
	}
	var answer struct {
		Result task
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		c.t.Fatalf("%s: %v in %s", method, err, text)
	}
	if answer.Error != nil {
		return task{}, fmt.Errorf("%s", answer.Error.Message)
	}
	return answer.Result, nil
}

func (c *taskClient) run(code string) (task, error) {
	c.t.Helper()
	arguments, err := json.Marshal(map[string]string{"code": code})
	checktest.OK(c.t, err)
	return c.send("tools/call", "codemode_eval", fmt.Sprintf(`"name": "codemode_eval", "arguments": %s`, arguments))
}

func (c *taskClient) about(method, id, more string) (task, error) {
	c.t.Helper()
	return c.send(method, id, fmt.Sprintf(`"taskId": %q%s`, id, more))
}

// until polls until the task has a state.
func (c *taskClient) until(id, status string) task {
	c.t.Helper()
	for range 200 {
		got, err := c.about("tasks/get", id, "")
		checktest.OK(c.t, err)
		if got.ResultType != "complete" || got.TaskID != id || got.CreatedAt == "" || got.LastUpdatedAt < got.CreatedAt ||
			got.PollIntervalMs == 0 || got.TTLMs < 1000 {
			c.t.Fatalf("got %+v", got)
		}
		if got.Status == status {
			return got
		}
		time.Sleep(20 * time.Millisecond) // for the run to go on
	}
	c.t.Fatalf("the task is never %s", status)
	return task{}
}

const (
	withTasks = `"io.modelcontextprotocol/tasks": {}`
	twoWrites = `await Promise.all(["a.txt", "b.txt"].map(path => codemode.filesystem__write_file({path, content: "x"})));
		return "written"`
)

func openTasks(t *testing.T, change func(*codemode.Options)) (h *house, anna *taskClient) {
	t.Helper()
	h = open(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["time__*"],
		"asklist": ["filesystem__write_file"], "ask": {"absent": "wait"}}}},
		"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${BEN}", "principal": "ben"}]}}`,
		server.Options{}, change)
	h.variables = map[string]string{"ANNA": annasToken, "BEN": bensToken}
	return h, &taskClient{t: t, url: h.listen(), token: annasToken, extensions: withTasks}
}

// A run that waits for a person is a task: its forms come with tasks/get, one for all calls of a moment, and the answer
// goes with tasks/update.
func TestARunThatWaitsIsATask(t *testing.T) {
	h, anna := openTasks(t, func(*codemode.Options) {})
	if got, err := anna.run(`return 1`); err != nil || got.ResultType != "complete" || got.TaskID != "" ||
		!strings.HasPrefix(got.Content[0].Text, "1\n") {
		t.Errorf("what is short is no task: %+v, %v", got, err)
	}
	created, err := anna.run(twoWrites)
	if err != nil || created.ResultType != "task" || created.TaskID == "" {
		t.Fatalf("%+v, %v", created, err)
	}
	asks := anna.until(created.TaskID, "input_required")
	if len(asks.InputRequests) != 1 || !strings.Contains(asks.InputRequests["answer1"].Params.Message, "b.txt") ||
		asks.InputRequests["answer1"].Method != "elicitation/create" {
		t.Fatalf("%+v", asks)
	}
	ben := &taskClient{t: t, url: anna.url, token: bensToken, extensions: withTasks}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		if got, err := ben.about(method, created.TaskID, ""); err == nil || !strings.Contains(err.Error(), "there is no task") {
			t.Errorf("ben: %s: %+v, %v", method, got, err)
		}
	}
	if _, err := anna.about("tasks/update", created.TaskID, `, "inputResponses": {"other": {"action": "accept"}}`); err != nil {
		t.Error(err)
	}
	if h.holds("a.txt") {
		t.Fatal("it was written before anybody said yes")
	}
	time.Sleep(400 * time.Millisecond) // a faster yes is nobody's
	allowed := map[string]string{}
	for _, field := range asks.InputRequests["answer1"].Params.RequestedSchema.Required {
		allowed[field] = "allow_once"
	}
	content, err := json.Marshal(allowed)
	checktest.OK(t, err)
	_, err = anna.about("tasks/update", created.TaskID,
		fmt.Sprintf(`, "inputResponses": {"answer1": {"action": "accept", "content": %s}}`, content))
	checktest.OK(t, err)
	done := anna.until(created.TaskID, "completed")
	if done.Result == nil || done.Result.IsError || !strings.HasPrefix(done.Result.Content[0].Text, `"written"`) ||
		!h.holds("a.txt") || !h.holds("b.txt") {
		t.Errorf("%+v", done.Result)
	}
}

// A client without the extension gets no task, and one that cancels its task ends the run.
func TestTasksThatAreNone(t *testing.T) {
	h, anna := openTasks(t, func(*codemode.Options) {})
	anna.extensions = ""
	got, err := anna.run(twoWrites)
	if err != nil || got.ResultType != "input_required" || got.TaskID != "" {
		t.Errorf("%+v, %v", got, err)
	}
	anna.extensions = withTasks
	created, err := anna.run(twoWrites)
	checktest.OK(t, err)
	_, err = anna.about("tasks/cancel", created.TaskID, "")
	checktest.OK(t, err)
	anna.until(created.TaskID, "cancelled")
	if h.holds("a.txt") {
		t.Error("it was written")
	}
	for _, id := range []string{"", "r_nothing"} {
		if got, err := anna.about("tasks/get", id, ""); err == nil || !strings.Contains(err.Error(), "there is no task") {
			t.Errorf("%q: %+v, %v", id, got, err)
		}
	}
}

// A question of a task can be answered where all questions can, too.
func TestATaskIsAnsweredElsewhere(t *testing.T) {
	page := approvals.NewQueue("web")
	_, anna := openTasks(t, func(o *codemode.Options) {
		o.RecordDir, o.Channels = t.TempDir(), []approvals.Channel{page}
	})
	created, err := anna.run(twoWrites)
	checktest.OK(t, err)
	seat := page.Sit("local:anna")
	defer seat.Leave()
	eventually(t, "the questions to come to the page", func() bool { return len(seat.Pending()) == 2 })
	for _, open := range seat.Pending() {
		checktest.OK(t, seat.Answer(open.Request.ID, open.Request.Digest, "", call.Answer{Allowed: true}))
	}
	if done := anna.until(created.TaskID, "completed"); !strings.HasPrefix(done.Result.Content[0].Text, `"written"`) {
		t.Errorf("%+v", done.Result)
	}
}
