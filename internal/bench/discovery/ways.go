package discovery

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/codemode-project/codemode/internal/visible"
)

// Savings has the figures of each domain.
type Savings struct {
	Tokens  string     `json:"tokens"` // how they are counted
	Domains []*Figures `json:"domains"`
}

// Figures are those of one domain.
type Figures struct {
	Name      string `json:"name"`
	Tools     int    `json:"tools"`
	Tasks     int    `json:"tasks"`
	WithCalls int    `json:"with_calls"` // tasks whose user gets something done or looked up
	// Expressible are the tasks that one program can express, and OneProgram those of them whose program left the same
	// database as the calls one at a time. TwoPrograms counts the same for two programs.
	Expressible int `json:"expressible"`
	OneProgram  int `json:"one_program"`
	TwoPrograms int `json:"two_programs"`
	// Failed are the programs that left another database, and Unknown the first argument that a program cannot know, by
	// task.
	Failed  []string          `json:"failed"`
	Unknown map[string]string `json:"unknown"`
	Ways    []*Way            `json:"ways"`
}

// A Way is one way to do the tasks that count, with sums over them. Tokens are approximate.
type Way struct {
	Name      string `json:"name"`
	Surface   int    `json:"surface"`   // tokens of what every request has of the tools
	Calls     int    `json:"calls"`     // tool calls that the model makes
	Requests  int    `json:"requests"`  // answers that the model writes: a call, calls at once, or the last words
	Arguments int    `json:"arguments"` // tokens that the model writes: arguments and programs
	Discovery int    `json:"discovery"` // tokens that say which tools there are, when asked
	Results   int    `json:"results"`   // tokens of the other results
	Context   int    `json:"context"`   // tokens at the end of a task: the surface and all of the above
	Read      int    `json:"read"`      // tokens that the model reads: the context as it is at each request

	first []exchange // of each task, before the program
}

// An exchange is one answer of the model and what it brings.
type exchange struct{ calls, arguments, discovery, results int }

// add counts one task.
func (w *Way) add(exchanges []exchange) {
	context := w.Surface
	for _, e := range exchanges {
		w.Requests++
		w.Read += context
		w.Calls += e.calls
		w.Arguments += e.arguments
		w.Discovery += e.discovery
		w.Results += e.results
		context += e.arguments + e.discovery + e.results
	}
	w.Requests++ // the last words to the user
	w.Read += context
	w.Context += context
}

// Pass reports whether every program left the database that it had to.
func (s *Savings) Pass() bool {
	return !slices.ContainsFunc(s.Domains, func(d *Figures) bool { return len(d.Failed) > 0 })
}

func (s *Savings) table() string {
	var b strings.Builder
	visible.Fprintf(&b, "%s\n", s.Tokens)
	for _, d := range s.Domains {
		visible.Fprintf(&b, "\n%s: %d tools, %d tasks, %d with calls\n", d.Name, d.Tools, d.Tasks, d.WithCalls)
		fmt.Fprintf(&b, "one program can express %d of %d (%s); end state equal in %d\n", d.Expressible, d.WithCalls,
			percent(d.Expressible, d.WithCalls, 0), d.OneProgram)
		fmt.Fprintf(&b, "two programs, one that reads and one that writes: %d of %d (%s)\n", d.TwoPrograms, d.WithCalls,
			percent(d.TwoPrograms, d.WithCalls, 0))
		for _, name := range d.Failed {
			visible.Fprintf(&b, "another end state: %s\n", name)
		}
		if d.OneProgram == 0 {
			continue
		}
		fmt.Fprintf(&b, "a task, in the mean of those %d:\n\n", d.OneProgram)
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "calls\trequests\tsurface\tdiscovery\targuments\tresults\tcontext\tread\t  \t")
		mean := func(n int) float64 { return float64(n) / float64(d.OneProgram) }
		for _, w := range d.Ways {
			visible.Fprintf(t, "%.1f\t%.1f\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t  %s\n", mean(w.Calls), mean(w.Requests),
				w.Surface, mean(w.Discovery), mean(w.Arguments), mean(w.Results), mean(w.Context), mean(w.Read), w.Name)
		}
		t.Flush()
	}
	return b.String()
}
