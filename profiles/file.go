package profiles

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
)

// A builder reads one configuration file into a Config.
type builder struct {
	*reader
	config   *Config
	standing Standing
	base     *Config             // of the files that this one builds on, nil = none
	before   []*fileRules        // what those say about profiles
	written  map[string]*written // the profiles as the file has them
	order    []*written

	variables *written    // of a variable of the environment
	check     ServerCheck // nil checks nothing

	defaultName, floorName       string
	exposed                      []string
	fileLimits                   Limits
	defaultAt, floorAt, exposeAt *node
	scriptProfiles               []*node // where scripts name one
	scriptsWithout               []*node
	namedProfiles                []*node // where tokens name one
	writtenOverlays              []writtenOverlay

	// What the profiles of all files have in common, once they are put together.
	trusted       map[string]bool
	bounds, caps  Limits // of files that the user's limits cannot exceed
	floorLayers   []*layer
	floorsWritten []*written // what the floors are made of
	surrounding   *written   // what variables of the environment say, nil if none is set
	alone         bool       // they are the configuration
}

// read reads a file as far as its standing goes.
func (b *builder) read() {
	root := b.root()
	if b.standing == Narrowing {
		b.object(root, "an overlay file", []field{
			{"overlays", b.overlays},
			{"evaluation", func(n *node) { b.object(n, `"evaluation" in an overlay file`, []field{{"overlays", b.overlays}}) }},
			{"$schema", func(n *node) { b.text(n, "$schema") }},
		})
		b.finish()
		return
	}
	if b.isBareMap(root) {
		b.servers(root)
		b.finish()
		return
	}
	var serversAt *node
	servers := func(n *node) {
		if serversAt != nil && serversAt.key != n.key {
			b.wrongKey(n, fmt.Sprintf("move what is in it to %q", serversAt.key), "both \"mcpServers\" and \"servers\"")
		}
		serversAt = n
		b.servers(n)
	}
	b.object(root, "the configuration", []field{
		{"mcpServers", servers},
		{"servers", servers},
		{"evaluation", b.evaluation},
		{"builtin", b.builtin},
		{"scripts", b.scripts},
		{"limits", func(n *node) { b.fileLimits = b.limits(n, "limits") }},
		{"outputValidation", func(n *node) { b.validateOutputs(n, b.validation(n)) }},
		{"store", func(n *node) { b.process(n, &b.config.Store, b.store) }},
		{"capacity", b.capacity},
		{"http", func(n *node) { b.process(n, &b.config.HTTP, b.http) }},
		{"console", func(n *node) { b.process(n, &b.config.Console, b.console) }},
		{"responder", func(n *node) { b.process(n, &b.config.Responder, b.responder) }},
		{"inputs", func(n *node) {
			b.doubt(b.place(int(n.keyStart)), len(n.key), "", `"inputs" is read by other programs; nobody is asked for them here`)
		}},
		{"$schema", func(n *node) { b.text(n, "$schema") }},
	})
	b.finish()
}

// isBareMap recognises a file that is nothing but servers, as some clients keep it.
func (b *builder) isBareMap(root *node) bool {
	named := false
	for child := range b.t.children(root) {
		if slices.Contains([]string{"mcpServers", "servers", "evaluation"}, child.key) {
			return false // a server or profile in there may have one of the names below
		}
		server := slices.ContainsFunc([]string{"command", "url", "httpUrl", "serverUrl"}, func(key string) bool {
			return b.t.member(child, key) != nil
		})
		if !server {
			return false
		}
		named = named || !slices.Contains([]string{"store", "http", "console", "responder"}, child.key)
	}
	return named
}

// setting keeps what a file says about the process as a whole.
func (b *builder) setting(n *node, to *json.RawMessage, value []byte) {
	if !b.outOfPlace(n, *to != nil && b.base != nil) {
		*to = value
	}
}

// outOfPlace notes what has no effect where it stands: a project's file has no say in what
// concerns the process as a whole, and what an earlier file settled stays.
func (b *builder) outOfPlace(n *node, settled bool) bool {
	switch {
	case b.project():
		b.inVain(n, fmt.Sprintf("%q", n.key))
		return true
	case settled:
		b.doubt(b.place(int(n.keyStart)), len(n.key)+2, "remove it", "%q has no effect: the %s says it already", n.key, b.before[0].Standing)
		return true
	}
	return false
}

// capacity reads what the process has for all principals together.
func (b *builder) capacity(n *node) {
	var c Capacity
	count := func(name string, to *int) field {
		return field{name, func(n *node) { *to = int(b.whole(n, fmt.Sprintf("%q", name), leastCount)) }}
	}
	bytes := func(name string, to *int64) field {
		return field{name, func(n *node) {
			if *to = b.sizeUpTo(n, fmt.Sprintf("%q", name), maxCapacity); *to > 0 && *to < leastCapacity {
				b.wrong(n, "", "%q must be at least 1MiB", name)
			}
		}}
	}
	b.object(n, `"capacity"`, []field{
		bytes("guestMemory", &c.GuestMemory), count("waitingRuns", &c.WaitingRuns), bytes("waitingMemory", &c.WaitingMemory),
		count("sessions", &c.Sessions), count("requests", &c.Requests), bytes("programText", &c.ProgramText),
	})
	if !b.outOfPlace(n, b.base != nil && b.base.Capacity != nil) {
		b.config.Capacity = &c
	}
}

