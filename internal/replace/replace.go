// Package replace replaces whole files atomically.
package replace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// File writes data to the file at path, so that a reader, even after a crash, sees the old or the new content and
// nothing in between.
func File(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
