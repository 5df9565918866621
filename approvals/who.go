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
