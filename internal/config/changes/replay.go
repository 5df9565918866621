package changes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/profiles"
)

// A PastCall is a call from the record, with the data for deciding it again.
type PastCall struct {
	Line   int // of the record
	Run    string
	Call   int
	Time   time.Time
	Server string
	Tool   string // canonical
	// Args are the arguments, nil if the record does not keep them. At a Masked place they differ from what the call
	// sent.
	Args    json.RawMessage
	Masked  []string // JSON Pointers to values that the record does not keep in clear
	Profile string
	Verdict call.Verdict // then
	Rule    string       // deciding rule; "" = none, or the record does not name it
	At      string       // its place then, file:line:column; "" = unknown
	Layer   string       // the layer that the rule belongs to; "" = the profile's own
	Who     config.Subject
	Refused bool // a person said no
	Asked   bool // a person answered
}

// Past is the latest part of a record.
type Past struct {
	Calls []PastCall // oldest first
	Days  int        // how far back it goes
	Cut   bool       // more calls are in these days: only the latest are here
}

// Since is the time of the first call; the zero time if there is none.
func (p *Past) Since() time.Time {
	if len(p.Calls) == 0 {
		return time.Time{}
	}
	return p.Calls[0].Time
}

// A Replayed is a past call with the decision that a profile would make now.
type Replayed struct {
	PastCall
	// Verdicts are the possible verdicts, the strictest first. One is certain; several mean that the verdict depends on
	// data that is not in the record.
	Verdicts []call.Verdict
	Decision call.Decision // on the known data
	Depends  []call.Reason // the rules that it depends on
}

// Certain reports whether the record has enough data to determine the verdict.
func (r *Replayed) Certain() bool { return len(r.Verdicts) == 1 }

// Changed reports whether the decision certainly differs from the past one.
func (r *Replayed) Changed() bool { return r.Certain() && r.Verdicts[0] != r.Verdict }

// Replay decides a past call again. It ignores limits and everything that depends on the run: it decides each call as
// the first of its run.
func Replay(p *profiles.Profile, past PastCall) Replayed {
	server, tool, _ := strings.Cut(past.Tool, "__")
	if past.Server != "" {
		server = past.Server
		tool = strings.TrimPrefix(past.Tool, call.Part(server)+"__")
	}
	c := profiles.Call{Server: server, Tool: tool, Name: past.Tool, Args: call.Unread(past.Args), Time: past.Time}
	gaps := profiles.Gaps{Unknown: past.Masked, Hints: true}
	if past.Args == nil {
		gaps.Unknown = []string{""}
	}
	f := p.Foresee(c, gaps)
	if raised := p.RaisedTo(past.Verdict); past.Rule == "" && len(raised) > 0 && past.Verdict < slices.Max(f.Verdicts) {
		f.Verdicts = slices.Compact(slices.Sorted(slices.Values(append(f.Verdicts, past.Verdict))))
		f.Depends = append(f.Depends, raised...)
	}
	return Replayed{PastCall: past, Verdicts: f.Verdicts, Decision: f.Decision, Depends: f.Depends}
}

// A ReplaySummary counts the differences.
type ReplaySummary struct {
	Calls, Same, Changed, Unsure int

	Stricter, Looser int // of those changed
	SavedQuestions   int // past verdict ask, now allow
	AllowedRefused   int // refused by a person, now allow
}

// Summarise counts replayed calls.
func Summarise(all []Replayed) ReplaySummary {
	s := ReplaySummary{Calls: len(all)}
	for i := range all {
		r := &all[i]
		switch {
		case !r.Certain():
			s.Unsure++
			continue
		case !r.Changed():
			s.Same++
			continue
		case r.Verdicts[0] < r.Verdict:
			s.Stricter++
		default:
			s.Looser++
		}
		s.Changed++
		if r.Verdict == call.Ask && r.Verdicts[0] == call.Allow {
			if s.SavedQuestions++; r.Refused {
				s.AllowedRefused++
			}
		}
	}
	return s
}

func (s ReplaySummary) String() string {
	text := fmt.Sprintf("%d calls: %d as before, %d otherwise (%d stricter, %d looser)", s.Calls, s.Same, s.Changed,
		s.Stricter, s.Looser)
	if s.Unsure > 0 {
		text += fmt.Sprintf(", %d cannot be told", s.Unsure)
	}
	if s.SavedQuestions > 0 {
		text += fmt.Sprintf(".\nIt would have saved %d questions, and allowed %d calls that a person refused",
			s.SavedQuestions, s.AllowedRefused)
	}
	return text + "."
}

// VerdictsText words the possible verdicts on a call.
func VerdictsText(all []call.Verdict) string {
	words := make([]string, len(all))
	for i, v := range all {
		words[i] = v.String()
	}
	return strings.Join(words, " or ")
}
