//go:build unix

package sandbox

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether a file belongs to this process's user, or to root.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(st.Uid) == os.Geteuid() || st.Uid == 0)
}
