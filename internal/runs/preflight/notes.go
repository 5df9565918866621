package preflight

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
