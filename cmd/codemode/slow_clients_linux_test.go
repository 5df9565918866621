package main

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/testwait"
)

const (
	// manyConnections is how many connections a row of TestSlowClientsHoldNothing opens.
	manyConnections = 10_000
	// mostMemory is how much more memory the process may need for such clients, in bytes.
	mostMemory = 256 << 20
)

// W13, F45: clients that send half a request, or send and do not read, keep neither connections nor memory beyond a
// bound, and others are served meanwhile. None of them needs a token. The short form waits for the end of one row.
func TestSlowClientsHoldNothing(t *testing.T) {
	t.Parallel()
	endToEnd(t)
	if hostile.Raced() {
		t.Skip("the race detector takes several times the memory that is measured here")
	}
	canOpen(t, manyConnections+1000)
	page := mcptest.FreeAddress(t)
	s := slowlyUsed(t, "--console", page)
	const (
		mcp         = "MCP"
		diagnostics = "diagnostics"
		half        = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
		long        = true
	)
	at := map[string]string{mcp: listeningAt.FindStringSubmatch(s.log.String())[1],
		diagnostics: diagnosticsAt.FindStringSubmatch(s.log.String())[1], "page": "http://" + page}
	unread := strings.Repeat("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 20_000)
	for _, row := range []struct {
		name, listener, sends string
		most                  int  // connections that the listener keeps
		long                  bool // only in the long form
	}{
		{"nothing", mcp, "", 1024, long},
		{"half a header", mcp, half, 1024, false},
		{"half a body without a token", mcp, half + "Content-Length: 1000\r\n\r\n{", 1024, false},
		{"requests, and reads no answer", mcp, unread, 1024, long},
		{"half a header", diagnostics, half, 256, false},
		{"requests, and reads no answer", diagnostics, unread, 256, long},
		{"half a header", "page", half, 256, false},
		{"half a body", "page", half + "Content-Length: 1000\r\n\r\n{", 256, long},
	} {
		t.Run(row.listener+" gets "+row.name, func(t *testing.T) {
			if row.long && os.Getenv("CODEMODE_LONG") == "" {
				t.Skip("CODEMODE_LONG=1 runs it")
			}
			count := manyConnections
			waits := os.Getenv("CODEMODE_LONG") != "" || row.name == "half a header" && row.listener == mcp
			if !waits {
				count = 2_000
			}
			if len(row.sends) > 1<<10 {
				count = 64 // of each, thousands of requests are answered until the buffers of the system are full
			}
			to, err := url.Parse(at[row.listener])
			checktest.OK(t, err)
			pid := s.cmd.Process.Pid
			memory, others, quiet := memoryOf(t, pid), connectionsOf(t, pid), asBert(t, s, 30)
			closeAll := openMany(t, to.Host, row.sends, count)
			defer closeAll()
			during := asBert(t, s, 30)
			held, grown := 0, memoryOf(t, pid)-memory
			few := testwait.Holds(func() bool { // it accepts a connection before it closes it
				held = connectionsOf(t, pid) - others
				return held <= row.most+4 // one is being accepted, and there are bert's
			})
			t.Logf("%d connections: the server keeps %d, and %d MiB more; bert's programs take p50 %v, p99 %v, and before p50 "+
				"%v, p99 %v", count, held, grown>>20, during[15], during[29], quiet[15], quiet[29])
			if !few {
				t.Errorf("the server keeps %d connections, want %d at most", held, row.most)
			}
			if grown > mostMemory {
				t.Errorf("the server needs %d MiB more", grown>>20)
			}
			if !waits {
				return
			}
			began := time.Now()
			if !testwait.Holds(func() bool { return connectionsOf(t, pid) <= others+4 }) {
				t.Errorf("the server still keeps %d connections", connectionsOf(t, pid)-others)
			}
			t.Logf("closed %v later", time.Since(began).Round(time.Second))
		})
	}
	s.end()
}

// W14: clients that read no answers and no events keep no program and no turn from ending, and others are served.
func TestSlowReadersHoldNoRun(t *testing.T) {
	t.Parallel()
	endToEnd(t)
	if hostile.Raced() {
		t.Skip("the race detector takes several times the memory that is measured here")
	}
	s := slowlyUsed(t)
	at, err := url.Parse(s.url)
	checktest.OK(t, err)
	diagnostics := diagnosticsAt.FindStringSubmatch(s.log.String())[1]
	figure := func(name string) (value string) {
		_, figures := fetch(t, diagnostics+"/metrics")
		for line := range strings.Lines(figures) {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				value = strings.TrimSpace(rest)
			}
		}
		return value
	}
	anna := &raid{t: t, at: at, token: "the-token-of-anna"}
	request := func(code, more string) string {
		body := strings.Replace(raidCall(code), `"_meta":{`, `"_meta":{`+more, 1)
		return anna.header(modernHeaders, len(body)) + body
	}
	old := &knocking{t: t, s: s, token: anna.token}
	if got := old.eval(t.Context(), "return 1", "", ""); got.failed || got.err != nil || old.session == "" {
		t.Fatalf("anna's session: %+v", got)
	}
	const listen = `{"jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": {
		"notifications": {"toolsListChanged": true}, "_meta": {
			"io.modelcontextprotocol/protocolVersion": "2026-07-28",
			"io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": {}}}}`
	large := request(`return "x".repeat(60000)`, "")
	talks := request(`for (let i = 0; i < 5000; i++) { console.log(i, "y".repeat(500)); if (i % 1000 === 0) await null }`,
		`"progressToken":"p",`)
	quiet := asBert(t, s, 30)
	for what, sends := range map[string]string{
		"answers": strings.Repeat(large, 50), "progress of a program": talks,
		"the event stream of a session": fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: "+
			"text/event-stream\r\nMcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\n\r\n", at.Path, at.Host, anna.token,
			old.session),
		"a stream of notifications": anna.header("Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n",
			len(listen)) + listen,
	} {
		t.Run("nobody reads "+what, func(t *testing.T) {
			memory := memoryOf(t, s.cmd.Process.Pid) // what others needed may not have been collected
			closeAll := openMany(t, at.Host, sends, 16)
			defer closeAll()
			during := asBert(t, s, 30)
			if !testwait.Holds(func() bool { return figure(`codemode_runs{state="running"}`) == "0" }) {
				t.Errorf("programs are still running: %s", figure(`codemode_runs{state="running"}`))
			}
			grown := memoryOf(t, s.cmd.Process.Pid) - memory
			t.Logf("%d MiB more; bert's programs take p50 %v, p99 %v, and before p50 %v, p99 %v", grown>>20,
				during[15], during[29], quiet[15], quiet[29])
			if grown > mostMemory {
				t.Errorf("the server needs %d MiB more", grown>>20)
			}
			if os.Getenv("CODEMODE_LONG") != "" && what == "answers" {
				requests := `codemode_budget_used{budget="requests_at_once"}`
				if !testwait.Holds(func() bool { return figure(requests) == "0" }) {
					t.Errorf("requests still wait for their reader: %s", figure(requests))
				}
			}
		})
	}
	s.end()
}

