package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/server"
)

// small serves a house with tokens, whose clients share little: 16 requests, 1 MiB of them, 16 sessions and 24
// connections.
func small(t *testing.T) (h *house, web *server.HTTP, at string) {
	t.Helper()
	h = open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"]}}}, "http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${BERT}", "principal": "bert"}]}}`, server.Options{})
	h.variables = map[string]string{"ANNA": annasToken, "BERT": bertsToken}
	web, err := h.server.HTTP(server.HTTPOptions{Env: h.env})
	checktest.OK(t, err)
	web.Shrink(16, 1<<20, 16, 24)
	listener := httptest.NewUnstartedServer(web)
	web.Protect(listener.Config)
	listener.Start()
	t.Cleanup(func() {
		web.Close()
		listener.Close()
	})
	return h, web, listener.URL + server.Path
}

// slow sends the beginning of a request and leaves the connection open.
func slow(t *testing.T, at, token, begin string, length int) net.Conn {
	t.Helper()
	u, err := url.Parse(at)
	checktest.OK(t, err)
	c, err := net.Dial("tcp", u.Host)
	checktest.OK(t, err)
	t.Cleanup(func() { c.Close() })
	if length > 0 {
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\nContent-Length: %d\r\n\r\n", u.Path, u.Host, token, length)
	}
	_, _ = io.WriteString(c, begin) // the server may have refused it already
	return c
}

// status reads the status of the response on a connection; 0 if none comes.
func status(c net.Conn) int {
	_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	return res.StatusCode
}

// served runs a program as somebody, on a connection of their own.
func served(t *testing.T, at, token string) error {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at,
		strings.NewReader(modernCall("codemode_eval_p", map[string]any{"code": "return 40 + 2"})))
	checktest.OK(t, err)
	for name, value := range map[string]string{"Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "codemode_eval_p"} {
		r.Header.Set(name, value)
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && (res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("42"))) {
		err = fmt.Errorf("status %d, retry after %q: %s", res.StatusCode, res.Header.Get("Retry-After"), body)
	}
	return err
}

// One principal that takes all it can get leaves room for the others, is told whose share is used up, and gets it back
// afterwards.
func TestOnePrincipalLeavesRoomForTheOthers(t *testing.T) {
	for _, test := range []struct {
		name string
		// makes one attempt and gives the status that came at once, 0 for none
		each func(t *testing.T, h *house, at string) int
		want int // that anna hears in the end
	}{
		{"slow requests", func(t *testing.T, _ *house, at string) int {
			return status(slow(t, at, annasToken, `{"json`,
				1000))
		}, http.StatusTooManyRequests},
		{"requests that only announce a body", func(t *testing.T, _ *house,
			at string) int {
			return status(slow(t, at, annasToken, "", 4<<20))
		}, http.StatusTooManyRequests},
		{"unfinished bodies", func(t *testing.T, _ *house, at string) int {
			return status(slow(t, at, annasToken, strings.Repeat(" ", 200<<10), 1<<20))
		}, http.StatusTooManyRequests},
		{"programs that wait for a person", func(t *testing.T, _ *house, at string) int {
			body := strings.Replace(modernCall("codemode_eval_p",
				map[string]any{"code": "await new Promise(r => setTimeout(r, 5000))"}), `"id":7`, `"id":"x"`, 1)
			u, _ := url.Parse(at)
			c, err := net.Dial("tcp", u.Host)
			checktest.OK(t, err)
			t.Cleanup(func() { c.Close() })
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: codemode_eval_p\r\nContent-Length: %d\r\n\r\n%s", u.Path, u.Host, annasToken, len(body), body)
			return status(c)
		}, http.StatusTooManyRequests},
		{"event streams", func(t *testing.T, _ *house, at string) int {
			as := map[string]string{"Authorization": "Bearer " + annasToken, "Mcp-Protocol-Version": "2025-11-25"}
			code, _, session := knock{body: initializeBody, header: as}.send(t, at)
			if session == "" {
				return code
			}
			u, _ := url.Parse(at)
			c, err := net.Dial("tcp", u.Host)
			checktest.OK(t, err)
			t.Cleanup(func() { c.Close() })
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\n\r\n", u.Path, u.Host, annasToken, session)
			if status(c) != http.StatusOK {
				return http.StatusTooManyRequests
			}
			return 0
		}, http.StatusTooManyRequests},
		{"headers that do not end", func(t *testing.T, _ *house, at string) int {
			slow(t, at, "", "POST /mcp HTTP/1.1\r\nHost: x\r\n", 0)
			return 0
		}, 0},
		{"connections on which nothing comes", func(t *testing.T, _ *house,
			at string) int {
			slow(t, at, "", "", 0)
			return 0
		}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, web, at := small(t)
			last := 0
			t.Run("attack", func(t *testing.T) {
				for i := 0; i < 40 && last == 0; i++ {
					last = test.each(t, h, at)
				}
				if last != test.want {
					t.Errorf("anna heard status %d, want %d; in use: %v", last, test.want, web.Shared())
				}
				for range 3 {
					if err := served(t, at, bertsToken); err != nil {
						t.Errorf("bert: %v; in use: %v", err, web.Shared())
					}
				}
			})
			eventually(t, "anna's share to come back", func() bool {
				use := web.Shared()
				return use[0] == 0 && use[1] == 0 && served(t, at, annasToken) == nil
			})
		})
	}
}

