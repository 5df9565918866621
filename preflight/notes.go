package preflight

import (
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/visible"
)

// SetPage gives the address of the page of this process on which people change the rules.
// Links lead there unless the configuration has an address of its own.
func (c *Checker) SetPage(address string) { c.page.Store(&address) }

// Note warns a caller that the configuration file is broken and that its last good version is in force.
// "" is no warning.
func (c *Checker) Note() string {
	if err := c.Rules.Now().Stale; err != nil {
		return staleText(err)
	}
	return ""
}

// SecretWarning says why nobody can get a token, or why tokens end with this process, where a profile requires them.
// "" is no warning.
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

// staleText says that the file is broken, and where first. It hides the folders of the file from the caller.
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
	return "the configuration file was changed and is not in force, because it is broken; " +
		"the rules of its last good version hold. " + visible.Short(problem, sentenceRunes)
}
