package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/jsonschema"
)

// A Catalog is the set of currently known tools. Many goroutines may call its methods. Readers never wait for writers.
type Catalog struct {
	now atomic.Pointer[state]

	mu      sync.Mutex // guards the rest, during the making of a new state
	servers map[string]*listing
	words   lexicon
	slots   []*index // nil for a free one
}

// A listing is the list of one upstream, from [Catalog.Replace].
type listing struct {
	tools    []*Tool
	problems []Problem // of this list, independent of the others
	index    *index
}

// A state is one moment of the catalogue. Nothing in it changes.
type state struct {
	byName    map[string]*Tool
	sorted    []*Tool            // by Name, without colliding tools
	collision map[string][]*Tool // canonical name to the tools that would get it

	// For search: all tools, also those that collide, server by server.
	tools   []*Tool
	first   []int32 // by slot of the index: the position of its first tool in tools
	average [fields]float64
	words   lexicon
}

// A Problem says, in a sentence for a person, why a tool of an upstream's list is not usable as it is.
type Problem struct {
	Server  string
	Tool    string // the raw name, "" for the whole server
	Code    string // "name_collision", "bad_name" or "bad_schema"
	Message string
}

func (p Problem) String() string { return p.Message }

// New returns an empty catalogue.
func New() *Catalog {
	c := &Catalog{servers: map[string]*listing{}}
	c.now.Store(&state{})
	return c
}

// Replace replaces the whole list of the server in one step. It ignores the Server field of the tools. It returns the
// problems of the new list: tools withheld because another tool, of any server, has the same name, and unusable
// schemas. If the server's name contains the separator "__", Replace withholds all its tools.
func (c *Catalog) Replace(server string, tools []Tool) []Problem {
	l := newListing(server, tools)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.place(server, l)
	s := c.build()
	c.now.Store(s)
	return append(slices.Clone(l.problems), s.collisionsOf(server)...)
}

// Remove removes the server's tools. Tools that it withheld only because of one of them come back.
func (c *Catalog) Remove(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.place(server, nil)
	c.now.Store(c.build())
}

// place replaces the listing of a server; nil removes it. The caller holds c.mu.
func (c *Catalog) place(server string, l *listing) {
	var before, now *index
	if old := c.servers[server]; old != nil {
		before = old.index
		c.slots[before.slot] = nil
		l.inherit(old)
	}
	delete(c.servers, server)
	if l != nil {
		now = l.index
		now.slot = slices.Index(c.slots, nil)
		if now.slot < 0 {
			now.slot = len(c.slots)
			c.slots = append(c.slots, nil)
		}
		c.slots[now.slot] = now
		c.servers[server] = l
	}
	c.words = c.words.replaced(before, now)
}

// newListing makes the listing, and the index and the compiled schemas, which do not depend on other servers.
func newListing(server string, tools []Tool) *listing {
	l := &listing{}
	if name := call.Part(server); name == "" || strings.Contains(name, call.Separator) {
		l.problems = append(l.problems, Problem{Server: server, Code: "bad_name", Message: fmt.Sprintf(
			"server %q: its name must not be empty or contain %q, which parts a server from its tools; "+
				"all its tools are withheld", server, call.Separator)})
		l.index = newIndex(server, nil)
		return l
	}
	room := jsonschema.NewRoom()
	for _, t := range tools {
		t.Server, t.Name = server, call.Name(server, t.Raw)
		t.Digest = t.Definition()
		t.declared, t.learned = new(declared), new(learned)
		t.Hints = nil
		_ = json.Unmarshal(t.Annotations, &t.Hints) // ignore anything but an object
		if t.Raw == "" {
			l.problems = append(l.problems, Problem{Server: server, Code: "bad_name",
				Message: fmt.Sprintf("server %q lists a tool without a name; it is withheld", server)})
			continue
		}
		t.input, t.output = jsonschema.Compile(t.Input, room), jsonschema.Compile(t.Output, room)
		l.check(&t, "input", t.input, "arguments are checked against the rest of it", "any object is accepted as arguments")
		l.check(&t, "output", t.output, "results are checked against the rest of it", "results are not checked")
		l.tools = append(l.tools, &t)
	}
	l.index = newIndex(server, l.tools)
	return l
}

// check adds a problem if parts of a schema are unusable.
func (l *listing) check(t *Tool, which string, schema *jsonschema.Schema, inPart, notAtAll string) {
	if schema.Note == "" {
		return
	}
	effect := inPart
	if schema.Root == nil {
		effect = notAtAll
	}
	l.problems = append(l.problems, Problem{Server: t.Server, Tool: t.Raw, Code: "bad_schema",
		Message: fmt.Sprintf("%s: its %s schema cannot be used as it is: %s; %s", t.Name, which, schema.Note, effect)})
}

// inherit copies the learned result types of the unchanged tools.
func (l *listing) inherit(old *listing) {
	if l == nil {
		return
	}
	had := map[string]*learned{}
	for _, t := range old.tools {
		had[t.Digest] = t.learned // the digest covers the name
	}
	for _, t := range l.tools {
		if known := had[t.Digest]; known != nil {
			t.learned = known
		}
	}
}

