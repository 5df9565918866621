package upstream

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAFloodIsReadSlowly(t *testing.T) {
	for _, row := range []struct {
		what   string
		points int
	}{
		{"messages that nobody asked for", unasked},
		{"progress of a call", awaited},
	} {
		t.Run(row.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pacedReader{from: strings.NewReader("")}
				pass := func(points int) time.Duration {
					began := time.Now()
					for ; points > 0; points -= row.points {
						p.spend(row.points, 10)
						_, _ = p.Read(nil) // io.EOF
					}
					return time.Since(began)
				}
				if took := pass(paceBurst); took > time.Second {
					t.Errorf("what comes at once at first took %v", took)
				}
				if took := pass(10 * paceRate); took < 8*time.Second || took > 12*time.Second {
					t.Errorf("ten seconds' worth took %v", took)
				}
				time.Sleep(time.Minute)
				if took := pass(paceBurst / 2); took > time.Second {
					t.Errorf("after a quiet minute half a burst took %v", took)
				}
			})
		})
	}
}

func TestWhatAnEventCosts(t *testing.T) {
	for _, row := range []struct {
		what, data string
		points     int
	}{
		{"an answer", `{"jsonrpc":"2.0","id":7,"result":{}}`, awaited},
		{"progress", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"call-1","progress":1}}`, awaited},
		{"other tools", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, unasked},
		{"a long log line", `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("x", 10<<10) + `"}}`, unasked + 10},
		{"nothing", "", awaited},
	} {
		f := newEventFilter(io.NopCloser(strings.NewReader("data: "+row.data+"\n\n")), 1<<20, nil)
		if _, err := io.Copy(io.Discard, f); err != nil || f.pace.spent != row.points {
			t.Errorf("%s costs %d points (%v), want %d", row.what, f.pace.spent, err, row.points)
		}
	}
}
