package upstream

import (
	"strings"
	"sync"
)

// tailMax is how much of the standard error a tail keeps: enough for a stack trace.
const tailMax = 8 << 10

// A tail keeps the end of the data written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
	n   int64 // bytes in all
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	t.n += int64(n)
	t.buf = append(t.buf, p[max(0, n-tailMax):]...)
	if over := len(t.buf) - tailMax; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return n, nil
}

// end returns the end, in whole lines where it can, and the length of all.
func (t *tail) end() (end string, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.ToValidUTF8(string(t.buf), "\uFFFD")
	if t.n > tailMax {
		if _, rest, ok := strings.Cut(s, "\n"); ok && rest != "" {
			s = rest
		}
	}
	return strings.TrimRight(s, "\r\n"), t.n
}
