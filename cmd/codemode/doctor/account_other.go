//go:build !unix

package doctor

import "io/fs"

// mode cannot be told from permissions here.
func (a *account) mode(fs.FileInfo) (fs.FileMode, bool) { return 0, false }
