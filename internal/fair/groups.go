package fair

import (
	"slices"
	"strings"
)

// groupEnd separates the name of a group from that of an owner in it. No name has it.
const groupEnd = "\x00"

// In names an owner as one of a group, such as a principal of a tenant. Owners of the same name in two groups are two
// owners. A group shares with other groups as an owner does with other owners, and its owners share what it may have.
// The group "" is none.
func In(group, owner string) string {
	if group == "" {
		return owner
	}
	return group + groupEnd + owner
}

// Out is the name of an owner within a group: the reverse of [In].
func Out(group, owner string) string {
	if group == "" {
		return owner
	}
	return strings.TrimPrefix(owner, group+groupEnd)
}

// groupOf is the group of an owner, "" if it is in none.
func groupOf(owner string) string {
	group, _, in := strings.Cut(owner, groupEnd)
	if !in {
		return ""
	}
	return group
}

// A Rotation says whose turn it is among owners that wait: groups alternate, and so do the owners of a group. The zero
// value is empty.
type Rotation struct {
	// Time says who is next by what they have used; nil says that all turns count the same.
	Time *Time

	groups []string            // with owners, the next one first
	owners map[string][]string // by group, the next one first
	n      int
}

// Len is how many owners wait.
func (r *Rotation) Len() int { return r.n }

// Add puts an owner, which is not there yet, behind the others of its group.
func (r *Rotation) Add(owner string) {
	group := groupOf(owner)
	if r.owners == nil {
		r.owners = map[string][]string{}
	}
	all := r.owners[group]
	if len(all) == 0 && !slices.Contains(r.groups, group) {
		r.groups = append(r.groups, group)
	}
	r.owners[group] = append(all, owner)
	r.n++
}

// Next takes the owner out whose turn it is. There must be one.
func (r *Rotation) Next() (owner string) {
	var at, of int
	if r.Time != nil {
		r.Time.mu.Lock()
		defer r.Time.mu.Unlock()
		of = r.Time.all.next(r.groups)
		at = r.Time.all.member(r.groups[of]).next(r.owners[r.groups[of]])
	}
	group := r.groups[of]
	owner = r.owners[group][at]
	r.groups = slices.Delete(r.groups, of, of+1)
	if all := slices.Delete(r.owners[group], at, at+1); len(all) == 0 {
		delete(r.owners, group)
	} else {
		r.owners[group] = all
		r.groups = append(r.groups, group)
	}
	r.n--
	return owner
}

// Remove takes an owner out, if it is there.
func (r *Rotation) Remove(owner string) {
	group := groupOf(owner)
	all := r.owners[group]
	at := slices.Index(all, owner)
	if at < 0 {
		return
	}
	r.n--
	if len(all) > 1 {
		r.owners[group] = slices.Delete(all, at, at+1)
		return
	}
	delete(r.owners, group)
	r.groups = slices.DeleteFunc(r.groups, func(g string) bool { return g == group })
}
