package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/codemode-project/codemode/approvals"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func terminalOptions(w io.Writer) approvals.TerminalOptions {
	f, ok := w.(*os.File)
	return approvals.TerminalOptions{Color: ok && isTerminal(f) && os.Getenv("NO_COLOR") == ""}
}

// printable writes what could move a cursor or hide something as an escape.
// Programs, servers and files choose much of what is printed here.
func printable(s string) string {
	clean := true
	for _, c := range s {
		clean = clean && (c == '\n' || c == '\t' || unicode.IsPrint(c))
	}
	if clean {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if c == '\n' || c == '\t' || unicode.IsPrint(c) {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, c)
		}
	}
	return b.String()
}

// pretty indents JSON and escapes in it what is not printable. It stays JSON.
func pretty(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return printable(string(value))
	}
	var out strings.Builder
	for _, c := range b.String() {
		switch {
		case c == '\n' || unicode.IsPrint(c):
			out.WriteRune(c)
		case c > 0xffff:
			c -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, c)
		}
	}
	return out.String()
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

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
