package signin

import (
	"slices"

	"github.com/codemode-project/codemode/internal/config/process"
)

// Roles are what a person may do on the page. The zero value is nothing.
type Roles uint8

const (
	Approver Roles = 1 << iota // sees the open questions and answers them
	Auditor                    // reads the record, the runs in progress, sessions and grants
	Admin                      // changes rules and sessions

	// All is every role. The role admin of the configuration is all of them.
	All = Approver | Auditor | Admin
)

// Has reports whether r has one of the roles of one.
func (r Roles) Has(one Roles) bool { return r&one != 0 }

// Names lists the roles.
func (r Roles) Names() (all []string) {
	for _, x := range []struct {
		role Roles
		name string
	}{{Approver, "approver"}, {Auditor, "auditor"}, {Admin, "admin"}} {
		if r.Has(x.role) {
			all = append(all, x.name)
		}
	}
	return all
}

// rolesOf are the roles that groups give.
func rolesOf(s *process.SignIn, groups []string) (r Roles) {
	for _, x := range []struct {
		role Roles
		of   []string
	}{{Approver, s.Approver}, {Auditor, s.Auditor}, {All, s.Admin}} {
		if slices.ContainsFunc(x.of, func(group string) bool { return slices.Contains(groups, group) }) {
			r |= x.role
		}
	}
	return r
}
