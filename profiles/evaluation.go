package profiles

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func (b *builder) evaluation(n *node) {
	b.object(n, `"evaluation"`, []field{
		{"defaultProfile", func(n *node) { b.config.Default, b.defaultAt = b.profileNamed(n, `"defaultProfile"`) }},
		{"floor", func(n *node) { b.config.Floor, b.floorAt = b.profileNamed(n, `"floor"`) }},
		{"expose", func(n *node) { b.exposeAt = n }},
		{"profiles", b.profiles},
	})
}

func (b *builder) profileNamed(n *node, what string) (string, *node) {
	name, ok := b.text(n, what)
	if !ok {
		return "", nil
	}
	return name, n
}

// maxProfileName is the longest name that still makes a tool name clients accept.
const maxProfileName = 32

func (b *builder) profiles(n *node) {
	if n.kind != kindObject {
		b.wrong(n, `write {"name": {"allowlist": [...]}}`, `"profiles" must be an object, this is %s`, n.kind)
		return
	}
	b.unique(n)
	b.written = map[string]*written{}
	for child := range b.t.children(n) {
		b.profileName(child)
		w := b.profile(child)
		if b.written[child.key] == nil {
			b.written[child.key] = w
			b.order = append(b.order, w)
		}
	}
}

func (b *builder) profileName(n *node) {
	const grammar = "letters, digits and underscores, at most 32 characters"
	bad := strings.IndexFunc(n.key, func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
	switch {
	case n.key == "":
		b.wrongKey(n, grammar, "a profile without a name")
	case bad >= 0:
		hint := grammar
		if better := strings.Trim(sanitise(n.key), "_"); better != "" && len(better) <= maxProfileName {
			hint = fmt.Sprintf("%s: for example %q", grammar, better)
		}
		b.wrongKey(n, hint, "%q cannot be the name of a profile", n.key)
	case len(n.key) > maxProfileName:
		b.wrongKey(n, grammar, "the profile name %q is too long", n.key)
	}
}

// known reports a name that no profile has.
func (b *builder) known(n *node, what string) bool {
	if b.written[n.text] != nil {
		return true
	}
	names := slices.Sorted(maps.Keys(b.written))
	hint := "there are no profiles"
	if near := nearest(n.text, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	} else if len(names) > 0 {
		hint = "there are " + quotedList(names, "and")
	}
	b.wrong(n, hint, "%s names the profile %q, which does not exist", what, n.text)
	return false
}

// expose checks the entries of "expose": names of profiles, and names of our MCP tools.
func (b *builder) expose(n *node) {
	tools := append([]string{baseTool}, helperTools...)
	for name := range b.written {
		tools = append(tools, name, toolPrefix+name)
	}
	slices.Sort(tools)
	b.config.Expose = b.words(n, `"expose"`, tools...)
}

// finish puts together what needs the whole file.
func (b *builder) finish() {
	if b.defaultAt != nil {
		b.known(b.defaultAt, `"defaultProfile"`)
	}
	if b.floorAt != nil {
		b.known(b.floorAt, `"floor"`)
	}
	if b.exposeAt != nil {
		b.expose(b.exposeAt)
	}
	for _, w := range b.order {
		b.ancestors(w)
	}
	if len(b.problems) > 0 {
		return
	}
	b.assemble()
	b.warn()
}