// Of sessions, the oldest of one's own makes way, and nobody else's.
func TestTheOldestSessionOfOnesOwnMakesWay(t *testing.T) {
	_, web, at := small(t)
	open := func(token string) (int, string) {
		code, _, session := knock{body: initializeBody, header: map[string]string{"Authorization": "Bearer " + token}}.send(t,
			at)
		return code, session
	}
	is := func(token, session string) bool {
		code, _, _ := knock{body: `{"jsonrpc": "2.0", "id": 3, "method": "ping"}`,
			header: map[string]string{"Authorization": "Bearer " + token, "Mcp-Session-Id": session,
				"Mcp-Protocol-Version": "2025-11-25"}}.send(t, at)
		return code == http.StatusOK
	}
	_, berts := open(bertsToken)
	var annas []string
	for i := range 50 {
		code, session := open(annasToken)
		if code != http.StatusOK || session == "" {
			t.Fatalf("session %d: status %d", i, code)
		}
		annas = append(annas, session)
	}
	if !is(bertsToken, berts) {
		t.Error("bert's session is gone")
	}
	if is(annasToken, annas[0]) || !is(annasToken, annas[49]) {
		t.Error("it is not the oldest of anna's that made way")
	}
	if used := web.Shared()[2]; used > 13 {
		t.Errorf("%d sessions are there", used)
	}
	for range 3 {
		if code, session := open(bertsToken); code != http.StatusOK || session == "" {
			t.Errorf("bert opens another: status %d", code)
		}
	}
}

// Silent connections of nobody make way for new ones, so that whoever sends a request at once gets in.
func TestSilentConnectionsMakeWay(t *testing.T) {
	_, web, at := small(t)
	for range 1500 {
		slow(t, at, "", "GET", 0)
	}
	if err := served(t, at, bertsToken); err != nil {
		t.Error(err)
	}
	// Idle connections of a principal are that principal's.
	u, _ := url.Parse(at)
	for range 60 {
		c, err := net.Dial("tcp", u.Host)
		checktest.OK(t, err)
		defer c.Close()
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", u.Path, u.Host, annasToken)
		if code := status(c); code != http.StatusBadRequest {
			t.Fatalf("status %d", code)
		}
	}
	if used := web.Shared()[3]; used > 19 {
		t.Errorf("%d connections are there", used)
	}
	if err := served(t, at, bertsToken); err != nil {
		t.Error(err)
	}
}

// What clients say about themselves is cut when it arrives, whatever the protocol and the part that they say it in.
func TestNamesAreCutWhenTheyArrive(t *testing.T) {
	h, _, at := func() (*house, *server.HTTP, string) {
		h := open(t, `{"evaluation": {"profiles": {"p": {}}}}`, server.Options{})
		return h, nil, h.listen()
	}()
	_ = h
	long := strings.Repeat("x", 14<<10) // three of them fit into a request that opens a session
	bodies := map[string]string{
		"name":              fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": %q, "version": "1"}}}`, long),
		"version":           fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": %q}}}`, long),
		"title":             fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1", "title": %q, "description": %[1]q, "websiteUrl": %[1]q}}}`, long),
		"icons":             fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1", "icons": [{"src": %q}]}}}`, long),
		"capabilities":      fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {"experimental": {"x": %q}, "extensions": {"y/z": {"v": %[1]q}}}, "clientInfo": {"name": "a", "version": "1"}}}`, long),
		"_meta":             fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"_meta": {"z": %q}, "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}}`, long),
		"version asked for": fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25%s", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}}`, long),
	}
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for what, body := range bodies {
		knock{body: body}.send(t, at)
		before := heap()
		for range 100 {
			if code, answer, session := (knock{body: body}).send(t, at); code != http.StatusOK || session == "" {
				t.Fatalf("%s: status %d: %.300s", what, code, answer)
			}
		}
		if kept := heap() - before; kept > 12<<20 {
			t.Errorf("%s: 100 sessions keep %d MiB", what, kept>>20)
		}
	}
	if code, _, session := (knock{body: strings.Replace(bodies["name"], "xxxx", strings.Repeat("x", 100<<10), 1)}).send(t,
		at); code != http.StatusRequestEntityTooLarge || session != "" {
		t.Errorf("100 KiB to open a session: status %d", code)
	}
	large := knock{body: fmt.Sprintf(callBody, "/*"+strings.Repeat("x", 200<<10)+"*/ return 1"),
		header: map[string]string{"Mcp-Protocol-Version": "2025-11-25"}}
	large.body = strings.Replace(large.body, `"codemode_eval"`, `"codemode_eval_p"`, 1)
	before := heap()
	for range 40 { // a session keeps none of its requests
		_, _, session := knock{body: initializeBody}.send(t, at)
		large.header["Mcp-Session-Id"] = session
		if code, answer, _ := large.send(t, at); code != http.StatusOK || !strings.Contains(answer, "text") {
			t.Fatalf("status %d: %.300s", code, answer)
		}
	}
	if kept := heap() - before; kept > 4<<20 {
		t.Errorf("40 sessions keep %d MiB of programs", kept>>20)
	}
	c := h.connect(nil, "2025-11-25")
	for token, fine := range map[any]bool{"short": true, 7: true, long: false} {
		_, err := c.CallTool(t.Context(), progressCall(token))
		if (err == nil) != fine {
			t.Errorf("a progress token %.10v: %.200v", token, err)
		}
	}
}

