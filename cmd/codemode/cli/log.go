package cli

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/codemode-project/codemode/internal/visible"
)

// A logHandler prints log records for people: one line with the message and its values, and below it, indented, errors
// of several lines, such as a problem in a configuration with its source line. Text from elsewhere never begins a line.
type logHandler struct {
	out   io.Writer
	least slog.Level
	attrs []slog.Attr
	mu    *sync.Mutex
}

// NewLogger logs records of a level and above.
func NewLogger(w io.Writer, least slog.Level) *slog.Logger {
	return slog.New(&logHandler{out: w, least: least, mu: new(sync.Mutex)})
}

func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.least }

func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	var line, below strings.Builder
	visible.Fprintf(&line, "codemode: %s: %s", strings.ToLower(r.Level.String()), r.Message)
	add := func(a slog.Attr) bool {
		value := a.Value.Resolve()
		text := value.String()
		if err, ok := value.Any().(error); ok {
			if lines := ErrorLines(err); len(lines) > 1 {
				below.WriteString("\n    " + strings.Join(lines, "\n    "))
				return true
			}
		}
		if strings.ContainsAny(text, " =\"\t\r\n") || text == "" {
			text = strconv.Quote(text)
		}
		visible.Fprintf(&line, " %s=%s", a.Key, text)
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.out, line.String()+below.String()+"\n")
	return err
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{out: h.out, least: h.least, mu: h.mu, attrs: append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)}
}

// WithGroup keeps the names of values as they are: only people read them.
func (h *logHandler) WithGroup(string) slog.Handler { return h }
