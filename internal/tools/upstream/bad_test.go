package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/builtin"
	"github.com/google/go-cmp/cmp"
)

func TestAServerThatEndsDuringACall(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ mode, want string }{
		{"crashes", "exit status 7; it last wrote: panic: out of luck"},
		{"is killed", "signal: killed"},
		{"half a line", "exit status 1"},
		{"closes its output", ""},
		{"huge", "more than 64 MiB"},
	} {
		t.Run(row.mode, func(t *testing.T) {
			t.Parallel()
			m := manage(t, upstream.Options{}, fakeServer(t, "bad", row.mode), fakeServer(t, "good", "plain"))
			slow := make(chan error, 1)
			go func() {
				_, err := m.Call(context.Background(), "good", "slow", json.RawMessage(`{"MS":400}`), upstream.CallOptions{})
				slow <- err
			}()
			_, err := call(t, m, "bad", "echo", `{}`)
			var e *upstream.Error
			if !errors.As(err, &e) || !e.Unknown || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want an unknown outcome and %q", err, row.want)
			}
			if err := <-slow; err != nil {
				t.Errorf("the good server was disturbed: %v", err)
			}
			eventually(t, "it is started again", func() bool {
				s := status(t, m, "bad")
				return s.Restarts > 0 &&
					s.State == upstream.Ready
			})
			if s := status(t, m, "bad"); s.Tools != 7 || s.Stale {
				t.Errorf("after the restart: %d tools, stale %v", s.Tools, s.Stale)
			}
		})
	}
}

func TestAHangingCallEndsWithItsTime(t *testing.T) {
	t.Parallel()
	note := filepath.Join(t.TempDir(), "cancelled")
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "hangs", note))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // enough to send it
	defer cancel()
	_, err := m.Call(ctx, "s", "echo", nil, upstream.CallOptions{})
	var e *upstream.Error
	if !errors.As(err, &e) || !e.Unknown || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want an unknown outcome and the deadline", err)
	}
	eventually(t, "the server is told", func() bool {
		b, _ := os.ReadFile(note)
		return strings.Contains(string(b),
			"requestId")
	})
	if s := status(t, m, "s"); s.State != upstream.Ready {
		t.Errorf("a server that lets one call hang is %s, want ready", s.State)
	}
}

func TestTheServersOwnTimeoutCounts(t *testing.T) {
	t.Parallel()
	s := fakeServer(t, "s", "plain")
	s.Timeout = 100 * time.Millisecond
	m := manage(t, upstream.Options{}, s)
	_, err := m.Call(t.Context(), "s", "slow", json.RawMessage(`{"MS":2000}`),
		upstream.CallOptions{Progress: func(float64, float64, string) {}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("progress must not make a call last longer: got %v", err)
	}
}

func TestAServerThatStopsAnsweringIsReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a ping that is not answered")
	}
	t.Parallel()
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "hangs for good"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := m.Call(ctx, "s", "echo", nil, upstream.CallOptions{}); err == nil {
		t.Fatal("it answered")
	}
	if !testwait.Holds(func() bool { return status(t, m, "s").Restarts != 0 }) {
		t.Fatal("it was never replaced")
	}
}

func TestASlowStartHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	m := upstream.NewManager(upstream.Options{})
	defer m.Close(context.Background())
	hung := fakeServer(t, "hung", "never starts")
	hung.StartTimeout = 300 * time.Millisecond
	late := fakeServer(t, "late list", "lists late")
	late.StartTimeout = 300 * time.Millisecond
	never := fakeServer(t, "never", "never starts")
	never.StartTimeout = 2 * patience
	m.Set([]upstream.Server{fakeServer(t, "slow", "slow start", "700"), hung, late, never, fakeServer(t, "good", "plain")})
	if _, err := call(t, m, "good", "echo", `{}`); err != nil {
		t.Errorf("good: %v", err)
	}
	if s := status(t, m, "never"); s.State != upstream.Starting {
		t.Errorf("the good server's first answer came after one that starts slowly was %s", s.State)
	}
	if _, err := call(t, m, "slow", "echo", `{}`); err != nil {
		t.Errorf("a call waits for a server that is starting: got %v", err)
	}
	eventually(t, "the hung one has failed", func() bool {
		return strings.Contains(status(t, m, "hung").Error,
			"not get ready in time")
	})
	eventually(t, "the late one has failed or come back", func() bool { return status(t, m, "late list").Restarts > 0 })
}

