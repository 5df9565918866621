//go:build !unix

package upstream

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// neededBySystem are the variables that programs on this system do not start without.
var neededBySystem = []string{
	"SystemRoot", "SystemDrive", "PATHEXT", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "ProgramFiles",
}

func ownGroup(*exec.Cmd) {}

func terminateGroup(pid int) { killGroup(pid) }

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// writeSome writes nothing: on this system only a write that may block is possible.
func writeSome(*os.File, []byte) (int, error) { return 0, nil }

func groupLives(int) bool { return false }

func executable(path string) (string, bool) {
	ends := []string{""}
	if filepath.Ext(path) == "" {
		ends = strings.Split(strings.ToLower(os.Getenv("PATHEXT")), ";")
	}
	for _, end := range ends {
		if info, err := os.Stat(path + end); err == nil && info.Mode().IsRegular() {
			return path + end, true
		}
	}
	return "", false
}
