package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles"
)

// A builder reads one configuration file into a Config.
type builder struct {
	*profiles.RuleReader
	config   *Config
	standing Standing
	base     *Config                      // of the files that this one builds on, nil = none
	before   []*fileRules                 // what those say about profiles
	written  map[string]*profiles.Written // the profiles as the file has them
	order    []*profiles.Written

	variables *profiles.Written // of a variable of the environment
	check     ServerCheck       // nil checks nothing

	defaultName, floorName       string
	exposed                      []string
	fileLimits                   profiles.Limits
	defaultAt, floorAt, exposeAt strictjson.Value
	scriptProfiles               []strictjson.Value // where scripts name one
	scriptsWithout               []strictjson.Value
	namedProfiles                []strictjson.Value // where tokens name one
	writtenOverlays              []writtenOverlay

	// What the profiles of all files have in common, once they are put together.
	trusted       map[string]bool
	bounds, caps  profiles.Limits // of files that the user's limits cannot exceed
	floorLayers   []*profiles.Layer
	floorsWritten []*profiles.Written // what the floors are made of
	surrounding   *profiles.Written   // what variables of the environment say, nil if none is set
	alone         bool                // they are the configuration
}

// read reads a file as far as its standing goes.
func (b *builder) read() {
	root := b.Root
	if b.standing == Narrowing {
		b.Object(root, "an overlay file", []settings.Field{
			settings.Key("overlays", b.overlays),
			settings.Key("evaluation", func(n strictjson.Value) {
				b.Object(n, `"evaluation" in an overlay file`, []settings.Field{settings.Key("overlays", b.overlays)})
			}),
			settings.Key("$schema", func(n strictjson.Value) { b.Text(n, "$schema") }),
		})
		b.finish()
		return
	}
	if b.isBareMap(root) {
		b.servers(root)
		b.finish()
		return
	}
	var serversAt strictjson.Value
	servers := func(n strictjson.Value) {
		if serversAt.Kind() != strictjson.Missing && serversAt.Key() != n.Key() {
			b.WrongKey(n, fmt.Sprintf("move what is in it to %q", serversAt.Key()), "both \"mcpServers\" and \"servers\"")
		}
		serversAt = n
		b.servers(n)
	}
	b.Object(root, "the configuration", []settings.Field{
		settings.Key("mcpServers", servers),
		settings.Key("servers", servers),
		settings.Key("evaluation", b.evaluation),
		settings.Key("builtin", b.builtin),
		settings.Key("scripts", b.scripts),
		settings.Key("limits", func(n strictjson.Value) { b.fileLimits = b.Limits(n, "limits") }),
		settings.Key("outputValidation", func(n strictjson.Value) { b.validateOutputs(n, b.validation(n)) }),
		settings.Key("store", func(n strictjson.Value) { b.process(n, &b.config.Store, b.store) }),
		settings.Key("capacity", b.capacity),
		settings.Key("http", func(n strictjson.Value) { b.process(n, &b.config.HTTP, b.http) }),
		settings.Key("console", func(n strictjson.Value) { b.process(n, &b.config.Console, b.console) }),
		settings.Key("responder", func(n strictjson.Value) { b.process(n, &b.config.Responder, b.responder) }),
		settings.Key("inputs", func(n strictjson.Value) {
			b.Warn(b.Position(n.KeyOffset()), len(n.Key()), "", `"inputs" is read by other programs; nobody is asked for them here`)
		}),
		settings.Key("$schema", func(n strictjson.Value) { b.Text(n, "$schema") }),
	})
	b.finish()
}

// isBareMap recognises a file that is nothing but servers, as some clients keep it.
func (b *builder) isBareMap(root strictjson.Value) bool {
	named := false
	for child := range settings.Children(root) {
		if slices.Contains([]string{"mcpServers", "servers", "evaluation"}, child.Key()) {
			return false // a server or profile in there may have one of the names below
		}
		server := slices.ContainsFunc([]string{"command", "url", "httpUrl", "serverUrl"}, func(key string) bool {
			return settings.Member(child, key).Kind() != strictjson.Missing
		})
		if !server {
			return false
		}
		named = named || !slices.Contains([]string{"store", "http", "console", "responder"}, child.Key())
	}
	return named
}

// setting keeps what a file says about the process as a whole.
func (b *builder) setting(n strictjson.Value, to *json.RawMessage, value []byte) {
	if !b.outOfPlace(n, *to != nil && b.base != nil) {
		*to = value
	}
}

// outOfPlace notes what has no effect where it stands: a project's file has no say in what
// concerns the process as a whole, and what an earlier file settled stays.
func (b *builder) outOfPlace(n strictjson.Value, settled bool) bool {
	switch {
	case b.project():
		b.inVain(n, fmt.Sprintf("%q", n.Key()))
		return true
	case settled:
		b.Warn(b.Position(n.KeyOffset()), len(n.Key())+2, "remove it", "%q has no effect: the %s says it already", n.Key(), b.before[0].Standing)
		return true
	}
	return false
}

