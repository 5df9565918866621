package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/hostile"
)

// A raid is one of two principals of a server, who takes all that it can get.
type raid struct {
	t     *testing.T
	at    *url.URL
	token string
	over  chan struct{}
}

func (r *raid) header(extra string, length int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n",
		r.at.Path, r.at.Host, r.token, extra, length)
}

// send writes a request on a connection of its own, which stays open until the raid is over.
func (r *raid) send(text string) {
	c, err := net.DialTimeout("tcp", r.at.Host, 5*time.Second)
	if err != nil {
		return
	}
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	go func() { _, _ = io.Copy(io.Discard, c) }()
	_, _ = io.WriteString(c, text)
	go func() { <-r.over; c.Close() }()
}

const modernHeaders = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: codemode_eval_p\r\n"

// raidCall is a call on MCP 2026-07-28 by a client that can show a form.
func raidCall(code string) string {
	js, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": map[string]any{
		"name": "codemode_eval_p", "arguments": map[string]any{"code": code}, "_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "tester", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}}}}})
	return string(js)
}

// evalAs runs a program on MCP 2026-07-28, as the holder of a token.
func evalAs(ctx context.Context, client *http.Client, url, token, code string) (*http.Response, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(raidCall(code)))
	if err != nil {
		return nil, "", err
	}
	for name, value := range map[string]string{"Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "codemode_eval_p"} {
		r.Header.Set(name, value)
	}
	res, err := client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, string(body), err
}

func (r *raid) run(code string) {
	body := raidCall(code)
	r.send(r.header(modernHeaders, len(body)) + body)
}

func (r *raid) open(name string) {
	body := fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": %q, "version": "1"}}}`, name)
	r.send(r.header("Connection: close\r\n", len(body)) + body)
}

// memoryOf reads how much memory a process and its children have, in bytes.
func memoryOf(t *testing.T, pid int) int64 {
	t.Helper()
	all := resident(pid)
	if all == 0 {
		t.Fatalf("process %d is gone", pid)
	}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // of each thread, those that it started
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all += resident(child)
			}
		}
	}
	return all
}

