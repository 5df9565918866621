package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/visible"
)

// Streams are what a command reads and writes, and how it starts a worker.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Worker   []string // command of a process that reads programs; nil reads programs in this process
}

// TerminalFile returns the file behind a stream, nil if the stream is not a terminal.
func TerminalFile(stream any) *os.File {
	if f, ok := stream.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// ErrorLines is an error for a terminal. An error is one line, whatever texts of servers, programs and files it
// contains. Three kinds have several lines: joined errors, problems with their positions in a file, and what to do
// about an unchecked program.
func ErrorLines(err error) []string {
	text := err.Error()
	switch e := err.(type) {
	case config.Problems, analysis.Problems, *preflight.Error:
		return strings.Split(strings.TrimRight(visible.Text(text), "\n"), "\n")
	case interface{ Unwrap() []error }:
		var lines []string
		texts := make([]string, 0, 2)
		for _, inner := range e.Unwrap() {
			texts = append(texts, inner.Error())
			lines = append(lines, ErrorLines(inner)...)
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
			lines := ErrorLines(inner)
			lines[0] = visible.Line(before) + lines[0]
			return lines
		}
	}
	return []string{visible.Line(text)}
}

// Indented indents JSON and escapes unprintable characters. The result is still JSON.
func Indented(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return visible.Line(string(value))
	}
	return visible.JSON(b.String())
}

// PrintJSON prints v as one indented object. The error has an exit code.
func PrintJSON(w io.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintln(w, Indented(raw))
	}
	return InternalError(err)
}

// PrintJSONLine prints v as one object on a line. The error has an exit code.
func PrintJSONLine(w io.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintln(w, visible.JSON(string(raw)))
	}
	return InternalError(err)
}

// escapingWriter writes lines of JSON to a terminal and escapes unprintable characters.
type escapingWriter struct {
	to   io.Writer
	rest []byte // an incomplete line
}

func (w *escapingWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	if _, err := io.WriteString(w.to, visible.JSON(string(w.rest[:end]))); err != nil {
		return 0, err
	}
	w.rest = append(w.rest[:0], w.rest[end:]...)
	return len(p), nil
}

// JSONWriter is a writer for JSON: for a terminal it escapes unprintable characters, for a file it changes nothing.
func JSONWriter(w io.Writer) io.Writer {
	if TerminalFile(w) != nil {
		return &escapingWriter{to: w}
	}
	return w
}
