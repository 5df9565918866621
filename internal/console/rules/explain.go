package rules

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// A Question is a call that somebody thinks of.
type Question struct {
	Profile   string          `json:"profile"` // BaseName is the base tool's
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args,omitempty"` // nil is {}
	Principal string          `json:"principal,omitempty"`
	Session   string          `json:"session,omitempty"`
	Role      string          `json:"role,omitempty"`
}

// An Answer says what would happen to the call as the first one of a run.
type Answer struct {
	profiles.Explanation
	Profile *profiles.Profile // with the overlays of the subject
	Call    profiles.Call     // as it was decided
	Known   bool              // a connected server has the tool
	Near    string            // a connected tool of a similar name, for a tool that is not known
	Alike   string            // another connected tool with a name that looks the same
}

// Explain decides a call that nobody makes, by the policy that decides calls of programs. It sends nothing and asks
// nobody. The error says that there is no such profile.
func (b *Book) Explain(q Question) (*Answer, error) {
	name := q.Profile
	if name == BaseName {
		name = ""
	}
	policy, err := b.Rules.Bind(name, config.Subject{Principal: q.Principal, Session: q.Session, Role: q.Role})
	if err != nil {
		return nil, err
	}
	policy.Owner = q.Principal
	p, cfg := policy.Profile(), b.Rules.Config()
	if p == nil || cfg == nil {
		return nil, fmt.Errorf("nothing is configured, so nothing is allowed")
	}
	a := &Answer{Profile: p, Call: cfg.Call(q.Tool, q.Args)}
	t := &call.Tool{Server: a.Call.Server, Raw: a.Call.Tool, Name: a.Call.Name}
	var names []string
	for _, live := range b.Tools() {
		names = append(names, live.Name)
		raw := live.Server == a.Call.Server && live.Raw == a.Call.Tool // it identifies the tool better than the name made of it
		if raw || live.Name == a.Call.Name && !(a.Known && t.Raw == a.Call.Tool) {
			t, a.Known = live, true
		}
	}
	for _, name := range names {
		if visible.Alike(name, t.Name) {
			a.Alike = name
		}
	}
	if !a.Known {
		a.Near = visible.Nearest(a.Call.Name, names)
		a.Call.Time = policy.Now()
	} else {
		a.Call = policy.Call(t, call.Unread(q.Args), hostfns.Counters{})
	}
	a.Explanation = p.Explain(a.Call)
	return a, nil
}

// Decides is the place of the rule that decides, file:line:column; "" if it is no rule.
func (a *Answer) Decides() string {
	if r := a.Decision.Lead(); r.Rule != "" {
		return r.Pos.String()
	}
	return ""
}

// MarshalJSON gives the answer as codemode explain --json does, with what is known of the tool.
func (a *Answer) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		profiles.Explained
		Known bool   `json:"known"`
		Near  string `json:"near,omitempty"`
	}{a.Explanation.Explained(cmp.Or(a.Profile.Name(), BaseName), a.Call.Name), a.Known, a.Near})
}
