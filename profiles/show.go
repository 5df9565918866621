package profiles

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/visible"
)

// settingsText writes a profile's settings besides its rules, one per line. Every profile has the same lines.
func (p *Profile) settingsText() string {
	var b strings.Builder
	line := func(name string, value any) {
		raw, err := json.Marshal(value)
		if err != nil {
			panic(err) // settings are plain values
		}
		fmt.Fprintf(&b, "%s: %s\n", name, raw)
	}
	line("unmatched", p.unmatched.String())
	line("elicitationFallback", map[bool]string{true: "allow", false: "deny"}[p.fallback])
	line("requirePreflight", p.preflight)
	line("keepResults", !p.forgets)
	line("sessions", !p.noSessions)
	line("prompts", append([]string{}, p.offers[0]...))
	line("resources", append([]string{}, p.offers[1]...))
	line("limits", said(p.Limits()))
	ask := p.ask
	if ask.OtherOnly {
		ask.Approver = "other"
	}
	line("ask", said(ask))
	remember := narrowed(p.remembers)
	if len(p.remembers) == 0 || len(remember.Scopes) == 0 {
		line("remember", "nothing")
	} else {
		line("remember", map[string]any{"scopes": remember.Scopes, "default": remember.Default.String(),
			"max": remember.Max.String(), "args": remember.Args})
	}
	redact := map[string]any{"keys": append([]string{}, p.redact.Keys...),
		"pointers": append([]string{}, p.redact.Pointers...), "detect": !p.redact.NoDetect}
	if len(p.redact.Tools) > 0 {
		redact["tools"] = p.redact.Tools
	}
	line("redact", redact)
	raise := map[string]string{}
	for _, q := range p.all() {
		for name, v := range q.raise {
			if old, ok := raise[name]; !ok || v.String() == "deny" || old == "" {
				raise[name] = v.String()
			}
		}
	}
	line("raise", raise)
	return b.String()
}

// said returns the keys of a struct with settings that are set.
func said(settings any) map[string]any {
	all := map[string]any{}
	for field, v := range reflect.ValueOf(settings).Fields() {
		key := field.Tag.Get("key")
		if key == "" || v.IsZero() {
			continue
		}
		switch is := v.Interface().(type) {
		case time.Duration:
			all[key] = is.String()
		default:
			all[key] = is
		}
	}
	return all
}

// Text shows the effective profile: its rules and those of its ancestors, in the order of evaluation, its layers, and
// its settings.
func (p *Profile) Text() string {
	var b strings.Builder
	visible.Fprintf(&b, "profile %s, %s\n", cmp.Or(p.name, "of the base tool"), p.pos)
	p.rulesText(&b, "", "")
	for _, l := range p.layers {
		visible.Fprintf(&b, "\nbound by the %s", l.What)
		if l.What == FloorLayer || l.What == ManagedLayer {
			visible.Fprintf(&b, ", the profile %s", l.name)
		}
		visible.Fprintf(&b, ", %s\n", l.pos)
		l.rulesText(&b, l.Mute, "unmatched: "+l.unmatched.String())
	}
	b.WriteString("\n" + visible.JSON(p.settingsText()))
	if p.shadow != nil {
		visible.Fprintf(&b, "shadow: %s\n", strconv.Quote(p.shadow.name))
	}
	visible.Fprintf(&b, "digest: %s\n", p.digest)
	return b.String()
}

func (p *ruleSet) rulesText(b *strings.Builder, mute, unmatched string) {
	for l := Denylist; l <= Allowlist; l++ {
		for i, r := range slices.DeleteFunc(slices.Clone(p.rules), func(r *Rule) bool { return r.List != l }) {
			if i == 0 {
				note := ""
				if l == Allowlist && mute != "" {
					note = " (" + mute + ")"
				}
				visible.Fprintf(b, "  %s%s\n", l, note)
			}
			visible.Fprintf(b, "    %s:%d  %s\n", r.Pos.File, r.Pos.Line, visible.JSON(r.Text))
		}
	}
	if unmatched != "" {
		visible.Fprintf(b, "  %s\n", unmatched)
	}
}

// JSON shows the profile as one object.
func (p *Profile) JSON() json.RawMessage {
	type shownRule struct {
		List  string          `json:"list"`
		At    string          `json:"at"`
		Layer string          `json:"layer,omitempty"`
		Rule  json.RawMessage `json:"rule"`
	}
	rules := []shownRule{}
	add := func(p *Profile, layer string) {
		for _, r := range p.rules {
			rules = append(rules, shownRule{r.List.String(), r.Pos.String(), layer, json.RawMessage(r.Text)})
		}
	}
	add(p, "")
	for _, l := range p.layers {
		add(l.Profile, l.What)
	}
	settings := map[string]json.RawMessage{}
	for line := range strings.Lines(p.settingsText()) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		settings[name] = json.RawMessage(value)
	}
	raw, err := json.Marshal(map[string]any{
		"profile": p.name, "at": p.pos.String(), "digest": p.digest, "rules": rules, "settings": settings,
	})
	if err != nil {
		panic(err) // cannot happen: it consists of JSON
	}
	return raw
}
