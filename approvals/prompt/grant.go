package prompt

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	spelling "github.com/codemode-project/codemode/internal/visible" // visible is a table here
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

// Draft makes a grant for a yes to r at that moment. A wish that exceeds the terms of r is an error; Draft does not
// reduce it. A plan is given unchanged.
func (r *Request) Draft(yes call.Answer, now time.Time) (*Grant, error) {
	scope, length := yes.Scope, yes.Length
	if r.Ahead {
		return nil, fmt.Errorf("%w: it is good for one run as it is", errNotOffered)
	}
	if scope == call.ForPlan {
		if length != 0 || yes.Uses != 0 {
			return nil, fmt.Errorf("%w: a plan is allowed as it was shown", errNotOffered)
		}
		return draftPlan(r, now)
	}
	if !slices.Contains(r.Terms.Scopes, scope) || !rememberable(r) {
		return nil, errNotOffered
	}
	g := newGrant(r, scope, now)
	if yes.Uses < 0 || yes.Uses > mostUses(scope) {
		return nil, fmt.Errorf("%w: for %d calls, and %d is the most", errTooMuch, yes.Uses, mostUses(scope))
	}
	longest := r.Terms.longest()
	switch scope {
	case call.ForRun, call.ForCount:
		if r.Run == "" {
			return nil, fmt.Errorf("%w: the call belongs to no run", errNotOffered)
		}
		g.Run, g.Uses, length = r.Run, RunUses, cmp.Or(length, longest)
		if scope == call.ForCount {
			g.Uses = countUses
		}
	case call.ForTime, call.ForSession:
		if r.Risk.Grave() {
			return nil, fmt.Errorf("%w: a high risk is not answered for longer than the run", errNotOffered)
		}
		if r.Principal == "" && r.Session == "" {
			return nil, fmt.Errorf("%w: nobody knows for whom the call is made", errNotOffered)
		}
		if scope == call.ForSession || r.Principal == "" { // then only the session tells whose later calls these are
			g.Session = r.Session
		}
		if scope == call.ForSession {
			length = cmp.Or(length, longest)
		}
	default:
		return nil, errNotOffered
	}
	length = cmp.Or(length, r.Terms.Default, min(defaultGrant, longest))
	if length < 0 || length > longest {
		return nil, fmt.Errorf("%w: %v, and %v is the most", errTooLong, length, longest)
	}
	g.Uses, g.Expires = cmp.Or(yes.Uses, g.Uses), now.Add(length)
	return g, g.cover(r)
}

// newGrant returns a grant that is bound to what calls like r have in common, see [Request.Key].
func newGrant(r *Request, scope call.Scope, now time.Time) *Grant {
	return &Grant{
		ID: "g_" + strings.ToLower(rand.Text()), Scope: scope,
		Principal: r.Principal, Profile: r.Profile, Asker: r.Asker, Rule: r.Rule,
		Server: r.Server, ServerID: r.ServerID, Name: r.Name, Definition: r.Definition, Created: now,
	}
}

// cover records which arguments g covers.
func (g *Grant) cover(r *Request) error {
	g.Coverage = r.Terms.Args
	g.Coverage = cmp.Or(g.Coverage, coverRule)
	inRun := g.Scope == call.ForRun || g.Scope == call.ForCount
	switch {
	case r.Risk.Grave(), g.Coverage == coverRule && len(r.Terms.Pointers) == 0 && !inRun:
		g.Coverage = coverExact
	case g.Coverage == coverRule && len(r.Terms.Pointers) == 0:
		g.Coverage = coverAny // all calls of the tool, as the button says
	}
	var err error
	switch g.Coverage {
	case coverExact:
		g.Shown = strings.TrimSpace(strings.TrimPrefix(Summary(r), Heading(r)))
		g.Digest, err = argsDigest(r.Args)
	case coverRule:
		args, err := parseArgs(r.Args)
		if err != nil {
			return err
		}
		for _, p := range slices.Sorted(slices.Values(r.Terms.Pointers)) {
			v, err := valueAt(args, p)
			if err != nil {
				return err
			}
			g.Values = append(g.Values, Value{p, v})
		}
	case coverAny:
	default:
		err = fmt.Errorf("%w: unknown coverage %s", errNotOffered, Quote(g.Coverage))
	}
	return err
}

// rememberable reports whether an answer to r can be remembered, and replaced by a remembered one.
func rememberable(r *Request) bool {
	if _, err := parseArgs(r.Args); err != nil || r.Firm || !r.Risk.FormSuffices() {
		return false
	}
	alone := *r
	alone.Plan = nil // it is always shown whole
	shown := Render(&alone, RenderOptions{})
	return !shown.Cut && shown.Masked == 0
}

// Key is a digest of everything that grants for calls like r are bound to: what asks about them, the server, the
// definition of the tool and the principal. If any of them changes, the grant no longer matches.
func (r *Request) Key() string {
	return grantKey(r.Principal, r.Profile, r.Asker, r.Rule, r.Server, r.ServerID, r.Name, r.Definition)
}

