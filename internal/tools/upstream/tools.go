package upstream

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/tools/catalog"
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
	Source      catalog.Source  // has Input and Output, which are nil then; nil for a tool that has them

	// NeedsTask is set when the tool runs only as a task, an extension of the
	// protocol that is not supported: a call of it is an error.
	NeedsTask bool

	// Withheld, such as [LeftOut], says why programs cannot call the tool, as the end of a sentence. "" says that they can.
	Withheld string
}

// LeftOut is why a tool is withheld that the operator does not want.
const LeftOut = "the configuration leaves it out (includeTools or excludeTools)"

var anyObject = json.RawMessage(`{"type":"object"}`)

// A toolList has the usable tools of a server, in the server's order.
type toolList struct {
	most  int // how many are taken; 0 is toolsMax
	tools []Tool
	notes []string // omissions and their reasons, for people
	next  string   // cursor of the next page, "" on the last
	more  bool     // the page has more entries
	taken int      // of the tools, unless their final names change that
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
	page, ok := objectOf(result)
	if !ok {
		return nil, errors.New("its tool list is no object")
	}
	l := new(toolList)
	var entries []json.RawMessage
	if raw := page["tools"]; raw != nil && string(raw) != "{}" { // PHP writes an empty list in both ways
		var err error
		if entries, l.more, err = elements(raw, toolsMax+1); err != nil {
			return nil, errors.New("its tool list is no list")
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
		Input:       inputSchema(m),
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
		t.Withheld = fmt.Sprintf("its name %q has control characters", t.Name)
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

// inputSchema returns the input schema, also where a server writes it under the key of another API, or as text.
func inputSchema(m map[string]json.RawMessage) json.RawMessage {
	for _, key := range []string{"inputSchema", "input_schema", "parameters"} {
		if raw := m[key]; raw != nil {
			if said := text(raw, schemaMax); said != "" && json.Valid([]byte(said)) {
				raw = json.RawMessage(said)
			}
			return object(raw)
		}
	}
	return nil
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

// add appends the tools of another page.
func (l *toolList) add(page *toolList, s *Server) {
	for _, n := range page.notes {
		l.note("%s", n)
	}
	l.more = l.more || page.more
	for _, t := range page.tools {
		if t.Withheld == "" && s.Takes(t.Name, call.Part(t.Name), nil) {
			l.taken++
		}
		l.tools = append(l.tools, t)
	}
}

// finish removes what is listed twice, and withholds the tools that the operator does not want, and those beyond the
// limit. The same definition twice is one tool. Two definitions of one name are withheld: nobody knows which one a call
// would reach.
func (l *toolList) finish(s *Server) {
	l.unite()
	raws := make([]string, len(l.tools))
	listed := make(map[string]bool, len(l.tools))
	for i, t := range l.tools {
		raws[i], listed[t.Name] = t.Name, true
	}
	names, _ := call.Names(s.Name, raws)
	taken, most := 0, cmp.Or(l.most, toolsMax)
	for i := range l.tools {
		t := &l.tools[i]
		name := strings.TrimPrefix(names[i], call.Name(s.Name, ""))
		switch {
		case t.Withheld != "":
		case !s.Takes(t.Name, name, func(raw string) bool { return listed[raw] }):
			t.Withheld = LeftOut
		case taken >= most:
			t.Withheld = fmt.Sprintf("its server lists more than %d tools", most)
			taken++
		default:
			taken++
		}
		if t.Withheld != "" { // only its name counts
			*t = Tool{Name: t.Name, Withheld: t.Withheld}
		}
	}
	if taken > most {
		many := fmt.Sprint(taken)
		if l.more {
			many = fmt.Sprintf("more than %d", taken-1)
		}
		l.note("it lists %s tools; only the first %d are taken", many, most)
	}
	l.missing(s, names)
}

// unite makes one of the tools with the same name.
func (l *toolList) unite() {
	at := map[string]int{}
	out := l.tools[:0]
	for _, t := range l.tools {
		i, twice := at[t.Name]
		switch {
		case !twice:
			at[t.Name] = len(out)
			out = append(out, t)
		case out[i].Withheld == "" && !sameTool(out[i], t):
			out[i].Withheld = "its server lists it several times with different definitions"
			l.note("tool %q left out: it is listed several times with different definitions", t.Name)
		}
	}
	l.tools = out
}

// missing notes the entries of Include that name no tool.
func (l *toolList) missing(s *Server, names []string) {
	for _, entry := range s.Include {
		only := Server{Server: servers.Server{Include: []string{entry}}}
		found := false
		for i, t := range l.tools {
			found = found || only.Takes(t.Name, strings.TrimPrefix(names[i], call.Name(s.Name, "")), nil)
		}
		if !found && s.Takes(entry, call.Part(entry), nil) {
			l.notes = append(l.notes, fmt.Sprintf("it has no tool %q, which the configuration includes", entry))
		}
	}
}

func sameTool(a, b Tool) bool {
	return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description && a.NeedsTask == b.NeedsTask &&
		a.Withheld == b.Withheld &&
		bytes.Equal(a.Input, b.Input) && bytes.Equal(a.Output, b.Output) && bytes.Equal(a.Annotations, b.Annotations) &&
		bytes.Equal(a.Meta, b.Meta) && (a.Source == nil) == (b.Source == nil) &&
		(a.Source == nil || a.Source.Digest() == b.Source.Digest())
}
