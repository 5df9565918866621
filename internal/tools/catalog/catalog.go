package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/text/unicode/norm"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/jsonschema"
)

// A Catalog is the set of currently known tools. Many goroutines may call its methods. Readers never wait for writers.
type Catalog struct {
	now atomic.Pointer[state]

	mu      sync.Mutex // guards the rest, during the making of a new state
	servers map[string]*listing
}

// A listing is the list of one upstream, from [Catalog.Replace].
type listing struct {
	tools    []*Tool
	withheld []*Tool
	problems []Problem     // of this list, independent of the others
	index    func() *index // made at the first search
}

// A state is one moment of the catalogue. Nothing in it changes.
type state struct {
	byName   map[string]*Tool    // the tools that programs can call
	sorted   []*Tool             // the same, by Name
	spelled  map[string]*Tool    // by their other names, see [Catalog.Find]
	withheld map[string]*Tool    // those that programs cannot call, by all their names
	clashing map[string][]*Tool  // among them those of servers with equal names, by Name
	twins    map[string][]string // by [call.Name]: the Names of the tools that have it, if several do
	folded   spellings           // by names that are spelled another way

	words func() *words // for search, made at the first one
}

// A Problem says, in a sentence for a person, why a tool of an upstream's list is not usable as it is.
type Problem struct {
	Server  string
	Tool    string // the raw name, "" for the whole server
	Code    string // "name_collision", "look_alike", "bad_name" or "bad_schema"
	Message string
}

func (p Problem) String() string { return p.Message }

// New returns an empty catalogue.
func New() *Catalog {
	c := &Catalog{servers: map[string]*listing{}}
	c.now.Store(c.build())
	return c
}

// Replace replaces the whole list of the server in one step, and sets the fields of the tools that [Named] sets. It
// returns the problems of the new list: tools with names that look the same, tools withheld because another server has
// the same name for programs, and unusable schemas. If the server's name contains the separator "__", Replace withholds
// all its tools.
func (c *Catalog) Replace(server string, tools []Tool) []Problem {
	l := newListing(server, tools)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.place(server, l)
	s := c.build()
	c.now.Store(s)
	return slices.Concat(l.problems, s.clashesOf(server), s.lookAlikes(server))
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
	if old := c.servers[server]; old != nil {
		l.inherit(old)
	}
	delete(c.servers, server)
	if l != nil {
		c.servers[server] = l
	}
}

// newListing makes the listing, and the index and the compiled schemas, which do not depend on other servers.
func newListing(server string, tools []Tool) *listing {
	l := &listing{}
	if name := call.Part(server); name == "" || strings.Contains(name, call.Separator) {
		l.problems = append(l.problems, Problem{Server: server, Code: "bad_name", Message: fmt.Sprintf(
			"server %q: its name must not be empty or contain %q, which parts a server from its tools; "+
				"all its tools are withheld", server, call.Separator)})
		l.index = sync.OnceValue(func() *index { return newIndex(server, nil) })
		return l
	}
	room := jsonschema.NewRoom()
	for _, t := range Named(server, tools) {
		t.declared, t.learned = new(declared), new(learned)
		if t.Raw == "" {
			l.problems = append(l.problems, Problem{Server: server, Code: "bad_name",
				Message: fmt.Sprintf("server %q lists a tool without a name; it is withheld", server)})
			continue
		}
		if t.Withheld != "" {
			l.withheld = append(l.withheld, &t)
			continue
		}
		if t.input, t.output = new(compiled), new(compiled); t.Source == nil {
			l.check(&t, "input", t.compiledInput(room), "arguments are checked against the rest of it",
				"any object is accepted as arguments")
			l.check(&t, "output", t.compiledOutput(room), "results are checked against the rest of it",
				"results are not checked")
		}
		l.tools = append(l.tools, &t)
	}
	l.index = sync.OnceValue(func() *index { return newIndex(server, l.tools) })
	return l
}

// Named returns the tools of one server with Server, Name, Twins, Digest and Hints set, as [Catalog.Replace] sets them.
func Named(server string, tools []Tool) []Tool {
	raws := make([]string, len(tools))
	for i := range tools {
		raws[i] = tools[i].Raw
	}
	names, twins := call.Names(server, raws)
	tools = slices.Clone(tools)
	hints := map[string]map[string]any{} // by annotations: many tools have the same
	for i := range tools {
		t := &tools[i]
		t.Server, t.Name, t.Twins = server, names[i], twins[i]
		t.Digest = t.Definition()
		known, ok := hints[string(t.Annotations)]
		if !ok {
			t.readHints()
			known = t.Hints
			hints[string(t.Annotations)] = known
		}
		t.Hints = known
	}
	return tools
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
	if before == nil {
		before = &state{}
	}
	s := &state{byName: make(map[string]*Tool, len(before.byName)), spelled: map[string]*Tool{},
		withheld: map[string]*Tool{}, clashing: map[string][]*Tool{}, twins: map[string][]string{}}
	servers := slices.Sorted(maps.Keys(c.servers))
	sameServer := map[string]int{} // canonical server name to how many have it
	for _, name := range servers {
		sameServer[call.Part(name)]++
	}
	for _, name := range servers {
		l := c.servers[name]
		for _, t := range l.tools {
			s.add(t, sameServer[call.Part(name)] > 1)
		}
	}
	for _, name := range servers { // what can be called comes first
		for _, t := range c.servers[name].withheld {
			s.spell(s.withheld, t)
			s.withheld[t.Name] = t
		}
	}
	var lists []func() *index
	for _, name := range servers {
		lists = append(lists, c.servers[name].index)
	}
	s.words = sync.OnceValue(func() *words { return newWords(lists) })
	s.sorted = sortedTools(before.sorted, s.byName)
	return s
}

