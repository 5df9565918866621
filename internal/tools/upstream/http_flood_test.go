package upstream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// A server over HTTP that sends requests and does not take the answers keeps no more than some hundreds of them waiting
// in this process.
func TestAnswersThatAServerDoesNotTakeDoNotPileUp(t *testing.T) {
	t.Parallel()
	const requests, most = 600, 256
	var untaken atomic.Int32
	over := make(chan struct{})
	inner := handwritten(func(http.ResponseWriter, string, int) (string, bool) { return "", true })
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(body, &m)
		switch {
		case m.Method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range requests {
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"p%d\",\"method\":\"ping\"}\n\n", i)
			}
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", m.ID)
		case r.Method == http.MethodPost && m.Method == "" && strings.HasPrefix(string(m.ID), `"p`):
			untaken.Add(1)
			<-over
		default:
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			inner.ServeHTTP(w, r)
		}
	}))
	defer ts.Close()
	defer close(over)
	m := manage(t, upstream.Options{}, httpServer("s", ts.URL))
	if _, err := call(t, m, "s", "x", `{}`); err != nil {
		t.Fatal(err)
	}
	eventually(t, "answers wait", func() bool { return untaken.Load() >= most })
	for range 3 { // each has its own requests, and all that came before were dealt with
		if _, err := call(t, m, "s", "x", `{}`); err != nil {
			t.Fatal(err)
		}
	}
	if n := untaken.Load(); n > most {
		t.Errorf("%d answers wait for a server that does not take them, want at most %d", n, most)
	}
}
