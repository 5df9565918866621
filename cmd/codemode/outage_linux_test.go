package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// An outage is a record that cannot be written for a while. begin returns what the key "store" says, and how the outage
// begins and ends.
type outage struct {
	name  string
	begin func(t *testing.T) (store string, cut, mend func())
}

func outages() []outage {
	return []outage{
		{"the disk is full", func(t *testing.T) (string, func(), func()) {
			small := t.TempDir()
			if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=64m"); err != nil {
				t.Skip("a small file system can be mounted by root only: run it as root")
			}
			t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) })
			ballast := filepath.Join(small, "ballast")
			return filepath.Join(small, "codemode.db"), func() { fill(t, ballast) }, func() {
				if err := os.Remove(ballast); err != nil {
					t.Error(err)
				}
			}
		}},
		{"PostgreSQL is stopped", func(t *testing.T) (string, func(), func()) {
			server := pgtest.Start(t)
			return server.URL("stopped"), server.Stop, server.Start
		}},
		{"PostgreSQL does not answer", func(t *testing.T) (string, func(), func()) {
			server := pgtest.Start(t)
			t.Cleanup(server.Thaw)
			return server.URL("frozen"), server.Freeze, server.Thaw
		}},
	}
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	f, err := os.Create(path)
	checktest.OK(t, err)
	defer f.Close()
	for block := make([]byte, 1<<20); err == nil || len(block) > 1; _, err = f.Write(block) {
		if err != nil {
			block = block[:len(block)/2]
		}
	}
}

// bounds are how long an outage lasts, what is promised, and with how many clients: in the ordinary tests what a
// machine that is busy with other things may take.
func bounds() (lasts, answer, recovery, grace time.Duration, clients []int) {
	if os.Getenv("CODEMODE_LONG") != "" {
		return 30 * time.Second, 5 * time.Second, time.Second, 10 * time.Second, []int{8, 64}
	}
	return 2 * time.Second, 20 * time.Second, 20 * time.Second, 30 * time.Second, []int{8}
}

// While the record cannot be written each call is answered or refused before long, also one that a person has to be
// asked about, and so are the page and the list of tools. When it can be written again calls are made, and a process
// that is told to stop meanwhile does.
func TestWhoCallsIsAnsweredWhileTheRecordIsAway(t *testing.T) {
	t.Parallel()
	endToEnd(t)
	lasts, answer, recovery, grace, sizes := bounds()
	for _, o := range outages() {
		for _, clients := range sizes {
			t.Run(fmt.Sprintf("%s, %d clients", o.name, clients), func(t *testing.T) {
				t.Parallel()
				store, cut, mend := o.begin(t)
				h := newHouse(t, `{}`, "--http", "127.0.0.1:0")
				write(t, h.config, fmt.Sprintf(`{"store": %q, "evaluation": {"expose": ["p"], "profiles": {"p": {
					"asklist": ["filesystem__*"], "allowlist": ["time__*"]}}}}`, store))
				h.start()
				load := &load{t: t, url: h.listens()}
				page := atThePage(t, h.environment)
				for n := range clients {
					load.join(n%4 == 0)
				}
				load.watch("the page", 100*time.Millisecond, func() { look(page, "/api/pending") })
				load.watch("the history", 100*time.Millisecond, func() { look(page, "/api/entries") })
				load.until(answer, func(c *answered) bool { return c.ok() })
				cut()
				begun := time.Now()
				load.until(20*answer, func(c *answered) bool { return !c.ok() && c.begun.After(begun) })
				time.Sleep(time.Until(begun.Add(lasts))) // the server is away for so long
				mend()
				mended := time.Now()
				load.until(20*recovery, func(c *answered) bool { return c.ok() && c.begun.After(mended) })
				cut()
				told := time.Now()
				checktest.OK(t, h.cmd.Process.Signal(syscall.SIGTERM))
				select {
				case <-h.over:
				case <-time.After(2 * grace):
					_ = h.cmd.Process.Kill()
					<-h.over
				}
				stopped := time.Since(told)
				load.leave()
				mend()
				load.report(begun, mended, stopped, answer, recovery, grace, h)
			})
		}
	}
}

// listens waits until it is announced where clients are served.
func (h *house) listens() string {
	for range testwait.Polls(30 * time.Second) {
		if found := listeningAt.FindStringSubmatch(h.log.String()); found != nil {
			return found[1]
		}
	}
	h.t.Fatalf("it does not listen:\n%s", h.log)
	return ""
}

// look gets a page of a person who has logged in, whatever it says.
func look(p *person, path string) {
	req, err := http.NewRequest("GET", p.base+p.path+path, nil)
	if err != nil {
		p.t.Error(err)
		return
	}
	req.Header.Set("Cookie", p.cookie)
	if res, err := http.DefaultClient.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
}

// A load is clients that call again and again, and what became of their calls.
type load struct {
	t    *testing.T
	url  string
	over atomic.Bool
	all  sync.WaitGroup

	mu    sync.Mutex
	calls []answered
}

