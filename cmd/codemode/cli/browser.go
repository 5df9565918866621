package cli

import (
	"os/exec"
	"runtime"
)

// OpenBrowser tries to open an address. It cannot detect success, so callers print the address as well.
func OpenBrowser(address string) {
	command := []string{"xdg-open", address}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", address}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	}
	cmd := exec.Command(command[0], command[1:]...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // a browser may live longer than this process
	}
}
