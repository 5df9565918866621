//go:build !unix

package main

import "io/fs"

// mode cannot be told from permissions here.
func (a *account) mode(fs.FileInfo) (fs.FileMode, bool) { return 0, false }