func TestWhatDoesNotBelongOnStandardOutput(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ mode, want string }{
		{"banner", `"fine"`}, {"answers twice", `"first"`}, {"garbage", `{"got":{"n":1}}`},
		{"floods stderr", `{"got":{"n":1}}`},
	} {
		t.Run(row.mode, func(t *testing.T) {
			t.Parallel()
			m := manage(t, upstream.Options{}, fakeServer(t, "s", row.mode))
			for range 3 {
				r, err := call(t, m, "s", "echo", `{"n":1}`)
				if err != nil {
					t.Fatal(err)
				}
				if got := string(r.Value); got != row.want {
					t.Errorf("got %s, want %s", got, row.want)
				}
			}
			s := status(t, m, "s")
			if (row.mode == "banner" || row.mode == "garbage") && s.Dropped < 4 {
				t.Errorf("dropped lines: %d, want them counted", s.Dropped)
			}
			if row.mode == "floods stderr" && (len(s.Stderr) == 0 || len(s.Stderr) > 8<<10) {
				t.Errorf("%d bytes of the flood were kept", len(s.Stderr))
			}
			if s.Restarts != 0 {
				t.Errorf("it was started again %d times", s.Restarts)
			}
		})
	}
}

func TestAServerThatExitsAtOnceIsExplained(t *testing.T) {
	t.Parallel()
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "exits at once"))
	s := status(t, m, "s")
	if !strings.Contains(s.Error, "exit status 3") || !strings.Contains(s.Error, "cannot find the license file") {
		t.Errorf("got %q, want the exit status and the last words", s.Error)
	}
}

func TestFlappingIsTriedEverMoreSeldom(t *testing.T) {
	before := runtime.NumGoroutine()
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "flaps"))
	time.Sleep(4 * time.Second) // how often a process is started in this time is counted
	eventually(t, "it is started again", func() bool { return status(t, m, "s").Restarts > 0 })
	if n := status(t, m, "s").Restarts; n > 8 {
		t.Errorf("%d restarts in 4 s, want a few and not more", n)
	}
	if n := runtime.NumGoroutine() - before; n > 20 {
		t.Errorf("%d goroutines more than before", n)
	}
	if d := cmp.Diff(7, status(t, m, "s").Tools); d != "" {
		t.Errorf("the last good list is gone: %s", d)
	}
}

func TestOddToolListsAreMadeSafe(t *testing.T) {
	t.Parallel()
	l := new(lists)
	m := manage(t, upstream.Options{ToolsChanged: l.changed}, fakeServer(t, "odd", "odd names"),
		fakeServer(t, "none", "hides tools"),
		fakeServer(t, "endless", "endless list"), fakeServer(t, "circle", "same cursor"), fakeServer(t, "pages", "pages"))
	want := []upstream.Tool{
		{Name: "twice", Withheld: "its server lists it several times with different definitions"},
		{Name: "same", Input: json.RawMessage(`{"type":"object"}`)},
		{Name: "line\nbreak", Withheld: `its name "line\nbreak" has control characters`},
		{Name: "naïve.tool-1", Input: json.RawMessage(`{"type":"object"}`)},
		{Name: "no schema", Input: json.RawMessage(`{"type":"object"}`)},
		{Name: "task", Input: json.RawMessage(`{"type":"object"}`), NeedsTask: true},
	}
	if d := cmp.Diff(want, l.of("odd")); d != "" {
		t.Errorf("odd tools (-want +got):\n%s", d)
	}
	if n := len(status(t, m, "odd").Notes); n != 8-1 {
		t.Errorf("%d notes: %q", n, status(t, m, "odd").Notes)
	}
	if _, err := call(t, m, "odd", "naïve.tool-1", `{}`); err != nil {
		t.Errorf("a tool with an odd name: %v", err)
	}
	for _, row := range []struct {
		server string
		tools  int
		note   bool
	}{{"none", 0, false}, {"endless", 64, true}, {"circle", 1, true}, {"pages", 10, false}} {
		s := status(t, m, row.server)
		if s.State != upstream.Ready || s.Tools != row.tools || (len(s.Notes) > 0) != row.note {
			t.Errorf("%s: %s, %d tools, notes %q", row.server, s.State, s.Tools, s.Notes)
		}
	}
	if got := string(l.of("pages")[0].Input); !strings.Contains(got, "9007199254740993") {
		t.Errorf("a schema lost digits: %s", got)
	}
}

