package config

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/profiles"
)

// pairs is how many random (profile, call) pairs the oracle decides. One million takes a
// minute: go test ./config -run Oracle -pairs 1000000.
var pairs = flag.Int("pairs", unlessRace(100_000, 10_000), "random (profile, call) pairs to decide")

func unlessRace(n, race int) int {
	if hostile.Raced() {
		return race
	}
	return n
}

// This file decides calls a second time, straight from POLICY.md section 3: slowly, from
// the decoded JSON, sharing nothing with the package but the file format. Verdicts and
// logic are words here, so that no ordering of constants can be wrong in both.

type object = map[string]any

// oracleDecide gives "deny", "ask" or "allow".
func oracleDecide(evaluation object, name string, c profiles.Call) string {
	all := evaluation["profiles"].(object)
	floorName, _ := evaluation["floor"].(string)
	if name == "" {
		name, _ = evaluation["defaultProfile"].(string)
	}
	verdict := "allow"
	if name != "" {
		verdict = oracleProfile(all, name, c)
	}
	if floorName != "" {
		verdict = strictest(verdict, oracleProfile(all, floorName, c))
	}
	return verdict
}

func oracleChain(all object, name string, seen map[string]bool) []object {
	if seen[name] {
		return nil
	}
	seen[name] = true
	p := all[name].(object)
	chain := []object{p}
	parents, _ := p["extends"].([]any)
	for _, parent := range parents {
		chain = append(chain, oracleChain(all, parent.(string), seen)...)
	}
	return chain
}

func oracleProfile(all object, name string, c profiles.Call) string {
	chain := oracleChain(all, name, map[string]bool{})
	results := func(list string, keep func(rule object) bool) []string {
		var all []string
		for _, p := range chain {
			rules, _ := p[list].([]any)
			for _, rule := range rules {
				o, ok := rule.(object)
				if !ok {
					o = object{"tool": rule}
				}
				if keep(o) && oracleAbout(o, c) {
					all = append(all, oracleRule(o, list, c))
				}
			}
		}
		return all
	}
	every := func(object) bool { return true }
	soft := func(o object) bool { return o["unlessAllowed"] == true }
	hard := func(o object) bool {
		named, _ := o["unlessAllowed"].([]any) // it gives way to these allow rules and to no others
		excepted := slices.Contains(results("allowlist", func(o object) bool {
			return slices.Contains(named, o["id"]) &&
				o["id"] != nil
		}), "true")
		return !soft(o) && !excepted
	}
	denies := results("denylist", every)
	if slices.Contains(denies, "true") {
		return "deny"
	}
	base := ""
	switch {
	case slices.Contains(results("asklist", hard), "true"):
		base = "ask"
	case slices.Contains(results("allowlist", every), "true"):
		base = "allow"
	case slices.Contains(results("asklist", soft), "true"):
		base = "ask"
	default:
		base = "allow"
		for _, p := range chain {
			unmatched, said := p["unmatched"].(string)
			_, listed := p["allowlist"]
			if !said && listed {
				unmatched = "deny"
			}
			base = strictest(base, unmatched)
		}
	}
	if slices.Contains(denies, "unknown") || slices.Contains(results("asklist", every), "unknown") {
		return strictest("ask", base)
	}
	return base
}

func oracleAbout(rule object, c profiles.Call) bool {
	patterns, ok := rule["tool"].([]any)
	if !ok {
		patterns = []any{rule["tool"]}
	}
	names := []string{call.Name(c.Server, c.Tool), c.Server + "__" + c.Tool, call.Part(c.Server) + "__" + c.Tool}
	for _, p := range patterns {
		for _, n := range names {
			if oracleGlob(p.(string), n) {
				return true
			}
		}
	}
	return false
}

func allOf(results ...string) string {
	for _, r := range []string{"false", "unknown"} {
		if slices.Contains(results, r) {
			return r
		}
	}
	return "true"
}

func anyOf(results ...string) string {
	for _, r := range []string{"true", "unknown"} {
		if slices.Contains(results, r) {
			return r
		}
	}
	return "false"
}

