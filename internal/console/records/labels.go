package records

import (
	"cmp"
	"strings"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// Late is the state of an answer that came after another one had decided. It decides nothing.
const Late = call.Late

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
