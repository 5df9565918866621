package approvals

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Envelope is what the text of a program shows of the arguments of a call: some are written there, others only the running
// program knows.
type Envelope struct {
	Fixed []Value  `json:"fixed,omitempty"` // these, as written
	Free  []string `json:"free,omitempty"`  // pointers of those that may be anything; "" is all that is not fixed
}

// holds reports whether arguments are what the plan said: each fixed value is there, and nothing is there that is neither
// fixed nor free.
func (e *Envelope) holds(args json.RawMessage) bool {
	if len(args) == 0 {
		args = json.RawMessage("null")
	}
	form, err := Canonical(args)
	if err != nil {
		return false
	}
	for _, v := range e.Fixed {
		if now, err := valueAt(form, v.Pointer); err != nil || now != v.JSON || strings.Contains(v.Pointer, "*") {
			return false
		}
	}
	return e.within(form, nil)
}

// within reports whether all of raw is fixed or free.
func (e *Envelope) within(raw []byte, path []string) bool {
	here := func(pointer string) bool { return slices.Equal(segments(pointer), path) }
	if slices.ContainsFunc(e.Fixed, func(v Value) bool { return here(v.Pointer) }) || slices.ContainsFunc(e.Free, here) {
		return true
	}
	if raw[0] != '{' && raw[0] != '[' {
		return false
	}
	i := 0
	for key, value := range entries(raw) {
		step := strconv.Itoa(i)
		if key != nil {
			step = plain(unquote(key))
		}
		i++
		if !e.within(value, append(slices.Clip(path), step)) {
			return false
		}
	}
	return i > 0 || len(path) == 0
}

func (e *Envelope) text() string {
	var parts []string
	for _, v := range e.Fixed {
		pointer, _ := shorten(v.Pointer)
		if shown := escape(v.JSON, prose); len(shown) <= maxShownValue {
			parts = append(parts, pointer+" "+shown)
		} else {
			parts = append(parts, "the planned "+pointer)
		}
	}
	for _, f := range e.Free {
		pointer, _ := shorten(f)
		if f == "" {
			pointer = "other arguments"
		}
		parts = append(parts, "any "+pointer)
	}
	if len(parts) == 0 {
		return "no arguments"
	}
	return strings.Join(parts, " and ")
}

// A PlannedCall is a line of a plan: so many calls of one tool whose arguments fit an envelope.
type PlannedCall struct {
	Call     *Request // what the call is bound to; its arguments do not count
	Envelope Envelope
	Count    int
}

// PlanGrants turns a plan that a person has approved into grants for one run. Each call is still decided when it is made: a
// grant answers questions, for as many calls as were planned. A line that no grant may answer is an error, and then there are
// none: a plan is approved as it was shown or not at all.
func PlanGrants(plan []PlannedCall, run string, length time.Duration, now time.Time) ([]*Grant, error) {
	var grants []*Grant
	for _, line := range plan {
		r := *line.Call
		r.Args, r.Run, r.Terms.Args = nil, run, CoverAny
		switch {
		case run == "" || line.Count <= 0:
			return nil, fmt.Errorf("%s: %w: there is no run or no call", Heading(&r), ErrNotOffered)
		case grave(r.Risk):
			return nil, fmt.Errorf("%s: %w: what is of high risk has to be seen whole, each time", Heading(&r), ErrNotOffered)
		}
		for _, v := range line.Envelope.Fixed {
			if form, err := Canonical([]byte(v.JSON)); err != nil || string(form) != v.JSON {
				return nil, fmt.Errorf("%s: the value planned at %s is not canonical JSON", Heading(&r), Quote(v.Pointer))
			}
		}
		g, err := Draft(&r, ForRun, 0, now)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Heading(&r), err)
		}
		if length > 0 {
			if now.Add(length).After(g.Expires) {
				return nil, fmt.Errorf("%s: %w", Heading(&r), ErrTooLong)
			}
			g.Expires = now.Add(length)
		}
		envelope := line.Envelope
		g.Coverage, g.Digest, g.Values, g.Envelope, g.Uses = CoverEnvelope, "", nil, &envelope, line.Count
		grants = append(grants, g)
	}
	return grants, nil
}

// PlanText is a plan as a person is asked to approve it, one line each.
func PlanText(grants []*Grant) string {
	var b strings.Builder
	for i, g := range grants {
		fmt.Fprintf(&b, "%3d. %s\n", i+1, g.Text())
	}
	return b.String()
}
