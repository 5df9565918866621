package server

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/visible"
)

// A client that asks for progress sees the console and the calls of a run while it runs. The result has all of it, so
// the reports need not: a run that is short has none, and what does not fit into a report is counted.
const (
	firstLive = 200 * time.Millisecond // the first one; a shorter run has only its result
	liveEvery = 250 * time.Millisecond // the shortest interval
	liveBytes = 2 << 10                // of one report: the latest lines
	liveLine  = 512                    // bytes of one line
)

// live is what happened in a run since the last report. Its zero value is empty.
type live struct {
	mu    sync.Mutex
	lines []string
	bytes int
	left  int // lines that had no room
}

// observe is the run's Observe.
func (c *conversation) observe(e codemode.Event) {
	switch e.Kind {
	case codemode.CallStarted, codemode.CallEnded, codemode.Printed, codemode.EventsLost:
	default: // the questions have reports of their own, see asked
		return
	}
	text := visible.Text(e.String())
	if len(text) > liveLine {
		text = strings.ToValidUTF8(text[:liveLine], "") + "…"
	}
	c.live.add(text)
	select {
	case c.happened <- struct{}{}:
	default:
	}
}

func (l *live) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines, l.bytes = append(l.lines, line), l.bytes+len(line)+1
	for l.bytes > liveBytes {
		l.bytes -= len(l.lines[0]) + 1
		l.lines = l.lines[1:]
		l.left++
	}
}

// take empties it.
func (l *live) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.Join(l.lines, "\n")
	if l.left > 0 {
		text = fmt.Sprintf("(%d earlier lines are not shown)\n%s", l.left, text)
	}
	l.lines, l.bytes, l.left = nil, 0, 0
	return text
}