type answered struct {
	what        string
	begun, done time.Time
	said        string
}

func (a *answered) ok() bool { return strings.HasPrefix(a.said, `"done"`) }

func (l *load) note(what string, begun time.Time, said string) {
	if l.over.Load() {
		return // the process is gone
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, answered{what, begun, time.Now(), said})
}

// join lets one more client call, one whose calls a person allows at once, or one whose calls the rules allow.
func (l *load) join(asks bool) {
	what, program := "a call", `await codemode.time__now({}); return "done"`
	if asks {
		what = "a call that asks"
		program = `await codemode.filesystem__write_file({path: "a.md", content: "x"}); return "done"`
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_once"}}, nil
		},
	})
	own := &http.Client{Transport: &http.Transport{}}
	transport := &mcp.StreamableClientTransport{Endpoint: l.url, HTTPClient: own, MaxRetries: -1}
	c, err := client.Connect(l.t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	checktest.OK(l.t, err)
	l.watch(what, 10*time.Millisecond, func() {
		begun, said := time.Now(), ""
		call := &mcp.CallToolParams{Name: "codemode_eval_p", Arguments: map[string]any{"code": program}}
		res, err := c.CallTool(context.Background(), call)
		if err != nil {
			said = err.Error()
		} else {
			said = res.Content[0].(*mcp.TextContent).Text
		}
		l.note(what, begun, said)
	})
	l.watch("the list of tools", time.Second, func() { _, _ = c.ListTools(context.Background(), nil) })
}

// watch does something again and again.
func (l *load) watch(what string, pause time.Duration, do func()) {
	l.all.Go(func() {
		for !l.over.Load() {
			begun := time.Now()
			do()
			if !strings.HasPrefix(what, "a call") { // which notes what it is told
				l.note(what, begun, "")
			}
			time.Sleep(pause) // a client between two requests
		}
	})
}

func (l *load) leave() {
	l.over.Store(true)
	l.all.Wait()
}

// until waits until one call of each kind is so; report says what did not come.
func (l *load) until(within time.Duration, is func(*answered) bool) {
	for range testwait.Polls(within) {
		found := map[string]bool{}
		l.mu.Lock()
		for i := range l.calls {
			if c := &l.calls[i]; strings.HasPrefix(c.what, "a call") && is(c) {
				found[c.what] = true
			}
		}
		l.mu.Unlock()
		if len(found) == 2 {
			return
		}
	}
}

// made is when the first call was answered that began later than after, and was made; zero if none was.
func (l *load) made(what string, after time.Time) (first time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if c.what == what && c.ok() && c.begun.After(after) && (first.IsZero() || c.done.Before(first)) {
			first = c.done
		}
	}
	return first
}

func (l *load) report(begun, mended time.Time, stopped, answer, recovery, grace time.Duration, h *house) {
	t := l.t
	longest, n := map[string]time.Duration{}, map[string][2]int{}
	reasons := map[string]int{}
	for _, c := range l.calls {
		longest[c.what] = max(longest[c.what], c.done.Sub(c.begun))
		if c.done.Before(begun) || c.begun.After(mended) {
			continue
		}
		counts := n[c.what]
		if c.ok() {
			counts[0]++
		} else {
			counts[1]++
			reasons[strings.SplitN(c.said, "\n", 2)[0]]++
		}
		n[c.what] = counts
	}
	var what []string
	for name := range longest {
		what = append(what, name)
	}
	slices.Sort(what)
	for _, name := range what {
		t.Logf("%s: longest %v; during the outage %d were made, %d refused",
			name, longest[name].Round(time.Millisecond), n[name][0], n[name][1])
		if longest[name] > answer {
			t.Errorf("%s took %v, want %v at most", name, longest[name], answer)
			for _, c := range l.calls {
				if took := c.done.Sub(c.begun); c.what == name && took > answer {
					t.Logf("%v from %v after the beginning of the outage, and %v after its end: %s",
						took, c.begun.Sub(begun), c.begun.Sub(mended), c.said)
				}
			}
		}
		if strings.HasPrefix(name, "a call") {
			first := l.made(name, mended)
			t.Logf("%s: made again %v after the end of the outage", name, first.Sub(mended).Round(time.Millisecond))
			if first.IsZero() || first.Sub(mended) > recovery {
				t.Errorf("%s was made again after %v, want %v at most", name, first.Sub(mended), recovery)
			}
			if n[name][1] == 0 {
				t.Errorf("no %s was refused", name)
			}
		}
	}
	for said, times := range reasons {
		t.Logf("%6d times: %s", times, said)
	}
	t.Logf("told to stop during another outage, it ended after %v", stopped.Round(time.Millisecond))
	if stopped > grace {
		t.Errorf("it ended %v after it was told to, want %v at most", stopped, grace)
	}
	if t.Failed() {
		log := h.log.String()
		t.Logf("the log ends with:\n%s", log[max(0, len(log)-4000):])
	}
}
