package preflight

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/visible"
)

// Text renders a plan for the sender of the program.
func (p *Plan) Text() string {
	var b strings.Builder
	if p.Stale != "" {
		visible.Fprintf(&b, "Note: %s\n\n", p.Stale)
	}
	if len(p.Problems) > 0 {
		fmt.Fprintf(&b, "This program cannot run.\n%s\n", analysis.Problems(p.Problems).Error())
		return b.String()
	}
	p.writeCalls(&b)
	list := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n", title)
		}
		writeLines(&b, "  - (%d more)\n", lines, func(line string) { visible.Fprintf(&b, "  - %s\n", line) })
	}
	if p.Answers != "" {
		visible.Fprintf(&b, "\n%s.\n", p.Answers)
	}
	list("Warnings:", p.Warnings)
	list("What to change in the program:", p.Suggestions)
	list("What the person who looks after the rules could change:", p.Requests)
	if p.Link != "" && len(p.Requests) > 0 {
		visible.Fprintf(&b, "  Link for that person: %s\n", p.Link)
	}
	if p.Reply != "" {
		visible.Fprintf(&b, "\nReply to paste:\n  %s\n", p.Reply)
	}
	p.writeToken(&b)
	if p.Asked != nil {
		b.WriteString(p.Asked.Text())
	}
	return b.String()
}

// planLines is how many lines of a list the text shows.
const planLines = 100

func (p *Plan) writeCalls(b *strings.Builder) {
	what := "This program"
	if p.Script != "" {
		what = fmt.Sprintf("The saved program %s", visible.Short(p.Script, 200))
	}
	under := "without a profile"
	if p.Profile != "" {
		under = "under the profile " + p.Profile
	}
	switch {
	case len(p.Calls) == 0 && len(p.Dynamic) == 0:
		visible.Fprintf(b, "%s runs %s. No call can be seen in it.\n", what, under)
	case len(p.Calls) > 0:
		visible.Fprintf(b, "%s runs %s: %s. Calls seen in its text (each is decided again when it is made):\n",
			what, under, p.outcome())
	default:
		visible.Fprintf(b, "%s runs %s.\n", what, under)
	}
	writeLines(b, "  (%d more)\n", p.Calls, func(c PlannedCall) {
		visible.Fprintf(b, "  %d:%d %s: %s\n", c.Line, c.Column, visible.Short(c.Tool, 80), c.summary())
	})
	writeLines(b, "  (%d more)\n", p.Dynamic, func(d analysis.Position) {
		fmt.Fprintf(b, "  %d:%d a call whose name only the running program knows; it is decided when it is made\n",
			d.Line, d.Column)
	})
}

// writeLines writes a line for each of the first planLines elements, and how many more there are.
func writeLines[T any](b *strings.Builder, more string, all []T, write func(T)) {
	for _, e := range all[:min(len(all), planLines)] {
		write(e)
	}
	if n := len(all) - planLines; n > 0 {
		fmt.Fprintf(b, more, n)
	}
}

// Asks reports whether a person is or may be asked about a call in the text, and the highest risk of these calls.
func (p *Plan) Asks() (risk call.Risk, asks bool) {
	for i := range p.Calls {
		c := &p.Calls[i]
		if !c.Refused() && (c.Verdict == call.Ask.String() || slices.Contains(c.Verdicts, call.Ask.String())) {
			risk, asks = call.Higher(risk, call.Risk(c.Risk)), true
		}
	}
	return risk, asks
}

// outcome is the verdict on all calls in a few words.
func (p *Plan) outcome() string {
	asked := 0
	for i := range p.Calls {
		if !p.Calls[i].Refused() && p.Calls[i].Verdict == call.Ask.String() {
			asked++
		}
	}
	if n := p.Denied(); n > 0 {
		return fmt.Sprintf("%d of %s would not get through", n, count(len(p.Calls)))
	}
	if asked > 0 {
		return fmt.Sprintf("nothing that can be seen would be refused, and a person would be asked about %s", count(asked))
	}
	depends := func(c PlannedCall) bool { return c.Verdict == VerdictDepends || c.Verdict == VerdictStarting }
	if slices.ContainsFunc(p.Calls, depends) || len(p.Dynamic) > 0 {
		return "nothing that can be seen would be refused, but not all can be seen"
	}
	return "nothing would be refused"
}

func count(n int) string {
	if n == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", n)
}

func (c *PlannedCall) summary() string {
	text := c.Verdict
	if c.Verdict == VerdictDepends {
		text = alternatives(c.Verdicts)
		for i, d := range c.Depends {
			if i == 3 {
				text += fmt.Sprintf("; and on %d more rules", len(c.Depends)-i)
				break
			}
			text += "; " + visible.Short(d, sentenceRunes)
		}
	}
	if c.Risk != "" && c.Verdict == call.Ask.String() {
		text += ", risk " + c.Risk
	}
	if c.How == analysis.Value && c.Verdict != call.Allow.String() {
		text += ", if it is called"
	}
	if source := c.source(); source != "" {
		text += " (" + source + ")"
	}
	plain := strings.HasPrefix(c.Reason, "the profile ") // the first line names the profile already
	if c.Reason != "" && c.Verdict != call.Allow.String() && !plain {
		text += ": " + visible.Short(c.Reason, sentenceRunes)
	}
	if c.Problem != "" {
		text += ". " + sentence(visible.Short(c.Problem, sentenceRunes))
	}
	if unknown := c.dynamic(); unknown != "" && c.Verdict != VerdictUnknownTool && c.Verdict != VerdictDepends {
		text += ". " + unknown
	}
	return text
}

// dynamic says which arguments the text does not show.
func (c *PlannedCall) dynamic() string {
	if len(c.Unknown)+len(c.Open) == 0 {
		return ""
	}
	if slices.Contains(c.Unknown, "") {
		return "Its arguments are not known before it runs"
	}
	var parts []string
	if len(c.Unknown) > 0 {
		parts = append(parts, strings.Join(c.Unknown, ", "))
	}
	for _, at := range c.Open {
		parts = append(parts, "other members of "+cmp.Or(at, "the argument"))
	}
	return visible.Short("Not known before it runs: "+strings.Join(parts, "; "), sentenceRunes)
}

// writeToken says what to do with the token.
func (p *Plan) writeToken(b *strings.Builder) {
	if p.Token == "" || p.tool == "" {
		return
	}
	need := "Pre-flight token"
	if p.Required {
		need = "Pre-flight token, without which the program is not started"
	}
	fmt.Fprintf(b, "\n%s (give it to %s as preflight, with this very program; it counts until %s, "+
		"while the rules stay as they are):\n%s\n",
		need, p.tool, p.Expires.UTC().Format(time.TimeOnly+" UTC"), p.Token)
}

// sentence gives the text a capital letter.
func sentence(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// alternatives joins words with commas and "or".
func alternatives(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// staleText says that the file is broken, and where first. It hides the folders of the file from the caller.
func staleText(err error) string {
	problem := "it cannot be used"
	if problems, ok := errors.AsType[config.Problems](err); ok && len(problems) > 0 {
		problem = problems[0].Position.Short() + ": " + problems[0].Message
		if problems[0].Hint != "" {
			problem += " (" + problems[0].Hint + ")"
		}
		if n := len(problems) - 1; n > 0 {
			problem += fmt.Sprintf(" (and %d more)", n)
		}
	}
	return "the configuration file was changed and is not in force, because it is broken; " +
		"the rules of its last good version hold. " + visible.Short(problem, sentenceRunes)
}
