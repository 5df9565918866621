//go:build !unix

package serve

import "os"

// refused reports whether nobody listens at a socket. This system does not tell.
func refused(error) bool { return false }

// hangup is nil: this system has no signal to read certificates again.
var hangup os.Signal
