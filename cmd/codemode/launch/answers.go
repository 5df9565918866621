package launch

import (
	"slices"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
)

// WhoAnswers says who can answer questions of a risk beside the forms of a client, where codemode serve has a
// configuration, and a profile permits channels; nil permits all.
func WhoAnswers(cfg *config.Config, channels []string, risk call.Risk) string {
	var where []string
	permits := func(name string) bool { return channels == nil || slices.Contains(channels, name) }
	if permits("terminal") && risk.FormSuffices() {
		where = append(where, approvals.InTerminal)
	}
	if c := cfg.Console; permits("web") && c != nil && !c.Off {
		where = append(where, approvals.OnPage)
	}
	return approvals.WhoAnswers(where, risk)
}
