package prompt

import (
	"fmt"
	"slices"
)

// withoutPlan makes the View of calls that are asked about together, without the plan that a person can allow with
// them: whether they can depends on what this View leaves out.
func withoutPlan(calls []*Request, o RenderOptions) View {
	v := View{Complete: true, each: make([]bool, len(calls))}
	what := "this call"
	switch {
	case len(calls) != 1:
		what = counted(len(calls), "call", "calls")
	case calls[0].Inquiry != nil:
		return inquiryView(calls[0], o)
	case calls[0].Ahead:
		return aheadView(calls[0], o)
	}
	v.Opening = ours("", fmt.Sprintf("A program asks to make %s. Nothing happens before you answer.", what))
	for _, block := range blocks(calls) {
		q, complete := layOut(calls, block, o)
		v.add(q)
		for row, i := range block {
			v.each[i] = complete[row]
		}
	}
	if len(calls) > 0 {
		q := newQuestion(calls[0], o, limits{}, nil)
		v.Preview = q.preview()
		v.note(&q.seen)
	}
	return v
}

// layOut makes the block about similar calls within the most generous limits that fit. complete says for each of them
// whether a person sees all there is to judge.
func layOut(calls []*Request, block []int, o RenderOptions) (q *question, complete []bool) {
	r := calls[block[0]]
	heading := Heading(r)
	if len(calls) > 1 {
		heading = numbered(calls).names(block) + ": " + heading
	}
	tries, masks := budgets(r, o), newMasker(r.Display, o.Whole)
	for i, l := range tries {
		q = newQuestion(r, o, l, masks)
		if len(block) == 1 {
			q.arguments()
			complete = []bool{q.complete()}
		} else {
			complete = q.table(calls, block)
		}
		// No row is left out, so rows do not compete for lines.
		if len(q.block.Arguments)+len(q.block.Rows) <= l.lines+rowLines*(len(block)-1) || i == len(tries)-1 {
			break
		}
	}
	q.about(heading, len(block) == 1)
	for row := range complete {
		complete[row] = complete[row] && !q.unnamed
	}
	return q, complete
}

// rowLines is how many lines a row of a table may take before its texts are cut more.
const rowLines = 3

// budgets are the limits to try, the most generous first.
func budgets(r *Request, o RenderOptions) []limits {
	if o.Whole {
		return []limits{whole}
	}
	var all []limits
	d := r.Display
	for _, l := range fitting {
		l.text = narrow(l.text, d.String)
		l.items = narrow(l.items, d.Items)
		l.depth = narrow(l.depth, d.Depth)
		all = append(all, l)
	}
	if r.Risk.Grave() {
		all = slices.Insert(all, 0, ample)
	}
	return all
}
