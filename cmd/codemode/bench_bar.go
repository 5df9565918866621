package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/visible"
)

// A bar shows the progress of a measurement: on a terminal in one line that it redraws, elsewhere in a new line every
// few seconds.
type bar struct {
	out      io.Writer
	terminal bool
	width    int
	now      func() time.Time
	began    time.Time

	mu   sync.Mutex
	last time.Time
}

func newBar(w io.Writer) *bar {
	b := &bar{out: w, now: time.Now, began: time.Now()}
	f := cli.TerminalFile(w)
	if b.terminal = f != nil; !b.terminal {
		b.last = b.began // a measurement shorter than lineEvery prints nothing
		return b
	}
	var err error
	if b.width, _, err = term.GetSize(int(f.Fd())); err != nil || b.width < 40 {
		b.width = 80
	}
	return b
}

const (
	barEvery  = 50 * time.Millisecond // the shortest time between two drawings
	lineEvery = 10 * time.Second      // the time between two lines without a terminal
)

// show may be called from several goroutines.
func (b *bar) show(done, total int, what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, every := b.now(), lineEvery
	if b.terminal {
		every = barEvery
	}
	if now.Sub(b.last) < every || total <= 0 {
		return
	}
	b.last = now
	if !b.terminal {
		took := now.Sub(b.began).Round(time.Second)
		fmt.Fprintf(b.out, "codemode: %d of %d after %v: %s\n", done, total, took, visible.Line(what))
		return
	}
	const cells = 20
	full := min(cells*done/total, cells)
	line := fmt.Sprintf("%s%s %d/%d  %s", strings.Repeat("#", full), strings.Repeat(".", cells-full), done, total,
		visible.Line(what))
	if r := []rune(line); len(r) >= b.width {
		line = string(r[:b.width-1])
	}
	fmt.Fprintf(b.out, "\r\x1b[K%s", line)
}

func (b *bar) clear() {
	if b.terminal {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}
