package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// told runs a call for a client that wants to hear how it goes, and says when it heard what, and when the result came.
func told(t *testing.T, do handler) (reports []string, last, end time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newBench()
		defer s.exchanges.close(0)
		server := mcp.NewServer(&mcp.Implementation{Name: "tested", Version: "1"}, nil)
		server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				c := s.newConversation(req, s.senderOf(req), &sessionElicitor{server: s.shared, call: ctx, request: req})
				defer c.report(ctx, req)()
				return do(ctx, c), nil
			})
		began := time.Now()
		var mu sync.Mutex
		client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				mu.Lock()
				defer mu.Unlock()
				last = time.Since(began)
				reports = append(reports, fmt.Sprintf("%v %s", last.Round(10*time.Millisecond), r.Params.Message))
			},
		})
		here, there := mcp.NewInMemoryTransports()
		serving, err := server.Connect(t.Context(), there, nil)
		if err != nil {
			t.Fatal(err)
		}
		session, err := client.Connect(t.Context(), here, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := &mcp.CallToolParams{Name: "tool", Arguments: map[string]any{}}
		p.SetProgressToken("token")
		if _, err := session.CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		end = time.Since(began)
		session.Close()
		serving.Wait()
		synctest.Wait()
	})
	return reports, last, end
}

// lasts is a call that takes so long; news comes at the given times before its end.
func lasts(d time.Duration, news ...time.Duration) handler {
	return func(ctx context.Context, c *conversation) *mcp.CallToolResult {
		began := time.Now()
		for _, at := range news {
			time.Sleep(d - at - time.Since(began))
			c.progress("up__work", at.Seconds(), 0, "")
		}
		time.Sleep(d - time.Since(began))
		return &mcp.CallToolResult{}
	}
}

// thinks is a call that waits for a person.
func thinks(d time.Duration) handler {
	return func(_ context.Context, c *conversation) *mcp.CallToolResult {
		about := "up__write"
		c.waiting.Store(&about)
		time.Sleep(d)
		c.waiting.Store(nil)
		return &mcp.CallToolResult{}
	}
}

// A client is told at once until when a question waits, and where it can be answered.
func TestProgressSaysWhereToAnswerAndUntilWhen(t *testing.T) {
	asks := func(_ context.Context, c *conversation) *mcp.CallToolResult {
		defer c.asked("pay.create", []string{"codemode console", "codemode approvals"},
			time.Date(2026, 7, 1, 10, 45, 0, 0, time.UTC))()
		time.Sleep(500 * time.Millisecond)
		return &mcp.CallToolResult{}
	}
	const want = "0s waiting until 10:45:00 UTC for a person to decide about pay.create; the answer can be given codemode console or codemode approvals"
	if reports, _, _ := told(t, asks); !slices.Equal(reports, []string{want}) {
		t.Errorf("got the reports %q, want %q", reports, want)
	}
}

// Clients that read a report together with the result take it for one of a call that is over.
func TestNoReportComesWithTheResult(t *testing.T) {
	for _, test := range []struct {
		name    string
		do      handler
		reports []string
	}{
		{"a call that ends at once", lasts(0), nil},
		{"a short call", lasts(200 * time.Millisecond), nil},
		{"a call that ends with the first report", lasts(firstProgress), []string{"1s running"}},
		{"a call that ends with a later one", lasts(firstProgress + progressEvery), []string{"1s running", "11s running"}},
		{"a call of which an upstream reports at its end", lasts(300*time.Millisecond, 0), []string{"300ms up__work: 0"}},
		{"a call for which a person thinks", thinks(2 * time.Second),
			[]string{"1s waiting for a person to decide about up__write"}},
		{"and shortly before", lasts(300*time.Millisecond, 10*time.Millisecond, 0),
			[]string{"290ms up__work: 0.01", "300ms up__work: 0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			reports, last, end := told(t, test.do)
			if !slices.Equal(reports, test.reports) {
				t.Errorf("got the reports %q, want %q", reports, test.reports)
			}
			if len(reports) > 0 && end-last < readApart {
				t.Errorf("the result came %v after the last report, want %v", end-last, readApart)
			}
			if len(reports) == 0 && end > time.Second {
				t.Errorf("the result came after %v", end)
			}
		})
	}
}
