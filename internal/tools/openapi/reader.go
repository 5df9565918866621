package openapi

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A reader goes over a document, or over a part of it, once.
type reader struct {
	doc     *Document
	decoder *jsontext.Decoder
	at      int64 // of what is read, in the document
	begin   int64 // of the last object that was opened

	paths    map[string]span         // of their items
	referred []*item                 // paths that are described elsewhere
	own      map[*Operation][]string // servers that are not those of the document
	notes    map[string]bool
	marks    []int32                    // of components: the last part that refers to it
	mark     int32                      // of the part that is read now
	rest     map[string]json.RawMessage // top-level members, see topNames
}

// decode makes the part at a span what is read.
func (x *reader) decode(at span) {
	x.at = at.at
	part := io.NewSectionReader(x.doc.r, at.at, int64(at.len))
	x.decoder = jsontext.NewDecoder(bufio.NewReaderSize(part, 64<<10),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
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
	x.begin = x.at + x.decoder.InputOffset() - 1
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
	return v, span{x.at + x.decoder.InputOffset() - int64(len(v)), int32(len(v))}, err
}

// part is a part of the text, with what it refers to.
func (x *reader) part(at span, text []byte) (part, error) {
	refs, err := x.refer(text)
	return part{at: at, sum: sha256.Sum256(text), refs: refs}, err
}

// refer finds what a text refers to. A "$ref" in an example counts too: that does no harm.
func (x *reader) refer(text []byte) (refs, error) {
	d := x.doc
	from := len(d.slab)
	x.mark++
	for i := bytes.Index(text, reference); i >= 0; i = bytes.Index(text, reference) {
		text = bytes.TrimLeft(text[i+len(reference):], " \t\r\n:")
		if len(text) == 0 || text[0] != '"' {
			continue
		}
		pointer := componentOf(unquoted(text))
		if pointer == "" {
			continue
		}
		n, err := d.number(pointer)
		if err != nil {
			return refs{}, err
		}
		for len(x.marks) <= n {
			x.marks = append(x.marks, 0)
		}
		if x.marks[n] != x.mark {
			x.marks[n] = x.mark
			d.slab = append(d.slab, int32(n))
		}
	}
	return refs{int32(from), int32(len(d.slab))}, nil
}

// number returns the number of a component, also of one that is not read yet.
func (d *Document) number(pointer string) (int, error) {
	n, ok := d.known[pointer]
	if !ok {
		if n = len(d.parts); n >= partsMax {
			return 0, fmt.Errorf("it has, or refers to, more than %d components", partsMax)
		}
		d.known[strings.Clone(pointer)] = n
		d.parts = append(d.parts, part{})
	}
	return n, nil
}

// An item is what a document has at one path.
type item struct {
	path    string
	ref     string // where the rest of it is; "" is nowhere
	methods []string
	above   *above
	servers []string // its own ones
}

var reference = []byte(`"$ref"`)
