// Package report makes tables for people from a record: how often events happened, and a row for each call. Unlike the
// files of [audit.Export] they are not a proof.
package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// A Friction is how often a rule has asked people, and their answers.
type Friction struct {
	Profile       string  `json:"profile"`
	Rule          string  `json:"rule"` // "" is the profile's unmatched
	At            string  `json:"at,omitempty"`
	Asks          int     `json:"asks"`
	Approved      int     `json:"approved"`
	Refused       int     `json:"refused"`    // by a person
	Unanswered    int     `json:"unanswered"` // nobody was there, or nobody answered in time
	MedianSeconds float64 `json:"medianSeconds"`
	AlwaysYes     bool    `json:"alwaysYes"` // a question with a known answer teaches people not to read

	seconds []float64
}

// alwaysYes is how many approvals without a refusal mark a rule as always approved.
const alwaysYes = 10

// A Summary is an overview of a record.
type Summary struct {
	Entries int            `json:"entries"`
	Runs    int            `json:"runs"`
	Calls   map[string]int `json:"calls"`   // by how they ended
	Refused map[string]int `json:"refused"` // by reason
	Rules   []*Friction    `json:"rules"`   // those that asked most first

	// Questions counts the questions of programs in their own words, by outcome. They approve nothing, so no rule
	// counts them.
	Questions map[string]int `json:"questions,omitempty"`
	// Plans counts the plans that people were asked to allow before a program ran, by outcome. No rule asked.
	Plans map[string]int `json:"plans,omitempty"`
	// Savings compares programs with the same calls made one at a time.
	Savings *Savings `json:"savings"`
}

// inquiry is the tool of a question that a program asks in its own words. It has no server.
const inquiry = "ask_user"

// ahead is the tool of the question whether people allow the calls of a program before it runs. It has no server
// either.
const ahead = "plan"

// connect is the verdict in entries about the question for an account.
const connect = "connect"

// Summarise counts the entries that match q.
func Summarise(ctx context.Context, db *store.DB, q store.Query) (*Summary, error) {
	s := &Summary{
		Calls: map[string]int{}, Refused: map[string]int{}, Questions: map[string]int{}, Plans: map[string]int{},
	}
	rules := map[[2]string]*Friction{}
	runs := tally{}
	err := audit.Entries(ctx, db, q, func(e *audit.Entry) error {
		s.Entries++
		runs.add(e)
		switch {
		case e.Kind == audit.Run && e.State == audit.Running:
			s.Runs++
		case e.Kind == audit.Call && e.State == audit.Refused:
			s.Refused[e.Reason] += max(1, e.Count)
		case e.Kind == audit.Call && e.State != audit.Running && e.State != audit.Pending:
			s.Calls[e.State]++
		case e.Kind == audit.Approval && e.Tool == inquiry && e.Server == "":
			s.Questions[e.State]++
		case e.Kind == audit.Approval && e.Tool == ahead && e.Server == "":
			s.Plans[e.State]++
		case e.Kind == audit.Approval && e.Verdict == connect: // no rule asked
		case e.Kind == audit.Approval && e.State != call.Late:
			rule := call.EntryRule{}
			if len(e.Rules) > 0 {
				rule = e.Rules[0]
			}
			f := rules[[2]string{e.Profile, rule.ID}]
			if f == nil {
				f = &Friction{Profile: e.Profile, Rule: rule.ID}
				rules[[2]string{e.Profile, rule.ID}] = f
				s.Rules = append(s.Rules, f)
			}
			f.At = rule.At
			f.count(e)
		}
		return nil
	})
	s.Savings = runs.sum()
	for _, f := range s.Rules {
		f.MedianSeconds = median(f.seconds)
		f.AlwaysYes = f.Approved >= alwaysYes && f.Refused == 0
	}
	slices.SortStableFunc(s.Rules, func(a, b *Friction) int { return cmp.Compare(b.Asks, a.Asks) })
	return s, err
}

func (f *Friction) count(e *audit.Entry) {
	f.Asks++
	person := e.DecidedBy != nil && e.DecidedBy.How == "person"
	switch {
	case person && e.State == call.Allowed:
		f.Approved++
	case person:
		f.Refused++
	default:
		f.Unanswered++
	}
	if person {
		f.seconds = append(f.seconds, (time.Duration(e.DecidedBy.LatencyMS) * time.Millisecond).Seconds())
	}
}

func median(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	if n := len(of); n%2 == 0 {
		return (of[n/2-1] + of[n/2]) / 2
	}
	return of[len(of)/2]
}
