package discovery

import (
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

	"github.com/codemode-project/codemode/internal/bench/printed"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/visible"
)

// frozen is the SHA-256 of the corpus that our questions are for.
//
//go:embed corpus.sha256
var frozen string

//go:embed questions.txt
var ownQuestions string

// A Question is what somebody looks for, and the tools that are right, as server/tool.
type Question struct {
	Text  string   `json:"question"`
	Right []string `json:"right"`
}

// parseQuestions reads lines of a question, an arrow, and the right tools. Lines that begin with # are comments.
func parseQuestions(text string) ([]Question, error) {
	var all []Question
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words, right, ok := strings.Cut(line, " => ")
		if !ok {
			return nil, fmt.Errorf("the line %q of the questions has no =>", line)
		}
		all = append(all, Question{words, strings.Fields(right)})
	}
	return all, nil
}

// A corpus is a catalogue of tools.
type corpus struct {
	*catalog.Catalog
	servers map[string][]catalog.Tool
	known   map[string]bool // server/tool
}

// parseCorpus reads tools, one after the other: objects with server, name, description and inputSchema.
func parseCorpus(text []byte) (*corpus, error) {
	c := &corpus{catalog.New(), map[string][]catalog.Tool{}, map[string]bool{}}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var t struct {
			Server, Name, Description string
			InputSchema               json.RawMessage
		}
		if err := d.Decode(&t); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading the corpus after %d tools: %w", len(c.known), err)
		}
		if t.Server == "" || t.Name == "" {
			return nil, fmt.Errorf("the tool after %d others of the corpus has no server or no name", len(c.known))
		}
		c.known[t.Server+"/"+t.Name] = true
		c.servers[t.Server] = append(c.servers[t.Server],
			catalog.Tool{Raw: t.Name, Description: t.Description, Input: t.InputSchema})
	}
	for server, tools := range c.servers {
		c.Replace(server, tools)
	}
	return c, nil
}

// shownAnswers is how many answers of the search count.
const shownAnswers = 5

// Recall has the figures of a search.
type Recall struct {
	Corpus  string `json:"corpus"` // SHA-256
	Frozen  bool   `json:"frozen"` // the corpus is the one that our questions are for
	Tools   int    `json:"tools"`
	Servers int    `json:"servers"`
	// Tuning are the first, third and so on of the questions, which work on the ranking may use. HeldOut are the others.
	Tuning  Half     `json:"tuning"`
	HeldOut Half     `json:"held_out"`
	Missed  []Missed `json:"missed"`

	Verbose bool `json:"-"` // the table lists the missed questions
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

// MeasureRecall asks questions about the tools of a corpus, which is a text with a tool in each line. The questions are
// lines of a question, an arrow, and the right tools; nil are those of this binary.
func MeasureRecall(ctx context.Context, tools, questions []byte) (*Recall, error) {
	c, err := parseCorpus(tools)
	if err != nil {
		return nil, err
	}
	if questions == nil {
		questions = []byte(ownQuestions)
	}
	all, err := parseQuestions(string(questions))
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("there are no questions")
	}
	sum := sha256.Sum256(tools)
	r := &Recall{Corpus: hex.EncodeToString(sum[:]), Tools: len(c.Tools()), Servers: len(c.servers), Missed: []Missed{}}
	r.Frozen = r.Corpus == strings.TrimSpace(frozen)
	for i, q := range all {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := r.ask(c, q, i%2 == 1); err != nil {
			return nil, fmt.Errorf("the question %q %w", q.Text, err)
		}
	}
	return r, nil
}

func (r *Recall) ask(c *corpus, q Question, heldOut bool) error {
	if len(q.Right) == 0 {
		return errors.New("has no right tool")
	}
	for _, want := range q.Right {
		if !c.known[want] {
			return fmt.Errorf("wants %s, which is not in the corpus", want)
		}
	}
	half := &r.Tuning
	if heldOut {
		half = &r.HeldOut
	}
	var got []string
	for _, m := range c.Search(q.Text, shownAnswers, nil) {
		got = append(got, m.Tool.Server+"/"+m.Tool.Raw)
	}
	at := slices.IndexFunc(got, func(name string) bool { return slices.Contains(q.Right, name) })
	half.Questions++
	if at < 0 {
		r.Missed = append(r.Missed, Missed{q, heldOut, got})
		return nil
	}
	half.FirstFive++
	if at == 0 {
		half.First++
	}
	return nil
}

func (r *Recall) table() string {
	var b strings.Builder
	corpus := "the frozen corpus"
	if !r.Frozen {
		corpus = "another corpus than the frozen one"
	}
	fmt.Fprintf(&b, "%d tools of %d servers, %s (%.16s)\n\n", r.Tools, r.Servers, corpus, r.Corpus)
	rows := [][]string{{"questions", "recall@1", "recall@5", ""}}
	names := map[bool]string{false: "for tuning", true: "held out"}
	for i, half := range []Half{r.Tuning, r.HeldOut} {
		rows = append(rows, []string{fmt.Sprint(half.Questions), percent(half.First, half.Questions, 1),
			percent(half.FirstFive, half.Questions, 1), names[i == 1]})
	}
	printed.Table(&b, rows)
	for _, m := range r.Missed {
		if r.Verbose {
			visible.Fprintf(&b, "\n%s (%s)\n  want %s\n  got  %s\n", m.Text, names[m.HeldOut], strings.Join(m.Right, " or "),
				strings.Join(m.Got, ", "))
		}
	}
	return b.String()
}
