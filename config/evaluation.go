package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/typos"
	"github.com/codemode-project/codemode/profiles"
)

func (b *builder) evaluation(n strictjson.Value) {
	b.Object(n, `"evaluation"`, []settings.Field{
		settings.Key("defaultProfile", func(n strictjson.Value) {
			b.defaultName, b.defaultAt = b.profileNamed(n, `"defaultProfile"`)
			if b.standing == Untrusted {
				b.withoutSay(n, `"defaultProfile"`)
				b.defaultAt = strictjson.Value{}
			}
		}),
		settings.Key("floor", func(n strictjson.Value) {
			if b.project() {
				b.WrongKey(n, "a floor belongs in your own file or the managed one", "a project file cannot name the floor")
				return
			}
			b.floorName, b.floorAt = b.profileNamed(n, `"floor"`)
		}),
		settings.Key("expose", func(n strictjson.Value) { b.exposeAt = n }),
		settings.Key("requirePreflight", func(n strictjson.Value) {
			b.config.RequirePreflight,
				_ = b.Boolean(n, `"requirePreflight"`)
		}),
		settings.Key("preflightLifetime", func(n strictjson.Value) {
			d := b.lifetime(n, `"preflightLifetime"`)
			if d <= UsualPreflightLifetime || !b.Stranger(n) { // otherwise it would be longer than the default
				b.config.PreflightLifetime = d
			}
		}),
		settings.Key("adminURL", func(n strictjson.Value) {
			if address := b.webAddress(n, `"adminURL"`); !b.outOfPlace(n, b.base != nil && b.base.AdminURL != "") {
				b.config.AdminURL = address
			}
		}),
		settings.Key("profiles", b.profiles),
		settings.Key("overlays", b.overlays),
	})
}

func (b *builder) profileNamed(n strictjson.Value, what string) (string, strictjson.Value) {
	name, ok := b.Text(n, what)
	if !ok {
		return "", strictjson.Value{}
	}
	return name, n
}

// maxProfileName is the longest name that still gives a tool name that clients accept.
const maxProfileName = 32

func (b *builder) profiles(n strictjson.Value) {
	if n.Kind() != strictjson.Object {
		b.Wrong(n, `write {"name": {"allowlist": [...]}}`, `"profiles" must be an object, this is %s`, n.Kind())
		return
	}
	b.Unique(n)
	for child := range settings.Children(n) {
		b.profileName(child)
		w := b.Profile(child)
		if b.written[child.Key()] == nil {
			b.written[child.Key()] = w
			b.order = append(b.order, w)
			if b.standing == Untrusted && !b.elsewhere(child.Key()) {
				b.withoutSay(child, fmt.Sprintf("the profile %q, which is in no other file,", child.Key()))
			}
		}
	}
}

func (b *builder) profileName(n strictjson.Value) {
	const grammar = "letters, digits and underscores, at most 32 characters"
	bad := strings.IndexFunc(n.Key(), func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
	switch {
	case n.Key() == "":
		b.WrongKey(n, grammar, "the profile has no name")
	case bad >= 0:
		hint := grammar
		if better := strings.Trim(call.Part(n.Key()), "_"); better != "" && len(better) <= maxProfileName {
			hint = fmt.Sprintf("%s: for example %q", grammar, better)
		}
		b.WrongKey(n, hint, "%q cannot be the name of a profile", n.Key())
	case len(n.Key()) > maxProfileName:
		b.WrongKey(n, grammar, "the profile name %q is too long", n.Key())
	}
}

// known reports a name that is not a profile.
func (b *builder) known(n strictjson.Value, what string) bool {
	if b.find(n.Text()) != nil {
		return true
	}
	names := b.profileNames()
	hint := "there are no profiles"
	if near := typos.Nearest(n.Text(), names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	} else if len(names) > 0 {
		hint = "there are " + settings.QuotedList(names, "and")
	}
	b.Wrong(n, hint, "%s names the profile %q, which does not exist", what, n.Text())
	return false
}

// expose checks the entries of "expose": names of profiles, and names of our MCP tools.
func (b *builder) expose(n strictjson.Value) {
	tools := append([]string{baseTool, scriptTool}, helperTools...)
	for _, name := range b.profileNames() {
		tools = append(tools, name, toolPrefix+name)
	}
	slices.Sort(tools)
	b.exposed = b.Words(n, `"expose"`, tools...)
}

// finish processes what depends on the whole file.
func (b *builder) finish() {
	if b.defaultAt.Kind() != strictjson.Missing {
		b.known(b.defaultAt, `"defaultProfile"`)
	}
	if b.floorAt.Kind() != strictjson.Missing {
		b.known(b.floorAt, `"floor"`)
	}
	if b.exposeAt.Kind() != strictjson.Missing {
		b.expose(b.exposeAt)
	}
	b.finishScripts()
	b.finishSignIn()
	for _, o := range b.writtenOverlays {
		if o.named.Kind() != strictjson.Missing {
			b.known(o.named, `"profile"`)
		}
	}
	for _, w := range b.order {
		if w.Shadow.Kind() != strictjson.Missing && b.known(w.Shadow, `"shadow"`) && w.Shadow.Text() == w.Name {
			b.Wrong(w.Shadow, "name the profile that is to take its place", "the profile %q is its own shadow", w.Name)
		}
		b.ancestors(w)
		if b.standing == Trusted && b.elsewhere(w.Name) {
			b.uniqueIDs(merged([]*profiles.Written{b.findBefore(w.Name), w}))
		}
	}
	if len(b.Problems) > 0 {
		return
	}
	b.assemble()
	b.warn()
}
