package upstream

import (
	"strings"
	"sync"
)

// tailMax is how much of a server's standard error is kept: enough for a stack
// trace, and all that a flood can ever take.
const tailMax = 8 << 10

// A tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
	cut bool
	n   int64 // bytes in all
}

// written returns how many bytes were written in all.
func (t *tail) written() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	t.n += int64(n)
	if len(p) > tailMax {
		p, t.cut = p[len(p)-tailMax:], true
	}
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailMax; over > 0 {
		t.buf, t.cut = append(t.buf[:0], t.buf[over:]...), true
	}
	return n, nil
}

// String returns whole lines where it can.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.ToValidUTF8(string(t.buf), "\uFFFD")
	if t.cut {
		if _, rest, ok := strings.Cut(s, "\n"); ok && rest != "" {
			s = rest
		}
	}
	return strings.TrimRight(s, "\r\n")
}

// last returns the last line that says something.
func (t *tail) last() string {
	s := strings.TrimRight(t.String(), " \t\r\n")
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}
