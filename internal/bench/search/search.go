// Package search measures how well a search for tools answers plain questions: how often a right tool is the first
// answer, and how often it is among the first five.
//
// The questions are in this repository. The tools are those of public servers, whose words stay where they are: a file
// that anybody can make again, and whose SHA-256 is here. docs/savings.md says how to make it.
package search

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // for the questions
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/codemode-project/codemode/catalog"
	"github.com/codemode-project/codemode/internal/visible"
)

// Frozen is the SHA-256 of the corpus that the questions of [Questions] are for.
//
//go:embed corpus.sha256
var frozen string

//go:embed questions.txt
var questions string

// A Question is what somebody looks for, and the tools that are right, as server/tool.
type Question struct {
	Text  string   `json:"question"`
	Right []string `json:"right"`
}

// Questions are those of this repository.
func Questions() ([]Question, error) { return ParseQuestions(questions) }

// ParseQuestions reads lines of a question, an arrow, and the right tools. Lines that begin with # are comments.
func ParseQuestions(text string) ([]Question, error) {
	var all []Question
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words, right, ok := strings.Cut(line, " => ")
		if !ok {
			return nil, fmt.Errorf("the line %q has no =>", line)
		}
		all = append(all, Question{words, strings.Fields(right)})
	}
	return all, nil
}

// A Corpus is a catalogue of tools.
type Corpus struct {
	SHA256  string
	Tools   int
	Servers int

	catalog *catalog.Catalog
	names   map[string]string // of the catalogue, to server/tool
}

// ParseCorpus reads a tool from each line: an object with server, name, description and inputSchema.
func ParseCorpus(text []byte) (*Corpus, error) {
	sum := sha256.Sum256(text)
	c := &Corpus{SHA256: hex.EncodeToString(sum[:]), catalog: catalog.New(), names: map[string]string{}}
	servers := map[string][]catalog.Tool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 4<<20)
	for n := 1; lines.Scan(); n++ {
		var t struct {
			Server, Name, Description string
			InputSchema               json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("line %d of the corpus: %w", n, err)
		}
		if t.Server == "" || t.Name == "" {
			return nil, fmt.Errorf("line %d of the corpus has no server or no name", n)
		}
		servers[t.Server] = append(servers[t.Server],
			catalog.Tool{Raw: t.Name, Description: t.Description, Input: t.InputSchema})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for server, tools := range servers {
		c.catalog.Replace(server, tools)
	}
	for _, t := range c.catalog.Tools() {
		c.names[t.Name] = t.Server + "/" + t.Raw
	}
	c.Tools, c.Servers = len(c.names), len(servers)
	return c, nil
}

// IsFrozen reports whether the corpus is the one that the questions are for.
func (c *Corpus) IsFrozen() bool { return c.SHA256 == strings.TrimSpace(frozen) }

// shown is how many answers count.
const shown = 5

// A Report has the figures of a search.
type Report struct {
	Corpus  string `json:"corpus"` // SHA-256
	Frozen  bool   `json:"frozen"`
	Tools   int    `json:"tools"`
	Servers int    `json:"servers"`
	// Tuning are the first, third and so on of the questions, which work on the ranking may use. HeldOut are the others.
	Tuning  Half     `json:"tuning"`
	HeldOut Half     `json:"held_out"`
	Missed  []Missed `json:"missed"`
}

// A Half has the figures of half of the questions.
type Half struct {
	Questions int `json:"questions"`
	First     int `json:"first"`    // the first answer is right
	FirstFive int `json:"in_first"` // one of the first five is
}

// A Missed question has no right tool among the first five.
type Missed struct {
	Question
	HeldOut bool     `json:"held_out"`
	Got     []string `json:"got"`
}

// Measure asks all questions.
func Measure(ctx context.Context, c *Corpus, all []Question) (*Report, error) {
	r := &Report{Corpus: c.SHA256, Frozen: c.IsFrozen(), Tools: c.Tools, Servers: c.Servers, Missed: []Missed{}}
	known := map[string]bool{}
	for _, name := range c.names {
		known[name] = true
	}
	for i, q := range all {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if len(q.Right) == 0 {
			return nil, fmt.Errorf("the question %q has no right tool", q.Text)
		}
		for _, name := range q.Right {
			if !known[name] {
				return nil, fmt.Errorf("the question %q wants %s, which is not in the corpus", q.Text, name)
			}
		}
		half := &r.Tuning
		if i%2 == 1 {
			half = &r.HeldOut
		}
		var got []string
		for _, m := range c.catalog.Search(q.Text, shown, nil) {
			got = append(got, c.names[m.Tool.Name])
		}
		at := slices.IndexFunc(got, func(name string) bool { return slices.Contains(q.Right, name) })
		half.Questions++
		switch {
		case at < 0:
			r.Missed = append(r.Missed, Missed{q, i%2 == 1, got})
		case at == 0:
			half.First++
			half.FirstFive++
		default:
			half.FirstFive++
		}
	}
	if r.Tuning.Questions == 0 {
		return nil, errors.New("there are no questions")
	}
	return r, nil
}

// Formats are the formats that [Report.Write] supports.
var Formats = []string{"table", "json"}

// Write prints the report; verbose lists the questions without a right tool.
func (r *Report) Write(w io.Writer, format string, verbose bool) error {
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	case "table":
		_, err := io.WriteString(w, r.table(verbose))
		return err
	}
	return fmt.Errorf("there is no format %q", format)
}

func (r *Report) table(verbose bool) string {
	var b strings.Builder
	corpus := "the frozen corpus"
	if !r.Frozen {
		corpus = "another corpus than the frozen one"
	}
	visible.Fprintf(&b, "%d tools of %d servers, %s (%.16s)\n\n", r.Tools, r.Servers, corpus, r.Corpus)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "questions\trecall@1\trecall@5\t")
	for _, row := range []struct {
		what string
		of   Half
	}{{"for tuning", r.Tuning}, {"held out", r.HeldOut}} {
		percent := func(n int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(row.of.Questions, 1))) }
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\n", row.of.Questions, percent(row.of.First), percent(row.of.FirstFive), row.what)
	}
	t.Flush()
	if verbose {
		for _, m := range r.Missed {
			which := "for tuning"
			if m.HeldOut {
				which = "held out"
			}
			visible.Fprintf(&b, "\n%s (%s)\n  want %s\n  got  %s\n", m.Text, which, strings.Join(m.Right, " or "),
				strings.Join(m.Got, ", "))
		}
	}
	return b.String()
}
