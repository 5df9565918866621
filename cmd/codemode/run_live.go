package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/visible"
)

// A liveConsole prints the lines of a program as it prints them.
type liveConsole struct {
	out io.Writer

	mu    sync.Mutex
	shown int
	over  bool
}

// see is the run's Observe. After a gap the rest is left to the end of the run.
func (l *liveConsole) see(e codemode.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case e.Kind == codemode.EventsLost:
		l.over = true
	case e.Kind == codemode.Printed && !l.over:
		head := ""
		if l.shown == 0 {
			head = "console:\n"
		}
		l.shown++
		fmt.Fprint(l.out, head+"  "+visible.Text(e.String())+"\n")
	}
}

// end stops the printing. It returns how many lines are shown.
func (l *liveConsole) end() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	return l.shown
}
