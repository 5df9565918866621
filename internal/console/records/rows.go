package records

import (
	"cmp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// A Row is an entry in a table.
type Row struct {
	*audit.Entry
	Tool, What, By, Summary string
	State                   string // the words for it
	Why                     string // and for the reason
	Class                   string // good, bad or open
}

// RowOf is the row of an entry.
func RowOf(e *audit.Entry) Row {
	x := Row{Entry: e, Tool: prompt.Words(e.Tool), State: StateWord(e.State), Why: because(e.Reason)}
	if e.Tool != "" {
		x.Tool = prompt.Heading(&prompt.Request{Name: e.Tool})
	}
	switch e.State {
	case "rejected": // a configuration
		x.Class = "bad"
	case audit.OK, call.Allowed, "admitted", "connected":
		x.Class = "good"
	case audit.Running, audit.Pending, audit.Parked, audit.Resumed:
		x.Class = "open"
	default:
		if x.Class = "bad"; e.Kind == audit.Policy || e.Kind == audit.Notice || e.Kind == audit.Grant ||
			e.Kind == audit.Keeping || e.Kind == audit.Session {
			x.Class = "plainly"
		}
	}
	switch {
	case e.Kind == audit.Run && e.State == audit.Running:
		x.State = "began"
	case e.Kind == audit.Call && e.State == audit.Running:
		x.State = "sent"
	case e.Kind == audit.Call && e.State == audit.Pending:
		x.State = "asked"
	}
	if by := e.DecidedBy; by != nil {
		x.By = Decider(by.How)
		if by.Principal != "" {
			x.By = prompt.Words(by.Principal)
		}
		if by.Channel != "" {
			x.By += " over " + prompt.Words(by.Channel)
		}
	}
	if e.Args != nil && len(e.Args.Redacted) > 0 {
		called := &prompt.Request{Name: e.Tool, Args: e.Args.Redacted}
		x.Summary = strings.TrimSpace(strings.TrimPrefix(prompt.Summary(called), prompt.Heading(called)))
	}
	return x
}

// A CallView is one call of a run, from all its entries.
type CallView struct {
	Number   int
	Tool     string
	Steps    []Row
	Asked    *Row // a person got a question
	Answered *Row // what the person said
	Last     Row
	Args     *call.EntryArgs
	Result   *call.EntryResult
	Rules    []call.EntryRule
	Edited   bool // the arguments that ran differ from the proposed ones
}

// A RunView is everything about one run: the program, its calls, what decided them, what people saw and what ran.
type RunView struct {
	Began   *Row
	Ended   *Row
	Program *call.EntryProgram
	Calls   []*CallView
	Others  []Row
}

// RunOf puts the entries of a run, the oldest first, in their places.
func RunOf(all []*audit.Entry) *RunView {
	v := &RunView{}
	calls := map[int]*CallView{}
	for _, e := range all {
		x := RowOf(e)
		switch {
		case e.Kind == audit.Run:
			switch {
			case x.Class != "open":
				v.Ended = &x
			case v.Began == nil:
				v.Began = &x
			default:
				v.Others = append(v.Others, x)
			}
			if e.Program != nil && (v.Program == nil || e.Program.Text != "") {
				v.Program = e.Program
			}
		case e.Call > 0 && (e.Kind == audit.Call || e.Kind == audit.Approval):
			if calls[e.Call] == nil {
				calls[e.Call] = &CallView{Number: e.Call}
				v.Calls = append(v.Calls, calls[e.Call])
			}
			calls[e.Call].add(x)
		default:
			v.Others = append(v.Others, x)
		}
	}
	slices.SortFunc(v.Calls, func(a, b *CallView) int { return cmp.Compare(a.Number, b.Number) })
	return v
}

func (v *CallView) add(x Row) {
	v.Steps = append(v.Steps, x)
	v.Last = x
	if x.Tool != "" {
		v.Tool = x.Tool
	}
	switch {
	case x.Kind == audit.Call && x.Entry.State == audit.Pending:
		v.Asked = &x
	case x.Kind == audit.Approval && x.Entry.State != call.Late:
		v.Answered = &x
	}
	if x.Args != nil {
		v.Args = x.Args
		v.Edited = v.Edited || x.Args.Executed != "" && x.Args.Proposed != "" && x.Args.Executed != x.Args.Proposed
	}
	if x.Result != nil {
		v.Result = x.Result
	}
	if len(x.Rules) > 0 {
		v.Rules = x.Rules
	}
}

// reasons are the words for the codes in the record.
var reasons = map[string]string{
	"denied":                  "the rules deny it",
	"bad_arguments":           "the arguments cannot be judged",
	"limit":                   "a limit of the profile is used up",
	"policy_changed":          "the rules changed before it was made",
	"elicitation_declined":    "a person said no",
	"elicitation_unsupported": "there was no means of asking a person",
	"no_approver":             "nobody gave an answer that counts",
	"timeout":                 "nobody answered in time",
	"canceled":                "the question was closed, or the program ended",
	"too_many_asks":           "the program asked too often",
	"too_many_refusals":       "people refused too often",
	"invalid_decision":        "what was decided is no decision",
	"late_answer":             "the answer came too late",
	"not started":             "the program was not started",
}

// deciders are the words for the decider, by the record's codes.
var deciders = map[string]string{
	"rule": "a rule", "default": "the profile's default", "floor": "the floor", "person": "a person",
	"grant":    "what was allowed before",
	"fallback": "the profile's fallback", "limit": "a limit", "definition_changed": "the tool was redefined",
	"bypass": "the bypass",
	"error":  "nobody", "none": "nobody", // it ended before a decision: the reason says why
}

// states are the words for the states of entries.
var states = map[string]string{
	audit.OK: "done", audit.Failed: "failed", audit.Unknown: "nobody knows whether it happened", audit.NotSent: "not sent",
	audit.Parked: "waits for a person",
}

// because explains why something did not happen. It returns an unknown code as it is.
func because(code string) string { return prompt.Words(cmp.Or(reasons[code], code)) }

// Decider is the word for who or what decided, by the record's code.
func Decider(how string) string { return prompt.Words(cmp.Or(deciders[how], how)) }

// StateWord is the word for the state of an entry.
func StateWord(state string) string {
	return prompt.Words(cmp.Or(states[state], reasons[state], strings.ReplaceAll(state, "_", " ")))
}
