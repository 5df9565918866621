package prompt

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// A round is the calls that a person is asked about together. They are named by their numbers in the run. Similar calls
// share one table, and many similar calls share one decision.

// maxDecisions is how many decisions one form asks for.
const maxDecisions = 10

// decisions groups the calls that share a decision in a form.
func decisions(calls []*Request) [][]int {
	var all [][]int
	if len(calls) <= maxDecisions {
		for i := range calls {
			all = append(all, []int{i})
		}
		return all
	}
	all = blocks(calls)
	if len(all) > maxDecisions { // the rest share the last one
		rest := slices.Concat(all[maxDecisions-1:]...)
		slices.Sort(rest)
		all = append(all[:maxDecisions-1], rest)
	}
	return all
}

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
	if code, _ := Shorten(calls[i].Code); code != "" {
		name += ", code " + code
	}
	return name + ": "
}

// numbers lists calls by their numbers: "call 3", "calls 1 to 4 and 7".
func numbers(calls []int) string { return spans("call", calls) }

// spans lists things by their numbers, in ascending order.
func spans(thing string, all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		switch j - i {
		case 0:
			parts = append(parts, fmt.Sprint(all[i]))
		case 1:
			parts = append(parts, fmt.Sprint(all[i]), fmt.Sprint(all[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d to %d", all[i], all[j]))
		}
		i = j + 1
	}
	last := len(parts) - 1
	switch {
	case len(all) == 1:
		return thing + " " + parts[0]
	case last == 0:
		return thing + "s " + parts[0]
	}
	return thing + "s " + strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// RenderAll shows calls as one question, see [Render].
func RenderAll(calls []*Request, o RenderOptions) Rendering {
	whole, _ := renderAll(calls, o)
	return whole
}

// renderAll also returns what a person saw of each call: Cut, Masked and Complete.
func renderAll(calls []*Request, o RenderOptions) (whole Rendering, each []Rendering) {
	if len(calls) == 1 {
		whole = Render(calls[0], o)
		return whole, []Rendering{whole}
	}
	each = make([]Rendering, len(calls))
	whole.Complete = true
	var b strings.Builder
	if o.Listed {
		_, o.Listed = rowsOf(calls)
	}
	fmt.Fprintf(&b, "A program asks to make %s. Nothing happens before you answer.", counted(len(calls), "call", "calls"))
	for _, block := range blocks(calls) {
		part, complete := renderBlock(calls, block, o)
		b.WriteString(part.Text)
		for row, i := range block {
			each[i] = part
			each[i].Complete = complete[row]
		}
		whole.Cut, whole.Masked = whole.Cut || part.Cut, whole.Masked+part.Masked
		whole.Complete = whole.Complete && part.Complete
	}
	if len(calls) > 0 {
		q := newQuestion(calls[0], o, limits{}, nil)
		q.preview()
		if PlanOf(calls) != nil {
			q.plan()
		}
		b.WriteString(q.b.String())
	}
	b.WriteByte('\n')
	whole.Text = b.String()
	return whole, each
}

// rowLines is how many lines a row of a table may take before its texts are cut more.
const rowLines = 3

// renderBlock also returns, for each call of the block, whether a person saw all there is to judge.
func renderBlock(calls []*Request, block []int, o RenderOptions) (shown Rendering, complete []bool) {
	r := calls[block[0]]
	tries, masks := budgets(r, o), newMasker(r.Display, o.Reveal)
	for i, l := range tries {
		l.lines += rowLines * (len(block) - 1) // no row is left out, so they do not compete
		q := newQuestion(r, o, l, masks)
		lines := 0
		if len(block) == 1 {
			lines = q.arguments()
			complete = []bool{q.complete()}
		} else {
			lines, complete = q.table(calls, block)
		}
		if lines > l.lines && i < len(tries)-1 {
			continue
		}
		q.newline(0)
		q.newline(margin)
		q.paint(bold, numbered(calls).names(block)+": "+Heading(r))
		q.facts(len(block) == 1)
		for row := range complete {
			complete[row] = complete[row] && !q.unnamed
		}
		return q.rendering(), complete
	}
	panic("no budget")
}

// table lays out the arguments of similar calls: common values once, then a row for each call with its other values.
// complete says which calls it shows whole.
func (q *question) table(calls []*Request, block []int) (lines int, complete []bool) {
	var those []*Request
	for _, i := range block {
		those = append(those, calls[i])
	}
	same, rest, complete := q.common(those)
	which := numbered(calls)
	q.indent = margin
	q.newline(margin)
	q.put("arguments that are the same in all:")
	if len(same) == 0 {
		q.put(" none")
	}
	q.sources = sharedSources(those)
	shared := q.whole(func() { q.leaves(same, 4*q.items, margin+2) })
	above := q.b.Len()
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
	if q.args = q.b.String(); q.options.Listed {
		q.args = q.args[:above]
	}
	q.b.Reset()
	return strings.Count(q.args, "\n"), complete
}

// sharedSources are the remarks that apply to all of calls.
func sharedSources(calls []*Request) map[string]string {
	shared, _ := sourcesOf(calls[0])
	for _, r := range calls[1:] {
		other, _ := sourcesOf(r)
		maps.DeleteFunc(shared, func(pointer, remark string) bool { return other[pointer] != remark })
	}
	return shared
}
