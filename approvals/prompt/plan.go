package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// An Envelope is what the text of a program shows of the arguments of a call. The text contains some of them; only the
// running program knows the others.
type Envelope struct {
	Fixed []Value  `json:"fixed,omitempty"` // these, as the text has them
	Free  []string `json:"free,omitempty"`  // pointers of those that may be anything; "" is all that is not fixed
}

// holds reports whether arguments match the plan: each fixed value is there, and every other value is free.
func (e *Envelope) holds(args json.RawMessage) bool {
	v, err := parseArgs(args)
	if err != nil {
		return false
	}
	for _, fixed := range e.Fixed {
		if now, err := valueAt(v, fixed.Pointer); err != nil || now != fixed.JSON || strings.Contains(fixed.Pointer, "*") {
			return false
		}
	}
	return e.within(v, "")
}

// within reports whether all of v, the value at a pointer, is fixed or free.
func (e *Envelope) within(v strictjson.Value, at string) bool {
	if slices.ContainsFunc(e.Fixed, func(f Value) bool { return f.Pointer == at }) || slices.Contains(e.Free, at) {
		return true
	}
	for step, child := range children(v) {
		if !e.within(child, strictjson.AppendToken(at, step)) {
			return false
		}
	}
	return nested(v) && (v.Len() > 0 || at == "")
}

// free describes a free pointer.
func (e *Envelope) free(pointer string) string {
	short, _ := shorten(pointer)
	switch {
	case pointer != "":
		return "any " + short
	case len(e.Fixed)+len(e.Free) == 1:
		return "any arguments"
	}
	return "any other arguments"
}

func (e *Envelope) text() string {
	var parts []string
	for _, v := range e.Fixed {
		pointer, _ := shorten(v.Pointer)
		parts = append(parts, pointer+" "+escape(v.JSON, prose))
	}
	for _, f := range e.Free {
		parts = append(parts, e.free(f))
	}
	if len(parts) == 0 {
		return "no arguments"
	}
	return strings.Join(parts, " and ")
}

// A PlannedCall is a line of a plan: a number of calls of one tool with arguments that fit an envelope.
type PlannedCall struct {
	Call     *Request // what the call is bound to; its arguments are those in the text, and null for the unknown ones
	Envelope Envelope
	Count    int
	// Further says that the number of calls is unknown, and Count only bounds it. At is the line of the program's text
	// that makes them; 0 is unknown.
	Further bool
	At      int
}

// PlanGrants turns a plan that a person has approved into grants for one run. Each call is still decided when the
// program makes it: a grant answers questions, for as many calls as planned. If one line cannot have a grant,
// PlanGrants returns an error and no grants: a plan is approved as shown or not at all.
func PlanGrants(plan []PlannedCall, run string, now time.Time) ([]*Grant, error) {
	var grants []*Grant
	for _, line := range plan {
		r := *line.Call
		r.Args, r.Run, r.Terms.Args = nil, run, coverAny
		switch {
		case run == "" || line.Count <= 0:
			return nil, fmt.Errorf("%s: %w: there is no run or no call", Heading(&r), errNotOffered)
		case r.Risk.Grave():
			return nil, fmt.Errorf("%s: %w: what is of high risk has to be seen whole, each time", Heading(&r), errNotOffered)
		case !line.Envelope.short() || !rememberable(line.Call):
			return nil, fmt.Errorf("%s: %w: it cannot be shown whole", Heading(&r), errNotOffered)
		}
		for _, v := range line.Envelope.Fixed {
			if form, err := canonical([]byte(v.JSON)); err != nil || string(form) != v.JSON {
				return nil, fmt.Errorf("%s: the value planned at %s is not canonical JSON", Heading(&r), Quote(v.Pointer))
			}
		}
		g, err := r.Draft(call.Answer{Scope: call.ForRun}, now)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Heading(&r), err)
		}
		envelope := line.Envelope
		g.Coverage, g.Digest, g.Values, g.Envelope = coverEnvelope, "", nil, &envelope
		g.Uses, g.Further = line.Count, line.Further
		if line.At > 0 {
			g.At = []int{line.At}
		}
		grants = append(grants, g)
	}
	return grants, nil
}