// add adds a tool under all its names.
func (s *state) add(t *Tool, sameServer bool) {
	switch other := s.byName[t.Name]; {
	case s.clashing[t.Name] != nil || sameServer:
		s.clashing[t.Name] = append(s.clashing[t.Name], t)
	case other != nil:
		delete(s.byName, t.Name)
		s.clashing[t.Name] = []*Tool{other, t}
	default:
		s.byName[t.Name] = t
		s.spell(s.spelled, t)
		if t.Twins {
			name := call.Name(t.Server, t.Raw)
			s.twins[name] = append(s.twins[name], t.Name)
		}
	}
}

// spell notes the names of a tool besides its canonical one: both parts may be spelled as in the configuration and as
// by the server. No such name is the canonical name of another tool, see [call.Names].
func (s *state) spell(to map[string]*Tool, t *Tool) {
	server := call.Part(t.Server)
	for _, name := range []string{t.Server + call.Separator + t.Raw, server + call.Separator + t.Raw,
		t.Server + strings.TrimPrefix(t.Name, server)} {
		if name != t.Name && to[name] == nil {
			to[name] = t
		}
	}
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

// clashesOf lists the tools of a server that are withheld because of another server, sorted by name.
func (s *state) clashesOf(server string) []Problem {
	var out []Problem
	for _, name := range slices.Sorted(maps.Keys(s.clashing)) {
		for _, t := range s.clashing[name] {
			if t.Server == server {
				out = append(out, Problem{Server: server, Tool: t.Raw, Code: "name_collision", Message: s.clash(name).Error()})
			}
		}
	}
	return out
}

// clash is the error for a name that tools of several servers have.
func (s *state) clash(name string) *WithheldError {
	var all []string
	for _, t := range s.clashing[name] {
		all = append(all, t.Server+"/"+t.Raw)
	}
	return &WithheldError{Name: name, Code: "name_collision",
		Why: "it is the name of several tools: " + strings.Join(all, ", ") + "; rename a server, or exclude all but one"}
}

// Find returns the tool with that canonical name, or with the name as the upstream spells it, <server>__<raw>, where
// the server may be spelled as in the configuration or as in the canonical name. A name has one meaning. Canonically
// equivalent characters are equal; another case, or another spelling with the same canonical name, is not accepted. The
// error is a [*NotFoundError] or a [*WithheldError].
func (c *Catalog) Find(name string) (*Tool, error) {
	s := c.now.Load()
	for _, name := range []string{name, norm.NFC.String(name)} {
		if t := cmp.Or(s.byName[name], s.spelled[name]); t != nil {
			return t, nil
		}
		if s.clashing[name] != nil {
			return nil, s.clash(name)
		}
		if t := s.withheld[name]; t != nil {
			return nil, &WithheldError{Name: name, Code: "withheld", Why: t.Withheld, Tool: t}
		}
	}
	near := slices.Sorted(slices.Values(s.twins[call.Part(name)]))
	if near == nil {
		near = nearest(name, s.sorted)
	}
	return nil, &NotFoundError{Name: name, Nearest: near[:min(len(near), nearestMax)]}
}

// Has reports whether the name exists, including withheld ones. Unlike [Catalog.Find] it does not search for near
// names.
func (c *Catalog) Has(name string) bool {
	s := c.now.Load()
	return s.byName[name] != nil || s.spelled[name] != nil || s.clashing[name] != nil || s.withheld[name] != nil
}

// Tools returns all callable tools, sorted by name. The caller owns the slice.
func (c *Catalog) Tools() []*Tool { return slices.Clone(c.now.Load().sorted) }

// Mentions reports whether a tool's definition contains a text.
func (c *Catalog) Mentions(text string) bool {
	return slices.ContainsFunc(c.now.Load().sorted, func(t *Tool) bool {
		return strings.Contains(t.Name, text) || strings.Contains(t.Server, text) || strings.Contains(t.Description, text) ||
			bytes.Contains(t.Input, []byte(text)) // a Source is not asked: a text of ours is in no description of an API
	})
}

// Problems returns the problems of all lists as they are now, sorted by server.
func (c *Catalog) Problems() []Problem {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.now.Load()
	var out []Problem
	for _, server := range slices.Sorted(maps.Keys(c.servers)) {
		out = slices.Concat(out, c.servers[server].problems, s.clashesOf(server), s.lookAlikes(server))
	}
	return out
}

// Withheld returns an error for each tool that exists and that programs cannot call, sorted by name.
func (c *Catalog) Withheld() []*WithheldError {
	s := c.now.Load()
	var out []*WithheldError
	for name := range s.clashing {
		out = append(out, s.clash(name))
	}
	for name, t := range s.withheld {
		if name == t.Name {
			out = append(out, &WithheldError{Name: name, Code: "withheld", Why: t.Withheld, Tool: t})
		}
	}
	slices.SortFunc(out, func(a, b *WithheldError) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Learn notes a result of a tool without a declared result type. The first two results of one form give the type, and
// only if the definition still has that digest. A new list of the server keeps the learned types of the tools that
// it does not change.
func (c *Catalog) Learn(name, digest string, result json.RawMessage) {
	t := c.now.Load().byName[name]
	if t != nil && t.Digest == digest && t.saysNothing() {
		t.learned.learn(result)
	}
}
