package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes a lock that ends with the process; nil means that another process has the lock.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0,
		1, 0, new(windows.Overlapped))
	if err == nil {
		return f, nil
	}
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = nil
	}
	return nil, errors.Join(err, f.Close())
}
