package profiles

import (
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// others judges `"others": "none"`: it is no if the call carries anything that no pointer
// of the rule leads to.
func (r *rule) others(args *arguments) outcome {
	paths := make([][]step, len(r.when))
	for i := range r.when {
		paths[i] = r.when[i].steps
	}
	if covered(args.root, paths) {
		return outcome{result: yes}
	}
	return outcome{no, "carries arguments that the rule does not name"}
}

// covered reports whether every value inside n lies on or below one of the paths, which
// start at n.
func covered(n strictjson.Value, paths [][]step) bool {
	for _, p := range paths {
		if len(p) == 0 {
			return true
		}
	}
	if n.Kind() != strictjson.Object && n.Kind() != strictjson.Array {
		return false // a plain value where the rule expects more inside
	}
	i := 0
	for child := range settings.Children(n) {
		var below [][]step
		for _, p := range paths {
			if n.Kind() == strictjson.Object && !p[0].any && p[0].key == child.Key() ||
				n.Kind() == strictjson.Array && (p[0].any || p[0].index == i) {
				below = append(below, p[1:])
			}
		}
		if len(below) == 0 || !covered(child, below) {
			return false
		}
		i++
	}
	return true
}
