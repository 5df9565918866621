package preflight

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
