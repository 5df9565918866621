package report

import (
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/tokens"
)

// Savings compares programs with the same calls made one at a time. Tokens are approximate, see package tokens. The
// list of tools and the search for tools are not in the record, so they are in none of the figures.
type Savings struct {
	Programs int `json:"programs"` // runs of programs that sent calls
	Calls    int `json:"calls"`    // sent by them; one at a time, a model makes as many

	// The tokens of the arguments and the results of these calls: a model that makes them one at a time writes the
	// former and reads the latter.
	CallArguments int `json:"callArguments"`
	CallResults   int `json:"callResults"`
	// The tokens of the programs and of the values that they returned.
	ProgramTexts   int `json:"programTexts"`
	ProgramResults int `json:"programResults"`
}

// Saved is how many tokens the programs did not need; negative if they needed more.
func (s *Savings) Saved() int {
	return s.CallArguments + s.CallResults - s.ProgramTexts - s.ProgramResults
}

// runCost are the figures of one run.
type runCost struct {
	calls, arguments, results int
	text, value               int
	program                   bool
}

// A tally collects the figures of runs. Entries of one run may come from several processes, in any order.
type tally map[string]*runCost

func (t tally) add(e *audit.Entry) {
	if e.Run == "" || e.Kind != audit.Call && e.Kind != audit.Run {
		return
	}
	r := t[e.Run]
	if r == nil {
		r = &runCost{}
		t[e.Run] = r
	}
	switch {
	case e.Kind == audit.Run:
		r.ended(e)
	case e.State == audit.Running:
		r.calls++
		if e.Args != nil {
			r.arguments += size(string(e.Args.Redacted), e.Args.Bytes)
		}
	case e.State == audit.NotSent:
		r.calls--
	case e.Result != nil:
		r.results += size(string(e.Result.Redacted), e.Result.Bytes)
	}
}

func (r *runCost) ended(e *audit.Entry) {
	if e.Program == nil || e.State == audit.Running {
		return // the entry about the beginning has no text
	}
	r.program = true
	r.text = size(e.Program.Text, e.Program.Bytes)
	if e.Result != nil {
		r.value = size(string(e.Result.Redacted), e.Result.Bytes)
	}
}

// size is the number of tokens of a text that has so many bytes and may be recorded only in part, or not at all.
func size(recorded string, bytes int) int {
	n := tokens.Count(recorded)
	switch {
	case recorded == "":
		return (bytes + 3) / 4
	case bytes > len(recorded):
		return n * bytes / len(recorded)
	}
	return n
}

func (t tally) sum() *Savings {
	s := &Savings{}
	for _, r := range t {
		if !r.program || r.calls <= 0 {
			continue
		}
		s.Programs++
		s.Calls += r.calls
		s.CallArguments += r.arguments
		s.CallResults += r.results
		s.ProgramTexts += r.text
		s.ProgramResults += r.value
	}
	return s
}
