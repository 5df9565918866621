package approvals

import (
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
)

// The places beside a client's forms in which people answer, as [WhoAnswers] says them.
const (
	InTerminal = `with "codemode approvals" in a terminal`
	OnPage     = "on the page (codemode console opens it)"
)

// WhoAnswers is the sentence, without a full stop, that says who can answer a question of a risk beside the forms of a
// client. Refusals, plans and commands all say it.
func WhoAnswers(where []string, risk call.Risk) string {
	switch {
	case len(where) > 0:
		return "A person answers " + strings.Join(where, ", or ")
	case !risk.FormSuffices():
		return "A person answers on the page alone: codemode console opens it, and codemode serve --console 127.0.0.1:7391 " +
			"serves it where there is none"
	}
	return "A person answers in a form of the client, and nowhere else"
}

// Places are where people answer questions of a risk over channels, beside the forms of a client.
func Places(channels []Channel, risk call.Risk) (where []string) {
	for _, c := range channels {
		if q, ok := c.(*Queue); ok && q.Where != "" && !slices.Contains(where, q.Where) &&
			(risk.FormSuffices() || q.Strong()) {
			where = append(where, q.Where)
		}
	}
	return where
}

// People say who answers for whom: one rule for every place in which people answer.
type People struct {
	Owner string // the user who started the process
	// AnswersFor lists the principals for whom a person answers; * is all. Without a list, the owner and people who sign
	// in answer for all, and others for themselves.
	AnswersFor map[string][]string
	SignsIn    func(person string) bool // at an identity provider; nil is nobody
}

// May reports whether a person may see and answer the questions for a principal. Everybody answers for themselves. The
// owner answers for all; if the configuration lists principals for the owner, for those and for callers without a
// token. So do people who sign in: the page asks only those whose role lets them answer.
func (p *People) May(person, principal string) bool {
	of := p.AnswersFor[person]
	return person != "" && person == principal || p.forAll(person) || person == p.Owner && principal == "" ||
		principal != "" && slices.Contains(of, principal)
}

// forAll reports whether a person answers for all principals.
func (p *People) forAll(person string) bool {
	of := p.AnswersFor[person]
	return slices.Contains(of, "*") || of == nil && (person == p.Owner || p.SignsIn != nil && p.SignsIn(person))
}

// Vouched reports whether the configuration says explicitly that a person answers for another principal.
func (p *People) Vouched(person, principal string) bool {
	of := p.AnswersFor[person]
	return principal != "" && principal != person && (slices.Contains(of, "*") || slices.Contains(of, principal))
}

// Sees lists the principals with entries that a person may see. The owner can read the record anyway.
func (p *People) Sees(person string) (principals []string, all bool) {
	return p.AnswersFor[person], person == p.Owner || p.forAll(person)
}
