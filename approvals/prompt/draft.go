package prompt

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
)

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
	shown := withoutPlan([]*Request{&alone}, RenderOptions{})
	return !shown.Cut && shown.Masked == 0
}

// Key is a digest of everything that grants for calls like r are bound to: what asks about them, the server, the
// definition of the tool and the principal. If any of them changes, the grant no longer matches.
func (r *Request) Key() string {
	return grantKey(r.Principal, r.Profile, r.Asker, r.Rule, r.Server, r.ServerID, r.Name, r.Definition)
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

// argsDigest is the digest of arguments by their meaning, not their spelling.
func argsDigest(args json.RawMessage) (string, error) {
	form, err := canonical(args)
	if err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(digest(form)), nil
}
