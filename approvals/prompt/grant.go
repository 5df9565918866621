package prompt

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
)

const (
	// RunUses is how many calls a grant for a run covers.
	RunUses = 50
	// countUses is how many calls a form offers to allow at once.
	countUses = 10
	// hardMax is the longest duration of any grant, whatever a profile says. Write a rule for anything longer.
	hardMax = 7 * 24 * time.Hour

	defaultGrant    = 5 * time.Minute
	defaultMaxGrant = 8 * time.Hour
)

// Terms say what a profile lets people give besides a single yes. The zero value allows nothing.
type Terms struct {
	Scopes   []call.Scope  `json:"scopes,omitempty"`
	Default  time.Duration `json:"default,omitempty"`  // offered and accepted for call.ForTime; 0 is 5 minutes and 8 hours
	Max      time.Duration `json:"max,omitempty"`      // offered and accepted for call.ForTime; 0 is 5 minutes and 8 hours
	Args     string        `json:"args,omitempty"`     // which arguments a grant is for: exact, rule or any; "" is rule
	Pointers []string      `json:"pointers,omitempty"` // the arguments that the asking rule looks at
}

// Which arguments a grant covers.
const (
	coverExact    = "exact"    // the same arguments, all of them
	coverRule     = "rule"     // the same values at the pointers that the asking rule names
	coverAny      = "any"      // any arguments
	coverEnvelope = "envelope" // arguments that fit an approved plan
)

