package changes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/profiles"
)

// A PastCall is a call as the record has it, as far as it can be decided again.
type PastCall struct {
	Line   int // of the record
	Run    string
	Call   int
	Time   time.Time
	Server string
	Tool   string // canonical
	// Args are the arguments, nil where the record does not keep them. Those that have a
	// Masked place are not what was sent there.
	Args    json.RawMessage
	Masked  []string // JSON Pointers to what is not kept in clear
	Profile string
	Verdict call.Verdict // then
	Rule    string       // that decided; "" = none did, or the record does not say which
	Refused bool         // a person said no
	Asked   bool         // a person answered
}

// A Replayed is a past call as a profile would decide it now.
type Replayed struct {
	PastCall
	// Verdicts are those it may get, the strictest first. One is certain; several mean that
	// it depends on what the record does not keep.
	Verdicts []call.Verdict
	Decision call.Decision // on what is known
	Depends  []call.Reason // the rules that it depends on
}

// Certain reports whether the record keeps enough to tell the verdict.
func (r *Replayed) Certain() bool { return len(r.Verdicts) == 1 }

// Changed reports whether the call is surely decided otherwise than it was.
func (r *Replayed) Changed() bool { return r.Certain() && r.Verdicts[0] != r.Verdict }

// Replay decides a past call again. Limits and what depends on the run are left out: each
// call is decided as the first of its run.
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

// A ReplaySummary counts what would be different.
type ReplaySummary struct {
	Calls, Same, Changed, Unsure int

	Stricter, Looser int // of those changed
	SavedQuestions   int // were asked about, and would be allowed
	AllowedRefused   int // were refused by a person, and would be allowed
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

// VerdictsText words the verdicts that a call may get.
func VerdictsText(all []call.Verdict) string {
	words := make([]string, len(all))
	for i, v := range all {
		words[i] = v.String()
	}
	return strings.Join(words, " or ")
}
