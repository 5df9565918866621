package preflight

import (
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/visible"
)

// SetPage says where people find the page of this process on which the rules are
// changed. Links lead there unless the configuration has an address of its own.
func (c *Checker) SetPage(address string) { c.page.Store(&address) }

// Note says what a caller should know about the rules before anything else:
// that the file is broken, and its last good version is in force. "" is nothing.
func (c *Checker) Note() string {
	if err := c.Rules.Now().Stale; err != nil {
		return staleText(err)
	}
	return ""
}

// SecretWarning says what is weak about the secret that tokens are signed
// with, once a profile depends on it; "" is nothing.
func (c *Checker) SecretWarning() string {
	cfg := c.Rules.Config()
	if cfg == nil {
		return ""
	}
	required := cfg.Profile("").RequirePreflight()
	for _, name := range cfg.All() {
		required = required || cfg.Profile(name).RequirePreflight()
	}
	switch {
	case !required:
		return ""
	case !cfg.Exposes("codemode_check"):
		return `programs have to be checked before they run, and "expose" leaves out codemode_check: none can run`
	case c.Tokens.Ephemeral:
		return SecretVariable + " is not set: pre-flight tokens are signed with a secret of this process, " +
			"and count for nothing once it ends or in another one"
	}
	return ""
}

// staleText says that the file is broken, with the first place; the folders
// around the file are not the caller's business.
func staleText(err error) string {
	problem := "it cannot be used"
	if problems, ok := errors.AsType[config.Problems](err); ok && len(problems) > 0 {
		problem = problems[0].Position.Short() + ": " + problems[0].Message
		if problems[0].Hint != "" {
			problem += " (" + problems[0].Hint + ")"
		}
		if n := len(problems) - 1; n > 0 {
			problem += fmt.Sprintf(" (and %d more)", n)
		}
	}
	return "the configuration file was changed and is not in force, because it is broken; the rules of its last good version hold. " + visible.Short(problem, sentenceRunes)
}
