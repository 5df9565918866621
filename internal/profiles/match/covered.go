package match

import (
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// CoveredBy reports whether every value of the arguments lies at or below a pointer of one of the conditions.
func CoveredBy(args *Arguments, all []Condition) bool {
	paths := make([][]Step, len(all))
	for i := range all {
		paths[i] = all[i].Steps
	}
	return covered(args.Root, paths)
}

// covered reports whether every value inside n lies at or below one of the paths. The paths start at n.
func covered(n strictjson.Value, paths [][]Step) bool {
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
		var below [][]Step
		for _, p := range paths {
			if n.Kind() == strictjson.Object && !p[0].Any && p[0].Key == child.Key() ||
				n.Kind() == strictjson.Array && (p[0].Any || p[0].Index == i) {
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
