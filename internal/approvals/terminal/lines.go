package terminal

import (
	"bufio"
	"context"
	"io"
	"strings"
	"sync"
)

// A lineSource provides typed lines.
type lineSource interface {
	drop() error                              // discards what was typed so far
	line(ctx context.Context) (string, error) // without its end; returns when ctx ends
}

// lines reads from an input that cannot be interrupted: a pipe in a test, or a console without select. Its goroutine
// ends with the input.
type lines struct {
	in    io.Reader
	start sync.Once
	typed chan string // unbuffered: a line waits here until somebody asks, or drop discards it
}

func newLines(in io.Reader) *lines { return &lines{in: in, typed: make(chan string)} }

func (l *lines) drop() error {
	for {
		select {
		case _, ok := <-l.typed:
			if !ok {
				return nil
			}
		default:
			return nil
		}
	}
}

func (l *lines) line(ctx context.Context) (string, error) {
	l.start.Do(func() { go l.read() })
	select {
	case s, ok := <-l.typed:
		if !ok {
			return "", io.EOF
		}
		return s, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (l *lines) read() {
	defer close(l.typed)
	if l.in == nil {
		return
	}
	for r := bufio.NewReaderSize(l.in, maxLine); ; {
		s, err := r.ReadSlice('\n')
		if err == nil {
			l.typed <- strings.TrimRight(string(s), "\r\n")
			continue
		}
		return // a line without an end is nobody's answer
	}
}

// maxLine is the longest line a person types.
const maxLine = 16 << 10