func oracleRule(rule object, list string, c profiles.Call) string {
	results := []string{"true"}
	if until, ok := rule["until"].(string); ok {
		end, _ := time.Parse(time.RFC3339, until)
		results = append(results, fmt.Sprint(!c.Time.IsZero() && c.Time.Before(end)))
	}
	hints, _ := rule["annotations"].(object)
	for name, want := range hints {
		got, said := c.Annotations[name].(bool)
		switch {
		case list == "allowlist" && c.Server != "trusted", !said:
			results = append(results, "unknown")
		default:
			results = append(results, fmt.Sprint(got == want))
		}
	}
	var args any = object{}
	if c.Args.Given() {
		d := json.NewDecoder(strings.NewReader(c.Args.String()))
		d.UseNumber()
		if err := d.Decode(&args); err != nil {
			panic(err)
		}
	}
	when, _ := rule["when"].(object)
	for pointer, condition := range when {
		tokens := strings.Split(pointer, "/")[1:]
		results = append(results, oraclePointer(args, true, tokens, condition.(object), list != "allowlist"))
	}
	if rule["others"] == "none" && !oracleNamed(args, nil, when) {
		results = append(results, "false")
	}
	return allOf(results...)
}

// oraclePointer judges a condition on what the tokens lead to from v.
func oraclePointer(v any, there bool, tokens []string, condition object, wide bool) string {
	if !there || len(tokens) == 0 {
		return oracleCondition(v, there, condition, wide)
	}
	switch v := v.(type) {
	case nil:
		return oracleCondition(nil, false, condition, wide)
	case []any:
		if tokens[0] == "*" {
			var all []string
			for _, e := range v {
				all = append(all, oraclePointer(e, true, tokens[1:], condition, wide))
			}
			if wide || len(all) == 0 {
				return anyOf(all...)
			}
			return allOf(all...)
		}
		for i := range len(v) + 10 {
			if tokens[0] == fmt.Sprint(i) {
				if i >= len(v) {
					return oracleCondition(nil, false, condition, wide)
				}
				return oraclePointer(v[i], true, tokens[1:], condition, wide)
			}
		}
		return "unknown"
	case object:
		if tokens[0] == "*" {
			return "unknown"
		}
		exact, there := v[tokens[0]]
		var alike []string
		for key, value := range v {
			if key != tokens[0] && oracleFold(key) == oracleFold(tokens[0]) {
				alike = append(alike, oraclePointer(value, true, tokens[1:], condition, wide))
			}
		}
		switch {
		case len(alike) == 0:
			return oraclePointer(exact, there, tokens[1:], condition, wide)
		case !wide:
			return "unknown"
		case there:
			return anyOf(append(alike, oraclePointer(exact, true, tokens[1:], condition, wide))...)
		default:
			return anyOf(append(alike, "unknown")...)
		}
	default:
		return "unknown"
	}
}

func oracleFold(s string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

func oracleCondition(v any, there bool, condition object, wide bool) string {
	var results []string
	missing, decided := condition["ifMissing"].(string)
	for op, want := range condition {
		switch {
		case op == "ifMissing":
		case op == "exists":
			results = append(results, fmt.Sprint(there == want.(bool)))
		case !there && decided:
			results = append(results, map[string]string{"match": "true", "noMatch": "false", "unknown": "unknown"}[missing])
		case op == "not":
			inner := oracleCondition(v, there, want.(object), !wide)
			results = append(results, map[string]string{"true": "false", "false": "true", "unknown": "unknown"}[inner])
		case op == "any":
			var each []string
			for _, x := range want.([]any) {
				each = append(each, oracleCondition(v, there, x.(object), wide))
			}
			results = append(results, anyOf(each...))
		case !there:
			results = append(results, "unknown")
		default:
			results = append(results, oracleOperator(v, op, want, wide))
		}
	}
	return allOf(results...)
}

func oracleOperator(v any, op string, want any, wide bool) string {
	s, isText := v.(string)
	text := func(holds func(s, want string) bool) string {
		if !isText {
			return "unknown"
		}
		return fmt.Sprint(holds(s, want.(string)) || wide && holds(oracleFold(s), oracleFold(want.(string))))
	}
	number := func(holds func(order int) bool) string {
		x, ok := oracleNumber(v)
		y, _ := oracleNumber(want)
		if !ok {
			return "unknown"
		}
		return fmt.Sprint(holds(x.Cmp(y)))
	}
	switch op {
	case "eq":
		return oracleEqual(v, []any{want}, wide)
	case "in":
		return oracleEqual(v, want.([]any), wide)
	case "prefix":
		return text(strings.HasPrefix)
	case "suffix":
		return text(strings.HasSuffix)
	case "glob":
		return text(func(s, want string) bool { return oracleGlob(want, s) })
	case "lt":
		return number(func(o int) bool { return o == -1 })
	case "lte":
		return number(func(o int) bool { return o != 1 })
	case "gt":
		return number(func(o int) bool { return o == 1 })
	case "gte":
		return number(func(o int) bool { return o != -1 })
	case "maxLength":
		if !isText {
			return "unknown"
		}
		return fmt.Sprint(utf8.RuneCountInString(s) <= want.(int))
	case "maxItems":
		list, ok := v.([]any)
		if !ok {
			return "unknown"
		}
		return fmt.Sprint(len(list) <= want.(int))
	case "type":
		return fmt.Sprint(oracleKind(v) == want)
	case "under":
		if !isText || !strings.HasPrefix(s, "/") {
			return "unknown"
		}
		in := func(s, folder string) bool { return strings.HasPrefix(path.Clean(s)+"/", folder+"/") }
		return fmt.Sprint(in(s, want.(string)) || wide && in(oracleFold(s), oracleFold(want.(string))))
	}
	panic(op)
}

func oracleKind(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case object:
		return "object"
	default:
		_ = v
		return "number"
	}
}

