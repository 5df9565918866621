package sandbox

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/codemode-project/codemode/internal/replace"
)

// A codeCache is the directory with the machine code of one guest. It contains code, a directory of wazero's with one
// file under the name of the guest's stub, and sum, the checksum of that file. The checksum detects damage. The private
// directory keeps other users out.
type codeCache struct{ code, sum string }

// Errors about a directory that others could put files into wrap errNotPrivate.
var errNotPrivate = errors.New("codemode runs machine code from it")

// openCache opens the directory of compiled guests. This process executes machine code from it, so a directory that
// others may write to is an error. If only the guest's own directory in it is unsafe, openCache recreates it and sets
// emptied.
func openCache(dir, hash string) (c *codeCache, emptied bool, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, false, fmt.Errorf("making the cache directory: %w", err)
	}
	if err := private(dir); err != nil {
		return nil, false, err
	}
	own := filepath.Join(dir, "guest-"+hash[:16])
	err = ownDir(own)
	if errors.Is(err, errNotPrivate) {
		emptied = true
		if err = os.RemoveAll(own); err == nil {
			err = ownDir(own)
		}
	}
	if err != nil {
		return nil, emptied, err
	}
	return &codeCache{code: filepath.Join(own, "code"), sum: filepath.Join(own, "sum")}, emptied, nil
}

// ownDir creates a private directory, or verifies that an existing one is private.
func ownDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the cache directory: %w", err)
	}
	return private(dir)
}

// The states of a codeCache.
const (
	cacheEmpty = iota
	cacheDamaged
	cacheGood
)

// state compares the file with its sum.
func (c *codeCache) state() int {
	file, err := onlyFile(c.code)
	if err != nil {
		return cacheEmpty
	}
	want, err := os.ReadFile(c.sum)
	if err != nil {
		return cacheDamaged
	}
	if got, err := checksum(file); err != nil || got != string(want) {
		return cacheDamaged
	}
	return cacheGood
}

// checksum is the CRC-32C of a file and its size.
func checksum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.Copy(sum, f)
	return fmt.Sprintf("%08x %d\n", sum.Sum32(), n), err
}

// keep stores the machine code under the name of the guest's stub. wazero has written the guest's machine code into the
// directory whole, and the stub's into stub.
func (c *codeCache) keep(whole, stub string) error {
	from, err := onlyFile(whole)
	if err != nil {
		return err
	}
	to, err := onlyFile(stub)
	if err != nil {
		return err
	}
	sum, err := checksum(from)
	if err != nil {
		return err
	}
	// Between these steps another process finds no file, or the wrong sum, and compiles.
	return errors.Join(os.Rename(from, to), os.RemoveAll(c.code), os.Rename(stub, c.code),
		replace.File(c.sum, []byte(sum), 0o600))
}

// onlyFile is the path of the one file below a directory.
func onlyFile(dir string) (string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("%s holds %d files, not 1", dir, len(files))
	}
	return slices.Concat(files, []string{""})[0], err
}

// private returns an error if others could put files into the directory, because of its mode or because they own it.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("opening the cache directory: %w", err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if info, err = os.Stat(dir); err != nil {
			return fmt.Errorf("opening the cache directory: %w", err)
		}
	}
	switch {
	case !info.IsDir():
		return fmt.Errorf("the cache directory %s is not a directory: %w", dir, errNotPrivate)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("the cache directory %s is writable by others (mode %04o), and %w: chmod 700 it, or choose another", dir, info.Mode().Perm(), errNotPrivate)
	case !ours(info):
		return fmt.Errorf("the cache directory %s belongs to another user, and %w: choose another", dir, errNotPrivate)
	}
	return nil
}
