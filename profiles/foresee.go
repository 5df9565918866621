package profiles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
)

// Gaps say what is unknown about the arguments of a future call: the text of a program shows some of them, and the rest
// exists only when the program runs.
type Gaps struct {
	// Unknown are JSON Pointers to places that may get any value, or none. "" is the arguments as a whole.
	Unknown []string
	// Open are JSON Pointers to objects that may get members besides the known ones.
	Open []string
	// Hints says that the tool's annotations are unknown too.
	Hints bool
}

// A Forecast is what is certain about a call with gaps.
type Forecast struct {
	// Decision is the decision on the call with empty gaps.
	Decision call.Decision
	// Verdicts are the possible verdicts, the strictest first. A single one means that the gaps cannot change it.
	Verdicts []call.Verdict
	// Depends are the rules with an uncertain result; Result is unknown for all of them. Empty if the verdict does not
	// depend on them.
	Depends []call.Reason
}

// Foresee returns the possible verdicts on a call with unknown arguments: for every value in the gaps, [Profile.Decide]
// returns one of them. Foresee ignores values that are always denied because no rule can evaluate them.
func (p *Profile) Foresee(c Call, gaps Gaps) Forecast {
	f := Forecast{Decision: p.Decide(c)}
	v := &view{call: c}
	if p.prepare(v) != "" {
		f.Verdicts = []call.Verdict{call.Deny}
		return f
	}
	g := newGaps(gaps)
	own, depends := p.outlook(v, g)
	for _, l := range p.layers {
		if !l.applies(v) {
			continue
		}
		layer, more := l.outlook(v, g)
		for i := range more {
			l.owns(&more[i])
		}
		depends = append(depends, more...)
		own = own.least(layer)
	}
	for verdict := call.Deny; verdict <= call.Allow; verdict++ {
		if !own[verdict] {
			continue
		}
		now := p.tighten(v, call.Decision{Verdict: verdict, Reasons: []call.Reason{{}}}).Verdict
		if !slices.Contains(f.Verdicts, now) {
			f.Verdicts = append(f.Verdicts, now)
		}
	}
	if len(f.Verdicts) > 1 {
		f.Depends = depends
	}
	return f
}

// verdicts is a set of verdicts.
type verdicts [call.Allow + 1]bool

// least is the set of the stricter verdicts of all pairs from two sets.
func (a verdicts) least(b verdicts) (both verdicts) {
	for x := range a {
		for y := range b {
			if a[x] && b[y] {
				both[min(x, y)] = true
			}
		}
	}
	return both
}

// A may says whether something can be true and whether it can be false.
type may struct{ be, notBe bool }

// add adds a rule that would make the May true.
func (m *may) add(can, must bool) {
	m.be = m.be || can
	m.notBe = m.notBe && !must
}

// each calls f with every possible value.
func (m may) each(f func(bool)) {
	if m.notBe {
		f(false)
	}
	if m.be {
		f(true)
	}
}

// outlook returns the possible verdicts of the rules alone. It pairs with [Profile.judge], which knows the result of
// each rule.
func (p *ruleSet) outlook(v *view, g *gaps) (possible verdicts, depends []call.Reason) {
	open := may{notBe: true}
	denied, hard, soft, allowed, doubt := open, open, open, open, open
	judged := p.judgements(v, nil)
	for _, j := range judged {
		r := j.rule
		results := r.results(v, g, j.result)
		if len(results) > 1 {
			depends = append(depends, g.dependence(r))
		}
		can := func(what match.Result) (can, must bool) {
			can = slices.Contains(results, what)
			return can, can && len(results) == 1
		}
		switch {
		case r.List == Denylist:
			denied.add(can(match.Yes))
		case r.List == Allowlist:
			allowed.add(can(match.Yes))
			continue
		case r.Soft:
			soft.add(can(match.Yes))
		default:
			asks, must := can(match.Yes)
			beaten, surely := r.mayBeBeaten(v, g, judged)
			hard.add(asks && !surely, must && !beaten)
			soft.add(asks, must) // if an allow rule overrides it, an allow rule holds
		}
		doubt.add(can(match.Unknown))
	}
	denied.each(func(denied bool) {
		hard.each(func(hard bool) {
			soft.each(func(soft bool) {
				allowed.each(func(allowed bool) {
					doubt.each(func(doubt bool) {
						possible[p.conclude(denied, hard, soft, allowed, doubt)] = true
					})
				})
			})
		})
	})
	return possible, depends
}

