package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/codemode-project/codemode/config"

	"golang.org/x/term"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/preflight"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func terminalOptions(w io.Writer) terminal.Options {
	f, ok := w.(*os.File)
	return terminal.Options{Color: ok && isTerminal(f) && os.Getenv("NO_COLOR") == ""}
}

// errorLines is an error for a terminal. An error is one line, whatever texts of servers, programs and files are in it, but for
// those that are several: joined errors, problems with their places in a file, and what to do about a program that was not checked.
func errorLines(err error) []string {
	text := err.Error()
	switch e := err.(type) {
	case config.Problems, analysis.Problems, *preflight.Error:
		return strings.Split(strings.TrimRight(visible.Text(text), "\n"), "\n")
	case interface{ Unwrap() []error }:
		var lines []string
		texts := make([]string, 0, 2)
		for _, inner := range e.Unwrap() {
			texts = append(texts, inner.Error())
			lines = append(lines, errorLines(inner)...)
		}
		if text == strings.Join(texts, "\n") {
			return lines
		}
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		if inner == nil {
			break
		}
		if before, ok := strings.CutSuffix(text, inner.Error()); ok {
			lines := errorLines(inner)
			lines[0] = visible.Line(before) + lines[0]
			return lines
		}
	}
	return []string{visible.Line(text)}
}

// pretty indents JSON and escapes in it what is not printable. It stays JSON.
func pretty(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return visible.Line(string(value))
	}
	return visible.JSON(b.String())
}

// printJSON prints v as one indented object.
func printJSON(w io.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, pretty(raw))
	return err
}

// printJSONLine prints v as one object on a line.
func printJSONLine(w io.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, visible.JSON(string(raw)))
	return err
}

// A jsonScreen shows lines of JSON on a terminal, which files get as they are.
type jsonScreen struct {
	to   io.Writer
	rest []byte // a line without its end yet
}

func (w *jsonScreen) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	if _, err := io.WriteString(w.to, visible.JSON(string(w.rest[:end]))); err != nil {
		return 0, err
	}
	w.rest = append(w.rest[:0], w.rest[end:]...)
	return len(p), nil
}

// forScreen is w, or what makes JSON visible before it reaches a terminal.
func forScreen(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		return &jsonScreen{to: w}
	}
	return w
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
