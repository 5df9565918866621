package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/google/go-cmp/cmp"
)

// patience is how long anything may take that does not take long: a machine may be busy with other things.
const patience = 90 * time.Second

// manage starts the servers and waits until each is ready or has failed.
func manage(t testing.TB, o upstream.Options, servers ...upstream.Server) *upstream.Manager {
	t.Helper()
	m := upstream.NewManager(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	m.Set(servers)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := m.Ready(ctx); err != nil {
		t.Fatalf("Ready: %v", err)
	}
	return m
}

func status(t testing.TB, m *upstream.Manager, name string) upstream.Status {
	t.Helper()
	for _, s := range m.Status() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no status of %q", name)
	return upstream.Status{}
}

func call(t testing.TB, m *upstream.Manager, server, tool, args string) (*upstream.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return m.Call(ctx, server, tool, json.RawMessage(args), upstream.CallOptions{})
}

var eventually = testwait.Until

func TestValuesKeepTheBytesOfTheWire(t *testing.T) {
	t.Parallel()
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "plain"))
	for _, row := range []struct{ name, result, want string }{
		{"structured content comes first", `{"content":[{"type":"text","text":"other"}],"structuredContent":{"b":1,"a":2}}`,
			`{"b":1,"a":2}`},
		{"integers beyond 2^53 keep their digits", `{"content":[],"structuredContent":{"id":9007199254740993,"f":1.10}}`,
			`{"id":9007199254740993,"f":1.10}`},
		{"text that is an object is parsed", `{"content":[{"type":"text","text":" {\"id\":9007199254740993} "}]}`,
			`{"id":9007199254740993}`},
		{"text that is an array is parsed", `{"content":[{"type":"text","text":"[1,2]"}]}`, `[1,2]`},
		{"text that is a number stays text", `{"content":[{"type":"text","text":"42"}]}`, `"42"`},
		{"text that is broken JSON stays text", `{"content":[{"type":"text","text":"{\"a\":"}]}`, `"{\"a\":"`},
		{"several texts stay a list", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
			`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
		{"nothing is an empty list", `{"content":[]}`, `[]`},
		{"null structured content is none", `{"content":[{"type":"text","text":"x"}],"structuredContent":null}`, `"x"`},
		{"unknown content is data", `{"content":[{"type":"hologram","x":1}]}`, `[{"type":"hologram","x":1}]`},
		{"keys that differ in case are others",
			`{"content":[{"type":"text","text":"x"}],"StructuredContent":{"no":1},"ISERROR":true}`, `"x"`},
		{"a missing list is an empty one", `{}`, `[]`},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, err := call(t, m, "s", "raw", `{"Result":`+row.result+`}`)
			checktest.OK(t, err)
			if got := string(r.Value); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestBlocksStayWithUs(t *testing.T) {
	t.Parallel()
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "plain"))
	const image = `{"type":"image","data":"aGVsbG8=","mimeType":"image/png","annotations":{"priority":1}}`
	for _, row := range []struct{ name, result, want string }{
		{"an image", `{"content":[` + image + `]}`, `[{"$block":"ID","bytes":5,"mimeType":"image/png","type":"image"}]`},
		{"a broken image too", `{"content":[{"type":"image","data":"%%","mimeType":"image/png"}]}`,
			`[{"$block":"ID","bytes":1,"mimeType":"image/png","type":"image"}]`},
		{"text beside it stays", `{"content":[{"type":"text","text":"see"},` + image + `]}`,
			`[{"type":"text","text":"see"},{"$block":"ID","bytes":5,"mimeType":"image/png","type":"image"}]`},
		{"one inside structured content", `{"content":[],"structuredContent":{"n":9007199254740993,"shots":[` + image + `]}}`,
			`{"n":9007199254740993,"shots":[{"$block":"ID","bytes":5,"mimeType":"image/png","type":"image"}]}`},
		{"a resource with text", `{"content":[{"type":"resource","resource":{"uri":"x://1","mimeType":"text/plain","text":"hi"}}]}`,
			`[{"$block":"ID","mimeType":"text/plain","text":"hi","type":"resource","uri":"x://1"}]`},
		{"a resource of bytes", `{"content":[{"type":"resource","resource":{"uri":"x://1","blob":"aGVsbG8="}}]}`,
			`[{"$block":"ID","bytes":5,"type":"resource","uri":"x://1"}]`},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, err := call(t, m, "s", "raw", `{"Result":`+row.result+`}`)
			checktest.OK(t, err)
			got := string(r.Value)
			if len(r.Blocks) != 1 {
				t.Fatalf("got %d blocks, want 1; value %s", len(r.Blocks), got)
			}
			for id, block := range r.Blocks {
				got = strings.ReplaceAll(got, id, "ID")
				if !strings.Contains(row.result, string(block)) {
					t.Errorf("block %s is not the one that came", block)
				}
			}
			if got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestHowCallsFail(t *testing.T) {
	t.Parallel()
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "plain"),
		upstream.Server{Server: servers.Server{Name: "off", Transport: upstream.Stdio, Command: "x", Disabled: true}},
		upstream.Server{Server: servers.Server{Name: "unset", Transport: upstream.Stdio, Command: "x",
			Problem: "the variable TOKEN is not set"}},
		upstream.Server{Server: servers.Server{Name: "missing", Transport: upstream.Stdio,
			Command: "no-such-program-anywhere"}},
		fakeServer(t, "picky", "refuses"), fakeServer(t, "odd", "no result"), fakeServer(t, "tasks", "odd names"))
	var toolErr *upstream.ToolError
	if _, err := call(t, m, "s", "fail", `{}`); !errors.As(err, &toolErr) || toolErr.Message != "no such\nfile" ||
		toolErr.Code != 0 {
		t.Errorf("isError: got %v", err)
	}
	if _, err := call(t, m, "s", "nope", `{}`); !errors.As(err, &toolErr) || toolErr.Code != -32602 ||
		toolErr.Message != "unknown tool nope" {
		t.Errorf("an error of JSON-RPC: got %v", err)
	}
	for _, row := range []struct {
		server, tool, want string
		unknown            bool
	}{
		{"nobody", "x", "no such server", false},
		{"off", "x", "disabled", false},
		{"unset", "x", "TOKEN", false},
		{"missing", "x", `"no-such-program-anywhere" was not found in PATH`, false},
		{"picky", "x", "your licence has expired", false},
		{"odd", "echo", "no tool result", true},
		{"tasks", "task", "only as a task", false},
	} {
		_, err := call(t, m, row.server, row.tool, `{}`)
		var e *upstream.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), row.want) || e.Unknown != row.unknown {
			t.Errorf("%s %s: got %v, want %q, outcome unknown: %v", row.server, row.tool, err, row.want, row.unknown)
		}
	}
}

func TestAChildGetsAMinimalEnvironment(t *testing.T) {
	t.Parallel()
	s := fakeServer(t, "s", "plain")
	s.Env["EXTRA"] = "yes"
	secrets := map[string]string{"HOME": "/h", "PATH": "/usr/bin:/bin", "AWS_SECRET": "s3cret", "USER": "u"}
	m := manage(t, upstream.Options{Env: func(k string) (string, bool) { v, ok := secrets[k]; return v, ok }}, s)
	r, err := call(t, m, "s", "env", `{}`)
	checktest.OK(t, err)
	var text string
	checktest.OK(t, json.Unmarshal(r.Value, &text))
	got := strings.Split(text, "\n")
	// by which it is known where there is /proc
	got = slices.DeleteFunc(got, func(v string) bool { return strings.HasPrefix(v, "CODEMODE_CHILD=") })
	slices.Sort(got)
	want := []string{"CODEMODE_FAKE=plain", "CODEMODE_FAKE_ARG=", "EXTRA=yes", "HOME=/h", "PATH=/usr/bin:/bin", "USER=u"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the child's environment (-want +got):\n%s", d)
	}
}

func TestProgressIsPassedOn(t *testing.T) {
	t.Parallel()
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "plain"))
	var mu sync.Mutex
	var got []string
	_, err := m.Call(t.Context(), "s", "slow", json.RawMessage(`{"MS":40}`), upstream.CallOptions{
		Progress: func(_, _ float64, message string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, message)
		},
	})
	checktest.OK(t, err)
	mu.Lock()
	defer mu.Unlock()
	if d := cmp.Diff([]string{"step 1", "step 2", "step 3", "step 4"}, got); d != "" {
		t.Errorf("progress (-want +got):\n%s", d)
	}
}

func TestSetIsLive(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var events []string
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, s)
	}
	a, b := fakeServer(t, "a", "plain"), fakeServer(t, "b", "plain")
	m := manage(t, upstream.Options{
		ToolsChanged: func(server string, tools []upstream.Tool, instructions string) { note(server + ": " + instructions) },
		Gone:         func(server string) { note(server + " gone") },
	}, a, b)
	ready := func(name string) func() bool {
		return func() bool { return status(t, m, name).State == upstream.Ready }
	}
	b.Disabled = true
	c := fakeServer(t, "c", "plain")
	m.Set([]upstream.Server{a, b, c})
	eventually(t, "c is ready", ready("c"))
	eventually(t, "b is gone", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Contains(events, "b gone")
	})
	if _, err := call(t, m, "a", "echo", `{}`); err != nil {
		t.Errorf("a, which did not change: %v", err)
	}
	if n := status(t, m, "a").Restarts; n != 0 {
		t.Errorf("a was started again %d times", n)
	}
	m.Set([]upstream.Server{a, fakeServer(t, "b", "plain")})
	eventually(t, "b is back", ready("b"))
	eventually(t, "c is gone", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Contains(events, "c gone")
	})
	mu.Lock()
	defer mu.Unlock()
	var ofB []string
	for _, e := range events {
		if strings.HasPrefix(e, "b") {
			ofB = append(ofB, e)
		}
	}
	if d := cmp.Diff([]string{"b: be kind", "b gone", "b: be kind"}, ofB); d != "" {
		t.Errorf("what was told about b (-want +got):\n%s", d)
	}
}

// A person reconnects a server that works and one that is down: each gets a new connection at once, keeps its tools, and
// answers calls. What has no connection says so.
func TestReconnect(t *testing.T) {
	t.Parallel()
	off, odd := fakeServer(t, "off", "plain"), fakeServer(t, "odd", "exits at once")
	off.Disabled = true
	m := manage(t, upstream.Options{}, fakeServer(t, "a", "plain"), off, odd)
	if s := status(t, m, "a"); s.Latency != 0 || s.Login != (upstream.Login{}) {
		t.Errorf("before the first call: %+v", s)
	}
	for n := 1; n <= 2; n++ {
		before := status(t, m, "a").Since
		checktest.OK(t, m.Reconnect("a"))
		eventually(t, "a is connected anew", func() bool {
			s := status(t, m, "a")
			return s.State == upstream.Ready && s.Restarts == n && s.Since.After(before) && s.Tools > 0
		})
		if _, err := call(t, m, "a", "echo", `{}`); err != nil {
			t.Errorf("after %d: %v", n, err)
		}
	}
	if s := status(t, m, "a"); s.Latency <= 0 || s.Error != "" {
		t.Errorf("after a call: %+v", s)
	}
	eventually(t, "odd is down for a while", func() bool { return status(t, m, "odd").State == upstream.Failed })
	n := status(t, m, "odd").Restarts
	eventually(t, "odd is tried anew", func() bool {
		_ = m.Reconnect("odd") // it is starting meanwhile
		return status(t, m, "odd").Restarts > n+3
	})
	for name, want := range map[string]string{"off": "disabled", "nobody": "no such server"} {
		if err := m.Reconnect(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLazyStartsNothingUntilNeeded(t *testing.T) {
	t.Parallel()
	m := upstream.NewManager(upstream.Options{Lazy: true})
	defer m.Close(t.Context())
	m.Set([]upstream.Server{fakeServer(t, "s", "plain"), fakeServer(t, "never", "plain")})
	if got := status(t, m, "s").State; got != upstream.Stopped {
		t.Errorf("before the first call it is %s, want stopped", got)
	}
	m.Set([]upstream.Server{fakeServer(t, "s", "plain")})
	r, err := call(t, m, "s", "echo", `{"x":1}`)
	if err != nil || string(r.Value) != `{"got":{"x":1}}` {
		t.Errorf("got %v, %v", r, err)
	}
}

func TestIncludeAndExclude(t *testing.T) {
	t.Parallel()
	l := new(lists)
	s := fakeServer(t, "s", "plain")
	s.Include, s.Exclude = []string{"echo", "fail", "typo"}, []string{"fail"}
	m := manage(t, upstream.Options{ToolsChanged: l.changed}, s)
	if d := cmp.Diff([]string{"echo"}, names(callable(l.of("s")))); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	if got := status(t, m, "s").Notes; len(got) != 1 || !strings.Contains(got[0], `"typo"`) {
		t.Errorf("notes: got %q, want one about typo", got)
	}
	if _, err := call(t, m, "s", "slow", `{"MS":1}`); err == nil || !strings.Contains(err.Error(),
		"leaves it out") {
		t.Errorf("an excluded tool: got %v", err)
	}
}

func callable(tools []upstream.Tool) []upstream.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t upstream.Tool) bool { return t.Withheld != "" })
}

func names(tools []upstream.Tool) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

func TestAnEnvFileIsReadAtTheStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "env")
	checktest.OK(t, os.WriteFile(path, []byte("# mine\nexport FROM_FILE=\"a b\"\nBOTH=file\n\n"), 0o600))
	s := fakeServer(t, "s", "plain")
	s.EnvFile, s.Env["BOTH"] = path, "entry"
	broken := fakeServer(t, "broken", "plain")
	broken.EnvFile = path + ".missing"
	m := manage(t, upstream.Options{}, s, broken)
	r, err := call(t, m, "s", "env", `{}`)
	checktest.OK(t, err)
	for _, want := range []string{"FROM_FILE=a b", "BOTH=entry"} {
		if !strings.Contains(string(r.Value), want) {
			t.Errorf("the environment lacks %s", want)
		}
	}
	if got := status(t, m, "broken").Error; !strings.Contains(got, "envFile") {
		t.Errorf("a missing envFile: got %q", got)
	}
}