// A Grant is a remembered yes. It turns a question about a call that it covers into a yes, and does nothing else. It
// does not apply to a denied call, to a call with a rule that failed, to a question of the floor, to a critical risk,
// or to a call that cannot be shown whole.
type Grant struct {
	ID    string     `json:"id"`
	Scope call.Scope `json:"scope"`

	Principal  string `json:"principal"`
	Session    string `json:"session,omitempty"`
	Run        string `json:"run,omitempty"`
	Profile    string `json:"profile"`
	Asker      string `json:"asker"` // see [call.Decision.Asker]
	Rule       string `json:"rule"`
	Server     string `json:"server"`
	ServerID   string `json:"serverID"`
	Name       string `json:"name"` // canonical name of the tool
	Definition string `json:"definition"`

	Coverage string    `json:"coverage"`
	Digest   string    `json:"digest,omitempty"` // of the arguments, for CoverExact
	Shown    string    `json:"shown,omitempty"`  // those arguments in one line, cut and masked, for people to read
	Values   []Value   `json:"values,omitempty"` // for CoverRule
	Envelope *Envelope `json:"envelope,omitempty"`

	Uses    int       `json:"uses,omitempty"` // maximum number of uses; 0 for no limit
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`

	// For a line of a plan. Further says that the number of its calls is unknown, and Uses only bounds it. At holds the
	// lines of the program's text that make the calls.
	Further bool  `json:"further,omitempty"`
	At      []int `json:"at,omitempty"`

	// Lines are the parts of a grant for a plan. That grant covers nothing by itself, see [Grant.All].
	Lines []*Grant `json:"lines,omitempty"`

	By      string `json:"by,omitempty"` // who gave it
	Channel string `json:"channel,omitempty"`
}

// A Value is the value at one place of the arguments, as canonical JSON; "" if there is none.
type Value struct {
	Pointer string `json:"pointer"`
	JSON    string `json:"json"`
}

// An Envelope is what the text of a program shows of the arguments of a call. The text contains some of them; only the
// running program knows the others.
type Envelope struct {
	Fixed []Value  `json:"fixed,omitempty"` // these, as the text has them
	Free  []string `json:"free,omitempty"`  // pointers of those that may be anything; "" is all that is not fixed
}

// equal reports whether two envelopes hold the same arguments, as far as they are spelled alike.
func (e *Envelope) equal(other *Envelope) bool {
	return slices.Equal(e.Fixed, other.Fixed) && slices.Equal(e.Free, other.Free)
}

// Reasons why a grant cannot be given.
var (
	errNotOffered = errors.New("the profile does not offer to remember this answer")
	errTooLong    = errors.New("it would last longer than the profile lets it")
	errTooMuch    = errors.New("it would be good for more calls than people may allow at once")
)

// ReadLimits parses the limits that a person sets for a grant: a number of calls, a duration, or both, as in "5", "15m"
// and "5 15m".
func ReadLimits(text string) (uses int, length time.Duration, err error) {
	for _, word := range strings.Fields(text) {
		n, notNumber := strconv.Atoi(word)
		d, notTime := time.ParseDuration(word)
		switch {
		case notNumber == nil && n > 0 && uses == 0:
			uses = n
		case notNumber != nil && notTime == nil && d > 0 && length == 0:
			length = d
		default:
			return 0, 0, fmt.Errorf("%s is neither a number of calls nor a time such as 15m", Quote(word))
		}
	}
	return uses, length, nil
}

// mostUses is how many calls a person may allow at once with a grant of that scope.
func mostUses(s call.Scope) int {
	if s == call.ForPlan {
		return 0
	}
	return RunUses
}

// longest is the longest duration of a grant of that scope under the terms.
func (t *Terms) longest() time.Duration { return min(cmp.Or(t.Max, defaultMaxGrant), hardMax) }

// Key is what a call must share to be covered by g, see [Request.Key].
func (g *Grant) Key() string {
	return grantKey(g.Principal, g.Profile, g.Asker, g.Rule, g.Server, g.ServerID, g.Name, g.Definition)
}

func grantKey(parts ...string) string {
	js, _ := json.Marshal(parts)
	return "sha256:" + hex.EncodeToString(digest(js))
}

// All returns the grants that g stands for: those of its plan, or g itself.
func (g *Grant) All() []*Grant {
	if g.Scope != call.ForPlan {
		return []*Grant{g}
	}
	all := make([]*Grant, 0, len(g.Lines))
	for _, line := range g.Lines {
		copied := *line
		copied.ID, copied.By, copied.Channel = fmt.Sprintf("%s_%d", g.ID, len(all)+1), g.By, g.Channel
		all = append(all, &copied)
	}
	return all
}

// planned says how many calls a plan is for: "2 more calls, and the further calls of line 7".
func (g *Grant) planned() string {
	n := 0
	var parts []string
	var at []int
	elsewhere := false
	for _, line := range g.Lines {
		switch {
		case !line.Further:
			n += line.Uses
		case len(line.At) == 0:
			elsewhere = true
		}
		if line.Further {
			at = append(at, line.At...)
		}
	}
	if n > 0 {
		parts = append(parts, counted(n, "more call", "more calls"))
	}
	if len(at) > 0 && !elsewhere {
		slices.Sort(at)
		parts = append(parts, "the further calls of "+spans("line", slices.Compact(at)))
	} else if len(at) > 0 || elsewhere {
		parts = append(parts, "further calls")
	}
	return strings.Join(parts, ", and ")
}

// Times says how many calls a line of a plan is for.
func (g *Grant) Times() string {
	switch {
	case g.Further && len(g.At) > 0:
		return fmt.Sprintf("further calls of %s (%d at most)", spans("line", g.At), g.Uses)
	case g.Further:
		return fmt.Sprintf("further calls (%d at most)", g.Uses)
	case g.Uses == 1:
		return "once"
	}
	return fmt.Sprintf("at most %d times", g.Uses)
}

// Same reports whether two lines of a plan cover the same calls.
func (g *Grant) Same(other *Grant) bool {
	return g.Key() == other.Key() && g.Run == other.Run &&
		g.Envelope != nil && other.Envelope != nil && g.Envelope.equal(other.Envelope)
}

// Add extends a line of a plan to the calls of another line.
func (g *Grant) Add(other *Grant) {
	g.Uses, g.Further = min(g.Uses+other.Uses, RunUses), g.Further || other.Further
	g.At = slices.Compact(slices.Sorted(slices.Values(slices.Concat(g.At, other.At))))
}
