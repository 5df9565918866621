//go:build unix

package config

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ownedAlone reports a file that somebody else may have written.
func ownedAlone(info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 != 0 {
		return errors.New("others may write to it")
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != uint32(os.Getuid()) && s.Uid != 0 {
		return errors.New("it belongs to somebody else")
	}
	return nil
}
