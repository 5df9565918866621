//go:build !unix

package doctor

import "io/fs"

// mode is unknown on this system: permissions do not tell it.
func (a *account) mode(fs.FileInfo) (fs.FileMode, bool) { return 0, false }
