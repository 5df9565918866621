package profiles

import (
	"fmt"
	"slices"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// readRules reads one list of a profile.
func readRules(b *settings.Reader, n strictjson.Value, l List, profile string) []*Rule {
	var rules []*Rule
	for child := range b.Elements(n, fmt.Sprintf("%q", l.String()), true) {
		r := &Rule{List: l, Pos: b.Position(child.Offset()), Profile: profile, Text: child.Compact()}
		switch child.Kind() {
		case strictjson.String:
			var tool Patterns
			tool.ReadKey(b, child, "", nil)
			r.Patterns, r.Globs = tool.Texts, tool.Globs
		case strictjson.Object:
			readRule(b, child, r)
		default:
			b.Wrong(child, `write "server__tool", or {"tool": "server__tool", ...}`,
				"a rule must be a string or an object, this is %s", child.Kind())
		}
		rules = append(rules, r)
	}
	return rules
}

// Patterns are patterns over names of tools: one, or a list.
type Patterns struct {
	Texts []string
	Globs []*match.Pattern
}

// ReadKey reads the value of a key.
func (p *Patterns) ReadKey(r *settings.Reader, n strictjson.Value, what string, _ *settings.Spec) {
	all := []strictjson.Value{n}
	if n.Kind() == strictjson.Array {
		all = slices.Collect(r.Elements(n, what, false))
	}
	for _, child := range all {
		text, ok := r.Text(child, "a pattern")
		if !ok {
			continue
		}
		if g := match.ReadPattern(r, child, match.ParseName); g != nil {
			p.Texts, p.Globs = append(p.Texts, text), append(p.Globs, g)
		}
	}
}

// ruleKeys are the keys of the rules of all lists.
type ruleKeys struct {
	ID            string           `key:"id" firm:"yes" form:"id"`
	Tool          Patterns         `key:"tool"`
	When          conditions       `key:"when"`
	Reason        string           `key:"reason" firm:"yes"`
	Annotations   hints            `key:"annotations"`
	Examples      strictjson.Value `key:"examples"`
	UnlessAllowed exceptions       `key:"unlessAllowed"`
	Others        string           `key:"others" words:"any none"`
	Until         time.Time        `key:"until"`
	Risk          call.Risk        `key:"risk" words:"low medium high critical"`
	Remember      remembered       `key:"remember"`
}

// special are the keys that only rules of some lists have, and why.
var special = map[string]struct {
	why   string
	lists []List
}{
	"unlessAllowed": {"it softens an ask rule; a deny rule cannot be softened", []List{Asklist}},
	"others":        {"it closes an allow rule; elsewhere it would loosen", []List{Allowlist}},
	"until": {"only an allow rule may end by itself: a deny or ask rule that lapses would loosen",
		[]List{Allowlist}},
	"risk":     {"what is denied has no risk", []List{Asklist, Allowlist}},
	"remember": {"only answers to an ask rule are remembered", []List{Asklist}},
}

func readRule(b *settings.Reader, n strictjson.Value, r *Rule) {
	before := len(b.Problems)
	var k ruleKeys
	b.Decode(n, "a rule", &k)
	r.ID, r.Patterns, r.Globs, r.When = k.ID, k.Tool.Texts, k.Tool.Globs, k.When
	r.reason, r.annotations, r.risk, r.until = k.Reason, k.Annotations, k.Risk, k.Until
	r.Soft, r.Unless = k.UnlessAllowed.all, k.UnlessAllowed.ids
	r.closed, r.remember = k.Others == "none", k.Remember.Remember
	for name, child := range n.Members() {
		if only, ok := special[name]; ok && !slices.Contains(only.lists, r.List) {
			b.WrongKey(child, only.why, "%q does not belong in a rule of the %s", name, r.List)
		}
	}
	if settings.Member(n, "tool").Kind() == strictjson.Missing {
		b.Wrong(n, `"tool": "*" means every tool`, `a rule needs "tool"`)
	}
	if k.Examples.Kind() != strictjson.Missing {
		examples(b, k.Examples, r, len(b.Problems) == before)
	}
}

// conditions are the key "when".
type conditions []match.Condition

// ReadKey reads the value of the key.
func (c *conditions) ReadKey(r *settings.Reader, n strictjson.Value, _ string, _ *settings.Spec) {
	*c = match.Read(r, n)
}

// exceptions are the allow rules that override an ask rule: all, or those of some ids.
type exceptions struct {
	all bool
	ids []string
}

// ReadKey reads the value of the key.
func (x *exceptions) ReadKey(r *settings.Reader, n strictjson.Value, what string, _ *settings.Spec) {
	if n.Kind() != strictjson.Array {
		x.all, _ = r.Boolean(n, what)
		return
	}
	for child := range r.Elements(n, what, false) {
		if id, ok := r.Text(child, "an entry of "+what); ok {
			x.ids = append(x.ids, id)
		}
	}
}

// hintNames are the boolean annotations that MCP defines for tools.
var hintNames = []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}

// hints are the key "annotations".
type hints []hintIs

// ReadKey reads the value of the key.
func (h *hints) ReadKey(r *settings.Reader, n strictjson.Value, what string, _ *settings.Spec) {
	var fields []settings.Field
	for _, name := range hintNames {
		fields = append(fields, settings.Key(name, func(n strictjson.Value) {
			want, _ := r.Boolean(n, fmt.Sprintf("%q", name))
			*h = append(*h, hintIs{name, want})
		}))
	}
	if r.Object(n, what, fields) && n.Len() == 0 {
		r.Wrong(n, `remove it, or write {"readOnlyHint": true}`, "%s must not be empty", what)
	}
}
