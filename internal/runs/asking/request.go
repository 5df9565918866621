package asking

import (
	"slices"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/profiles"
)

// request describes a call to the person who decides about it.
func (a *Prompter) request(q *hostfns.Question) *prompt.Request {
	d := &q.Decision
	r := &prompt.Request{
		Server: q.Tool.Server, Tool: q.Tool.Raw, Name: q.Tool.Name,
		ServerID: a.people.Rules.Server(q.Tool.Server).Identity, Definition: q.Tool.Digest,
		Profile: q.Profile, ProfileDigest: d.Digest, Basis: d.Basis(), Asker: d.Asker(),
		Risk: d.Risk, Rule: d.Lead().Rule, Reasons: reasonTexts(q), Firm: d.Firm,
		Principal: a.principal, Session: a.session, Args: q.Args, Title: q.Tool.Title, Description: q.Tool.Description,
		Preview: a.preview, Code: prompt.NewCode(), Run: q.Run, Call: q.Call, Time: time.Now(),
	}
	if m := d.Remember; d.Verdict == call.Ask && len(m.Scopes) > 0 {
		r.Terms = prompt.Terms{Scopes: m.Scopes, Default: m.Default, Max: m.Max, Args: m.Args, Pointers: d.Pointers}
	}
	if profile := a.policy.Profile(); profile != nil {
		redact := profile.Redact().Of(q.Tool.Name)
		r.Display = a.Display[q.Tool.Name]
		r.Display.Keys = slices.Concat(redact.Keys, r.Display.Keys)
		r.Display.Pointers = slices.Concat(redact.Pointers, r.Display.Pointers)
		r.Display.NoDetect = redact.NoDetect
	}
	return r
}

// reasonTexts returns why a person is asked: the reasons of the decision, and what the server itself says about its
// tool.
func reasonTexts(q *hostfns.Question) []string {
	var texts, said []string
	add := func(text string) {
		if text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if q.Again != "" {
		add("asked again: the rules changed after somebody allowed it, and " + q.Again)
	}
	for _, r := range q.Decision.Reasons {
		add(r.String())
		said = append(said, r.Text)
	}
	if q.Decision.Verdict != call.Ask {
		return texts
	}
	for _, text := range profiles.Warnings(q.Tool.Annotations) {
		if !slices.Contains(said, text) {
			add(text)
		}
	}
	return texts
}
