// Package cachetest has the folder in which tests keep the compiled guest: to compile it takes a second, and with the
// race detector many.
package cachetest

import (
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/codemode-project/codemode/store/sqlite"
)

// Dir is the folder, the same for all tests of a user; "" if there can be none.
func Dir() string {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("codemode-test-%d", os.Getuid()))
	if os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	return dir
}
