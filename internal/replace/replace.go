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
	staged, err := Stage(path, data, mode)
	if err == nil {
		if err = os.Rename(staged, path); err != nil {
			_ = os.Remove(staged)
		}
	}
	return err
}

// Stage writes data to a new file beside path, which a rename puts in its place. It leaves nothing after an error.
func Stage(path string, data []byte, mode fs.FileMode) (staged string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// Built makes the file at path with build, which gets another path, in a folder of its own: it may leave other files
// beside it. The file appears when it is complete and on the disk, and only its owner can read it. Without overwrite an
// existing file is [fs.ErrExist].
func Built(path string, overwrite bool, build func(temporary string) error) error {
	if _, err := os.Lstat(path); err == nil && !overwrite {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0700
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	temporary := filepath.Join(dir, filepath.Base(path))
	if err := build(temporary); err != nil {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o600), f.Sync(), f.Close()); err != nil {
		return err
	}
	put := os.Link // unlike a rename it fails if there is a file by now
	if overwrite {
		put = os.Rename
	}
	if err := put(temporary, path); err != nil {
		return err
	}
	if folder, err := os.Open(filepath.Dir(path)); err == nil { // Windows cannot write a folder to the disk
		_ = errors.Join(folder.Sync(), folder.Close())
	}
	return nil
}
