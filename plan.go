package codemode

import (
	"fmt"
	"strings"
)

// Text renders a plan for whoever sent the program.
func (p *Plan) Text() string {
	if len(p.Problems) > 0 {
		return "This program cannot run.\n" + Problems(p.Problems).Error() + "\n"
	}
	var b strings.Builder
	under := "without a profile"
	if p.Profile != "" {
		under = "under the profile " + p.Profile
	}
	switch {
	case len(p.Calls) == 0 && len(p.Dynamic) == 0:
		fmt.Fprintf(&b, "This program runs %s. No call can be seen in it.\n", under)
		return b.String()
	case len(p.Calls) > 0:
		fmt.Fprintf(&b, "This program runs %s. Calls seen in its text (each is decided again when it is made):\n", under)
	default:
		fmt.Fprintf(&b, "This program runs %s.\n", under)
	}
	for _, c := range p.Calls {
		fmt.Fprintf(&b, "  %d:%d %s: %s\n", c.Line, c.Column, oneLine(c.Tool, 80), c.summary())
	}
	for _, d := range p.Dynamic {
		fmt.Fprintf(&b, "  %d:%d a call whose name only the running program knows; it is decided when it is made\n", d.Line, d.Column)
	}
	return b.String()
}

func (c *PlannedCall) summary() string {
	text := c.Verdict
	if c.Risk != "" && c.Verdict == "ask" {
		text += ", risk " + c.Risk
	}
	switch {
	case c.Rule != "" && c.At != "":
		text += fmt.Sprintf(" (rule %s, %s)", c.Rule, c.At)
	case c.Reason != "":
		text += " (" + oneLine(c.Reason, detailRunes) + ")"
	}
	if c.Problem != "" {
		text += ". " + oneLine(c.Problem, detailRunes)
	}
	return text
}
