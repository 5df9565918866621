package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/sandbox"
)

func printed(text string) codemode.Event {
	return codemode.Event{Kind: codemode.Printed, Line: sandbox.Line{Level: "log", Text: text}}
}

// prints is a run that prints a line at each of these times, and ends at the last.
func prints(at ...time.Duration) handler {
	return func(_ context.Context, c *conversation) *mcp.CallToolResult {
		began := time.Now()
		for i, t := range at {
			time.Sleep(t - time.Since(began)) // the time of the bubble that told makes
			if i < len(at)-1 {
				c.observe(printed(fmt.Sprint(i)))
			}
		}
		return &mcp.CallToolResult{}
	}
}

// A short run has only its result; a long one is reported at most every quarter of a second, each line once.
func TestARunIsReportedWhileItRuns(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name    string
		do      handler
		reports []string
	}{
		{"a run that ends soon", prints(0, 10*ms, 150*ms), nil},
		{"lines at the beginning come together", prints(0, 10*ms, 900*ms), []string{"200ms log: 0\nlog: 1"}},
		{"later ones at once, if there was none for a while", prints(0, 600*ms, 900*ms),
			[]string{"200ms log: 0", "600ms log: 1"}},
		{"and else after a while", prints(0, 210*ms, 220*ms, 900*ms), []string{"200ms log: 0", "450ms log: 1\nlog: 2"}},
		{"a long silence in between", prints(0, 1900*ms, 2000*ms),
			[]string{"200ms log: 0", "1s running", "1.9s log: 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if reports, _, _ := told(t, test.do); !slices.Equal(reports, test.reports) {
				t.Errorf("got %q, want %q", reports, test.reports)
			}
		})
	}
}

// A program that prints without end cannot flood a client.
func TestAFloodOfLinesIsCounted(t *testing.T) {
	reports, _, _ := told(t, func(_ context.Context, c *conversation) *mcp.CallToolResult {
		for i := range 10 {
			for j := range 300 {
				c.observe(printed(fmt.Sprintf("%d\u202e%s", i*300+j, strings.Repeat("ü", j))))
			}
			time.Sleep(100 * time.Millisecond) // the time of the bubble
		}
		return &mcp.CallToolResult{}
	})
	if len(reports) > 5 || len(reports) < 3 {
		t.Errorf("there are %d reports in a second, want 3 to 5", len(reports))
	}
	for _, r := range reports {
		if r == "1s running" {
			continue
		}
		if len(r) > liveBytes+100 || !strings.Contains(r, " earlier lines are not shown)\nlog: ") ||
			strings.Contains(r, "\u202e") {
			t.Errorf("a report of %d bytes: %.200q", len(r), r)
		}
	}
}

// What people are asked stands below what happened.
func TestAReportOfARunSaysWhatItWaitsFor(t *testing.T) {
	about := "up__write"
	reports, _, _ := told(t, func(_ context.Context, c *conversation) *mcp.CallToolResult {
		c.observe(codemode.Event{Kind: codemode.CallStarted, Call: 1, Tool: about})
		c.observe(codemode.Event{Kind: codemode.CallAsked, Call: 1, Tool: about})
		c.waiting.Store(&about)
		time.Sleep(500 * time.Millisecond) // a person thinks, in the bubble
		return &mcp.CallToolResult{}
	})
	want := []string{"200ms call 1: up__write\nwaiting for a person to decide about up__write"}
	if !slices.Equal(reports, want) {
		t.Errorf("got %q, want %q", reports, want)
	}
}
