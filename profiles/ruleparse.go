package profiles

import (
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/condition"
	"github.com/codemode-project/codemode/internal/profiles/pattern"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A RuleReader reads profiles and their rules from a configuration file.
type RuleReader struct {
	*settings.Reader
}

// Rules reads one list of a profile.
func (b *RuleReader) Rules(n strictjson.Value, l List, profile string) []*Rule {
	var rules []*Rule
	for child := range b.Elements(n, fmt.Sprintf("%q", l.String()), true) {
		r := &Rule{List: l, Pos: b.Position(child.Offset()), Profile: profile, Text: child.Compact()}
		switch child.Kind() {
		case strictjson.String:
			b.Pattern(child, r)
		case strictjson.Object:
			b.rule(child, r)
		default:
			b.Wrong(child, `write "server__tool", or {"tool": "server__tool", ...}`,
				"a rule must be a string or an object, this is %s", child.Kind())
		}
		rules = append(rules, r)
	}
	return rules
}

// Pattern adds a pattern over tool names to a rule.
func (b *RuleReader) Pattern(n strictjson.Value, r *Rule) {
	text, ok := b.Text(n, "a pattern")
	if !ok {
		return
	}
	if g := pattern.Read(b.Reader, n, pattern.ParseName); g != nil {
		r.Patterns = append(r.Patterns, text)
		r.Globs = append(r.Globs, g)
	}
}

func (b *RuleReader) rule(n strictjson.Value, r *Rule) {
	var examplesAt strictjson.Value
	fields := []settings.Field{
		settings.Key("id", func(n strictjson.Value) {
			if id, ok := b.Text(n, `"id"`); ok {
				if !b.Stranger(n) {
					r.ID = id
				}
				if strings.ContainsFunc(id, func(c rune) bool { return c < ' ' || c == 0x7f }) {
					b.Wrong(n, "", "the id has control characters")
				}
			}
		}),
		settings.Key("tool", func(n strictjson.Value) {
			if n.Kind() != strictjson.Array {
				b.Pattern(n, r)
				return
			}
			for child := range b.Elements(n, `"tool"`, false) {
				b.Pattern(child, r)
			}
		}),
		settings.Key("when", func(n strictjson.Value) { r.When = condition.Read(b.Reader, n) }),
		settings.Key("reason", func(n strictjson.Value) {
			if text, ok := b.Text(n, `"reason"`); ok && !b.Stranger(n) {
				r.reason = text
			}
		}),
		settings.Key("annotations", func(n strictjson.Value) { r.annotations = b.hints(n) }),
		settings.Key("examples", func(n strictjson.Value) { examplesAt = n }),
	}
	fields = append(fields, b.special(r)...)
	before := len(b.Problems)
	b.Object(n, "a rule", fields)
	if settings.Member(n, "tool").Kind() == strictjson.Missing {
		b.Wrong(n, `"tool": "*" means every tool`, `a rule needs "tool"`)
	}
	if examplesAt.Kind() != strictjson.Missing {
		b.examples(examplesAt, r, len(b.Problems) == before)
	}
}

// special returns the fields that only some lists have. It reads them in the other lists too, so that the message can
// say why they do not belong there.
func (b *RuleReader) special(r *Rule) []settings.Field {
	only := func(name string, read func(strictjson.Value), why string, lists ...List) settings.Field {
		return settings.Key(name, func(n strictjson.Value) {
			for _, l := range lists {
				if l == r.List {
					read(n)
					return
				}
			}
			b.WrongKey(n, why, "%q does not belong in a rule of the %s", name, r.List)
		})
	}
	return []settings.Field{
		only("unlessAllowed", func(n strictjson.Value) { b.exceptions(n, r) },
			"it softens an ask rule; a deny rule cannot be softened", Asklist),
		only("others", func(n strictjson.Value) {
			word, _ := b.Word(n, `"others"`, "any", "none")
			r.closed = word == "none"
		}, "it closes an allow rule; elsewhere it would loosen", Allowlist),
		only("until", func(n strictjson.Value) { r.until = b.Moment(n) },
			"only an allow rule may end by itself: a deny or ask rule that lapses would loosen", Allowlist),
		only("risk", func(n strictjson.Value) {
			word, _ := b.Word(n, `"risk"`, string(call.Low), string(call.Medium), string(call.High), string(call.Critical))
			r.risk = call.Risk(word)
		}, "what is denied has no risk", Asklist, Allowlist),
		only("remember", func(n strictjson.Value) {
			var m remembered
			m.ReadKey(b.Reader, n, `"remember"`, nil)
			r.remember = m.Remember
		},
			"only answers to an ask rule are remembered", Asklist),
	}
}

// exceptions reads which allow rules override an ask rule: all, or those of some ids.
func (b *RuleReader) exceptions(n strictjson.Value, r *Rule) {
	if n.Kind() != strictjson.Array {
		r.Soft, _ = b.Boolean(n, `"unlessAllowed"`)
		return
	}
	for child := range b.Elements(n, `"unlessAllowed"`, false) {
		if id, ok := b.Text(child, `an entry of "unlessAllowed"`); ok {
			r.Unless = append(r.Unless, id)
		}
	}
}

// hintNames are the boolean annotations that MCP defines for tools.
var hintNames = []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}

func (b *RuleReader) hints(n strictjson.Value) []hintIs {
	var hints []hintIs
	var fields []settings.Field
	for _, name := range hintNames {
		fields = append(fields, settings.Key(name, func(n strictjson.Value) {
			want, _ := b.Boolean(n, fmt.Sprintf("%q", name))
			hints = append(hints, hintIs{name, want})
		}))
	}
	if b.Object(n, `"annotations"`, fields) && n.Len() == 0 {
		b.Wrong(n, `remove it, or write {"readOnlyHint": true}`, `"annotations" must not be empty`)
	}
	return hints
}
