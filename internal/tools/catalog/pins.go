package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/replace"
)

// Pins has the accepted definitions of tools, so that a server that redefines a tool does not get the approvals of the
// old definition. Pins accepts the first definition that a server offers. Later ones count
// only after a person accepts them; until then the rules ask about each call of the tool. Many goroutines may call its
// methods.
//
// The key of a tool is its canonical name, as in rules. The name that the server spells is a part of the definition: a
// server that offers another tool under a name that people know has changed the definition. A tool that gets another
// canonical name, because the server lists one that takes its name, keeps its accepted definition. So does a server
// that is started or reached in another way under the same name.
type Pins struct {
	path string // "" keeps them in memory
	most int    // pins
	// Texts is [Source.Text] of a tool, by the name that its server spells, in a document of an earlier version. It gives
	// nil for what is no longer there, and may be nil. Set it before the first Observe.
	Texts func(document, raw string) json.RawMessage

	look bool // nothing is stored, see OnlyLook

	mu      sync.Mutex
	read    fs.FileInfo     // the file as it was last read or written
	tools   map[string]*pin // by [pinKey]
	last    uint64          // the highest Accepted
	current map[string]*pin // by canonical name: the pins of the tools offered now
	changes uint64          // how many times a definition changed
}

type pin struct {
	Identity   string          `json:"identity"` // of the server, see [ServerIdentity]; "" is unknown
	Server     string          `json:"server"`
	Tool       string          `json:"tool"`   // canonical name
	Raw        string          `json:"raw"`    // as the server spells it
	Digest     string          `json:"digest"` // of the accepted definition; "" accepts none
	Definition json.RawMessage `json:"definition"`
	Accepted   uint64          `json:"accepted"` // a higher number was accepted later

	offered    string          // digest of the definition offered now; "" if none is
	raw        string          // likewise
	offers     json.RawMessage // the definition offered now, without a Source
	from       Source          // that of the tool offered now, and its annotations
	hints      json.RawMessage
	lastChange uint64 // the value of changes when offered last changed
}

// now is the definition offered now.
func (p *pin) now() json.RawMessage {
	if p.from == nil {
		return p.offers
	}
	return definition(&Tool{Raw: p.raw, Annotations: p.hints, Source: p.from})
}

func pinKey(identity, name string) string { return identity + " " + name }

// maxPins bounds the file, so that a server that offers new names each time cannot fill the disk.
const maxPins = 100_000

type pinFile struct {
	Version int             `json:"v"`
	Tools   map[string]*pin `json:"tools"`
}

// modern returns the pins of a file of version 1, which had the raw name in the key, and for each edit of a server's
// entry an identity of its own. Nobody knows which of several definitions was accepted last, so none counts.
func (f *pinFile) modern() map[string]*pin {
	if f.Version != 1 {
		return f.Tools
	}
	all := map[string]*pin{}
	for old, p := range f.Tools {
		if p == nil {
			continue
		}
		_, p.Raw, _ = strings.Cut(old, " ")
		k := pinKey("", p.Server+" "+p.Raw)
		if other := all[k]; other != nil && other.Digest != p.Digest {
			p.Digest = ""
		}
		all[k] = p
	}
	return all
}

// OpenPins reads the pins of earlier processes. An unreadable file is an error: without it every tool would count as
// new. "" keeps the pins in memory.
func OpenPins(dir string) (*Pins, error) {
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
	if err == nil && file.Version != 1 && file.Version != 2 {
		err = fmt.Errorf("it is of version %d, this program knows 1 and 2", file.Version)
	}
	if err != nil {
		return fmt.Errorf("reading the accepted definitions of tools, %s: %w; "+
			"correct the file, or remove it to accept all tools anew", p.path, err)
	}
	p.read = info
	for key, tool := range file.modern() {
		if tool == nil {
			continue
		}
		p.last = max(p.last, tool.Accepted)
		if known := p.tools[key]; known == nil {
			p.tools[key] = tool
		} else if known.Accepted <= tool.Accepted {
			known.Raw, known.Digest, known.Definition, known.Accepted = tool.Raw, tool.Digest, tool.Definition, tool.Accepted
		}
	}
	return nil
}

// OnlyLook makes the pins of this process store nothing: what it sees is accepted for others by nobody. Call it before
// the first Observe.
func (p *Pins) OnlyLook() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.look = true
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

// Observe stores the definitions that a server offers, with the names of [Named], and returns the names of the
// tools that have changed with them.
func (p *Pins) Observe(server, identity string, tools []Tool) (changed []string, err error) {
	return p.observe(server, identity, tools, false)
}

// ObservePrompts is Observe for the prompts of a server. Their names have a "/", which no canonical name of a tool has.
func (p *Pins) ObservePrompts(server, identity string, prompts []Tool) (changed []string, err error) {
	return p.observe(server, identity, prompts, true)
}

func (p *pin) isPrompt() bool { return strings.Contains(p.Tool, "/") }

