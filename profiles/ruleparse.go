package profiles

import (
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
)

// rules reads one list of a profile.
func (b *builder) rules(n *node, l list, profile string) []*rule {
	var rules []*rule
	for child := range b.elements(n, fmt.Sprintf("%q", l.String()), true) {
		r := &rule{list: l, pos: b.place(int(child.start)), profile: profile, text: string(b.t.source(child))}
		switch child.kind {
		case kindString:
			b.pattern(child, r)
		case kindObject:
			b.rule(child, r)
		default:
			b.wrong(child, `write "server__tool", or {"tool": "server__tool", ...}`, "a rule must be a string or an object, this is %s", child.kind)
		}
		rules = append(rules, r)
	}
	return rules
}

// pattern adds a pattern over tool names to a rule.
func (b *builder) pattern(n *node, r *rule) {
	text, ok := b.text(n, "a pattern")
	if !ok {
		return
	}
	if g := b.glob(n, nameGlob); g != nil {
		r.patterns = append(r.patterns, text)
		r.globs = append(r.globs, g)
	}
}

// glob reads a pattern and reports the place inside it that is wrong.
func (b *builder) glob(n *node, parse func(string) (*glob, *globError)) *glob {
	g, bad := parse(n.text)
	if bad == nil {
		return g
	}
	start, end := int(n.start), int(n.end)
	if end-start == len(n.text)+2 { // no escapes: a byte of the pattern is a byte of the file
		start += 1 + bad.at
		end = start + bad.length
	}
	b.report(start, end, bad.hint, "%s", bad.message)
	return nil
}

func (b *builder) rule(n *node, r *rule) {
	var examplesAt *node
	fields := []field{
		{"id", func(n *node) {
			if id, ok := b.text(n, `"id"`); ok {
				if !b.stranger(n) {
					r.id = id
				}
				if strings.ContainsFunc(id, func(c rune) bool { return c < ' ' || c == 0x7f }) {
					b.wrong(n, "", "an id with control characters")
				}
			}
		}},
		{"tool", func(n *node) {
			if n.kind != kindArray {
				b.pattern(n, r)
				return
			}
			for child := range b.elements(n, `"tool"`, false) {
				b.pattern(child, r)
			}
		}},
		{"when", func(n *node) { r.when = b.conditions(n) }},
		{"reason", func(n *node) {
			if text, ok := b.text(n, `"reason"`); ok && !b.stranger(n) {
				r.reason = text
			}
		}},
		{"annotations", func(n *node) { r.annotations = b.hints(n) }},
		{"examples", func(n *node) { examplesAt = n }},
	}
	fields = append(fields, b.special(r)...)
	before := len(b.problems)
	b.object(n, "a rule", fields)
	if b.t.member(n, "tool") == nil {
		b.wrong(n, `"tool": "*" means every tool`, `a rule needs "tool"`)
	}
	if examplesAt != nil {
		b.examples(examplesAt, r, len(b.problems) == before)
	}
}

// special gives the fields that only some lists have. In the other lists they are read
// too, so that the message can say why they do not belong there.
func (b *builder) special(r *rule) []field {
	only := func(name string, read func(*node), why string, lists ...list) field {
		return field{name, func(n *node) {
			for _, l := range lists {
				if l == r.list {
					read(n)
					return
				}
			}
			b.wrongKey(n, why, "%q does not belong in a rule of the %s", name, r.list)
		}}
	}
	return []field{
		only("unlessAllowed", func(n *node) { b.exceptions(n, r) },
			"it softens an ask rule; a deny rule cannot be softened", asklist),
		only("others", func(n *node) {
			word, _ := b.word(n, `"others"`, "any", "none")
			r.closed = word == "none"
		}, "it closes an allow rule; elsewhere it would loosen", allowlist),
		only("until", func(n *node) { r.until = b.moment(n) },
			"only an allow rule may end by itself: a deny or ask rule that lapses would loosen", allowlist),
		only("risk", func(n *node) {
			word, _ := b.word(n, `"risk"`, string(call.Low), string(call.Medium), string(call.High), string(call.Critical))
			r.risk = call.Risk(word)
		}, "what is denied has no risk", asklist, allowlist),
		only("remember", func(n *node) { r.remember = b.remembering(n) },
			"only answers to an ask rule are remembered", asklist),
	}
}

// exceptions reads which allow rules beat an ask rule: all, or those of some ids.
func (b *builder) exceptions(n *node, r *rule) {
	if n.kind != kindArray {
		r.soft, _ = b.boolean(n, `"unlessAllowed"`)
		return
	}
	for child := range b.elements(n, `"unlessAllowed"`, false) {
		if id, ok := b.text(child, `an entry of "unlessAllowed"`); ok {
			r.unless = append(r.unless, id)
		}
	}
}

func (b *builder) moment(n *node) time.Time {
	const hint = `write it as "2026-12-31T18:00:00Z"`
	if n.kind != kindString {
		b.wrong(n, hint, `"until" must be a string, this is %s`, n.kind)
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, n.text)
	if err != nil || t.IsZero() {
		b.wrong(n, hint, `"until" is not a time as RFC 3339 has it`)
	}
	return t
}

// hintNames are the annotations that MCP defines for tools and that say yes or no.
var hintNames = []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}

func (b *builder) hints(n *node) []hintIs {
	var hints []hintIs
	var fields []field
	for _, name := range hintNames {
		fields = append(fields, field{name, func(n *node) {
			want, _ := b.boolean(n, fmt.Sprintf("%q", name))
			hints = append(hints, hintIs{name, want})
		}})
	}
	if b.object(n, `"annotations"`, fields) && n.count == 0 {
		b.wrong(n, `remove it, or write {"readOnlyHint": true}`, `"annotations" must not be empty`)
	}
	return hints
}
