package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// A logHandler prints log records for people: a line with the message and its
// values, and below it, indented, the values that take several lines, such as
// a problem in a configuration with its source line.
type logHandler struct {
	out   io.Writer
	least slog.Level
	attrs []slog.Attr
	mu    *sync.Mutex
}

func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.least }

func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	var line, below strings.Builder
	fmt.Fprintf(&line, "codemode: %s: %s", strings.ToLower(r.Level.String()), r.Message)
	add := func(a slog.Attr) bool {
		value := a.Value.Resolve().String()
		switch {
		case strings.Contains(value, "\n"):
			below.WriteString("\n    " + strings.ReplaceAll(strings.TrimRight(value, "\n"), "\n", "\n    "))
		case strings.ContainsAny(value, " =") || value == "":
			fmt.Fprintf(&line, " %s=%q", a.Key, value)
		default:
			fmt.Fprintf(&line, " %s=%s", a.Key, value)
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.out, printable(line.String()+below.String())+"\n")
	return err
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{out: h.out, least: h.least, mu: h.mu, attrs: append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)}
}

// WithGroup keeps the names of values as they are: nobody reads them by program.
func (h *logHandler) WithGroup(string) slog.Handler { return h }
