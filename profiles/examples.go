package profiles

import (
	"fmt"

	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// examples checks a rule against its author's example calls. It skips a rule that was not fully readable: that rule
// would fail for that reason, which is already reported.
func examples(b *settings.Reader, n strictjson.Value, r *Rule, readable bool) {
	list := func(name string, want func(match.Result) bool) settings.Field {
		return settings.Key(name, func(n strictjson.Value) {
			for child := range b.Elements(n, fmt.Sprintf("%q", name), false) {
				if args := example(b, child); args != nil && readable {
					tryExample(b, child, args, r, name, want)
				}
			}
		})
	}
	// A deny or ask rule with an unknown result still asks people, so it counts as a match. An allow rule with an
	// unknown result allows nothing.
	unmatched := func(x match.Result) bool {
		return x == match.No || x == match.Unknown && r.List == Allowlist
	}
	b.Object(n, `"examples"`, []settings.Field{
		list("match", func(x match.Result) bool { return x == match.Yes }),
		list("noMatch", unmatched),
	})
}

func example(b *settings.Reader, n strictjson.Value) *match.Arguments {
	if n.Kind() != strictjson.Object {
		b.Wrong(n, `write the arguments of a call: {"path": "x"}`, "an example must be an object, this is %s", n.Kind())
		return nil
	}
	root, bad := settings.ParseArguments(n.Compact())
	if bad != nil {
		b.UniqueBelow(n)
		return nil
	}
	return &match.Arguments{Root: root}
}

func tryExample(b *settings.Reader, n strictjson.Value, args *match.Arguments, r *Rule, name string,
	want func(match.Result) bool) {
	all := match.Outcome{Result: match.Yes}
	for i := range r.When {
		o := r.When[i].Judge(args, r.List != Allowlist)
		o.Why = r.When[i].Pointer + " " + o.Why
		all = match.And(all, o)
	}
	if r.closed {
		all = match.And(all, r.others(args))
	}
	if want(all.Result) {
		return
	}
	hint := fmt.Sprintf("the rule on line %d is %s for it", r.Pos.Line, all.Result)
	if all.Result == match.Unknown {
		hint += fmt.Sprintf(" (%s): \"ifMissing\" can say what should hold", all.Why)
	}
	verb := "does not match"
	if name == "noMatch" {
		verb = "matches"
	}
	b.Wrong(n, hint, "the rule %q %s the example %s", r.Label(), verb, match.Shortened(args.Root.Source()))
}
