package openapi

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Read reads the description in r, of size bytes, and keeps r: operations read their parts of it later. The error says
// why the document as a whole is no description.
func Read(r io.ReaderAt, size int64) (*Document, error) {
	if size > documentMax {
		return nil, fmt.Errorf("it has %d bytes, more than %d", size, documentMax)
	}
	head := make([]byte, min(size, 1<<10))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	bare := bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	skip := int64(len(head) - len(bare))
	if r = io.NewSectionReader(r, skip, size-skip); !bytes.HasPrefix(bytes.TrimLeft(bare, " \t\r\n"), []byte("{")) {
		var err error
		if r, size, err = fromYAML(r, size-skip); err != nil {
			return nil, err
		}
	}
	d := &Document{r: r, known: map[string]int{}}
	x := &reader{doc: d, paths: map[string]bool{}, notes: map[string]bool{}, rest: map[string]json.RawMessage{}}
	x.decoder = jsontext.NewDecoder(bufio.NewReaderSize(io.NewSectionReader(r, 0, math.MaxInt64-1), 64<<10),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err := x.document(); err != nil {
		return nil, err
	}
	d.Notes = slices.Sorted(maps.Keys(x.notes))
	return d, d.finish(x.rest)
}

// A reader goes over a document once.
type reader struct {
	doc     *Document
	decoder *jsontext.Decoder
	paths   map[string]bool
	notes   map[string]bool
	rest    map[string]json.RawMessage // top-level members that are small
}

// note notes something odd.
func (x *reader) note(format string, args ...any) {
	if len(x.notes) < notesMax {
		x.notes[fmt.Sprintf(format, args...)] = true
	}
}

// members calls each with the names of the members of the object that comes next. each reads the value. What is no
// object is skipped.
func (x *reader) members(each func(name string) error) error {
	if x.decoder.PeekKind() != '{' {
		return x.decoder.SkipValue()
	}
	if _, err := x.decoder.ReadToken(); err != nil {
		return err
	}
	for x.decoder.PeekKind() == '"' {
		t, err := x.decoder.ReadToken()
		if err != nil {
			return err
		}
		if err := each(t.String()); err != nil {
			return err
		}
	}
	_, err := x.decoder.ReadToken()
	return err
}

// value reads the value that comes next, and says where it is.
func (x *reader) value() (jsontext.Value, span, error) {
	v, err := x.decoder.ReadValue()
	return v, span{x.decoder.InputOffset() - int64(len(v)), int32(len(v))}, err
}

func (x *reader) document() error {
	if x.decoder.PeekKind() != '{' {
		return errors.New("it is no description of an API: its text is no object")
	}
	err := x.members(func(name string) error {
		switch name {
		case "paths":
			return x.members(x.path)
		case "components":
			return x.members(func(kind string) error { return x.components("#/components/" + kind + "/") })
		case "definitions", "parameters", "responses":
			return x.components("#/" + name + "/")
		}
		v, _, err := x.value()
		if err == nil && len(v) <= restMax && x.rest[name] == nil && len(x.rest) < 100 {
			x.rest[name] = json.RawMessage(bytes.Clone(v))
		}
		return err
	})
	if err == nil {
		return nil
	}
	var wrong *jsontext.SyntacticError
	if errors.As(err, &wrong) {
		return fmt.Errorf("it cannot be read at byte %d, %s: %w", wrong.ByteOffset, wrong.JSONPointer, wrong.Err)
	}
	return err
}

// components reads the components of a kind.
func (x *reader) components(prefix string) error {
	return x.members(func(name string) error {
		v, at, err := x.value()
		if err != nil {
			return err
		}
		n := x.doc.number(prefix + escapePointer(name))
		if x.doc.parts[n].at.len > 0 {
			x.note("it has %s%s twice: the first one counts", prefix, name)
			return nil
		}
		one := x.part(at, v) // it may make the list of parts longer
		x.doc.parts[n] = one
		return nil
	})
}

// part is a part of the text, with what it refers to.
func (x *reader) part(at span, text []byte) part {
	return part{at: at, sum: sha256.Sum256(text), refs: x.doc.refer(text)}
}

// number returns the number of a component, also of one that is not read yet.
func (d *Document) number(pointer string) int {
	n, ok := d.known[pointer]
	if !ok {
		n = len(d.parts)
		d.known[strings.Clone(pointer)] = n
		d.parts = append(d.parts, part{})
	}
	return n
}

var reference = []byte(`"$ref"`)

// refer finds what a text refers to. A "$ref" in an example counts too: that does no harm.
func (d *Document) refer(text []byte) refs {
	from := len(d.slab)
	for i := bytes.Index(text, reference); i >= 0; i = bytes.Index(text, reference) {
		text = bytes.TrimLeft(text[i+len(reference):], " \t\r\n:")
		if len(text) == 0 || text[0] != '"' {
			continue
		}
		pointer := componentOf(unquoted(text))
		if pointer == "" {
			continue
		}
		if n := int32(d.number(pointer)); !slices.Contains(d.slab[from:], n) {
			d.slab = append(d.slab, n)
		}
	}
	return refs{int32(from), int32(len(d.slab))}
}

// path reads one path with its operations.
func (x *reader) path(template string) error {
	if x.paths[template] {
		x.note("it has the path %.200q twice: the first one counts", template)
		return x.decoder.SkipValue()
	}
	template = strings.Clone(template)
	x.paths[template] = true
	shared := &above{}
	methods := map[string]bool{}
	return x.members(func(name string) error {
		method := strings.ToUpper(name)
		switch {
		case name == "parameters":
			v, at, err := x.value()
			if err == nil {
				shared.parameters = x.part(at, v)
			}
			return err
		case name == "$ref":
			x.leave(Left{Method: "*", Path: template, Why: "the path refers to another place, which is not followed"})
		case !isMethod(name):
		case methods[method]:
			x.note("it has %s %.200s twice: the first one counts", method, template)
		default:
			methods[method] = true
			return x.operation(&Operation{Method: method, Path: template, doc: x.doc, above: shared})
		}
		return x.decoder.SkipValue()
	})
}

func isMethod(name string) bool {
	switch name {
	case "get", "put", "post", "delete", "options", "head", "patch", "trace":
		return true
	}
	return false
}

func (x *reader) leave(l Left) { x.doc.Left = append(x.doc.Left, l) }

func (x *reader) operation(o *Operation) error {
	if x.decoder.PeekKind() != '{' {
		x.leave(Left{o.Method, o.Path, "", "it is no object"})
		return x.decoder.SkipValue()
	}
	v, at, err := x.value()
	switch {
	case err != nil:
		return err
	case at.len > operationMax:
		x.leave(Left{o.Method, o.Path, "", fmt.Sprintf("its description has more than %d bytes", operationMax)})
		return nil
	case len(x.doc.Operations) >= operationsMax:
		x.note("it has more than %d operations: the rest is left out", operationsMax)
		return nil
	}
	o.part = x.part(at, v)
	summary, description := "", ""
	for name, raw := range topMembers(v) {
		switch name {
		case "operationId":
			o.ID = cut(unquoted(raw), idMax)
		case "summary":
			summary = unquoted(raw[:min(len(raw), textMax)])
		case "description":
			description = unquoted(raw[:min(len(raw), textMax)])
		}
	}
	if strings.TrimSpace(summary) == "" {
		summary = description
	}
	o.Effect, o.Why = effectOf(o.Method, o.Path, o.ID, summary)
	o.Summary = cut(strings.Join(strings.Fields(summary[:min(len(summary), 4*summaryMax)]), " "), summaryMax)
	x.doc.Operations = append(x.doc.Operations, o)
	return nil
}