// resident is the memory of one process in bytes, 0 if it has ended.
func resident(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// One token cannot take the process from another: whatever one principal does, the other's programs run at once, and
// the memory of the process and of its children stays below 1 GiB. With CODEMODE_LONG=1 the attacks have their full
// size.
func TestOneTokenDoesNotTakeTheProcess(t *testing.T) {
	if hostile.Raced() {
		t.Skip("the race detector takes several times the memory that is measured here")
	}
	long := os.Getenv("CODEMODE_LONG") != ""
	size := func(short, full int) int {
		if long {
			return full
		}
		return short
	}
	const fill = "const held = []; for (let i = 0; i < 54; i++) held.push(new Uint8Array(1 << 20).fill(i));"
	for _, test := range []struct {
		name   string
		attack func(r *raid)
	}{
		{"client names of 4 MiB", func(r *raid) {
			for i := range size(12, 200) {
				r.open(strings.Repeat("x", 4000<<10) + fmt.Sprint(i))
			}
		}},
		{"unfinished bodies", func(r *raid) {
			for range size(150, 600) {
				go r.send(r.header(modernHeaders, 4<<20) + strings.Repeat(" ", 4000<<10))
				time.Sleep(20 * time.Millisecond) // one attack on the process after another
			}
		}},
		{"slow requests", func(r *raid) {
			for range size(1500, 8192) {
				r.send(r.header(modernHeaders, 1000) + `{"json`)
			}
		}},
		{"sessions", func(r *raid) {
			for i := range size(600, 6000) {
				r.open(fmt.Sprint("client", i%10))
			}
		}},
		{"programs of 54 MiB", func(r *raid) {
			for range size(60, 200) {
				r.run(fill + "await new Promise(r => setTimeout(r, 3000)); return held.length")
			}
		}},
		{"waiting runs of 50 MiB", func(r *raid) {
			for range size(12, 40) {
				r.run(`const a = []; for (let i = 0; i < 800; i++) a.push(crypto.getRandomValues(new Uint8Array(1 << 16)));
					await codemode.filesystem__write_file({path: "x.md", content: "x"}); return a.length`)
			}
		}},
		{"new client names", func(r *raid) {
			for i := range size(400, 5000) {
				r.open(strings.Repeat("n", 10000) + fmt.Sprint(i))
			}
		}},
		{"texts that take long to read", func(r *raid) {
			for i := range size(30, 120) {
				r.run("x as void /1;y=" + strings.Repeat("a?(b):c=>", 40) + "d" + strconv.Itoa(i))
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			root, state := t.TempDir(), t.TempDir()
			config := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{
				"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"], "limits": {"cpu": "30s"}}}},
				"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${BERT}", "principal": "bert"}]}}`)
			s := serveOverHTTP(t, "0", []string{"ANNA=the-token-of-anna", "BERT=the-token-of-bert"}, "--config", config,
				"--root", root, "--state", state)
			at, err := url.Parse(s.url)
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
			ask := func() (time.Duration, error) {
				began := time.Now()
				res, body, err := evalAs(t.Context(), client, s.url, "the-token-of-bert", "return 1")
				if err == nil && (res.StatusCode != http.StatusOK || !strings.Contains(body, `"1`) &&
					!strings.Contains(body, `text":"1`)) {
					err = fmt.Errorf("status %d: %s", res.StatusCode, body)
				}
				return time.Since(began), err
			}
			// serve asks until the time is over and enough is true, and returns the time of each answer, the shortest first.
			serve := func(d time.Duration, enough func() bool) (took []time.Duration, most int64) {
				stop := make(chan struct{})
				var watching sync.WaitGroup
				watching.Go(func() {
					for {
						most = max(most, memoryOf(t, s.cmd.Process.Pid))
						select {
						case <-stop:
							return
						case <-time.After(20 * time.Millisecond):
						}
					}
				})
				for until := time.Now().Add(d); time.Now().Before(until) || !enough() && len(took) < 5000; {
					time.Sleep(5 * time.Millisecond) // a client between two requests
					d, err := ask()
					if err != nil {
						t.Errorf("bert's request %d: %v", len(took), err)
						break
					}
					took = append(took, d)
				}
				close(stop)
				watching.Wait()
				if len(took) == 0 {
					t.Fatal("bert was never served")
				}
				slices.Sort(took)
				return took, most
			}
			quiet, _ := serve(time.Duration(size(500, 5000))*time.Millisecond, func() bool { return true })
			anna := &raid{t: t, at: at, token: "the-token-of-anna", over: make(chan struct{})}
			var attacking sync.WaitGroup
			var done atomic.Bool
			attacking.Go(func() { test.attack(anna); done.Store(true) })
			took, most := serve(time.Duration(size(2, 60))*time.Second, done.Load)
			close(anna.over)
			attacking.Wait()
			p50, p99 := took[len(took)/2], took[len(took)*99/100]
			db, _ := os.Stat(filepath.Join(state, "codemode.db"))
			var stored int64
			if db != nil {
				stored = db.Size()
			}
			wal, _ := os.Stat(filepath.Join(state, "codemode.db-wal"))
			if wal != nil {
				stored += wal.Size()
			}
			t.Logf("%-28s bert: %4d programs, p50 %v, p99 %v, longest %v (before the attack p50 %v, p99 %v); memory at most %d MiB; database %d MiB", test.name, len(took),
				p50.Round(time.Millisecond/10), p99.Round(time.Millisecond/10), took[len(took)-1].Round(time.Millisecond/10),
				quiet[len(quiet)/2].Round(time.Millisecond/10), quiet[len(quiet)*99/100].Round(time.Millisecond/10), most>>20,
				stored>>20)
			slowest := 2 * time.Second // the machine may be busy with other tests
			if long {
				slowest = 250 * time.Millisecond
			}
			if p99 > slowest {
				t.Errorf("p99 is %v", p99)
			}
			if most > 1<<30 {
				t.Errorf("the process and its children had %d MiB", most>>20)
			}
		})
	}
}
