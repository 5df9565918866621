package config

import (
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles"
)

func (b *builder) overlays(n strictjson.Value) {
	first := map[string]int{}
	for child := range b.Elements(n, `"overlays"`, true) {
		o, ok := b.overlay(child)
		if !ok {
			continue
		}
		if line, twice := first[o.ID]; twice && o.ID != "" {
			b.Wrong(child, "rename one of the two", "two overlays have the id %q, the other is on line %d", o.ID, line)
		}
		first[o.ID] = o.Pos.Line
		b.writtenOverlays = append(b.writtenOverlays, o)
	}
}

func (b *builder) overlay(n strictjson.Value) (writtenOverlay, bool) {
	var keys struct {
		Overlay
		Tool profiles.Patterns `key:"tool"`
		profiles.Common
	}
	before := len(b.Problems)
	ok := b.Decode(n, "an overlay", &keys)
	o := writtenOverlay{Overlay: &keys.Overlay}
	if o.Profile != "" {
		o.named = settings.Member(n, "profile")
	}
	o.Pos, o.Tools, o.tools = b.Position(n.Offset()), keys.Tool.Texts, keys.Tool.Globs
	w := &profiles.Written{Pos: o.Pos, Common: keys.Common}
	profiles.ReadLists(b.Reader, w)
	says := w.Has != [3]bool{} || w.Unmatched != nil || settings.Member(n, "limits").Kind() != strictjson.Missing
	if !ok {
		return o, false
	}
	if b.standing == Untrusted {
		o.ID = strangersName(o.ID)
	}
	if len(b.Problems) == before {
		b.overlaySense(n, o.Overlay, says || o.named.Kind() != strictjson.Missing)
	}
	if says {
		o.rules = w
		w.Name, w.Source, w.Chain = o.ID, settings.Source(n), []*profiles.Written{w}
		for _, rules := range w.Lists {
			for _, r := range rules {
				r.Profile = o.ID
			}
		}
		b.uniqueIDs(w)
	}
	return o, true
}

// strangersName names an overlay of an untrusted file. The name differs from overlays of other files, and no person can
// mistake it for our words.
func strangersName(id string) string {
	kept := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, id)
	return "project/" + kept[:min(len(kept), 32)]
}

// overlaySense reports an overlay that can have no effect, or that affects everybody.
func (b *builder) overlaySense(n strictjson.Value, o *Overlay, says bool) {
	selects := slices.ContainsFunc([]string{"session", "principal", "role", "program", "folder"}, func(key string) bool {
		return settings.Member(n, key).Kind() != strictjson.Missing
	})
	switch {
	case settings.Member(n, "id").Kind() == strictjson.Missing:
		b.Wrong(n, `add "id": reasons call the overlay by it`, "the overlay has no id")
	case !selects:
		b.Wrong(n, `add "session", "principal", "role", "program" or "folder"; what is for everybody belongs in the floor`,
			"the overlay %q is for nobody in particular", o.ID)
	case !says:
		b.Wrong(n, `add "profile", a list, "unmatched" or "limits"`, "the overlay %q changes nothing", o.ID)
	}
}
