//go:build unix

package doctor

import (
	"io/fs"
	"slices"
	"strconv"
	"syscall"
)

// mode is what a may do with a file, in the bits of the owner's permissions.
func (a *account) mode(info fs.FileInfo) (fs.FileMode, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || a.uid < 0 {
		return 0, false
	}
	switch perm := info.Mode().Perm(); {
	case int(st.Uid) == a.uid:
		return perm >> 6 & 7, true
	case slices.Contains(a.groups, strconv.Itoa(int(st.Gid))):
		return perm >> 3 & 7, true
	default:
		return perm & 7, true
	}
}
