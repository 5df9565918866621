package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// valueText prints a value as JSON: over several lines when it is small, one element a line when it is larger, and
// shortened to valid JSON, below a note that says so, when it does not fit into room. kept says where the whole value
// is; it may be nil.
func valueText(value json.RawMessage, room int, kept *Kept) string {
	if value == nil {
		return "undefined"
	}
	if text, ok := printed(value, room); ok {
		return text
	}
	if !json.Valid(value) {
		value = marker(fmt.Sprintf("… %d bytes that are no JSON", len(value)))
	}
	text := cutByLine(value, room)
	what := fmt.Sprintf("(cut: the value has %d bytes as JSON and %d are shown; … marks what is missing", len(value),
		len(text))
	if kept != nil {
		return fmt.Sprintf("%s. %s)\n%s", what, kept.note(""), text)
	}
	return what + "; return only the part that is needed)\n" + text
}

// cutByLine shortens a value to room bytes, with one element a line. The shorter the elements, the more of the room is
// for the ends of lines.
func cutByLine(value json.RawMessage, room int) string {
	text := ""
	for _, ends := range []int{8, 3, 2} {
		var f fitter
		short := f.fit(value, room-room/ends-len(tableNote), fitDeep)
		var ok bool
		if text, ok = byLine(short, room-len(f.note())); ok {
			return f.note() + text
		}
		text = f.note() + text
	}
	return text
}

// printed prints a value whole, if that takes at most room bytes.
func printed(value json.RawMessage, room int) (text string, whole bool) {
	if len(value) <= prettyBytes {
		var b bytes.Buffer
		if json.Indent(&b, value, "", "  ") == nil && b.Len() <= room && bytes.Count(b.Bytes(), []byte("\n")) <= prettyLines {
			return b.String(), true
		}
	}
	if len(value) > 4*room || !json.Valid(value) { // no table is that much shorter
		return "", false
	}
	var f fitter
	table := f.tables(value, tableDeep)
	if len(table)+len(f.note()) >= len(value) {
		table, f = value, fitter{}
	}
	if len(f.note())+len(table) > room {
		return "", false
	}
	text, _ = byLine(table, room-len(f.note()))
	return f.note() + text, true
}

const (
	lineBytes = 100 // what is longer is printed over several lines,
	lineDeep  = 4   // if it is not deeper in the value

	prettyBytes = 2 << 10 // a value up to this long is indented,
	prettyLines = 40      // if it has no more lines than that
)

// byLine prints valid JSON one element a line, so that a reader finds its way, and a client that cuts an answer cuts it
// between elements. If that takes more than room bytes, it prints one line and ok is false.
func byLine(raw json.RawMessage, room int) (text string, ok bool) {
	var b strings.Builder
	writeByLine(&b, raw, 0, room)
	if b.Len() > room {
		return string(raw), false
	}
	return b.String(), true
}

func writeByLine(b *strings.Builder, raw json.RawMessage, depth, room int) {
	first := raw[space(raw, 0)]
	if len(raw) <= lineBytes || depth == lineDeep || first != '[' && first != '{' || b.Len() > room {
		b.Write(raw)
		return
	}
	keys, parts, _ := split(raw, 2*len(raw))
	b.WriteByte(first)
	line := lineBytes
	for i, part := range parts {
		if i > 0 {
			b.WriteByte(',')
		}
		if line += len(part); line > lineBytes || part[0] == '{' || part[0] == '[' { // short texts and numbers share a line
			b.WriteString("\n" + strings.Repeat(" ", depth+1))
			line = len(part)
		}
		if keys != nil {
			line += len(keys[i])
			b.Write(keys[i])
			b.WriteByte(':')
		}
		writeByLine(b, part, depth+1, room)
	}
	b.WriteString("\n" + strings.Repeat(" ", depth))
	b.WriteByte(first + 2) // ] or }
}
