package policy

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/profiles"
)

// operators are one condition as the file has it, decoded: {"prefix": "/data"}.
type operators map[string]any

// operatorsOf are the conditions of a rule, by pointer.
func operatorsOf(r *profiles.Rule) map[string]operators {
	var written struct{ When map[string]operators }
	_ = json.Unmarshal([]byte(r.Text), &written) // a rule that is a pattern alone has none
	return written.When
}

// has reports whether the condition uses one of the operators, also inside of "any".
func (o operators) has(names ...string) bool {
	found := slices.ContainsFunc(names, func(n string) bool { return o[n] != nil })
	o.any(func(in operators) { found = found || in.has(names...) })
	return found
}

// any calls f for the conditions inside of "any".
func (o operators) any(f func(operators)) {
	list, _ := o["any"].([]any)
	for _, in := range list {
		if in, ok := in.(map[string]any); ok {
			f(in)
		}
	}
}

// literals are the texts of the condition.
func (o operators) literals() (all []string) {
	for _, name := range sortedKeys(o) {
		all = append(all, oneOrMore(o[name])...)
	}
	o.any(func(in operators) { all = append(all, in.literals()...) })
	return all
}

// names reports whether a text of the condition contains s, in any case.
func (o operators) names(s string) bool {
	return strings.Contains(strings.ToLower(strings.Join(o.literals(), " ")), strings.ToLower(s))
}

// texts are texts for which the condition may hold, with fill wherever it leaves the text open.
func (o operators) texts(fill string) (all []string) {
	prefix, hasPrefix := o["prefix"].(string)
	suffix, hasSuffix := o["suffix"].(string)
	if hasPrefix || hasSuffix {
		all = append(all, prefix+fill+suffix)
	}
	all = append(append(all, oneOrMore(o["eq"])...), oneOrMore(o["in"])...)
	if s, ok := o["glob"].(string); ok {
		for _, plain := range withoutBraces(s) {
			all = append(all, globText(plain, fill))
		}
	}
	if s, ok := o["regex"].(string); ok {
		all = append(all, matching(s, fill))
	}
	for _, folder := range oneOrMore(o["under"]) {
		all = append(all, strings.TrimSuffix(folder, "/")+"/"+fill)
	}
	for _, host := range oneOrMore(o["host"]) {
		host = "https://" + strings.Replace(host, "*.", "www.", 1)
		if fill == "" || !strings.Contains(".@:", fill[:1]) {
			host += "/"
		}
		all = append(all, host+fill)
	}
	o.any(func(in operators) { all = append(all, in.texts(fill)...) })
	return all
}

// oneOrMore are a text, or the texts of a list.
func oneOrMore(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, s := range v {
			if s, ok := s.(string); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// mostAlternatives bounds how many texts the braces of a glob become.
const mostAlternatives = 16

var innermost = regexp.MustCompile(`\{([^{}]*)\}`)

// withoutBraces writes a glob once for each of the alternatives in its braces.
func withoutBraces(glob string) (all []string) {
	at := innermost.FindStringSubmatchIndex(glob)
	if at == nil {
		return []string{glob}
	}
	for alternative := range strings.SplitSeq(glob[at[2]:at[3]], ",") {
		all = append(all, withoutBraces(glob[:at[0]]+alternative+glob[at[1]:])...)
	}
	return all[:min(len(all), mostAlternatives)]
}

// globText is a text that a glob without braces matches.
func globText(glob, fill string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			if !strings.HasPrefix(glob[i+1:], "*") {
				b.WriteString(fill)
			}
		case '?':
			b.WriteByte('x')
		case '[':
			end := strings.IndexByte(glob[i:], ']')
			if end < 2 {
				return ""
			}
			b.WriteByte(glob[i+1]) // a wrong guess does not match, and is left out
			i += end
		case '\\':
			if i++; i < len(glob) {
				b.WriteByte(glob[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// values are values of any type for which the condition may hold.
func (o operators) values() (all []any) {
	for _, s := range o.texts("x") {
		all = append(all, s)
	}
	if v, ok := o["eq"]; ok {
		all = append(all, v)
	}
	if in, ok := o["in"].([]any); ok {
		all = append(all, in...)
	}
	for _, limit := range []struct {
		operator string
		beyond   float64
	}{{"gt", 1}, {"gte", 0}, {"lt", -1}, {"lte", 0}} {
		switch bound := o[limit.operator].(type) {
		case float64:
			all = append(all, bound+limit.beyond)
		case string:
			if n, err := strconv.ParseFloat(bound, 64); err == nil {
				all = append(all, n+limit.beyond, strconv.FormatFloat(n+limit.beyond, 'f', -1, 64))
			}
		}
	}
	all = append(all, "x", 1.0, true, false, []any{}, map[string]any{})
	o.any(func(in operators) { all = append(all, in.values()...) })
	return all
}

// holds reports whether a condition of the rule certainly holds for arguments.
func holds(r *profiles.Rule, c *match.Condition, args map[string]any) bool {
	text, err := json.Marshal(args)
	if err != nil {
		return false
	}
	root, bad := call.Unread(text).Tree()
	return bad == nil &&
		c.Judge(&match.Arguments{Root: root}, r.List != profiles.Allowlist).Result == match.Yes
}

// satisfied returns the arguments changed so that the conditions of the rule hold, apart from the one at index but (-1:
// all); nil if it is not clear how.
func satisfied(r *profiles.Rule, args map[string]any, but int) map[string]any {
	when := operatorsOf(r)
	for i := range r.When {
		c := &r.When[i]
		if i == but || holds(r, c, args) {
			continue
		}
		values := when[c.Pointer].values()
		at := slices.IndexFunc(values, func(v any) bool { return holds(r, c, with(args, c.Steps, v)) })
		switch {
		case at >= 0:
			args = with(args, c.Steps, values[at])
		case holds(r, c, without(args, c.Steps)): // {"exists": false}
			args = without(args, c.Steps)
		default:
			return nil
		}
	}
	return args
}

// with returns a copy of arguments with a value at a place.
func with(args map[string]any, steps []match.Step, value any) map[string]any {
	made, _ := placed(args, steps, value).(map[string]any)
	return made
}

func placed(in any, steps []match.Step, value any) any {
	if len(steps) == 0 {
		return value
	}
	s := steps[0]
	if list, ok := in.([]any); ok || s.Any || in == nil && s.Index >= 0 {
		list = slices.Clone(list)
		for len(list) <= max(s.Index, 0) {
			list = append(list, nil)
		}
		if s.Any {
			list = list[:1] // all elements are as the rule wants
		}
		list[max(s.Index, 0)] = placed(list[max(s.Index, 0)], steps[1:], value)
		return list
	}
	made := map[string]any{}
	if old, ok := in.(map[string]any); ok {
		maps.Copy(made, old)
	}
	made[s.Key] = placed(made[s.Key], steps[1:], value)
	return made
}

// without returns a copy of arguments without the member at the beginning of a place.
func without(args map[string]any, steps []match.Step) map[string]any {
	made := maps.Clone(args)
	delete(made, steps[0].Key)
	return made
}

// stepsOf are the steps to an argument.
func stepsOf(a *argument) []match.Step {
	steps := make([]match.Step, len(a.steps))
	for i, s := range a.steps {
		steps[i] = match.Step{Key: s, Any: s == "*", Index: -1}
	}
	return steps
}
