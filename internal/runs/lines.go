package runs

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

const (
	lineBytes = 100 // what is longer is printed over several lines,
	lineDeep  = 4   // if it is not deeper in the value
	tableRows = 4   // an array of fewer objects is no table
	tableDeep = 3   // nor is one that is deeper in the value
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

// note explains the tables.
func (f *fitter) note() string {
	if !f.tabled {
		return ""
	}
	return tableNote
}

const tableNote = `(each {"keys": [...], "rows": [[...], ...]} stands for an array of objects that all have these keys)` + "\n"

// tables prints each array of objects with the same keys as a table.
func (f *fitter) tables(raw json.RawMessage, levels int) json.RawMessage {
	first := raw[space(raw, 0)]
	if levels == 0 || first != '[' && first != '{' {
		return raw
	}
	keys, parts, _ := split(raw, 2*len(raw))
	head, rows := rowsOf(keys, parts)
	if rows != nil {
		f.tabled = true
		return slices.Concat(head, listOf(rows), json.RawMessage{'}'})
	}
	for i, part := range parts {
		parts[i] = f.tables(part, levels-1)
		if keys != nil {
			parts[i] = slices.Concat(keys[i], json.RawMessage{':'}, parts[i])
		}
	}
	list := listOf(parts)
	list[0], list[len(list)-1] = first, first+2 // { } or [ ]
	return list
}

// rowsOf takes the objects of an array apart, if they all have the same keys in the same order: head is the table with
// these keys up to its rows.
func rowsOf(keys, parts []json.RawMessage) (head json.RawMessage, rows []json.RawMessage) {
	if keys != nil || len(parts) < tableRows {
		return nil, nil
	}
	var names []json.RawMessage
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	for _, part := range parts {
		if part[0] != '{' {
			return nil, nil
		}
		keys, cells, _ := split(part, 2*len(part))
		if rows == nil {
			names = keys
		}
		if len(keys) < 2 || !slices.EqualFunc(keys, names, same) {
			return nil, nil
		}
		rows = append(rows, listOf(cells))
	}
	return slices.Concat(json.RawMessage(`{"keys":`), listOf(names), json.RawMessage(`,"rows":`)), rows
}

func listOf(parts []json.RawMessage) json.RawMessage {
	b := []byte{'['}
	for i, part := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, part...)
	}
	return append(b, ']')
}