func progressCall(token any) *mcp.CallToolParams {
	return &mcp.CallToolParams{Meta: mcp.Meta{"progressToken": token}, Name: "codemode_eval_p",
		Arguments: map[string]any{"code": "return 1"}}
}

// A principal that a token in the configuration names has its share of the record; without tokens all
// callers have one together, whatever token they make up.
func TestCallersWithoutCheckedTokensAreOnePrincipal(t *testing.T) {
	large := "return 42 //" + strings.Repeat("x", 100<<10)
	for _, test := range []struct {
		name, http, other string
		otherIsServed     bool
	}{
		{"with tokens each has its own",
			`"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${BERT}", "principal": "bert"}]}, `,
			bertsToken, true},
		{"without tokens a made up one has none", "", "another-made-up-token", false},
		{"without tokens no token has none", "", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := open(t, `{`+test.http+`"store": {"share": "1MiB"}, "evaluation": {"profiles": {"p": {}}}}`,
				server.Options{},
				func(o *codemode.Options) { o.RecordDir = t.TempDir() })
			h.variables = map[string]string{"ANNA": annasToken, "BERT": bertsToken}
			at := h.listen()
			run := func(token, code string) string {
				c := h.connectHTTPAs(at, token, "2026-07-28")
				text, _ := c.eval("codemode_eval", code)
				return text
			}
			refused := false
			for range 500 {
				if text := run(annasToken, large); strings.Contains(text, "has used up the share of the record") {
					refused = true
					break
				}
			}
			if !refused {
				t.Fatal("500 programs of 100 KiB were recorded")
			}
			if text := run(test.other, large); strings.HasPrefix(text, "42") != test.otherIsServed {
				t.Errorf("the other caller hears: %s", text)
			}
		})
	}
}

// listenWithLongTurns is listen with turns that no time ends.
func (h *house) listenWithLongTurns() string {
	h.t.Helper()
	web, err := h.server.HTTP(server.HTTPOptions{})
	checktest.OK(h.t, err)
	web.LongTurns()
	listener := httptest.NewServer(web)
	h.t.Cleanup(func() {
		web.Close()
		listener.Close()
	})
	return listener.URL + server.Path
}

// Point 48 of issue 15: a program that waits for a person or a tool keeps nobody from a turn.
func TestS48WhatWaitsHasNoTurn(t *testing.T) {
	h := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"]}}}}`, server.Options{})
	url := h.listenWithLongTurns()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		asked, answer := make(chan bool, 100), make(chan bool)
		slow := func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked <- true
			<-answer
			return says("decline", nil)(ctx, p)
		}
		all := sync.WaitGroup{}
		for range 4*runtime.GOMAXPROCS(0) + 4 { // more than there are turns
			c := h.connectHTTPOn(url, slow, version)
			all.Go(func() {
				c.eval("codemode_eval_p", `await codemode.filesystem.write_file({path: "c.md", content: "c"})`)
			})
			<-asked
		}
		h.connectHTTPOn(url, nil, version).want("codemode_eval_p", "return 40 + 2", "42")
		close(answer)
		all.Wait()
	}
}

// Nor does a program that sleeps: a thousand of them got two hundred answers a second with idle processors.
func TestWhatSleepsHasNoTurn(t *testing.T) {
	h := open(t, `{"evaluation": {"profiles": {"p": {}}}}`, server.Options{})
	url := h.listenWithLongTurns()
	ctx, wake := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 4*runtime.GOMAXPROCS(0) + 4 { // more than there are turns
		c := h.connectHTTPOn(url, nil, "2026-07-28")
		all.Go(func() {
			_, _ = c.CallTool(ctx, &mcp.CallToolParams{Name: "codemode_eval_p", Arguments: map[string]any{
				"code": `await new Promise((done) => setTimeout(done, 3600e3))`}})
		})
	}
	h.connectHTTPOn(url, nil, "2026-07-28").want("codemode_eval_p",
		"await new Promise((done) => setTimeout(done, 300)); return 40 + 2", "42")
	wake()
	all.Wait()
}