// build makes a state from all listings. The caller holds c.mu.
func (c *Catalog) build() *state {
	before := c.now.Load()
	s := &state{byName: make(map[string]*Tool, len(before.byName)), collision: map[string][]*Tool{},
		tools: make([]*Tool, 0, len(before.tools)), first: make([]int32, len(c.slots)), words: c.words}
	servers := slices.Sorted(maps.Keys(c.servers))
	sameServer := map[string]int{} // canonical server name to how many have it
	for _, name := range servers {
		sameServer[call.Part(name)]++
	}
	for _, name := range servers {
		l := c.servers[name]
		s.first[l.index.slot] = int32(len(s.tools))
		s.tools = append(s.tools, l.tools...)
		for f := range s.average {
			s.average[f] += l.index.field[f].total
		}
		for _, t := range l.tools {
			switch other := s.byName[t.Name]; {
			case s.collision[t.Name] != nil || sameServer[call.Part(name)] > 1:
				s.collision[t.Name] = append(s.collision[t.Name], t)
			case other != nil:
				delete(s.byName, t.Name)
				s.collision[t.Name] = []*Tool{other, t}
			default:
				s.byName[t.Name] = t
			}
		}
	}
	for f := range s.average {
		s.average[f] = max(s.average[f]/max(float64(len(s.tools)), 1), 1)
	}
	s.sorted = sortedTools(before.sorted, s.byName)
	return s
}

// sortedTools returns the tools by name. It merges the new ones into the sorted list before, so that a new list of one
// server does not sort all tools.
func sortedTools(before []*Tool, byName map[string]*Tool) []*Tool {
	kept := make([]*Tool, 0, len(byName))
	old := make(map[*Tool]bool, len(before))
	for _, t := range before {
		if byName[t.Name] == t {
			kept = append(kept, t)
			old[t] = true
		}
	}
	added := make([]*Tool, 0, len(byName)-len(kept))
	for _, t := range byName {
		if !old[t] {
			added = append(added, t)
		}
	}
	slices.SortFunc(added, func(a, b *Tool) int { return cmp.Compare(a.Name, b.Name) })
	out := make([]*Tool, 0, len(byName))
	for len(kept) > 0 && len(added) > 0 {
		if kept[0].Name < added[0].Name {
			out, kept = append(out, kept[0]), kept[1:]
		} else {
			out, added = append(out, added[0]), added[1:]
		}
	}
	return append(append(out, kept...), added...)
}

// collisionsOf lists the withheld tools of a server, sorted by name.
func (s *state) collisionsOf(server string) []Problem {
	var out []Problem
	for _, name := range slices.Sorted(maps.Keys(s.collision)) {
		for _, t := range s.collision[name] {
			if t.Server == server {
				out = append(out, Problem{Server: server, Tool: t.Raw, Code: "name_collision", Message: s.withheld(name).Error()})
			}
		}
	}
	return out
}

func (s *state) withheld(name string) *CollisionError {
	e := &CollisionError{Name: name}
	for _, t := range s.collision[name] {
		e.Names = append(e.Names, t.Server+"/"+t.Raw)
	}
	return e
}

// Find returns the tool with that canonical name, or with the name as the upstream spells it, <server>__<raw>. The
// match is exact: it does not accept another spelling with the same canonical name, or another case. The error is a
// [*NotFoundError] or a [*CollisionError].
func (c *Catalog) Find(name string) (*Tool, error) {
	s := c.now.Load()
	if t := s.byName[name]; t != nil {
		return t, nil
	}
	if t := s.byName[call.Part(name)]; t != nil && t.Server+call.Separator+t.Raw == name {
		return t, nil
	}
	if s.collision[name] != nil {
		return nil, s.withheld(name)
	}
	return nil, &NotFoundError{Name: name, Nearest: nearest(name, s.sorted)}
}

// Has reports whether the name exists, including withheld ones. Unlike [Catalog.Find] it does not search for near
// names.
func (c *Catalog) Has(name string) bool {
	s := c.now.Load()
	if s.byName[name] != nil || s.collision[name] != nil {
		return true
	}
	t := s.byName[call.Part(name)]
	return t != nil && t.Server+call.Separator+t.Raw == name
}

// Tools returns all callable tools, sorted by name. The caller owns the slice.
func (c *Catalog) Tools() []*Tool { return slices.Clone(c.now.Load().sorted) }

// Withheld returns an error for each name that several tools share, sorted by name.
func (c *Catalog) Withheld() []*CollisionError {
	s := c.now.Load()
	var out []*CollisionError
	for _, name := range slices.Sorted(maps.Keys(s.collision)) {
		out = append(out, s.withheld(name))
	}
	return out
}

// Learn takes the shape of a result as the result type of a tool without a declared one. Only the first result counts,
// and only if the definition still has that digest. A new list of the server keeps the learned types of the tools that
// it does not change.
func (c *Catalog) Learn(name, digest string, result json.RawMessage) {
	t := c.now.Load().byName[name]
	if t != nil && t.Digest == digest && len(t.Output) == 0 {
		t.learned.learn(result)
	}
}