func TestChangesOfTheListAreFollowed(t *testing.T) {
	t.Parallel()
	l := new(lists)
	m := manage(t, upstream.Options{ToolsChanged: l.changed}, fakeServer(t, "s", "changes"),
		fakeServer(t, "storm", "storms"), fakeServer(t, "broken", "list breaks"))
	described := func(server string) string {
		for _, tool := range l.of(server) {
			if tool.Name == "version" {
				return tool.Description
			}
		}
		return ""
	}
	eventually(t, "the second list is there", func() bool { return described("s") == "list 2" })
	eventually(t, "the storm's second list is there", func() bool { return described("storm") == "list 2" })
	eventually(t, "the broken list is noticed", func() bool { return status(t, m, "broken").Stale })
	time.Sleep(time.Second) // in which the processes storm on and nothing may be told
	l.mu.Lock()
	if l.told["s"] != 2 || l.told["storm"] != 2 || l.told["broken"] != 1 {
		t.Errorf("lists told: %v, want each once", l.told)
	}
	l.mu.Unlock()
	for range 3 { // a storm holds up no calls
		if _, err := call(t, m, "storm", "echo", `{}`); err != nil {
			t.Errorf("in the storm: %v", err)
		}
	}
	if s := status(t, m, "broken"); s.State != upstream.Ready || !s.Stale || s.Tools != 7 {
		t.Errorf("a list that cannot be read: %s, stale %v, %d tools; want the old one, marked", s.State, s.Stale, s.Tools)
	}
}

func TestRequestsOfAServerAreNotAnswered(t *testing.T) {
	t.Parallel()
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "asks"))
	eventually(t, "it still answers", func() bool { _, err := call(t, m, "s", "echo", `{}`); return err == nil })
}

func TestManyServersManyOfThemDead(t *testing.T) {
	t.Parallel()
	var servers []upstream.Server
	for i := range 20 {
		mode := "plain"
		if i%5 == 0 {
			mode = "exits at once"
		}
		servers = append(servers, fakeServer(t, fmt.Sprintf("s%d", i), mode))
	}
	m := manage(t, upstream.Options{}, servers...)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, err := call(t, m, fmt.Sprintf("s%d", i), "echo", `{}`)
			if dead := i%5 == 0; (err != nil) != dead {
				t.Errorf("s%d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

func TestHammer(t *testing.T) {
	t.Parallel()
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "plain"), upstream.BuiltIn(builtin.Time()))
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			want := fmt.Sprintf(`{"got":{"i":%d}}`, i)
			if r, err := call(t, m, "s", "echo", fmt.Sprintf(`{"i":%d}`, i)); err != nil || string(r.Value) != want {
				t.Errorf("call %d: got %v, %v", i, r, err)
			}
			m.Status()
		})
		if i%20 == 0 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				_, _ = m.Call(ctx, "s", "slow", json.RawMessage(`{"MS":50}`), upstream.CallOptions{}) // it is cut off on purpose
			})
		}
	}
	wg.Wait()
}

func TestSecretsAreNotInErrors(t *testing.T) {
	t.Parallel()
	s := fakeServer(t, "s", "crashes")
	s.Env["API_TOKEN"], s.Env["PLAIN"] = "out of luck", "panic"
	h := httpServer("h", "http://user:pa55word@127.0.0.1:1/mcp?api_key=k3y%2Fvalue")
	h.Headers = map[string][]string{"Authorization": {"Bearer t0ken123"}}
	m := manage(t, upstream.Options{}, s, h)
	_, err := call(t, m, "s", "echo", `{}`)
	if err == nil || !strings.Contains(err.Error(), "panic: [secret]") {
		t.Errorf("got %v, want the last words without the secret", err)
	}
	_, err = call(t, m, "h", "x", `{}`)
	for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", status(t, m, "h")),
		fmt.Sprintf("%+v", status(t, m, "s"))} {
		for _, secret := range []string{"out of luck", "pa55word", "k3y", "t0ken123"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q tells %q", text, secret)
			}
		}
	}
}
