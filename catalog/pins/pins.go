// Package pins stores the accepted definition of each tool, so that a server that redefines a tool does not get the
// approvals of the old definition.
package pins

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/catalog"
	"github.com/codemode-project/codemode/internal/replace"
)

// Pins has the accepted definitions of tools. Pins accepts the first definition that a server offers. Later ones count
// only after a person accepts them; until then the rules ask about each call of the tool. Many goroutines may call its
// methods.
type Pins struct {
	path string // "" keeps them in memory
	most int    // pins

	mu      sync.Mutex
	read    fs.FileInfo     // the file as it was last read or written
	tools   map[string]*pin // by server identity and tool
	current map[string]*pin // by canonical name: the pins of the tools offered now
	changes uint64          // how many times a definition changed
}

type pin struct {
	Server     string          `json:"server"`
	Tool       string          `json:"tool"`   // canonical name
	Digest     string          `json:"digest"` // of the accepted definition
	Definition json.RawMessage `json:"definition"`

	offered    string // digest of the definition offered now
	offers     json.RawMessage
	lastChange uint64 // the value of changes when offered last changed
}

// maxPins bounds the file, so that a server that offers new names each time cannot fill the disk.
const maxPins = 100_000

type pinFile struct {
	Version int             `json:"v"`
	Tools   map[string]*pin `json:"tools"`
}

// Open reads the pins of earlier processes. An unreadable file is an error: without it every tool would count as new.
// "" keeps the pins in memory.
func Open(dir string) (*Pins, error) {
	p := &Pins{most: maxPins, tools: map[string]*pin{}, current: map[string]*pin{}}
	if dir == "" {
		return p, nil
	}
	p.path = filepath.Join(dir, "pins.json")
	return p, p.refresh()
}

// refresh reads what other processes have written: a person may accept a tool in one process while programs run in
// another. The caller holds mu.
func (p *Pins) refresh() error {
	if p.path == "" {
		return nil
	}
	info, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && p.read != nil && os.SameFile(info, p.read) && info.ModTime().Equal(p.read.ModTime()) {
		return nil
	}
	var data []byte
	var file pinFile
	if err == nil {
		data, err = os.ReadFile(p.path)
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err == nil && file.Version != 1 {
		err = fmt.Errorf("it is of version %d, this program knows 1", file.Version)
	}
	if err != nil {
		return fmt.Errorf("reading the accepted definitions of tools, %s: %w; "+
			"correct the file, or remove it to accept all tools anew", p.path, err)
	}
	p.read = info
	for key, tool := range file.Tools {
		switch known := p.tools[key]; {
		case tool == nil:
		case known == nil:
			p.tools[key] = tool
		default:
			known.Digest, known.Definition = tool.Digest, tool.Definition
		}
	}
	return nil
}

// Now is the number of changes so far, for [Pins.Changed].
func (p *Pins) Now() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changes
}

// Changed reports whether a tool differs from its accepted definition, or has changed since a run began.
func (p *Pins) Changed(name, digest string, began uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.current[name]
	if known != nil && known.Digest != digest {
		_ = p.refresh() // an unreadable file accepts nothing
	}
	if known == nil {
		return false
	}
	// An offered definition counts as soon as Observe has seen it, before the catalogue lists it.
	redefined := known.offered != "" && known.offered != known.Digest
	return redefined || known.Digest != digest || known.lastChange > began
}

// Observe stores the definitions that a server offers, and returns the names of the tools that have changed with them.
// identity distinguishes servers with the same name: a server with another start command is another one.
func (p *Pins) Observe(identity string, tools []catalog.Tool) (changed []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := false
	var full error
	err = p.refresh()
	for i := range tools {
		t := &tools[i]
		name, digest := call.Name(t.Server, t.Raw), t.Definition()
		key := identity + " " + t.Raw
		known := p.tools[key]
		if known == nil {
			known = &pin{Server: t.Server, Tool: name, Digest: digest, Definition: definition(t)}
			if len(p.tools) < p.most {
				p.tools[key], fresh = known, true
			} else { // without a pin the rules ask about the tool
				known.Digest = ""
				full = fmt.Errorf("there are definitions of %d tools; new ones are not stored, and are asked about", p.most)
			}
		}
		p.current[name] = known
		before := cmp.Or(known.offered, known.Digest, digest)
		if known.offered, known.offers = digest, definition(t); before != digest {
			p.changes++
			known.lastChange = p.changes
			changed = append(changed, name)
		}
	}
	if fresh && err == nil {
		err = p.save()
	}
	return changed, errors.Join(err, full)
}

