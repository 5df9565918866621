package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// leastShare is the room below which a part of a value is left out instead of cut.
const leastShare = 80

// fitDeep is how many levels of a value are shortened.
const fitDeep = 12

const (
	tableRows = 4 // an array of fewer objects is no table
	tableDeep = 3 // nor is one that is deeper in the value
)

// A fitter shortens values.
type fitter struct {
	tabled bool // it has printed an array as a table
}

// fit shortens JSON to at most room bytes of valid JSON. Every cut says how much is missing: a text at its end, an
// array in an additional element, an object in an additional member named "…". It leaves out values nested deeper than
// levels: each level is read once more. The JSON must be valid. It may be large, so only what can be shown of it is
// copied. Objects with the same keys become a table.
func (f *fitter) fit(raw json.RawMessage, room, levels int) json.RawMessage {
	if len(raw) <= room {
		return raw
	}
	if levels == 0 {
		return marker(fmt.Sprintf("… %d bytes", len(raw)))
	}
	switch bytes.TrimLeft(raw, " \t\r\n")[0] {
	case '[', '{':
		keys, parts, total := split(raw, room)
		if head, rows := rowsOf(keys, parts); rows != nil {
			f.tabled = true
			rest := f.fitParts(rows, nil, total, room-len(head)-1, levels-1)
			return slices.Concat(head, rest, json.RawMessage{'}'})
		}
		return f.fitParts(parts, keys, total, room, levels-1)
	case '"':
		var text string
		if json.Unmarshal(raw, &text) == nil {
			return fitText(text, room)
		}
	}
	return marker(fmt.Sprintf("… %d bytes", len(raw)))
}

// fitParts shortens an array, or with keys an object, of total parts. It cuts large parts before small ones. When even
// equal shares would be too small, it leaves out the last parts.
func (f *fitter) fitParts(parts, keys []json.RawMessage, total, room, levels int) json.RawMessage {
	opening, closing, noun := byte('['), byte(']'), "items"
	if keys != nil {
		opening, closing, noun = '{', '}', "members"
	}
	overhead := func(i int) int {
		if keys != nil {
			return len(keys[i]) + 2 // colon, comma
		}
		return 1
	}
	room -= 2 + 60 // brackets and the note about what is missing
	share := level(parts, overhead, room)
	var b bytes.Buffer
	b.WriteByte(opening)
	shown := 0
	for i, part := range parts {
		left := room - b.Len() - overhead(i)
		most := left
		if share >= leastShare {
			most = min(left, share)
		}
		if len(part) > most && most < leastShare || left < 0 {
			break
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if keys != nil {
			b.Write(keys[i])
			b.WriteByte(':')
		}
		b.Write(f.fit(part, most, levels))
		shown++
	}
	if missing := total - shown; missing > 0 {
		if shown > 0 {
			b.WriteByte(',')
		}
		if keys != nil {
			b.WriteString(`"…":`)
		}
		b.Write(marker(fmt.Sprintf("%d more %s", missing, noun)))
	}
	b.WriteByte(closing)
	return b.Bytes()
}

// level finds the size to which the largest parts must be cut for all to fit.
func level(parts []json.RawMessage, overhead func(int) int, room int) int {
	sizes := make([]int, len(parts))
	for i, p := range parts {
		sizes[i] = len(p)
		room -= overhead(i)
	}
	slices.Sort(sizes)
	for i, size := range sizes {
		left := len(sizes) - i
		if size*left > room {
			return max(room/left, 0)
		}
		room -= size
	}
	return room
}

func fitText(text string, room int) json.RawMessage {
	runes := utf8.RuneCountInString(text)
	note := fmt.Sprintf("… (%d more characters)", runes)
	var b strings.Builder
	used, count := 2+len(note), 0
	for _, c := range text {
		size := len(marker(string(c))) - 2
		if used+size > room {
			break
		}
		used += size
		count++
		b.WriteRune(c)
	}
	return marker(fmt.Sprintf("%s… (%d more characters)", b.String(), runes-count))
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

// split takes an array or object apart and keeps the order of its keys, which are nil for an array. It counts all
// parts, and returns those that can fit into room: each takes at least two bytes. If there are more, equal shares of room are
// too small to cut parts to, with those that it returns as with all.
func split(raw []byte, room int) (keys, parts []json.RawMessage, total int) {
	at := space(raw, 0)
	if raw[at] == '{' {
		keys = []json.RawMessage{}
	}
	for at = space(raw, at+1); at < len(raw) && raw[at] != ']' && raw[at] != '}'; total++ {
		if keys != nil {
			end := valueEnd(raw, at)
			if total <= room/2 {
				var name string
				_ = json.Unmarshal(raw[at:end], &name) // it is valid
				keys = append(keys, marker(name))
			}
			at = space(raw, end)
			at = space(raw, at+1) // behind the colon
		}
		end := valueEnd(raw, at)
		if total <= room/2 {
			parts = append(parts, raw[at:end:end])
		}
		if at = space(raw, end); at < len(raw) && raw[at] == ',' {
			at = space(raw, at+1)
		}
	}
	return keys, parts, total
}

// space is where the white space at a place of JSON ends.
func space(raw []byte, at int) int {
	for at < len(raw) && (raw[at] == ' ' || raw[at] == '\t' || raw[at] == '\r' || raw[at] == '\n') {
		at++
	}
	return at
}

// valueEnd is where the value at a place of valid JSON ends.
func valueEnd(raw []byte, at int) int {
	for depth := 0; at < len(raw); {
		switch raw[at] {
		case '"':
			for at++; at < len(raw) && raw[at] != '"'; at++ {
				if raw[at] == '\\' {
					at++
				}
			}
			at++
		case '[', '{':
			depth++
			at++
		case ']', '}':
			depth--
			at++
		case ',', ':', ' ', '\t', '\r', '\n': // inside a container
			at++
			continue
		default:
			for at < len(raw) && raw[at] != ',' && raw[at] != ']' && raw[at] != '}' && raw[at] > ' ' {
				at++
			}
		}
		if depth <= 0 {
			return min(at, len(raw))
		}
	}
	return len(raw)
}

// marker encodes text as JSON and leaves <, > and & as they are.
func marker(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil { // cannot happen: a string always encodes
		panic(err)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
