package profiles

import "fmt"

// Within gives the profile with limits beside its own: of each the smaller one counts.
func (p *Profile) Within(l Limits) *Profile {
	if l == (Limits{}) {
		return p
	}
	q := *p
	q.limits = q.limits.Stricter(l)
	q.digest = Digest([]byte(p.digest), fmt.Appendf(nil, "\nwithin %v", l))
	return &q
}
