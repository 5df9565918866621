package preflight

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/visible"
)

// A Plan says what a program would do, as far as its text shows. Nothing runs, and nobody is asked.
type Plan struct {
	// Allowed says that nothing visible in the text will certainly be refused or fail.
	Allowed  bool                `json:"allowed"`
	Profile  string              `json:"profile"`
	Script   string              `json:"script,omitempty"`
	Program  string              `json:"program"`            // sha256 of the text
	Problems []analysis.Problem  `json:"problems,omitempty"` // if not empty, it cannot run
	Calls    []PlannedCall       `json:"calls"`
	Dynamic  []analysis.Position `json:"dynamic,omitempty"`  // calls with names that only the running program knows
	Warnings []string            `json:"warnings,omitempty"` // what the author probably did not mean
	// Suggestions say what the program's author could change, Requests what the administrator of the rules could
	// change.
	Suggestions []string `json:"suggestions,omitempty"`
	Requests    []string `json:"requests,omitempty"`
	Link        string   `json:"link,omitempty"`  // to the page that changes rules, with the wanted tools filled in
	Reply       string   `json:"reply,omitempty"` // to send to the person who wants the program run

	// Required says that the profile runs no program without the token of a check.
	Required bool      `json:"preflightRequired,omitempty"`
	Token    string    `json:"preflight,omitempty"` // to run the program with; "" if the program cannot run
	Expires  time.Time `json:"preflightExpires,omitzero"`
	// OnlyHere says that the token counts in this process alone.
	OnlyHere bool   `json:"preflightOnlyHere,omitempty"`
	Stale    string `json:"stale,omitempty"` // why the rules differ from the current file

	// Answers says who can answer the questions about its calls; "" if it has none, or if that is unknown.
	Answers string `json:"answers,omitempty"`
	// Asked is the result of asking people to allow the plan, set by a caller that asks; nil if nobody was asked.
	Asked *PlanAnswer `json:"asked,omitempty"`

	tool string
}

// A PlannedCall is a call in the text of a program. The verdict is the current one, as if the program made each call
// once, one after the other. The Gate decides again when the program makes the call.
type PlannedCall struct {
	Tool     string          `json:"tool"`
	Line     int             `json:"line"`
	Column   int             `json:"column"`
	How      string          `json:"how,omitempty"`      // member, computed, alias ...
	Args     json.RawMessage `json:"args,omitempty"`     // the part in the text; null for the rest
	Unknown  []string        `json:"unknown,omitempty"`  // JSON Pointers to what only the running program knows; "" is all
	Open     []string        `json:"open,omitempty"`     // JSON Pointers to objects that may get more members
	Verdict  string          `json:"verdict"`            // allow, ask, deny, depends, starting, or unknown tool
	Verdicts []string        `json:"verdicts,omitempty"` // of depends: the possible ones, the strictest first
	Depends  []string        `json:"depends,omitempty"`  // of depends: on which rules and arguments
	Risk     string          `json:"risk,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	At       string          `json:"at,omitempty"` // file:line of the rule
	Layer    string          `json:"layer,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Problem  string          `json:"problem,omitempty"` // an unknown name, or invalid arguments
	Nearest  []string        `json:"nearest,omitempty"`

	pos      call.Position // of the rule, with the full path of its file
	withheld bool          // the tool exists and cannot be called
}

// Verdicts in addition to those of a policy.
const (
	VerdictUnknownTool = "unknown tool" // the name has no tool
	VerdictStarting    = "starting"     // its server has not listed its tools yet
	VerdictDepends     = "depends"      // only the running program knows what it depends on
)

// Refused reports whether the call will certainly fail. A tool that the program uses as a value does not count: perhaps
// nothing calls it.
func (c *PlannedCall) Refused() bool {
	fails := c.Verdict == call.Deny.String() || c.Verdict == VerdictUnknownTool || c.Problem != ""
	return fails && c.How != analysis.Value
}

// Denied counts the calls that will certainly fail.
func (p *Plan) Denied() int {
	n := 0
	for i := range p.Calls {
		if p.Calls[i].Refused() {
			n++
		}
	}
	return n
}

// source names the rule that gives the verdict, its place, and the layer that narrows the profile if that decided.
// "" is the profile itself, without a rule.
func (c *PlannedCall) source() string {
	var parts []string
	if c.Rule != "" && c.At != "" {
		parts = append(parts, "rule "+visible.Short(c.Rule, 80))
	}
	if c.At != "" && (c.Rule != "" || c.Layer != "") {
		parts = append(parts, c.At)
	}
	if c.Layer != "" {
		parts = append(parts, visible.Short(c.Layer, 80))
	}
	return strings.Join(parts, ", ")
}

// refused lists the calls that the rules will certainly refuse.
func (p *Plan) refused() []PlannedCall {
	return slices.DeleteFunc(slices.Clone(p.Calls), func(c PlannedCall) bool { return c.Verdict != call.Deny.String() })
}

// A PlanAnswer is the answer to the question whether people allow the plan of a program.
type PlanAnswer struct {
	Allowed bool      `json:"allowed"`
	Calls   []string  `json:"calls,omitempty"` // what was asked about, a line each
	Until   time.Time `json:"until,omitzero"`  // with Allowed: the deadline to run the program
	By      string    `json:"by,omitempty"`
	Channel string    `json:"channel,omitempty"`
	// Reason and Detail, a sentence, say why it is not Allowed: elicitation_declined, timeout, no_approver ...; without
	// a Reason nobody was asked.
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Text describes the answer for the sender of the program.
func (a *PlanAnswer) Text() string {
	switch {
	case a.Allowed:
		text := fmt.Sprintf("\nA person allowed these calls for one run of this program, byte for byte, until %s:\n",
			a.Until.Format("15:04:05 MST"))
		for _, c := range a.Calls {
			text += "  - " + visible.Line(c) + "\n"
		}
		return text
	case a.Reason == "":
		return "\nNobody was asked to allow the calls beforehand: " + visible.Line(a.Detail) + ".\n"
	}
	return "\nThe calls were not allowed beforehand (" + a.Reason + "): " + visible.Line(a.Detail) + ".\n"
}
