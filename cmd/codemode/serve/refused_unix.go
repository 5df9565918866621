//go:build unix

package serve

import (
	"errors"
	"os"
	"syscall"
)

// refused reports whether nobody listens at a socket.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// hangup is the signal to read certificates again.
var hangup os.Signal = syscall.SIGHUP
