package recorder

import (
	"context"
	"encoding/json"
	"github.com/codemode-project/codemode/call"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/otlp"
	"github.com/codemode-project/codemode/internal/store"
	_ "github.com/codemode-project/codemode/store/sqlite"
)

func TestOTLP(t *testing.T) {
	var mu sync.Mutex
	var events []string
	busy := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if busy { // once
			busy = false
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		raw, _ := io.ReadAll(r.Body)
		var got struct {
			ResourceLogs []struct {
				ScopeLogs []struct{ LogRecords []logRecord }
			}
		}
		if err := json.Unmarshal(raw, &got); err != nil || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("X-Tenant") != "t" {
			t.Errorf("%v %s", err, raw)
			return
		}
		for _, record := range got.ResourceLogs[0].ScopeLogs[0].LogRecords {
			var e audit.Entry
			if err := json.Unmarshal([]byte(*record.Body.String), &e); err != nil || e.Hash == "" {
				t.Errorf("the body is no entry: %s", *record.Body.String)
			}
			events = append(events, record.EventName+" "+record.Text+" "+*record.Attributes[0].Value.String)
		}
	}))
	defer server.Close()
	o := newExport(otlp.Collector{URL: server.URL, Headers: map[string]string{"X-Tenant": "t"}},
		slog.New(slog.DiscardHandler))
	key, err := audit.NewKey(make([]byte, 32))
	checktest.OK(t, err)
	path := filepath.Join(t.TempDir(), "codemode.db")
	r := audit.New(audit.Options{Key: key, Export: o.Add, Open: func(ctx context.Context) (*store.DB, error) {
		return store.Open(ctx, store.Options{Path: path})
	}})
	for _, e := range []call.Entry{
		{Kind: audit.Call, State: audit.Running, Run: "r_1", Call: 1, Tool: "fs__read"},
		{Kind: audit.Call, State: audit.Unknown, Run: "r_1", Call: 1, Tool: "fs__read", MS: 2.5},
	} {
		checktest.OK(t, r.Add(t.Context(), e))
	}
	checktest.OK(t, r.Close(t.Context()))
	o.Close(t.Context())
	mu.Lock()
	defer mu.Unlock()
	if len(events) != 2 || events[0] != "codemode.call INFO running" || events[1] != "codemode.call WARN unknown" {
		t.Errorf("the collector got %q", events)
	}
}
