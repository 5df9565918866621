package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// parseOptions read parts of descriptions: untrusted, but of a document that was read as JSON.
var parseOptions = strictjson.Options{MaxDepth: depthMax, AllowDuplicates: true, AllowHugeNumbers: true}

// The bounds of a cache: what is read again and again is in it, and a description cannot fill the memory with it.
const (
	cachedBytes = 16 << 20
	cachedPlans = 256
)

// room empties the cache if it is full. The caller holds mu.
func (c *cache) room(bytes int) {
	if c.bytes += bytes; c.bytes > cachedBytes || c.values == nil {
		c.values, c.schemas, c.bytes = map[string]strictjson.Value{}, map[string]*schema{}, bytes
	}
}

// component returns what a reference points at. References into other documents are not followed.
func (d *Document) component(ref string) (strictjson.Value, error) {
	name := componentOf(ref)
	if name == "" {
		return strictjson.Value{}, fmt.Errorf("%.200q is in another document, or no component", ref)
	}
	whole, err := d.wholeComponent(name)
	if err != nil {
		return whole, err
	}
	if inner := ref[min(len(ref), pointerEnd(ref, name)):]; inner != "" {
		if plain, err := url.PathUnescape(inner); err == nil {
			inner = plain
		}
		at, ok := whole.At(inner)
		if !ok {
			return strictjson.Value{}, fmt.Errorf("there is no %.200q", ref)
		}
		return at, nil
	}
	return whole, nil
}

// pointerEnd is where the name of the component ends in a reference to it, or into it.
func pointerEnd(ref, name string) int {
	steps, at := strings.Count(name, "/"), 0
	for ; at < len(ref); at++ {
		if ref[at] == '/' {
			if steps == 0 {
				break
			}
			steps--
		}
	}
	return at
}

func (d *Document) wholeComponent(name string) (strictjson.Value, error) {
	d.cache.mu.Lock()
	v, ok := d.cache.values[name]
	d.cache.mu.Unlock()
	if ok {
		return v, nil
	}
	n, ok := d.known[name]
	if !ok || d.parts[n].at.len == 0 {
		return v, fmt.Errorf("there is no %.200q", name)
	}
	v, err := d.parse(d.parts[n].at)
	if err != nil {
		return v, fmt.Errorf("%.200q cannot be read: %w", name, err)
	}
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	d.cache.room(int(d.parts[n].at.len))
	d.cache.values[name] = v
	return v, nil
}

// has is the error of component for a reference whose component is not there. It reads nothing: what a reference into
// a component points at may be missing nevertheless.
func (d *Document) has(ref string) error {
	name := componentOf(ref)
	if name == "" {
		return fmt.Errorf("%.200q is in another document, or no component", ref)
	}
	if d.length(ref) == 0 {
		return fmt.Errorf("there is no %.200q", name)
	}
	return nil
}

// length is that of the component that a reference points at, or into; 0 if there is none.
func (d *Document) length(ref string) int {
	if n, ok := d.known[componentOf(ref)]; ok {
		return int(d.parts[n].at.len)
	}
	return 0
}

func (d *Document) parse(at span) (strictjson.Value, error) {
	text, err := d.text(at)
	if err != nil {
		return strictjson.Value{}, err
	}
	return strictjson.Parse(text, parseOptions)
}

// refsMax bounds the references that refer to references.
const refsMax = 20

var errCircle = errors.New("a reference refers to itself")

// follow returns what v is, or refers to.
func (d *Document) follow(v strictjson.Value) (strictjson.Value, error) {
	for range refsMax {
		ref, ok := v.Member("$ref")
		if !ok || ref.Kind() != strictjson.String {
			return v, nil
		}
		var err error
		if v, err = d.component(ref.Text()); err != nil {
			return v, err
		}
	}
	return v, errCircle
}

// word returns a member that is a text; "" for anything else.
func word(v strictjson.Value, name string) string {
	m, _ := v.Member(name)
	if m.Kind() != strictjson.String {
		return ""
	}
	return m.Text()
}

// is reports whether a member is true.
func is(v strictjson.Value, name string) bool {
	m, _ := v.Member(name)
	return m.Kind() == strictjson.True
}

// texts are the elements of a list of texts.
func texts(list strictjson.Value) (all []string) {
	for _, e := range list.Elements() {
		all = append(all, e.Text())
	}
	return all
}