// mayBeBeaten reports whether an allow rule that the ask rule names may hold, and whether one certainly does.
func (r *Rule) mayBeBeaten(v *view, g *gaps, judged []judgement) (can, must bool) {
	for _, j := range judged {
		if !r.Excepts(j.rule) {
			continue
		}
		results := j.rule.results(v, g, j.result)
		holds := slices.Contains(results, match.Yes)
		can, must = can || holds, must || holds && len(results) == 1
	}
	return can, must
}

// conclude applies the order of the lists, as [Profile.judge] does.
func (p *ruleSet) conclude(denied, hard, soft, allowed, doubt bool) call.Verdict {
	verdict := p.unmatched
	switch {
	case denied:
		return call.Deny
	case hard:
		return call.Ask
	case allowed:
		verdict = call.Allow
	case soft:
		return call.Ask
	}
	if doubt {
		return min(verdict, call.Ask)
	}
	return verdict
}

// results returns the possible results of a rule; known is the result with empty gaps.
func (r *Rule) results(v *view, g *gaps, known match.Result) []match.Result {
	if !r.Conditional() {
		return []match.Result{known}
	}
	rest := match.Outcome{Result: match.Yes} // of the parts that do not depend on the gaps
	if !r.until.IsZero() {
		rest = r.inTime(v)
	}
	depends := g.hinted(r) && (r.List != Allowlist || v.trusted)
	for i := range r.annotations {
		if !depends {
			rest = match.And(rest, r.annotation(&r.annotations[i], v))
		}
	}
	for i := range r.When {
		if g.touch(&r.When[i]) {
			depends = true
		} else {
			rest = match.And(rest, r.When[i].Judge(v.args, r.List != Allowlist))
		}
	}
	if r.closed {
		if g.others(r) {
			depends = true
		} else {
			rest = match.And(rest, r.others(v.args))
		}
	}
	switch {
	case rest.Result == match.No:
		return []match.Result{match.No}
	case !depends:
		return []match.Result{rest.Result}
	case rest.Result == match.Yes:
		return []match.Result{match.No, match.Unknown, match.Yes}
	default:
		return []match.Result{match.No, match.Unknown}
	}
}

// gaps are Gaps prepared for comparison.
type gaps struct {
	unknown, open [][]string
	hints         bool
}

func newGaps(from Gaps) *gaps {
	split := func(pointers []string) (all [][]string) {
		for _, p := range pointers {
			tokens := []string{}
			if p != "" {
				for token := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
					tokens = append(tokens, match.Fold(strings.NewReplacer("~1", "/", "~0", "~").Replace(token)))
				}
			}
			all = append(all, tokens)
		}
		return all
	}
	return &gaps{split(from.Unknown), split(from.Open), from.Hints}
}

// touch reports whether a condition reads a gap, a part of one, or an object around one. It compares names as widely as
// rules can.
func (g *gaps) touch(c *match.Condition) bool {
	meets := func(place []string) bool { return common(place, c.Steps) == min(len(place), len(c.Steps)) }
	return slices.ContainsFunc(g.unknown, meets) || slices.ContainsFunc(g.open, meets)
}

// hinted reports whether a rule reads unknown annotations.
func (g *gaps) hinted(r *Rule) bool { return g.hints && len(r.annotations) > 0 }

// others reports whether "no other arguments" depends on a gap: on possible additions, or on a value that no condition
// covers.
func (g *gaps) others(r *Rule) bool {
	if len(g.open) > 0 {
		return true
	}
	return slices.ContainsFunc(g.unknown, func(place []string) bool {
		return !slices.ContainsFunc(r.When, func(c match.Condition) bool {
			return len(c.Steps) <= len(place) && common(place, c.Steps) == len(c.Steps)
		})
	})
}

// common counts the leading steps that a place and a pointer share.
func common(place []string, steps []match.Step) int {
	n := 0
	for n < len(place) && n < len(steps) && (steps[n].Any || steps[n].Folded == place[n]) {
		n++
	}
	return n
}

// dependence is the reason for a rule with a still unknown result.
func (g *gaps) dependence(r *Rule) call.Reason {
	reason := call.Reason{Rule: r.Label(), List: r.List.String(), Pos: r.Pos, Profile: r.Profile,
		Result: match.Unknown.String()}
	var on []string
	for i := range r.When {
		if c := &r.When[i]; g.touch(c) {
			on = append(on, c.Pointer)
			reason.Conditions = append(reason.Conditions, call.Condition{Pointer: c.Pointer, Result: match.Unknown.String(),
				Text: c.Pointer + " " + c.Text})
		}
	}
	if r.closed && g.others(r) {
		on = append(on, "which arguments there are")
	}
	if g.hinted(r) {
		on = append(on, "the tool's annotations")
	}
	reason.Text = fmt.Sprintf("it depends on %s, which only the running program knows", strings.Join(on, " and "))
	return reason
}
