package runs

import (
	"cmp"
	"errors"

	"github.com/codemode-project/codemode/sandbox"
)

// Outcome names how a run ended, given the error that [Evaluator.Eval] returned with it: finished, not started, or one
// of the kinds of [sandbox.Kind].
func (r *Response) Outcome(err error) string {
	if err == nil {
		return "finished"
	}
	if ended, ok := errors.AsType[*sandbox.Error](err); ok && ended.Kind != sandbox.Refused {
		return ended.Kind.String()
	}
	return "not started"
}

// CallJSON is a call and how it ended, for programs.
type CallJSON struct {
	Call     int      `json:"call"`
	Tool     string   `json:"tool"`
	State    string   `json:"state"` // done, refused, failed, unknown or not started
	Reason   string   `json:"reason,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	Warning  string   `json:"warning,omitempty"` // what is odd about its answer
	Approved string   `json:"approved,omitempty"`
	Changed  []string `json:"changed,omitempty"` // JSON Pointers to what a person changed in its arguments
	TookMS   float64  `json:"tookMs,omitempty"`
}

// CallsJSON lists the calls of the run for programs.
func (r *Response) CallsJSON() []CallJSON {
	calls := make([]CallJSON, 0, len(r.Calls))
	for _, c := range r.Calls {
		calls = append(calls, CallJSON{
			Call: c.Call, Tool: c.Tool, State: string(c.State), Reason: c.Reason, Detail: c.Detail, Warning: c.Warning,
			Approved: c.Approved,
			Changed:  c.Changed, TookMS: float64(c.Took.Microseconds()) / 1000,
		})
	}
	return calls
}

// Notes renders what accompanies a value: errors, the console, the calls. Together with the value it makes up
// [Response.Text].
func (r *Response) Notes(err error) string {
	rest := r.notes(err, cmp.Or(r.limit, DefaultTextBytes))
	if err != nil {
		return r.failure(err) + "\n" + rest
	}
	if r.keptValue != nil {
		rest += "\nvalue: " + r.keptValue.note("") + "\n"
	}
	return rest
}
