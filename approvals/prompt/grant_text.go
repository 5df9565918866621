package prompt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	spelling "github.com/codemode-project/codemode/internal/visible" // visible is a table here
)

// Allows says in one line which calls g allows, for lists. Its fields say how many calls, and until when.
func (g *Grant) Allows() string {
	if g.Scope == call.ForPlan && g.Name == planTool {
		return g.aheadText()
	}
	if g.Scope == call.ForPlan {
		return g.Text()
	}
	arguments := strings.TrimSuffix(g.arguments(), ",")
	if g.Shown != "" {
		arguments = "exactly " + g.Shown
	}
	for _, v := range g.Values { // a list has no question next to it that shows a long value
		if len(escape(v.JSON, prose)) > maxShownValue {
			pointer, _ := shorten(v.Pointer)
			value, _ := shorten(v.JSON)
			arguments += "; " + pointer + " is " + value
		}
	}
	return Heading(&Request{Name: g.Name}) + " with " + arguments
}

// Text says in one line what g allows, from the fields of g. It is the label of the button that gives g.
func (g *Grant) Text() string {
	var b strings.Builder
	if g.Scope == call.ForPlan {
		if slices.ContainsFunc(g.Lines, func(line *Grant) bool { return line.Further }) {
			return fmt.Sprintf("Allow this and the plan for this run: %s, as listed above", g.planned())
		}
		return fmt.Sprintf("Allow this and the plan: %s of this run, as listed above", g.planned())
	}
	fmt.Fprintf(&b, "Allow %s with %s", Heading(&Request{Name: g.Name}), g.arguments())
	switch g.Scope {
	case call.ForRun:
		fmt.Fprintf(&b, " for this run, at most %s", counted(g.Uses, "time", "times"))
	case call.ForCount:
		fmt.Fprintf(&b, " for this and the next %s of this run", counted(g.Uses, "call", "calls"))
	case call.ForTime, call.ForSession:
		if g.Session != "" {
			b.WriteString(" in this session, at most")
		} else {
			b.WriteString(" for")
		}
		b.WriteString(" " + spelling.Duration(g.Expires.Sub(g.Created).Round(time.Second)))
		if g.Uses > 0 {
			b.WriteString(", at most " + counted(g.Uses, "time", "times"))
		}
	}
	return b.String()
}

// maxShownValue is the longest value that the label of a grant repeats; a longer one appears in the question.
const maxShownValue = 40

func (g *Grant) arguments() string {
	switch g.Coverage {
	case coverExact:
		return "exactly these arguments"
	case coverRule:
		var parts []string
		for _, v := range g.Values {
			pointer, _ := shorten(v.Pointer)
			switch shown := escape(v.JSON, prose); {
			case v.JSON == "":
				parts = append(parts, "no "+pointer)
			case len(shown) <= maxShownValue:
				parts = append(parts, pointer+" "+shown)
			default:
				parts = append(parts, "the same "+pointer)
			}
		}
		return strings.Join(parts, " and ") + ", other arguments as they come,"
	case coverEnvelope:
		return g.Envelope.text()
	}
	return "any arguments"
}

// aheadText says what a grant from before the run allows.
func (g *Grant) aheadText() string {
	var lines []string
	for _, line := range g.Lines {
		lines = append(lines, Heading(&Request{Name: line.Name})+" with "+line.Envelope.text()+", "+line.Times())
	}
	return "one run of the program " + shortDigest(g.Definition) + ": " + strings.Join(lines, "; ")
}
