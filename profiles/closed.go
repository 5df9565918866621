package profiles

import "github.com/codemode-project/codemode/profiles/condition"

// others judges `"others": "none"`: it is no if the call carries anything that no pointer
// of the rule leads to.
func (r *Rule) others(args *condition.Arguments) condition.Outcome {
	if condition.CoveredBy(args, r.When) {
		return condition.Outcome{Result: condition.Yes}
	}
	return condition.Outcome{Result: condition.No, Why: "carries arguments that the rule does not name"}
}
