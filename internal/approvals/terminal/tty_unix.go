//go:build unix && !aix && !solaris

package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A tty reads a terminal only while a question is open. A read that cannot be cancelled would swallow input meant for
// other readers.
type tty struct {
	file *os.File // kept, so that its descriptor stays open
	fd   int
	rest []byte // input after the last line returned
}

// glance is how long a tty waits for input before it checks the context.
const glance = 50 * time.Millisecond

func newTTY(f *os.File) lineSource {
	fd := int(f.Fd())
	if fd >= unix.FD_SETSIZE { // select cannot watch it
		return newLines(f)
	}
	return &tty{file: f, fd: fd}
}

func (t *tty) drop() error {
	t.rest = nil
	return flushInput(t.fd)
}

func (t *tty) line(ctx context.Context) (string, error) {
	for {
		if s, rest, ok := bytes.Cut(t.rest, []byte("\n")); ok {
			t.rest = rest
			return strings.TrimRight(string(s), "\r"), nil
		}
		if len(t.rest) > maxLine {
			return "", errors.New("the line is too long")
		}
		ready, err := t.wait(ctx)
		if err != nil {
			return "", err
		}
		if !ready {
			continue
		}
		b := make([]byte, 4096)
		switch n, err := unix.Read(t.fd, b); {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		case err != nil:
			return "", err
		case n == 0:
			return "", io.EOF
		default:
			t.rest = append(t.rest, b[:n]...)
		}
	}
}

// wait reports whether there is input to read.
func (t *tty) wait(ctx context.Context) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	var fds unix.FdSet
	fds.Set(t.fd)
	timeout := unix.NsecToTimeval(int64(glance))
	n, err := unix.Select(t.fd+1, &fds, nil, nil, &timeout)
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return n > 0, err
}
