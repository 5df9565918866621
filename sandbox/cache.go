package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
)

// openCache opens the directory in which the compiled guest is kept. Machine
// code from it is executed, so a directory that others may write to is refused.
func openCache(dir, hash string) (wazero.CompilationCache, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the cache directory: %w", err)
	}
	own := filepath.Join(dir, "guest-"+hash[:16])
	if err := os.Mkdir(own, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making the cache directory: %w", err)
	}
	for _, d := range []string{dir, own} {
		if err := private(d); err != nil {
			return nil, err
		}
	}
	cache, err := wazero.NewCompilationCacheWithDir(own)
	if err != nil {
		return nil, fmt.Errorf("opening the cache directory: %w", err)
	}
	return cache, nil
}

// private is an error if others could put files into the directory: by its
// mode, or because it is theirs.
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
		return fmt.Errorf("the cache directory %s is not a directory", dir)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("the cache directory %s may be written to by others (mode %04o), and what is in it is executed: chmod 700 it, or choose another", dir, info.Mode().Perm())
	case !ours(info):
		return fmt.Errorf("the cache directory %s belongs to another user, and what is in it is executed: choose another", dir)
	}
	return nil
}
