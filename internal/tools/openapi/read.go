package openapi

import (
	"bytes"
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
	head := make([]byte, min(size, 64<<10))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	bare := bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	skip := int64(len(head) - len(bare))
	var faults []fault
	if r = io.NewSectionReader(r, skip, size-skip); !bytes.HasPrefix(bytes.TrimLeft(bare, " \t\r\n"), []byte("{")) {
		var err error
		if r, faults, err = fromYAML(r, size-skip); err != nil {
			return nil, err
		}
	}
	d := &Document{r: r, known: map[string]int{}}
	x := &reader{doc: d, paths: map[string]span{}, own: map[*Operation][]string{},
		notes: map[string]bool{}, rest: map[string]json.RawMessage{}}
	x.decode(span{len: math.MaxInt32})
	err := x.document()
	if err == nil {
		err = x.follow()
	}
	if err == nil {
		err = d.finish(x.rest)
	}
	if err != nil {
		return nil, err
	}
	x.leaveOthers()
	for _, f := range faults {
		x.fault(f)
	}
	nameOperations(d.Operations)
	d.Notes = slices.Sorted(maps.Keys(x.notes))
	return d, nil
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
		if !slices.Contains(topNames, name) || x.rest[name] != nil {
			return x.decoder.SkipValue()
		}
		name = strings.Clone(name)
		v, _, err := x.value()
		if err == nil && len(v) <= restMax {
			x.rest[name] = json.RawMessage(bytes.Clone(v))
		}
		return err
	})
	if wrong, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("it cannot be read at byte %d, %.500s: %w", wrong.ByteOffset, wrong.JSONPointer, wrong.Err)
	}
	return err
}

// components reads the components of a kind.
func (x *reader) components(prefix string) error {
	return x.members(func(name string) error {
		pointer := prefix + escapePointer(name)
		v, at, err := x.value()
		if err != nil {
			return err
		}
		n, err := x.doc.number(pointer)
		if err != nil {
			return err
		}
		if x.doc.parts[n].at.len > 0 {
			x.note("it has %.200s twice: the first one counts", pointer)
			return nil
		}
		one, err := x.part(at, v) // it may make the list of parts longer
		x.doc.parts[n] = one
		return err
	})
}
