package prompt

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// A round is the calls that a person is asked about together. They are named by their numbers in the run. Similar calls
// share one table, and many similar calls share one decision.

// blocks groups the calls that are shown together: those that differ only in their arguments.
func blocks(calls []*Request) [][]int {
	var all [][]int
	place := map[string]int{}
	for i, r := range calls {
		alike := []any{r.Server, r.Tool, r.Name, r.Profile, r.Risk, r.Rule, r.Reasons, r.Title, r.Description, r.Display}
		if !tabular(r.Args) {
			alike = append(alike, i)
		}
		key := fmt.Sprintf("%q", alike)
		at, ok := place[key]
		if !ok {
			at = len(all)
			place[key] = at
			all = append(all, nil)
		}
		all[at] = append(all[at], i)
	}
	return all
}

// of returns the calls of a block.
func of(calls []*Request, block []int) (those []*Request) {
	for _, i := range block {
		those = append(those, calls[i])
	}
	return those
}

// tabular reports whether arguments fit into a table.
func tabular(args json.RawMessage) bool {
	v, err := parseArgs(args)
	return err == nil && v.Kind() == strictjson.Object
}

// A numbering holds the numbers of calls that are shown together.
type numbering []int

// numbered returns the numbering of calls: their numbers in the run, which do not change when others are answered.
// Calls of several runs, or without numbers, are numbered in order.
func numbered(calls []*Request) numbering {
	ns := make(numbering, len(calls))
	seen := map[int]bool{}
	for i, r := range calls {
		if r.Call < 1 || seen[r.Call] || r.Run != calls[0].Run {
			for i := range ns {
				ns[i] = i + 1
			}
			return ns
		}
		ns[i], seen[r.Call] = r.Call, true
	}
	return ns
}

// names lists calls by their numbers.
func (ns numbering) names(calls []int) string {
	those := make([]int, 0, len(calls))
	for _, i := range calls {
		those = append(those, ns[i])
	}
	slices.Sort(those)
	return numbers(those)
}

// row returns the beginning of the row about a call.
func (ns numbering) row(calls []*Request, i int) string {
	name := numbers(ns[i : i+1])
	if code, _ := shorten(calls[i].Code); code != "" {
		name += ", code " + code
	}
	return name + ": "
}

// numbers lists calls by their numbers: "call 3", "calls 1 to 4 and 7".
func numbers(calls []int) string { return spans("call", calls) }

// table lays out the arguments of similar calls: common values once, then a row for each call with its other values.
// complete says which calls it shows whole.
func (q *question) table(calls []*Request, block []int) (complete []bool) {
	those := of(calls, block)
	same, rest, complete := q.common(those)
	which := numbered(calls)
	q.newline(margin)
	q.put("arguments that are the same in all:")
	if len(same) == 0 {
		q.put(" none")
	}
	q.sources = sharedSources(those)
	shared := q.whole(func() { q.leaves(same, 4*q.items, margin+2) })
	q.block.Arguments = q.take()
	for row, i := range block {
		q.newline(margin)
		q.put(which.row(calls, i))
		q.sources, _ = sourcesOf(calls[i])
		own := q.whole(func() {
			switch {
			case len(rest[row]) == 0:
				q.put("nothing else")
			case len(rest[row]) <= 2*q.items && q.fits(rest[row]):
				q.inline(rest[row], len(rest[row]), q.width)
			default:
				q.leaves(rest[row], 2*q.items, margin+2)
			}
		})
		complete[row] = complete[row] && shared && own
		q.sources = nil
		q.total += len(calls[i].Args)
		q.sum = append(q.sum, digest(calls[i].Args)...)
	}
	q.block.Rows = q.take()
	return complete
}