// slowlyUsed serves two principals, with diagnostics.
func slowlyUsed(t *testing.T, flags ...string) *served {
	t.Helper()
	dir := t.TempDir()
	config := write(t, filepath.Join(dir, "codemode.json"), `{"evaluation": {"profiles": {"p": {}}, "defaultProfile": "p"},
		"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${BERT}", "principal": "bert"}]}}`)
	return serveOverHTTP(t, "0", []string{"ANNA=the-token-of-anna", "BERT=the-token-of-bert"},
		append(flags, "--config", config, "--state", dir, "--diagnostics", "0")...)
}

// canOpen raises the number of files that this process may open, or skips the test.
func canOpen(t *testing.T, n uint64) {
	t.Helper()
	var limit syscall.Rlimit
	checktest.OK(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	if limit.Max < n {
		t.Skipf("this machine lets a process open %d files, and it takes %d: ulimit -Hn", limit.Max, n)
	}
	if limit.Cur < n {
		limit.Cur = limit.Max
		checktest.OK(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	}
}

// openMany opens connections and sends the same on each, and reads nothing. It returns what closes them.
func openMany(t *testing.T, address, sends string, n int) (closeAll func()) {
	t.Helper()
	small := net.Dialer{Timeout: time.Minute, Control: func(_, _ string, c syscall.RawConn) (err error) {
		return cmp.Or(c.Control(func(fd uintptr) { // so that what nobody reads fills it soon
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10)
		}), err)
	}}
	var mu sync.Mutex
	var all []net.Conn
	var dialing sync.WaitGroup
	for range 16 {
		dialing.Go(func() {
			for range n / 16 {
				c, err := small.Dial("tcp", address)
				if err != nil {
					t.Errorf("connecting: %v", err)
					return
				}
				mu.Lock()
				all = append(all, c)
				mu.Unlock()
				_ = c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)) // the server may not read on
				_, _ = io.WriteString(c, sends)
			}
		})
	}
	dialing.Wait()
	return sync.OnceFunc(func() {
		for _, c := range all {
			_ = c.Close()
		}
	})
}

// asBert runs programs on connections of their own, and returns how long each took, the shortest first.
func asBert(t *testing.T, s *served, n int) (took []time.Duration) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	for range n {
		began := time.Now()
		res, body, err := evalAs(t.Context(), client, s.url, "the-token-of-bert", "return 1")
		if err != nil {
			t.Fatalf("bert: %v", err)
		}
		if res.StatusCode != http.StatusOK || !strings.Contains(body, `text":"1`) {
			t.Fatalf("bert: status %d: %s", res.StatusCode, body)
		}
		took = append(took, time.Since(began).Round(time.Millisecond/10))
	}
	slices.Sort(took)
	return took
}

// connectionsOf counts the sockets that a process has open.
func connectionsOf(t *testing.T, pid int) (n int) {
	t.Helper()
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	checktest.OK(t, err)
	for _, fd := range all {
		if to, _ := os.Readlink(fd); strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
