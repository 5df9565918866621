package profiles

import "fmt"

// Within gives the profile with limits beside its own: of each the smaller one counts.
func (p *Profile) Within(l Limits) *Profile {
	if l == (Limits{}) {
		return p
	}
	q := *p
	q.limits = q.limits.stricter(l)
	q.digest = digest([]byte(p.digest), fmt.Appendf(nil, "\nwithin %v", l))
	return &q
}

// With gives the configuration with another file after its own ones, as [ParseAll] does.
func (c *Config) With(s Source) (*Config, error) { return parseSource(s, c, nil) }
