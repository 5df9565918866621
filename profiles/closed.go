package profiles

// others judges `"others": "none"`: it is no if the call carries anything that no pointer
// of the rule leads to.
func (r *rule) others(args *tree) outcome {
	paths := make([][]step, len(r.when))
	for i := range r.when {
		paths[i] = r.when[i].steps
	}
	if covered(args, &args.nodes[0], paths) {
		return outcome{result: yes}
	}
	return outcome{no, "carries arguments that the rule does not name"}
}

// covered reports whether every value inside n lies on or below one of the paths, which
// start at n.
func covered(t *tree, n *node, paths [][]step) bool {
	for _, p := range paths {
		if len(p) == 0 {
			return true
		}
	}
	if n.kind != kindObject && n.kind != kindArray {
		return false // a plain value where the rule expects more inside
	}
	i := 0
	for child := range t.children(n) {
		var below [][]step
		for _, p := range paths {
			if n.kind == kindObject && !p[0].any && p[0].key == child.key ||
				n.kind == kindArray && (p[0].any || p[0].index == i) {
				below = append(below, p[1:])
			}
		}
		if len(below) == 0 || !covered(t, child, below) {
			return false
		}
		i++
	}
	return true
}
