package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/codemode-project/codemode/internal/visible"
)

// A bar shows how far a measurement has come, on a terminal; elsewhere nothing.
type bar struct {
	out   io.Writer // nil: not a terminal
	width int

	mu   sync.Mutex
	last time.Time
}

func newBar(w io.Writer) *bar {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(f) {
		return &bar{}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 40 {
		width = 80
	}
	return &bar{out: w, width: width}
}

// barEvery is how often a bar is drawn anew at most.
const barEvery = 50 * time.Millisecond

// show may be called from several goroutines.
func (b *bar) show(done, total int, what string) {
	if b.out == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if now.Sub(b.last) < barEvery || total <= 0 {
		return
	}
	b.last = now
	const cells = 20
	full := min(cells*done/total, cells)
	line := fmt.Sprintf("%s%s %d/%d  %s", strings.Repeat("#", full), strings.Repeat(".", cells-full), done, total, visible.Line(what))
	if r := []rune(line); len(r) >= b.width {
		line = string(r[:b.width-1])
	}
	fmt.Fprintf(b.out, "\r\x1b[K%s", line)
}

func (b *bar) clear() {
	if b.out != nil {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}