func (p *Pins) observe(server, identity string, tools []Tool, prompts bool) (changed []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := false
	var full error
	err = p.refresh()
	offered := map[*pin]bool{}
	past := p.pastOf(server, identity)
	for i := range tools {
		t := &tools[i]
		if t.Withheld != "" {
			continue
		}
		known, before := p.tools[pinKey(identity, t.Name)], ""
		if known == nil {
			known = p.first(identity, t, past)
			if len(p.tools) < p.most {
				p.tools[pinKey(identity, t.Name)], fresh = known, true
			} else { // without a pin the rules ask about the tool
				known.Digest, before = "", t.Digest
				full = fmt.Errorf("there are definitions of %d tools; new ones are not stored, and are asked about", p.most)
			}
		} else if past.outdates(known) {
			known.Digest, fresh = "", true
		}
		p.current[t.Name], offered[known] = known, true
		before = cmp.Or(before, known.offered, known.Digest)
		if known.from = nil; t.Source == nil {
			known.offers = definition(t)
		} else { // made when somebody asks
			known.from, known.hints = t.Source, t.Annotations
		}
		if known.offered, known.raw = t.Digest, t.Raw; before != t.Digest {
			p.changes++
			known.lastChange = p.changes
			changed = append(changed, t.Name)
		}
	}
	for _, known := range p.current {
		if known.Server == server && known.isPrompt() == prompts && !offered[known] {
			known.offered = "" // what is not offered needs no review; should it come back, Digest still counts
		}
	}
	if fresh && err == nil {
		err = p.save()
	}
	return changed, errors.Join(err, full)
}

// first makes the pin of a tool that a server of that identity offers under its name for the first time. The definition
// that people accepted last counts if there is one: of the name from a server that was called the same, or else of the
// same tool under another name.
func (p *Pins) first(identity string, t *Tool, past past) *pin {
	known := &pin{Identity: identity, Server: t.Server, Tool: t.Name}
	if last := cmp.Or(past.named[t.Name], past.spelled[t.Raw], past.old[t.Name]); last != nil {
		known.Raw, known.Digest, known.Definition, known.Accepted = last.Raw, last.Digest, last.Definition, last.Accepted
		return known
	}
	p.last++
	known.Raw, known.Digest, known.Definition, known.Accepted = t.Raw, t.Digest, definition(t), p.last
	return known
}

// past has the pins of a server's name that were accepted last: by canonical name, by raw name, by raw name from the
// same identity, and by the canonical name that an earlier version gave.
type past struct{ named, spelled, here, old map[string]*pin }

func (p *Pins) pastOf(server, identity string) past {
	h := past{map[string]*pin{}, map[string]*pin{}, map[string]*pin{}, map[string]*pin{}}
	for _, one := range p.tools {
		if one.Server != server {
			continue
		}
		later(h.spelled, one.Raw, one)
		switch one.Identity {
		case "":
			later(h.old, one.Tool, one)
			continue
		case identity:
			later(h.here, one.Raw, one)
		}
		later(h.named, one.Tool, one)
	}
	return h
}

func later(m map[string]*pin, k string, one *pin) {
	last := m[k]
	if last == nil || one.Accepted > last.Accepted ||
		one.Accepted == last.Accepted && one.Digest < last.Digest { // "" accepts none
		m[k] = one
	}
}

// outdates reports whether a person has meanwhile accepted another definition of the same tool, under another name.
func (h past) outdates(known *pin) bool {
	last := h.here[known.Raw]
	return known.Digest != "" && last != nil && last.Accepted > known.Accepted && last.Digest != known.Digest
}

// AcceptedOf returns the accepted tools of a server, with what their definitions say of arguments and annotations.
func (p *Pins) AcceptedOf(server, identity string) (tools []Tool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.tools {
		t := Tool{Name: known.Tool, Server: server, Raw: known.Raw, Digest: known.Digest}
		if known.Server != server || known.Identity != identity || known.Digest == "" || known.isPrompt() ||
			json.Unmarshal(known.Definition, &t) != nil {
			continue
		}
		t.readHints()
		tools = append(tools, t)
	}
	return tools
}

// Accepted gives the accepted definition of a tool, of all processes that share the folder, and the name by which its
// server knows it. name is canonical, or server__tool as the server spells it. Accepted reports false for a tool that
// none of the processes has seen.
func Accepted(dir, server, name string) (definition json.RawMessage, canonical, raw string, ok bool) {
	p, err := OpenPins(dir)
	if err != nil {
		return nil, "", "", false
	}
	found := map[string]*pin{}
	for _, one := range p.tools {
		switch {
		case one.Server != server:
		case one.Tool == name:
			later(found, "canonical", one)
		case name == server+call.Separator+one.Raw, name == call.Part(server)+call.Separator+one.Raw:
			later(found, "raw", one)
		}
	}
	known := cmp.Or(found["canonical"], found["raw"])
	if known == nil {
		return nil, "", "", false
	}
	return known.Definition, known.Tool, known.Raw, true
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
		if known.offered != "" && known.offered != known.Digest {
			list = append(list, Change{name, known.Server, known.offered, p.difference(known)})
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// difference lists how a tool differs from its accepted definition. The caller holds mu.
func (p *Pins) difference(known *pin) []string {
	is := known.now()
	var was struct{ Document string }
	if known.from == nil || p.Texts == nil || json.Unmarshal(known.Definition, &was) != nil || was.Document == "" {
		return difference(known.Definition, is)
	}
	before := p.Texts(was.Document, known.Raw)
	if before == nil {
		return append(difference(known.Definition, is), "(the earlier document is gone: "+was.Document+")")
	}
	return difference(before, known.from.Text())
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
	p.last++
	known.Raw, known.Digest, known.Definition, known.Accepted = known.raw, known.offered, known.now(), p.last
	if err := p.save(); err != nil {
		*known = before
		return err
	}
	return nil
}

// readablePins is how many pins a file may have that people read: white space makes a long one much longer.
const readablePins = 2000

// save replaces the file atomically. The caller holds mu.
func (p *Pins) save() error {
	if p.path == "" || p.look {
		return nil
	}
	file := pinFile{Version: 2, Tools: p.tools}
	data, err := json.MarshalIndent(file, "", "\t")
	if len(p.tools) > readablePins {
		data, err = json.Marshal(file)
	}
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