// Key is what a call must share to be covered by g, see [Request.Key].
func (g *Grant) Key() string {
	return grantKey(g.Principal, g.Profile, g.Asker, g.Rule, g.Server, g.ServerID, g.Name, g.Definition)
}

func grantKey(parts ...string) string {
	js, _ := json.Marshal(parts)
	return "sha256:" + hex.EncodeToString(digest(js))
}

// Covers reports whether g answers the question about r at that moment. It is a pure function; only the GrantStore
// knows whether g is revoked or used up.
func (g *Grant) Covers(r *Request, now time.Time) bool {
	switch {
	case g.Key() != r.Key(), !rememberable(r):
		return false
	case !now.Before(g.Expires) || !now.Round(0).Before(g.Expires.Round(0)): // by either clock
		return false
	case g.Scope == call.ForRun || g.Scope == call.ForCount:
		if g.Run == "" || g.Run != r.Run {
			return false
		}
	case g.Scope == call.ForTime || g.Scope == call.ForSession:
		if r.Risk.Grave() || g.Session != "" && g.Session != r.Session || g.Principal+g.Session == "" {
			return false
		}
	default:
		return false
	}
	switch g.Coverage {
	case coverExact:
		d, err := argsDigest(r.Args)
		return err == nil && d == g.Digest
	case coverRule:
		args, err := parseArgs(r.Args)
		return err == nil && len(g.Values) > 0 && !r.Risk.Grave() && !slices.ContainsFunc(g.Values, func(v Value) bool {
			now, err := valueAt(args, v.Pointer)
			return err != nil || now != v.JSON
		})
	case coverAny:
		return !r.Risk.Grave()
	case coverEnvelope:
		return g.Envelope != nil && !r.Risk.Grave() && g.Envelope.holds(r.Args)
	}
	return false
}

// Allows says in one line which calls g allows, for lists. Its fields say how many calls, and until when.
func (g *Grant) Allows() string {
	if g.Scope == call.ForPlan && g.Name == planTool {
		return g.aheadText()
	}
	if g.Scope == call.ForPlan {
		return g.Text()
	}
	arguments := strings.TrimSuffix(g.arguments(), ",")
	if g.Shown != "" {
		arguments = "exactly " + g.Shown
	}
	for _, v := range g.Values { // a list has no question next to it that shows a long value
		if len(escape(v.JSON, prose)) > maxShownValue {
			pointer, _ := shorten(v.Pointer)
			value, _ := shorten(v.JSON)
			arguments += "; " + pointer + " is " + value
		}
	}
	return Heading(&Request{Name: g.Name}) + " with " + arguments
}

// Text says in one line what g allows, from the fields of g. It is the label of the button that gives g.
func (g *Grant) Text() string {
	var b strings.Builder
	if g.Scope == call.ForPlan {
		if slices.ContainsFunc(g.Lines, func(line *Grant) bool { return line.Further }) {
			return fmt.Sprintf("Allow this and the plan for this run: %s, as listed above", g.planned())
		}
		return fmt.Sprintf("Allow this and the plan: %s of this run, as listed above", g.planned())
	}
	fmt.Fprintf(&b, "Allow %s with %s", Heading(&Request{Name: g.Name}), g.arguments())
	switch g.Scope {
	case call.ForRun:
		fmt.Fprintf(&b, " for this run, at most %s", counted(g.Uses, "time", "times"))
	case call.ForCount:
		fmt.Fprintf(&b, " for this and the next %s of this run", counted(g.Uses, "call", "calls"))
	case call.ForTime, call.ForSession:
		if g.Session != "" {
			b.WriteString(" in this session, at most")
		} else {
			b.WriteString(" for")
		}
		b.WriteString(" " + spelling.Duration(g.Expires.Sub(g.Created).Round(time.Second)))
		if g.Uses > 0 {
			b.WriteString(", at most " + counted(g.Uses, "time", "times"))
		}
	}
	return b.String()
}

// maxShownValue is the longest value that the label of a grant repeats; a longer one appears in the question.
const maxShownValue = 40

func (g *Grant) arguments() string {
	switch g.Coverage {
	case coverExact:
		return "exactly these arguments"
	case coverRule:
		var parts []string
		for _, v := range g.Values {
			pointer, _ := shorten(v.Pointer)
			switch shown := escape(v.JSON, prose); {
			case v.JSON == "":
				parts = append(parts, "no "+pointer)
			case len(shown) <= maxShownValue:
				parts = append(parts, pointer+" "+shown)
			default:
				parts = append(parts, "the same "+pointer)
			}
		}
		return strings.Join(parts, " and ") + ", other arguments as they come,"
	case coverEnvelope:
		return g.Envelope.text()
	}
	return "any arguments"
}

// argsDigest is the digest of arguments by their meaning, not their spelling.
func argsDigest(args json.RawMessage) (string, error) {
	form, err := canonical(args)
	if err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(digest(form)), nil
}