// Limits of a plan that a person is to read whole: characters of one value and of one line, and lines.
const (
	maxPlannedValue = 200
	maxPlannedLine  = 600
	MaxPlan         = 20
)

// Sketch makes the envelope of arguments that a program's text shows in part. At unknown there may be any value, or
// none, and the objects at open may have further members. Both are JSON Pointers; "" is all of it.
func Sketch(shown json.RawMessage, unknown, open []string) (Envelope, error) {
	var e Envelope
	form, err := canonical(shown) // canonical order makes sketches comparable
	if err != nil {
		return e, err
	}
	all, err := parseArgs(form)
	if err != nil {
		return e, err
	}
	var walk func(v strictjson.Value, at string)
	walk = func(v strictjson.Value, at string) {
		within := func(p string) bool { return p == at || strings.HasPrefix(p, at+"/") }
		switch {
		case slices.Contains(unknown, at):
			e.Free = append(e.Free, at)
			return
		case !nested(v) || at != "" && !slices.ContainsFunc(unknown, within) && !slices.ContainsFunc(open, within):
			e.Fixed = append(e.Fixed, Value{at, string(v.AppendCanonical(nil))})
			return
		}
		for step, child := range children(v) {
			walk(child, strictjson.AppendToken(at, step))
		}
		if slices.Contains(open, at) {
			e.Free = append(e.Free, at)
		}
	}
	walk(all, "")
	return e, nil
}

// equal reports whether two envelopes hold the same arguments, as far as they are spelled alike.
func (e *Envelope) equal(other *Envelope) bool {
	return slices.Equal(e.Fixed, other.Fixed) && slices.Equal(e.Free, other.Free)
}

// short reports whether a person can read e at a glance.
func (e *Envelope) short() bool {
	if len(e.Fixed)+len(e.Free) > 24 {
		return false
	}
	all := 0
	for _, v := range e.Fixed {
		n := utf8.RuneCountInString(escape(v.JSON, prose))
		if all += n; n > maxPlannedValue || len(v.Pointer) > maxName {
			return false
		}
	}
	for _, f := range e.Free {
		if len(f) > maxName {
			return false
		}
	}
	return all <= maxPlannedLine
}

// draftPlan makes the grant that holds the grants of a plan.
func draftPlan(r *Request, now time.Time) (*Grant, error) {
	if len(r.Plan) == 0 || len(r.Plan) > MaxPlan || r.Run == "" || r.Risk.Grave() || !rememberable(r) {
		return nil, errNotOffered
	}
	g := newGrant(r, call.ForPlan, now)
	g.Run, g.Lines = r.Run, r.Plan
	for _, line := range r.Plan {
		if line.Run != r.Run || line.Principal != r.Principal || line.Coverage != coverEnvelope || !now.Before(line.Expires) {
			return nil, errNotOffered
		}
		if g.Expires.IsZero() || line.Expires.Before(g.Expires) {
			g.Expires = line.Expires
		}
	}
	return g, nil
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

// plan shows what a person can allow together with this call. It cuts nothing: a person must have read what they allow.
func (q *question) plan() [][]Span {
	q.limits, q.masker = whole, newMasker(q.request.Display, q.options.Whole)
	q.newline(margin)
	q.wrapped("You can allow these calls with it, which the program's text shows next. Each is decided again when it is " +
		"made, and whatever is not as it stands here is asked about:")
	q.planned()
	return q.take()
}

// planned shows the calls of a plan.
func (q *question) planned() {
	for i, g := range q.request.Plan {
		q.newline(margin + 2)
		q.put(fmt.Sprintf("%2d. %s, %s, with", i+1, Heading(&Request{Name: g.Name}), g.Times()))
		for _, v := range g.Envelope.Fixed {
			q.newline(margin + 6)
			pointer, _ := shorten(v.Pointer)
			q.put(pointer + " ")
			value, _ := parseArgs([]byte(v.JSON)) // see PlanGrants
			q.value(value, secrets.Place{}, 0, margin+6)
		}
		for _, f := range g.Envelope.Free {
			q.newline(margin + 6)
			q.put(g.Envelope.free(f))
		}
		if len(g.Envelope.Fixed)+len(g.Envelope.Free) == 0 {
			q.put(" no arguments")
		}
	}
}
