package audit

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
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
		var got otlpLogs
		if err := json.Unmarshal(raw, &got); err != nil || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Tenant") != "t" {
			t.Errorf("%v %s", err, raw)
			return
		}
		for _, record := range got.ResourceLogs[0].ScopeLogs[0].LogRecords {
			var e Entry
			if err := json.Unmarshal([]byte(*record.Body.String), &e); err != nil || e.Hash == "" {
				t.Errorf("the body is no entry: %s", *record.Body.String)
			}
			events = append(events, record.EventName+" "+record.Text+" "+*record.Attributes[0].Value.String)
		}
	}))
	defer server.Close()
	o := NewOTLP(server.URL, map[string]string{"X-Tenant": "t"}, server.Client(), slog.New(slog.DiscardHandler))
	r, end := memory(t, func(options *Options) { options.Export = o.Emit })
	check(t, r.Add(t.Context(), Entry{Kind: Call, State: Running, Run: "r_1", Call: 1, Tool: "fs__read"}))
	check(t, r.Add(t.Context(), Entry{Kind: Call, State: Unknown, Run: "r_1", Call: 1, Tool: "fs__read", MS: 2.5}))
	end()
	o.Close(t.Context())
	mu.Lock()
	defer mu.Unlock()
	if len(events) != 2 || events[0] != "codemode.call INFO running" || events[1] != "codemode.call WARN unknown" {
		t.Errorf("the collector got %q", events)
	}
}
