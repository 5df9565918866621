package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles"
)

func (b *builder) evaluation(n strictjson.Value) {
	e := &b.config.evaluation
	b.Decode(n, `"evaluation"`, e)
	if at := e.DefaultProfile; b.standing != Untrusted {
		b.defaultName, b.defaultAt = at.Text(), at
	} else if at.Kind() != strictjson.Missing {
		b.withoutSay(at, `"defaultProfile"`)
	}
	if at := e.Floor; !b.project() {
		b.floorName, b.floorAt = at.Text(), at
	} else if at.Kind() != strictjson.Missing {
		b.WrongKey(at, "a floor belongs in your own file or the managed one", "a project file cannot name the floor")
	}
	// An untrusted file cannot make it longer than the usual one.
	if e.PreflightLifetime > UsualPreflightLifetime && b.Stranger(settings.Member(n, "preflightLifetime")) {
		e.PreflightLifetime = 0
	}
	if e.ReturnAfter > 0 && b.Stranger(settings.Member(n, "returnAfter")) {
		e.ReturnAfter = 0
	}
	if e.Surface != "" && b.Stranger(settings.Member(n, "surface")) {
		e.Surface = ""
	}
	if e.AdminURL != "" && !b.outOfPlace(settings.Member(n, "adminURL"), b.base != nil && b.base.AdminURL != "") {
		b.config.AdminURL = e.AdminURL
	}
	b.config.ReturnAfter, b.config.Strict, b.config.Surface = e.ReturnAfter, e.Annotations == "strict", e.Surface
	b.config.RequirePreflight, b.config.PreflightLifetime = e.RequirePreflight, e.PreflightLifetime
	if e.Profiles.Kind() != strictjson.Missing {
		b.profiles(e.Profiles.Value)
	}
	if e.Overlays.Kind() != strictjson.Missing {
		b.overlays(e.Overlays)
	}
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
		w := profiles.Read(b.Reader, child)
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

// expose checks the entries of "expose": names of profiles, and names of our MCP tools.
func (b *builder) expose(n strictjson.Value) {
	tools := append([]string{baseTool, scriptTool}, helperTools...)
	for _, name := range b.profileNames() {
		tools = append(tools, name, toolPrefix+name)
	}
	slices.Sort(tools)
	b.exposed = b.Words(n, `"expose"`, tools...)
}
