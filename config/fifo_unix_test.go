//go:build unix

package config

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestLoadFIFO is THREATS.md F18: a FIFO in the file's place does not hold anybody up.
func TestLoadFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codemode.json")
	must(t, syscall.Mkfifo(path, 0o600))
	if _, err := Load(path); err == nil || !contains(err.Error(), "is a FIFO") {
		t.Errorf("got %v, want the FIFO refused", err)
	}
}
