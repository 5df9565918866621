package approvals

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A round is what is put to a person at once: the calls of one moment. Calls are numbered from 1 in the order in which they are
// given. Similar ones are shown as one table, and if there are many they share one decision.

// MaxDecisions is how many decisions one form asks for.
const MaxDecisions = 10

// decisions says which calls a form decides together.
func decisions(calls []*Request) [][]int {
	var all [][]int
	if len(calls) <= MaxDecisions {
		for i := range calls {
			all = append(all, []int{i})
		}
		return all
	}
	all = blocks(calls)
	if len(all) > MaxDecisions { // what is left over shares the last one
		rest := slices.Concat(all[MaxDecisions-1:]...)
		slices.Sort(rest)
		all = append(all[:MaxDecisions-1], rest)
	}
	return all
}

// blocks says which calls are shown together: those that differ in nothing but their arguments.
func blocks(calls []*Request) [][]int {
	var all [][]int
	place := map[string]int{}
	for i, r := range calls {
		key := fmt.Sprintf("%q", []any{r.Server, r.Tool, r.Name, r.Profile, r.Risk, r.Rule, r.Reasons, r.Title, r.Description, r.Display, i})
		if tabular(r.Args) {
			key = fmt.Sprintf("%q", []any{r.Server, r.Tool, r.Name, r.Profile, r.Risk, r.Rule, r.Reasons, r.Title, r.Description, r.Display})
		}
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

// tabular reports whether arguments can stand in a table.
func tabular(args json.RawMessage) bool {
	if !json.Valid(args) || args[space(args, 0)] != '{' {
		return false
	}
	_, err := Canonical(args) // no key twice
	return err == nil
}

// split divides objects into what all of them have and what each has beside it, down to where they differ.
func split(objects [][]byte) (same []byte, rest [][]byte) {
	var keys []string
	members := make([]map[string][]byte, len(objects))
	for i, o := range objects {
		members[i] = map[string][]byte{}
		for key, value := range entries(o) {
			if members[i][string(key)] = value; !slices.Contains(keys, string(key)) {
				keys = append(keys, string(key))
			}
		}
	}
	same = []byte{'{'}
	rest = make([][]byte, len(objects))
	for i := range rest {
		rest[i] = []byte{'{'}
	}
	add := func(to []byte, key string, value []byte) []byte {
		if len(to) > 1 {
			to = append(to, ',')
		}
		return append(append(append(to, key...), ':'), value...)
	}
	for _, key := range keys {
		var values [][]byte
		equal, nested := true, true
		for _, m := range members {
			v, ok := m[key]
			equal = equal && ok && string(v) == string(members[0][key])
			nested = nested && ok && divisible(v)
			values = append(values, v)
		}
		switch {
		case equal:
			same = add(same, key, values[0])
		case nested:
			s, rs := split(values)
			if !empty(s) {
				same = add(same, key, s)
			}
			for i, r := range rs {
				if !empty(r) {
					rest[i] = add(rest[i], key, r)
				}
			}
		default:
			for i, v := range values {
				if v != nil {
					rest[i] = add(rest[i], key, v)
				}
			}
		}
	}
	for i := range rest {
		rest[i] = append(rest[i], '}')
	}
	return append(same, '}'), rest
}

// divisible reports whether parts of a value may stand apart: an object whose name says what its value is stays whole.
func divisible(v []byte) bool {
	if v[0] != '{' || empty(v) {
		return false
	}
	for key := range entries(v) {
		switch text(key) {
		case "name", "key", "header":
			return false
		}
	}
	return true
}

// numbers names calls by their numbers: "call 3", "calls 1 to 4 and 7".
func numbers(calls []int) string {
	var spans []string
	for i := 0; i < len(calls); {
		j := i
		for j+1 < len(calls) && calls[j+1] == calls[j]+1 {
			j++
		}
		switch j - i {
		case 0:
			spans = append(spans, fmt.Sprint(calls[i]+1))
		case 1:
			spans = append(spans, fmt.Sprint(calls[i]+1), fmt.Sprint(calls[j]+1))
		default:
			spans = append(spans, fmt.Sprintf("%d to %d", calls[i]+1, calls[j]+1))
		}
		i = j + 1
	}
	last := len(spans) - 1
	switch {
	case len(calls) == 1:
		return "call " + spans[0]
	case last == 0:
		return "calls " + spans[0]
	}
	return "calls " + strings.Join(spans[:last], ", ") + " and " + spans[last]
}

// RenderAll shows calls as one question, see [Render].
func RenderAll(calls []*Request, o RenderOptions) Rendering {
	whole, _ := renderAll(calls, o)
	return whole
}

// renderAll also returns, for each call, what a person saw of it: Cut, Masked and Complete.
func renderAll(calls []*Request, o RenderOptions) (whole Rendering, each []Rendering) {
	if len(calls) == 1 {
		whole = Render(calls[0], o)
		return whole, []Rendering{whole}
	}
	each = make([]Rendering, len(calls))
	whole.Complete = true
	var b strings.Builder
	fmt.Fprintf(&b, "A program asks to make %s. Nothing happens before you answer.", count(len(calls), "call", "calls"))
	for _, block := range blocks(calls) {
		part := renderBlock(calls, block, o)
		b.WriteString(part.Text)
		for _, i := range block {
			each[i] = part
		}
		whole.Cut, whole.Masked, whole.Complete = whole.Cut || part.Cut, whole.Masked+part.Masked, whole.Complete && part.Complete
	}
	if len(calls) > 0 {
		q := newQuestion(calls[0], o, limits{}, nil)
		q.preview()
		if planOf(calls) != nil {
			q.plan()
		}
		b.WriteString(q.b.String())
	}
	b.WriteByte('\n')
	whole.Text = b.String()
	return whole, each
}

func renderBlock(calls []*Request, block []int, o RenderOptions) Rendering {
	r := calls[block[0]]
	tries, masks := budgets(r, o), newMasker(r.Display, o.Reveal)
	for i, l := range tries {
		l.lines += 2 * (len(block) - 1) // no row is left out, so they do not compete
		q := newQuestion(r, o, l, masks)
		lines := 0
		if len(block) == 1 {
			lines = q.arguments()
		} else {
			lines = q.table(calls, block)
		}
		if lines > l.lines && i < len(tries)-1 {
			continue
		}
		q.newline(0)
		q.newline(margin)
		q.paint(bold, numbers(block)+": "+Heading(r))
		q.facts(len(block) == 1)
		return q.rendering()
	}
	panic("no budget")
}

// table lays out the arguments of similar calls: what is the same in all once, then a row for each.
func (q *question) table(calls []*Request, block []int) int {
	var objects [][]byte
	for _, i := range block {
		args := calls[i].Args[space(calls[i].Args, 0):]
		objects = append(objects, args[:pass(args, 0)])
	}
	same, rest := split(objects)
	q.indent = margin
	q.newline(margin)
	q.put("arguments that are the same in all:")
	if empty(same) {
		q.put(" none")
	} else {
		q.members(same, 0, margin, open)
	}
	for row, i := range block {
		q.newline(margin)
		q.put(numbers([]int{i}))
		if code, _ := shorten(calls[i].Code); code != "" {
			q.put(", code " + code)
		}
		q.put(": ")
		q.sources, _ = sourcesOf(calls[i])
		if empty(rest[row]) {
			q.put("nothing else")
		} else {
			q.container(rest[row], 0, margin, open)
		}
		q.sources = nil
		q.total += len(calls[i].Args)
		q.sum = append(q.sum, digest(calls[i].Args)...)
	}
	q.args = q.b.String()
	q.b.Reset()
	return strings.Count(q.args, "\n")
}
