package config

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
)

// keys are those of the process; none of a nil Config.
func (c *Config) keys() *process.Keys {
	if c == nil {
		return &process.Keys{}
	}
	return &c.Keys
}

// HTTP returns the key "http" with the variables of env. The error is [Problems] and lists the unusable tokens; then
// nobody may connect. The result contains these tokens without their fingerprints.
func (c *Config) HTTP(env func(string) (string, bool)) (HTTP, error) {
	return c.keys().HTTP.Expand(env)
}

// Store returns the key "store" with the variables of env. The error is [Problems].
func (c *Config) Store(env func(string) (string, bool)) (Store, error) {
	return c.keys().Store.Expand(env)
}

// SameStore reports whether two configurations say the same about the store.
func (c *Config) SameStore(other *Config) bool {
	return c.keys().Store.Source() == other.keys().Store.Source()
}

// Diagnostics returns the key "diagnostics" with the variables of env. The error is [Problems]; then nothing may be
// served.
func (c *Config) Diagnostics(env func(string) (string, bool)) (Diagnostics, error) {
	return c.keys().Diagnostics.Expand(env)
}

// Tracing returns the key "tracing" with the variables of env. The error is [Problems].
func (c *Config) Tracing(env func(string) (string, bool)) (Tracing, error) {
	return c.keys().Tracing.Expand(env)
}

// KeptResults returns the key "results", or the usual rules.
func (c *Config) KeptResults() Results { return settings.OrUsual(c.keys().Results) }

// Sessions returns the key "sessions", or the usual rules.
func (c *Config) Sessions() Sessions { return settings.OrUsual(c.keys().Sessions) }

// Budgets returns the key "budgets".
func (c *Config) Budgets() []Budget { return c.keys().Budgets }

// Believes reports whether a server's annotations are believed.
func (c *Config) Believes(server string) bool {
	return slices.ContainsFunc(c.Servers, func(s Server) bool { return s.Name == server && s.TrustAnnotations })
}

// ConsolePath is the path of the page beside MCP over HTTP.
const ConsolePath = "/console"

// Notified returns the key "notifications" with the address of the page: what it says itself, else what "console" says,
// with the path that the page has beside MCP over HTTP; nil if nobody is told of questions.
func (c *Config) Notified(path string) *process.Notifications {
	if c == nil || c.Notifications == nil {
		return nil
	}
	n := *c.Notifications
	if n.Page == "" && c.Console != nil && c.Console.Origin != "" {
		if n.Page = c.Console.Origin; c.Console.Address == "" {
			n.Page += path
		}
	}
	return &n
}

// processFields reads the keys of the process.
func (b *builder) processFields() (fields []settings.Field) {
	for _, s := range settings.Specs(reflect.TypeFor[process.Keys]()) {
		fields = append(fields, settings.Key(s.Name, func(n strictjson.Value) {
			if b.project() {
				b.outOfPlace(n, false)
				return
			}
			v, to := reflect.New(s.Type).Elem(), reflect.ValueOf(&b.config.Keys).Elem().FieldByIndex(s.Path)
			b.ReadKey(n, s, v)
			if !b.outOfPlace(n, b.base != nil && !to.IsZero()) {
				to.Set(v)
			}
			for _, n := range b.Named {
				b.named = append(b.named, namedProfile{n, namedIn[s.Name]})
			}
			b.Named = nil
		}))
	}
	return fields
}

// namedIn says what it leads to that a key of the process names a profile that is not there.
var namedIn = map[string]string{
	"http": "so the token does not allow it", "budgets": "so no call counts for it",
	"notifications": "so nobody is notified of its questions",
}

func (b *builder) scripts(n strictjson.Value) {
	s := &Scripts{Pos: b.Position(n.KeyOffset())}
	b.Decode(n, `"scripts"`, s)
	b.scriptProfiles, b.Named = b.Named, nil
	for _, child := range settings.Member(n, "allow").Elements() {
		if child.Kind() == strictjson.Object && settings.Member(child, "profile").Kind() == strictjson.Missing {
			b.scriptsWithout = append(b.scriptsWithout, child)
		}
	}
	if !b.outOfPlace(n, b.base != nil && b.base.Scripts != nil) {
		b.config.Scripts = s
	}
}

// finishScripts checks what depends on the profiles.
func (b *builder) finishScripts() {
	for _, n := range b.scriptProfiles {
		b.known(n, `"profile"`)
	}
	for _, n := range b.scriptsWithout {
		if b.defaultAt.Kind() == strictjson.Missing && (b.base == nil || b.base.Default == "") {
			b.Wrong(n, `write "profile": "...", or set "defaultProfile"`, "no profile says what this script may do")
		}
	}
}

// reachable warns of profiles that the keys of the process name and no file defines. That is no error: another file may
// add them.
func (b *builder) reachable() {
	for _, x := range b.named {
		n := x.at
		if b.find(n.Text()) != nil {
			continue
		}
		hint := "define it, or remove it here"
		if near := visible.Nearest(n.Text(), b.profileNames()); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		b.Warn(b.Position(b.Span(n).Start), len(n.Text())+2, hint, "there is no profile %q, %s", n.Text(), x.effect)
	}
}