// What capacities may be. With fewer than leastCount, nothing would be left for a second principal.
const (
	leastCount    = 8
	leastCapacity = 1 << 20
	maxCapacity   = 1 << 40
)

func (b *builder) servers(n *node) {
	if n.kind != kindObject {
		b.wrong(n, `write {"name": {"command": "..."}}`, "the servers must be an object, this is %s", n.kind)
		return
	}
	b.unique(n)
	names := map[string]*node{} // by what programs call them
	for child := range b.t.children(n) {
		name := call.Part(child.key)
		b.serverName(child, name)
		b.serverTaken(child, name)
		if other := names[name]; other != nil && other.key != child.key {
			b.wrongKey(child, fmt.Sprintf("both are %q for programs: rename one of them", name), "the servers %q and %q have names that become equal", other.key, child.key)
		}
		names[name] = child
		b.server(child)
	}
}

// serverTaken reports a name that a server of a file before this one has: rules speak of
// servers by name, and must go on speaking of the same one.
func (b *builder) serverTaken(n *node, name string) {
	for _, s := range b.config.Servers {
		if s.Pos.File != b.file && call.Part(s.Name) == name && b.standing != Untrusted {
			b.wrongKey(n, "give it another name", "the server %q is in %s already", s.Name, s.Pos)
		}
	}
}

// maxServerName is longer than any name a person would want to type.
const maxServerName = 64

func (b *builder) serverName(n *node, name string) {
	switch {
	case n.key == "":
		b.wrongKey(n, "give it a name: programs call codemode.<name>__<tool>", "a server without a name")
	case strings.Contains(name, "__"):
		b.wrongKey(n, `"__" separates the server from the tool: use one "_"`, "the server name %q has two underscores in a row for programs", n.key)
	case strings.HasSuffix(name, "_"):
		b.wrongKey(n, `rules for "x" would be about "x_" too, whose tools are x___tool: remove the "_" at the end`, "the server name %q ends in an underscore for programs", n.key)
	case len(n.key) > maxServerName:
		b.wrongKey(n, "choose a shorter one", "a server name longer than %d bytes", maxServerName)
	}
}

func (b *builder) server(n *node) {
	if n.kind != kindObject {
		b.wrong(n, `write {"command": "..."} or {"url": "..."}`, "the server %q must be an object, this is %s", n.key, n.kind)
		return
	}
	b.uniqueBelow(n)
	if b.standing == Untrusted {
		b.inVain(n, fmt.Sprintf("the server %q is not started and", n.key))
		return
	}
	s := Server{Name: n.key, JSON: b.t.source(n), Pos: b.place(int(n.keyStart))}
	b.checkServer(n, s.JSON)
	if trust := b.t.member(n, "trustAnnotations"); trust != nil {
		s.TrustAnnotations, _ = b.boolean(trust, "trustAnnotations")
	}
	if v := b.t.member(n, "outputValidation"); v != nil {
		s.OutputValidation = b.validation(v)
	}
	b.config.Servers = append(b.config.Servers, s)
}

// validation reads what becomes of results that do not fit their output schema.
func (b *builder) validation(n *node) string {
	word, _ := b.word(n, `"outputValidation"`, "off", "warn", "strict")
	return word
}

// validateOutputs takes the stricter of what this file and those before it say. A file that nobody trusts cannot make
// it laxer than it is when nobody says anything.
func (b *builder) validateOutputs(n *node, word string) {
	strictness := []string{"off", "", "warn", "strict"}
	before := b.config.OutputValidation
	if slices.Index(strictness, word) > slices.Index(strictness, before) || word == "off" && before == "" && b.standing != Untrusted {
		b.config.OutputValidation = word
	} else if b.standing == Untrusted && word == "off" {
		b.stranger(n)
	}
}

// builtin checks which built-in servers run: false for none, or an object with a switch
// for each.
func (b *builder) builtin(n *node) {
	switch n.kind {
	case kindFalse, kindTrue:
	case kindObject:
		b.object(n, `"builtin"`, []field{
			{"time", func(n *node) {
				if n.kind != kindObject {
					b.boolean(n, `"time"`)
					return
				}
				b.object(n, `"time"`, nil)
			}},
			{"filesystem", b.filesystem},
		})
	default:
		b.wrong(n, `write false, or {"filesystem": {"root": "DIR"}}`, `"builtin" must be false or an object, this is %s`, n.kind)
	}
	b.setting(n, &b.config.Builtin, b.t.source(n))
}

func (b *builder) filesystem(n *node) {
	if n.kind == kindFalse {
		return
	}
	hint := `write {"root": "DIR"}, or false`
	if n.kind != kindObject {
		b.wrong(n, hint, `"filesystem" must be an object with a root, this is %s`, n.kind)
		return
	}
	rooted := false
	b.object(n, `"filesystem"`, []field{{"root", func(n *node) {
		rooted = true
		if root, ok := b.text(n, `"root"`); ok && b.standing == Managed && !filepath.IsAbs(root) {
			b.wrong(n, "write the folder in full", "a root in the managed file must be absolute")
		}
	}}})
	if !rooted {
		b.wrong(n, hint, `"filesystem" needs a root: the folder that programs may use`)
	}
}
