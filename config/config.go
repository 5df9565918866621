package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles"
)

// A Config is one configuration file, or several that apply together, fully checked. It never changes afterwards, so
// any number of goroutines may use it.
type Config struct {
	Path   string     // of the user's file, if there are several
	Digest string     // of the bytes of all files: sha256:...
	Files  []FileInfo // its sources, see [ParseAll]

	evaluation evaluation `key:"evaluation"` // What programs may do.

	// Default is the profile of the base tool. "" means that only the floor restricts the base tool.
	Default string
	// Floor is the profile that binds every other profile and the base tool; "" = none.
	Floor string
	// RequirePreflight requires a check before every run, no matter what its profile says.
	RequirePreflight bool
	// PreflightLifetime is how long a check stays valid; 0 is [UsualPreflightLifetime].
	PreflightLifetime time.Duration
	// AdminURL is where people change this configuration, for links; "" if unknown.
	AdminURL string
	// ReturnAfter is how long the call of a tool that runs programs takes at most; 0 depends on the client.
	ReturnAfter time.Duration
	// Surface is what clients see of a profile: programs, search or tools; "" and auto depend on the client.
	Surface string
	// Expose narrows the listed tools, see [Config.Exposes]; nil = everything is listed.
	Expose []string
	// Strict makes the tools that run programs claim no harmlessness, whatever their profile can do.
	Strict bool

	Servers []Server // in the order of the file
	// SecretFiles lists the files that give values to the configuration: ${file:...}, and the programs of ${cmd:...}
	// that are written with their whole path.
	SecretFiles  []string
	process.Keys // settings of the process as a whole

	// Saved programs that may be run by name.
	//
	// Nil is none.
	Scripts *Scripts `key:"scripts"`
	// Limits hold for profiles that do not set them.
	Limits profiles.Limits
	// OutputValidation says what happens to results that do not match their tool's output schema: off, warn or strict;
	// "" if the file does not say.
	OutputValidation string

	// Warnings are about valid keys that are probably a mistake, and about what a person should know before trusting
	// the file. Print them once per load.
	Warnings []settings.Problem

	profiles map[string]*profiles.Profile
	base     *profiles.Profile
	overlays []*Overlay
	parts    []*fileRules
}

// UsualPreflightLifetime is how long a check stays valid if no file sets it.
const UsualPreflightLifetime = 10 * time.Minute

// The keys that concern the process as a whole.
type (
	Budget      = process.Budget
	Builtin     = process.Builtin
	Capacity    = process.Capacity
	Confine     = process.Confine
	Console     = process.Console
	Diagnostics = process.Diagnostics
	HTTP        = process.HTTP
	Person      = process.Person
	Responder   = process.Responder
	Results     = process.Results
	Script      = process.Script
	Scripts     = process.Scripts
	Sessions    = process.Sessions
	Store       = process.Store
	TLS         = process.TLS
	Token       = process.Token
	Tracing     = process.Tracing
)

// Problems of a configuration file, with their places.
type (
	// A Problem is something wrong at one place.
	Problem = settings.Problem
	// Problems is everything wrong with a file, in the order of the file. [Parse] and [Load] return it as the error for
	// an invalid file.
	Problems = settings.Problems
)

// A Server is one upstream in the file.
type Server struct {
	Name string
	JSON json.RawMessage // standard JSON, without comments and trailing commas
	Pos  settings.Position

	// TrustAnnotations lets allow rules believe the annotations of the server's tools.
	TrustAnnotations bool
	OutputValidation string // as in Config, for this server; "" leaves it to that

	entry  strictjson.Value
	src    string // the file
	unread bool   // whoever wrote the file may not name commands and files with secrets
}

// Connection says how to reach the server, with the variables of env. The error is [Problems].
func (s *Server) Connection(env func(string) (string, bool)) (servers.Server, error) {
	if s.unread {
		env = settings.Unread(env)
	}
	r := &settings.Reader{File: s.Pos.File, Src: s.src}
	connection := servers.Read(r, s.Name, s.entry, env)
	if len(r.Problems) > 0 {
		return servers.Server{}, r.Problems
	}
	return connection, nil
}

// Profile returns the profile of that name, nil if there is none. The name "" is the base tool: the default profile, or
// one that allows everything that the floor allows.
func (c *Config) Profile(name string) *profiles.Profile {
	if name == "" {
		return c.base
	}
	return c.profiles[name]
}

// Narrowed is [Config.Profile] with the overlays that match the subject at that time. Like a profile it never changes.
// Call Narrowed again for each call, so that overlays start and end while programs run; without overlays that costs
// nothing. The time must come from a [Clock]: otherwise setting the system's clock forward and back could end an
// overlay. The zero time ends none.
func (c *Config) Narrowed(profile string, s Subject, now time.Time) *profiles.Profile {
	p := c.Profile(profile)
	if p == nil {
		return nil
	}
	var layers []*profiles.Layer
	for _, o := range c.overlays {
		if o.about(s) && o.lasts(now) {
			layers = append(layers, o.layers...)
		}
	}
	return p.Under(layers...)
}

// Overlays returns the overlays of the file in the order of evaluation, most specific first. It includes expired ones.
func (c *Config) Overlays() []Overlay {
	all := make([]Overlay, len(c.overlays))
	for i, o := range c.overlays {
		all[i] = *o
	}
	return all
}

// Roles are the roles that overlays name, sorted.
func (c *Config) Roles() []string {
	var all []string
	for _, o := range c.overlays {
		if o.Role != "" {
			all = append(all, o.Role)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Mentions reports whether one of the files contains a text.
func (c *Config) Mentions(text string) bool {
	return c != nil && slices.ContainsFunc(c.parts, func(p *fileRules) bool { return strings.Contains(p.src, text) })
}

// Names returns the profiles that are listed as tools, sorted.
func (c *Config) Names() []string {
	var names []string
	for name := range c.profiles {
		if c.Exposes(toolPrefix + name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// All returns the names of all profiles, sorted, listed or not.
func (c *Config) All() []string { return slices.Sorted(maps.Keys(c.profiles)) }

// The names of our MCP tools in "expose".
const (
	baseTool   = "codemode_eval"
	toolPrefix = baseTool + "_"
	scriptTool = "codemode_run_script"
)

// helperTools are the tools that run nothing.
var helperTools = []string{"codemode_check", "codemode_collect", "codemode_session", "search_tools", "get_tools",
	"start_here", "ask_user"}

// Exposes reports whether one of our MCP tools is listed. Without "expose" all are. With it, only the profiles, the
// base tool and the tool for saved programs that it names are. The tools that run nothing stay listed unless it names
// one of them too.
func (c *Config) Exposes(tool string) bool {
	return !slices.ContainsFunc(c.parts, func(p *fileRules) bool {
		return p.expose != nil && !c.exposedBy(p.expose, tool)
	})
}

func (c *Config) exposedBy(expose []string, tool string) bool {
	if slices.Contains(expose, tool) {
		return true
	}
	if name, ok := strings.CutPrefix(tool, toolPrefix); ok {
		return slices.Contains(expose, name)
	}
	return tool != baseTool && tool != scriptTool && !slices.ContainsFunc(expose, func(name string) bool {
		return c.profiles[name] == nil && slices.Contains(helperTools, name)
	})
}