// Seen gives the accepted definition of a tool, of all processes that share the folder. It reports false for a tool
// that none of them has seen.
func Seen(dir, identity, tool string) (definition json.RawMessage, ok bool) {
	p, err := Open(dir)
	if err != nil {
		return nil, false
	}
	known := p.tools[identity+" "+tool]
	if known == nil {
		return nil, false
	}
	return known.Definition, true
}

// A Change is a tool that differs from its accepted definition.
type Change struct {
	Name   string   `json:"name"`
	Server string   `json:"server"`
	Digest string   `json:"digest"` // of the definition now, for [Pins.Accept]
	Diff   []string `json:"diff"`   // lines of the definitions: "-" accepted, "+" now
}

// Changes lists the tools that differ from their accepted definitions, sorted by name.
func (p *Pins) Changes() []Change {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.refresh() // after an error the pins in memory count
	var list []Change
	for name, known := range p.current {
		if known.offered != known.Digest {
			list = append(list, Change{name, known.Server, known.offered, difference(known.Definition, known.offers)})
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Accept accepts a changed tool for a person. digest identifies the definition that the person saw: Accept refuses a
// tool that has changed again.
func (p *Pins) Accept(name, digest string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.refresh(); err != nil {
		return err
	}
	known := p.current[name]
	switch {
	case known == nil:
		return fmt.Errorf("there is no tool %q", name)
	case known.offered != digest:
		return fmt.Errorf("the tool %q has changed again meanwhile: look at it once more", name)
	}
	before := *known
	known.Digest, known.Definition = known.offered, known.offers
	if err := p.save(); err != nil {
		*known = before
		return err
	}
	return nil
}

// save replaces the file atomically. The caller holds mu.
func (p *Pins) save() error {
	if p.path == "" {
		return nil
	}
	data, err := json.MarshalIndent(pinFile{Version: 1, Tools: p.tools}, "", "\t")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(p.path), 0o700)
	}
	if err == nil {
		err = replace.File(p.path, data, 0o600)
	}
	if err == nil {
		p.read, err = os.Stat(p.path)
	}
	if err != nil {
		return fmt.Errorf("storing the definitions of tools: %w", err)
	}
	return nil
}

// definition is the definition of a tool, in a good order for readers.
func definition(t *catalog.Tool) json.RawMessage {
	whole := struct {
		Title       string          `json:"title,omitempty"`
		Description string          `json:"description,omitempty"`
		Input       json.RawMessage `json:"inputSchema,omitempty"`
		Output      json.RawMessage `json:"outputSchema,omitempty"`
		Annotations json.RawMessage `json:"annotations,omitempty"`
	}{t.Title, t.Description, t.Input, t.Output, t.Annotations}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(whole) != nil { // a schema that is not JSON
		return json.RawMessage("null")
	}
	return bytes.TrimSpace(b.Bytes())
}

// Identity identifies a server by its entry in the configuration, and not by what it says about itself.
func Identity(name string, entry json.RawMessage) string {
	sum := sha256.Sum256(append([]byte(name+"\x00"), entry...))
	return hex.EncodeToString(sum[:16])
}

// difference lists the lines in which two definitions differ. Each line is one value with its JSON Pointer, so that
// the old and the new value are next to each other.
func difference(before, after json.RawMessage) []string {
	was, is := flat(before), flat(after)
	var lines []string
	places := maps.Clone(was)
	maps.Copy(places, is)
	for _, place := range slices.Sorted(maps.Keys(places)) {
		a, inA := was[place]
		b, inB := is[place]
		if inA && inB && a == b {
			continue
		}
		if inA {
			lines = append(lines, fmt.Sprintf("- %s: %s", place, a))
		}
		if inB {
			lines = append(lines, fmt.Sprintf("+ %s: %s", place, b))
		}
	}
	return lines
}

// flat lists the scalar values of a JSON text by their places.
func flat(raw json.RawMessage) map[string]string {
	values := map[string]string{}
	var walk func(place string, v any)
	walk = func(place string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, inner := range v {
				walk(place+"/"+key, inner)
			}
			if len(v) == 0 {
				values[place] = "{}"
			}
		case []any:
			for i, inner := range v {
				walk(fmt.Sprintf("%s/%d", place, i), inner)
			}
			if len(v) == 0 {
				values[place] = "[]"
			}
		default:
			text, _ := json.Marshal(v)
			values[cmp.Or(place, "/")] = string(text)
		}
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) == nil {
		walk("", v)
	}
	return values
}
