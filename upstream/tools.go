package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of a server's tool list, far above those of real servers. A longer
// list is cut, and [Status.Notes] says so.
const (
	pagesMax       = 64
	toolsMax       = 5000
	toolNameMax    = 256
	descriptionMax = 16 << 10
	schemaMax      = 1 << 20
	annotationsMax = 16 << 10
	listMax        = 32 << 20 // bytes of all pages
	notesMax       = 100      // about omissions
)

// A Tool is one tool as its server describes it.
type Tool struct {
	Name        string // as the server spells it
	Title       string
	Description string
	Input       json.RawMessage // JSON Schema, an object; never nil
	Output      json.RawMessage // JSON Schema, an object; nil if the server gives none
	Annotations json.RawMessage // an object; nil if the server gives none
	Meta        json.RawMessage // its _meta, an object; nil if the server gives none

	// NeedsTask is set when the tool runs only as a task, an extension of the
	// protocol that is not supported: a call of it is an error.
	NeedsTask bool
}

var anyObject = json.RawMessage(`{"type":"object"}`)

// A toolList has the usable tools of a server, in the server's order.
type toolList struct {
	tools []Tool
	notes []string // omissions and their reasons, for people
	next  string   // cursor of the next page, "" on the last
	more  bool     // the page has more entries
}

// note adds a note, unless there are too many already.
func (l *toolList) note(format string, args ...any) {
	switch n := len(l.notes); {
	case n < notesMax:
		l.notes = append(l.notes, fmt.Sprintf(format, args...))
	case n == notesMax:
		l.notes = append(l.notes, "there are more such notes")
	}
}

// readTools reads one page of a list. It matches keys exactly, which decoding
// into a struct does not: others check the same bytes.
func readTools(result json.RawMessage) (*toolList, error) {
	var page map[string]json.RawMessage
	if err := json.Unmarshal(result, &page); err != nil {
		return nil, fmt.Errorf("its tool list is no object: %w", err)
	}
	l := new(toolList)
	var entries []json.RawMessage
	if raw := page["tools"]; raw != nil {
		var err error
		if entries, l.more, err = elements(raw, toolsMax+1); err != nil {
			return nil, fmt.Errorf("its tool list is no list")
		}
	}
	_ = json.Unmarshal(page["nextCursor"], &l.next) // anything but a string is no cursor
	for i, raw := range entries {
		t, err := readTool(raw)
		if err != nil {
			l.note("tool %d left out: %v", i+1, err)
			continue
		}
		l.tools = append(l.tools, *t)
	}
	return l, nil
}

func readTool(raw json.RawMessage) (*Tool, error) {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil, fmt.Errorf("it is no object")
	}
	t := &Tool{
		Name:        text(m["name"], toolNameMax+1),
		Title:       text(m["title"], toolNameMax),
		Description: text(m["description"], descriptionMax),
		Input:       object(m["inputSchema"]),
		Output:      object(m["outputSchema"]),
		Annotations: object(m["annotations"]),
		Meta:        object(m["_meta"]),
	}
	switch {
	case t.Name == "":
		return nil, fmt.Errorf("it has no name")
	case len(t.Name) > toolNameMax:
		return nil, fmt.Errorf("its name has more than %d bytes", toolNameMax)
	case strings.ContainsFunc(t.Name, unicode.IsControl):
		return nil, fmt.Errorf("its name %q has control characters", t.Name)
	}
	if t.Input == nil || len(t.Input) > schemaMax {
		t.Input = anyObject
	}
	if len(t.Output) > schemaMax {
		t.Output = nil
	}
	if len(t.Annotations) > annotationsMax {
		t.Annotations = nil
	}
	if len(t.Meta) > schemaMax {
		t.Meta = nil
	}
	var execution map[string]json.RawMessage
	_ = json.Unmarshal(m["execution"], &execution)
	t.NeedsTask = text(execution["taskSupport"], 20) == "required"
	return t, nil
}

// text returns the string that raw is, "" for anything else, cut at max bytes.
func text(raw json.RawMessage, max int) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	if len(s) > max {
		for max > 0 && !utf8.RuneStart(s[max]) {
			max--
		}
		s = s[:max]
	}
	return s
}

// object returns raw if it is a JSON object, nil for anything else.
func object(raw json.RawMessage) json.RawMessage {
	if b := bytes.TrimSpace(raw); len(b) > 0 && b[0] == '{' {
		return raw
	}
	return nil
}

// add appends the tools of another page that the operator wants.
func (l *toolList) add(page *toolList, s *Server) {
	for _, n := range page.notes {
		l.note("%s", n)
	}
	l.more = l.more || page.more
	for _, t := range page.tools {
		if s.Takes(t.Name) {
			l.tools = append(l.tools, t)
		}
	}
}

// finish removes duplicate names. The same definition twice is one tool. Two definitions of one name count as none:
// nobody knows which one a call would reach.
func (l *toolList) finish(s *Server) {
	if n := len(l.tools); n > toolsMax {
		many := fmt.Sprint(n)
		if l.more {
			many = fmt.Sprintf("more than %d", n-1)
		}
		l.note("it lists %s tools; only the first %d are taken", many, toolsMax)
		l.tools = l.tools[:toolsMax]
	}
	first := map[string]Tool{}
	conflicting := map[string]bool{}
	for _, t := range l.tools {
		if other, ok := first[t.Name]; ok && !sameTool(other, t) {
			conflicting[t.Name] = true
			continue
		}
		first[t.Name] = t
	}
	var out []Tool
	for _, t := range l.tools {
		switch _, ok := first[t.Name]; {
		case conflicting[t.Name]:
			if ok {
				l.note("tool %q left out: it is listed several times with different definitions", t.Name)
			}
		case ok:
			out = append(out, t)
		}
		delete(first, t.Name)
	}
	l.tools = out
	for _, name := range s.Include {
		listed := conflicting[name] || slices.ContainsFunc(l.tools, func(t Tool) bool { return t.Name == name })
		if !listed && s.Takes(name) {
			l.notes = append(l.notes, fmt.Sprintf("it has no tool %q, which the configuration includes", name))
		}
	}
}

func sameTool(a, b Tool) bool {
	return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description && a.NeedsTask == b.NeedsTask &&
		bytes.Equal(a.Input, b.Input) && bytes.Equal(a.Output, b.Output) && bytes.Equal(a.Annotations, b.Annotations) &&
		bytes.Equal(a.Meta, b.Meta)
}
