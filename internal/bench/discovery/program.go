package discovery

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
)

// A recorded call is an action with the answer that it had when it was made one at a time.
type recorded struct {
	action
	tool   *tool
	args   any
	answer any    // decoded; text that is no JSON is a string
	text   string // of the answer, as a model reads it
	failed bool
}

// A draft is a program in the making.
type draft struct {
	server string
	know   knowledge
	calls  []recorded
	manner
	args    []string // by call: their JavaScript
	lines   []string
	used    map[int]bool // the calls with an answer that the program uses
	missing []string     // arguments that the program cannot know
	stage   []int        // by call: calls of one stage, one after the other, can be made at once
}

// A manner is how to write a program.
type manner struct {
	told    bool // the program returns the whole answers of all calls that read: somebody has to see them
	literal bool // it has all arguments as they are, also those of earlier answers
}

// write makes one program of the calls. It returns the arguments that a program cannot know, if there are any.
func write(server string, know knowledge, calls []recorded, m manner) (code string, missing []string) {
	d := newDraft(server, know, calls, m)
	first := 0
	for _, n := range d.stages() {
		d.emit(first, n)
		first += n
	}
	d.returns()
	return strings.Join(d.lines, "\n"), d.missing
}

// newDraft has the JavaScript of all arguments. It notes from which earlier calls they take values.
func newDraft(server string, know knowledge, calls []recorded, m manner) *draft {
	d := &draft{server: server, know: know, calls: calls, manner: m, used: map[int]bool{}, stage: make([]int, len(calls))}
	for i, c := range calls {
		if i > 0 { // not before the calls of the stage before, and after every call that writes
			d.stage[i] = d.stage[i-1]
			if c.tool.writes || calls[i-1].tool.writes {
				d.stage[i]++
			}
		}
		d.args = append(d.args, d.value(i, "", c.args))
	}
	return d
}

// stages are how many calls can be made at once, one stage after the other.
func (d *draft) stages() []int {
	var all []int
	for i, stage := range d.stage {
		if i == 0 || stage != d.stage[i-1] {
			all = append(all, 0)
		}
		all[len(all)-1]++
	}
	return all
}

func (d *draft) value(i int, name string, v any) string {
	switch v := v.(type) {
	case map[string]any:
		var members []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			members = append(members, property(key)+": "+d.value(i, key, v[key]))
		}
		if len(members) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(members, ", ") + " }"
	case []any:
		var elements []string
		for _, e := range v {
			elements = append(elements, d.value(i, name, e))
		}
		return "[" + strings.Join(elements, ", ") + "]"
	}
	return d.leaf(i, name, v)
}

func property(key string) string {
	if plainName.MatchString(key) {
		return key
	}
	return literal(key)
}

// leaf is the JavaScript of a text, number or truth value of an argument.
func (d *draft) leaf(i int, name string, v any) string {
	if d.literal || d.know.has(d.calls[i].tool, name, v) {
		return literal(v)
	}
	var best string
	from := -1
	for j := range i {
		if d.calls[j].failed {
			continue
		}
		if at := places(d.calls[j].answer, variable(j), v); len(at) > 0 {
			if s := slices.MinFunc(at, simpler); from < 0 || simpler(s, best) < 0 {
				best, from = s, j
			}
		}
	}
	if from >= 0 {
		d.used[from] = true
		d.stage[i] = max(d.stage[i], d.stage[from]+1)
		return best
	}
	if text, ok := v.(string); ok && name == "expression" && d.computes(i, text) {
		return literal(v)
	}
	d.missing = append(d.missing, fmt.Sprintf("%s.%s = %s", d.calls[i].Name, name, literal(v)))
	return literal(v)
}

// computes reports whether all numbers of an expression are known, or in earlier answers.
func (d *draft) computes(i int, expression string) bool {
	return !slices.ContainsFunc(numbers(expression), func(x float64) bool {
		return !d.know.saysNumber(x) && !slices.ContainsFunc(d.calls[:i], func(c recorded) bool {
			return len(places(c.answer, "a", x)) > 0
		})
	})
}

func variable(i int) string { return fmt.Sprintf("r%d", i+1) }

// emit writes the calls of one stage. A call that failed when it was made alone must not end the program.
func (d *draft) emit(first, n int) {
	var names, calls []string
	for i := first; i < first+n; i++ {
		c := fmt.Sprintf("codemode.%s(%s)", call.Name(d.server, d.calls[i].Name), d.args[i])
		if d.calls[i].failed {
			c += ".catch(e => e.message)"
		}
		names, calls = append(names, variable(i)), append(calls, c)
	}
	if n > 1 {
		d.lines = append(d.lines, fmt.Sprintf("const [%s] = await Promise.all([\n  %s,\n]);", strings.Join(names, ", "),
			strings.Join(calls, ",\n  ")))
		return
	}
	if d.used[first] || d.returned(first) {
		d.lines = append(d.lines, fmt.Sprintf("const %s = await %s;", names[0], calls[0]))
	} else {
		d.lines = append(d.lines, fmt.Sprintf("await %s;", calls[0]))
	}
}

// returned reports whether the program returns something of a call's answer: of calls that write; of all that read, if
// the user has to hear of them or there is nothing else; and of those that failed.
func (d *draft) returned(i int) bool {
	return d.told || d.calls[i].failed || d.calls[i].tool.writes ||
		!slices.ContainsFunc(d.calls, func(c recorded) bool { return c.tool.writes })
}

func (d *draft) returns() {
	var parts []string
	brief := false
	for i, c := range d.calls {
		if !d.returned(i) {
			continue
		}
		if _, object := c.answer.(map[string]any); object && c.tool.writes {
			brief = true
			parts = append(parts, "brief("+variable(i)+")")
		} else {
			parts = append(parts, variable(i))
		}
	}
	if brief {
		d.lines = append(d.lines,
			`const brief = r => Object.fromEntries(Object.entries(r)`+
				`.filter(([, v]) => typeof v !== "object"));`)
	}
	if len(parts) == 1 {
		d.lines = append(d.lines, "return "+parts[0]+";")
	} else {
		d.lines = append(d.lines, "return ["+strings.Join(parts, ", ")+"];")
	}
}

// decoded is an answer as a program gets it: JSON, or else text.
func decoded(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	switch v.(type) {
	case map[string]any, []any:
		return v
	}
	return text
}
