//go:build !unix

package responder

import "os/exec"

// detach does nothing: this system has no sessions.
func detach(*exec.Cmd) {}