// capacity reads what the process has for all principals together.
func (b *builder) capacity(n strictjson.Value) {
	var c Capacity
	count := func(name string, to *int) settings.Field {
		return settings.Key(name, func(n strictjson.Value) { *to = int(b.Whole(n, fmt.Sprintf("%q", name), leastCount)) })
	}
	bytes := func(name string, to *int64) settings.Field {
		return settings.Key(name, func(n strictjson.Value) {
			if *to = b.SizeUpTo(n, fmt.Sprintf("%q", name), maxCapacity); *to > 0 && *to < leastCapacity {
				b.Wrong(n, "", "%q must be at least 1MiB", name)
			}
		})
	}
	b.Object(n, `"capacity"`, []settings.Field{
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

func (b *builder) servers(n strictjson.Value) {
	if n.Kind() != strictjson.Object {
		b.Wrong(n, `write {"name": {"command": "..."}}`, "the servers must be an object, this is %s", n.Kind())
		return
	}
	b.Unique(n)
	names := map[string]strictjson.Value{} // by what programs call them
	for child := range settings.Children(n) {
		name := call.Part(child.Key())
		b.serverName(child, name)
		b.serverTaken(child, name)
		if other := names[name]; other.Kind() != strictjson.Missing && other.Key() != child.Key() {
			b.WrongKey(child, fmt.Sprintf("both are %q for programs: rename one of them", name), "the servers %q and %q have names that become equal", other.Key(), child.Key())
		}
		names[name] = child
		b.server(child)
	}
}

// serverTaken reports a name that a server of a file before this one has: rules speak of
// servers by name, and must go on speaking of the same one.
func (b *builder) serverTaken(n strictjson.Value, name string) {
	for _, s := range b.config.Servers {
		if s.Pos.File != b.File && call.Part(s.Name) == name && b.standing != Untrusted {
			b.WrongKey(n, "give it another name", "the server %q is in %s already", s.Name, s.Pos)
		}
	}
}

// maxServerName is longer than any name a person would want to type.
const maxServerName = 64

func (b *builder) serverName(n strictjson.Value, name string) {
	switch {
	case n.Key() == "":
		b.WrongKey(n, "give it a name: programs call codemode.<name>__<tool>", "a server without a name")
	case strings.Contains(name, "__"):
		b.WrongKey(n, `"__" separates the server from the tool: use one "_"`, "the server name %q has two underscores in a row for programs", n.Key())
	case strings.HasSuffix(name, "_"):
		b.WrongKey(n, `rules for "x" would be about "x_" too, whose tools are x___tool: remove the "_" at the end`, "the server name %q ends in an underscore for programs", n.Key())
	case len(n.Key()) > maxServerName:
		b.WrongKey(n, "choose a shorter one", "a server name longer than %d bytes", maxServerName)
	}
}

func (b *builder) server(n strictjson.Value) {
	if n.Kind() != strictjson.Object {
		b.Wrong(n, `write {"command": "..."} or {"url": "..."}`, "the server %q must be an object, this is %s", n.Key(), n.Kind())
		return
	}
	b.UniqueBelow(n)
	if b.standing == Untrusted {
		b.inVain(n, fmt.Sprintf("the server %q is not started and", n.Key()))
		return
	}
	s := Server{Name: n.Key(), JSON: settings.Source(n), Pos: b.Position(n.KeyOffset())}
	b.checkServer(n, s.JSON)
	if trust := settings.Member(n, "trustAnnotations"); trust.Kind() != strictjson.Missing {
		s.TrustAnnotations, _ = b.Boolean(trust, "trustAnnotations")
	}
	if v := settings.Member(n, "outputValidation"); v.Kind() != strictjson.Missing {
		s.OutputValidation = b.validation(v)
	}
	b.config.Servers = append(b.config.Servers, s)
}

// validation reads what becomes of results that do not fit their output schema.
func (b *builder) validation(n strictjson.Value) string {
	word, _ := b.Word(n, `"outputValidation"`, "off", "warn", "strict")
	return word
}

// validateOutputs takes the stricter of what this file and those before it say. A file that nobody trusts cannot make
// it laxer than it is when nobody says anything.
func (b *builder) validateOutputs(n strictjson.Value, word string) {
	strictness := []string{"off", "", "warn", "strict"}
	before := b.config.OutputValidation
	if slices.Index(strictness, word) > slices.Index(strictness, before) || word == "off" && before == "" && b.standing != Untrusted {
		b.config.OutputValidation = word
	} else if b.standing == Untrusted && word == "off" {
		b.Stranger(n)
	}
}

// builtin checks which built-in servers run: false for none, or an object with a switch
// for each.
func (b *builder) builtin(n strictjson.Value) {
	switch n.Kind() {
	case strictjson.False, strictjson.True:
	case strictjson.Object:
		b.Object(n, `"builtin"`, []settings.Field{
			settings.Key("time", func(n strictjson.Value) {
				if n.Kind() != strictjson.Object {
					b.Boolean(n, `"time"`)
					return
				}
				b.Object(n, `"time"`, nil)
			}),
			settings.Key("filesystem", b.filesystem),
		})
	default:
		b.Wrong(n, `write false, or {"filesystem": {"root": "DIR"}}`, `"builtin" must be false or an object, this is %s`, n.Kind())
	}
	b.setting(n, &b.config.Builtin, settings.Source(n))
}

func (b *builder) filesystem(n strictjson.Value) {
	if n.Kind() == strictjson.False {
		return
	}
	hint := `write {"root": "DIR"}, or false`
	if n.Kind() != strictjson.Object {
		b.Wrong(n, hint, `"filesystem" must be an object with a root, this is %s`, n.Kind())
		return
	}
	rooted := false
	b.Object(n, `"filesystem"`, []settings.Field{settings.Key("root", func(n strictjson.Value) {
		rooted = true
		if root, ok := b.Text(n, `"root"`); ok && b.standing == Managed && !filepath.IsAbs(root) {
			b.Wrong(n, "write the folder in full", "a root in the managed file must be absolute")
		}
	})})
	if !rooted {
		b.Wrong(n, hint, `"filesystem" needs a root: the folder that programs may use`)
	}
}