var oracleDecimal = regexp.MustCompile(`\A-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?\z`)

func oracleNumber(v any) (*big.Rat, bool) {
	s := fmt.Sprint(v)
	if k := oracleKind(v); k != "number" && k != "string" || !oracleDecimal.MatchString(s) {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

func oracleEqual(v any, constants []any, wide bool) string {
	comparable := false
	for _, c := range constants {
		if oracleSame(v, c) {
			return "true"
		}
		a, ok := v.(string)
		b, okToo := c.(string)
		if ok && okToo && wide && oracleFold(a) == oracleFold(b) {
			return "true"
		}
		comparable = comparable || oracleKind(v) == oracleKind(c) || c == nil
	}
	if !comparable {
		return "unknown"
	}
	return "false"
}

func oracleSame(a, b any) bool {
	if oracleKind(a) != oracleKind(b) {
		return false
	}
	switch a := a.(type) {
	case []any:
		return slices.EqualFunc(a, b.([]any), oracleSame)
	case object:
		if len(a) != len(b.(object)) {
			return false
		}
		for key, value := range a {
			other, ok := b.(object)[key]
			if !ok || !oracleSame(value, other) {
				return false
			}
		}
		return true
	case nil, bool, string:
		return a == b
	default:
		x, _ := oracleNumber(a)
		y, _ := oracleNumber(b)
		return x.Cmp(y) == 0
	}
}

// oracleNamed reports whether every plain value and every empty container in v lies at or
// below a pointer of the rule, or is an empty container above one.
func oracleNamed(v any, at []string, when object) bool {
	above := false
	for pointer := range when {
		tokens := strings.Split(pointer, "/")[1:]
		fits := true
		for i := range min(len(at), len(tokens)) {
			fits = fits && (tokens[i] == strings.TrimPrefix(at[i], "#") || tokens[i] == "*" && strings.HasPrefix(at[i], "#"))
		}
		if fits && len(tokens) <= len(at) {
			return true
		}
		above = above || fits
	}
	if len(at) > 0 && !above {
		return false
	}
	switch v := v.(type) {
	case object:
		for key, value := range v {
			if !oracleNamed(value, append(slices.Clone(at), key), when) {
				return false
			}
		}
		return true
	case []any:
		for i, value := range v { // # marks an index, which a wildcard stands for
			if !oracleNamed(value, append(slices.Clone(at), fmt.Sprintf("#%d", i)), when) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// A maker makes random profiles and calls out of few words, so that they often meet.
type maker struct{ *rand.Rand }

func pick[T any](m maker, all ...T) T { return all[m.IntN(len(all))] }

func (m maker) chance(percent int) bool { return m.IntN(100) < percent }

func (m maker) pattern() string {
	return pick(m, "*", "a__*", "b__*", "*__x", "a__x", "a__y", "b__[xy]", "?__x", "{a,b}__x", "trusted__*", "a-1__*",
		"a_1__x-y", "a_1__x_y", "*_*_*", "*__[!x]", "c__nothing")
}

func (m maker) scalar() any {
	return pick[any](m, "x", "X", "ｘ", "xy", "/etc/x", "/data/../etc", "/data/x", "", "10", "9.99", json.Number("10"),
		json.Number("10.0"), json.Number("-1e1"), json.Number("3"), true, false, nil)
}

func (m maker) value(depth int) any {
	switch {
	case depth == 0 || m.chance(70):
		return m.scalar()
	case m.chance(50):
		var list []any
		for range m.IntN(3) {
			list = append(list, m.value(depth-1))
		}
		return append([]any{}, list...)
	default:
		return m.object(depth - 1)
	}
}

func (m maker) object(depth int) object {
	o := object{}
	for range m.IntN(4) {
		o[pick(m, "p", "q", "r", "P", "0")] = m.value(depth)
	}
	return o
}

func (m maker) condition(depth int) object {
	o := object{}
	for len(o) == 0 || m.chance(25) {
		switch pick(m, "eq", "in", "prefix", "suffix", "glob", "lt", "gte", "gt", "lte", "maxLength", "maxItems", "type",
			"exists", "under", "not", "any") {
		case "eq":
			o["eq"] = m.value(1)
		case "in":
			o["in"] = []any{m.scalar(), m.scalar()}
		case "prefix":
			o["prefix"] = pick(m, "x", "X", "/")
		case "suffix":
			o["suffix"] = pick(m, "y", "x", "Ｘ")
		case "glob":
			o["glob"] = pick(m, "*x", "X?", "*/*", "[a-y]*")
		case "lt":
			o["lt"] = pick[any](m, "10", json.Number("10"), "9.995")
		case "gte":
			o["gte"] = pick[any](m, "10.00", json.Number("-10"))
		case "gt":
			o["gt"] = pick[any](m, "3", "0")
		case "lte":
			o["lte"] = "3"
		case "maxLength":
			o["maxLength"] = m.IntN(3)
		case "maxItems":
			o["maxItems"] = m.IntN(3)
		case "type":
			o["type"] = pick(m, "string", "number", "boolean", "null", "array", "object")
		case "exists":
			o["exists"] = m.chance(50)
		case "under":
			o["under"] = pick(m, "/etc", "/data")
		case "not":
			if depth > 0 {
				o["not"] = m.condition(depth - 1)
			}
		case "any":
			if depth > 0 {
				o["any"] = []any{m.condition(depth - 1), m.condition(depth - 1)}
			}
		}
	}
	if m.chance(30) {
		o["ifMissing"] = pick(m, "match", "noMatch", "unknown")
	}
	return o
}

func (m maker) rule(list string) any {
	if m.chance(40) {
		return m.pattern()
	}
	o := object{"tool": any(m.pattern())}
	if m.chance(20) {
		o["tool"] = []any{m.pattern(), m.pattern()}
	}
	if m.chance(70) {
		when := object{}
		for range 1 + m.IntN(2) {
			when[pick(m, "/p", "/q", "/p/q", "/p/*", "/p/*/q", "/p/0", "/r")] = m.condition(2)
		}
		o["when"] = when
		if list == "allowlist" && m.chance(40) {
			o["others"] = pick(m, "none", "any")
		}
	}
	if m.chance(15) {
		o["annotations"] = object{pick(m, "readOnlyHint", "destructiveHint"): m.chance(50)}
	}
	if list == "asklist" && m.chance(50) {
		o["unlessAllowed"] = m.chance(80)
	}
	if list == "allowlist" && m.chance(40) {
		o["id"] = fmt.Sprintf("id-%x", m.Uint64())
	}
	if list == "allowlist" && m.chance(15) {
		o["until"] = pick(m, "2026-01-01T00:00:00Z", "2028-01-01T00:00:00Z")
	}
	return o
}

func (m maker) profile(parents ...any) object {
	o := object{}
	for _, list := range []string{"denylist", "asklist", "allowlist"} {
		if m.chance(40) {
			continue
		}
		rules := []any{}
		for range m.IntN(4) {
			rules = append(rules, m.rule(list))
		}
		if m.chance(8) { // enough for an index
			for i := range indexFrom {
				rules = slices.Insert(rules, m.IntN(len(rules)+1), any(fmt.Sprintf("filler__%d", i)))
			}
		}
		o[list] = rules
	}
	asks, _ := o["asklist"].([]any)
	allows, _ := o["allowlist"].([]any)
	for _, ask := range asks {
		rule, ok := ask.(object)
		if !ok || !m.chance(60) {
			continue
		}
		named := []any{"nobody"}
		for _, allow := range allows {
			if o, ok := allow.(object); ok && o["id"] != nil && m.chance(80) {
				named = append(named, o["id"])
			}
		}
		rule["unlessAllowed"] = named
	}
	if m.chance(40) {
		o["unmatched"] = pick(m, "deny", "ask", "allow")
	}
	if len(parents) > 0 && m.chance(60) {
		o["extends"] = parents
	}
	return o
}

func (m maker) evaluation() object {
	e := object{"profiles": object{"p": m.profile("q", "r"), "q": m.profile("r"), "r": m.profile(), "f": m.profile()}}
	if m.chance(40) {
		e["floor"] = "f"
	}
	if m.chance(50) {
		e["defaultProfile"] = "p"
	}
	return e
}

func (m maker) call() profiles.Call {
	c := profiles.Call{Server: pick(m, "a", "b", "trusted", "a-1", "a_1"), Tool: pick(m, "x", "y", "x-y", "x_y", "z")}
	if m.chance(90) {
		args, _ := json.Marshal(m.object(2))
		c.Args = call.Unread(args)
	}
	if m.chance(80) {
		c.Time = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if m.chance(50) {
		c.Annotations = map[string]any{"readOnlyHint": m.chance(50)}
		if m.chance(50) {
			c.Annotations["destructiveHint"] = pick[any](m, true, false, "yes")
		}
	}
	return c
}

func configOf(t testing.TB, evaluation object) *Config {
	t.Helper()
	data, err := json.Marshal(object{"evaluation": evaluation, "mcpServers": object{"trusted": object{"command": "x",
		"trustAnnotations": true}}})
	must(t, err)
	return parse(t, string(data))
}

// TestOracle is THREATS.md P01 and G8: no difference to the oracle.
func TestOracle(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(1, 2))}
	const each = 100
	verdicts := map[string]int{}
	for range *pairs / each {
		evaluation := m.evaluation()
		c := configOf(t, evaluation)
		for range each {
			asked := m.call()
			name := pick(m, "", "p", "p", "q", "f")
			want := oracleDecide(evaluation, name, asked)
			got := c.Profile(name).Decide(asked)
			if got.Verdict.String() != want {
				text, _ := json.MarshalIndent(evaluation, "", "  ")
				t.Fatalf("profile %q, call %+v with %s\ngot %s\nwant %s\nin %s", name, asked, asked.Args, described(got), want,
					text)
			}
			checkDecision(t, got)
			verdicts[want]++
		}
	}
	for _, v := range []string{"deny", "ask", "allow"} {
		if verdicts[v] < *pairs/20 {
			t.Errorf("only %d of %d verdicts are %s: the test looks at too little", verdicts[v], *pairs, v)
		}
	}
}

// TestMonotone is POLICY.md B2 and A10: adding a deny rule never loosens a call, adding an
// ask rule never turns a call into allow, and no profile loosens a floor.
func TestMonotone(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(3, 4))}
	changed := 0
	for range *pairs / 200 {
		before := m.evaluation()
		list := pick(m, "denylist", "asklist")
		extra := m.rule(list)
		data, _ := json.Marshal(before)
		after := object{}
		must(t, json.Unmarshal(data, &after))
		victim := pick(m, "p", "q", "r", "f")
		p := after["profiles"].(object)[victim].(object)
		rules, _ := p[list].([]any)
		p[list] = append(rules, extra)
		old, changedTo := configOf(t, before), configOf(t, after)
		for range 50 {
			asked := m.call()
			was := old.Profile("p").Decide(asked)
			is := changedTo.Profile("p").Decide(asked)
			if list == "denylist" && is.Verdict > was.Verdict || is.Verdict == call.Allow && was.Verdict != call.Allow {
				t.Fatalf("adding %v to the %s of %s loosened %+v with %s\nfrom %s\nto %s", extra, list, victim, asked, asked.Args,
					described(was), described(is))
			}
			if is.Verdict != was.Verdict {
				changed++
			}
			if old.Floor != "" && was.Verdict > old.Profile(old.Floor).Decide(asked).Verdict {
				t.Fatalf("the floor is loosened: %s", described(was))
			}
		}
	}
	if changed < *pairs/1000 {
		t.Errorf("only %d decisions changed: the test looks at too little", changed)
	}
}
