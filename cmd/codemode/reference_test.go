package main

import (
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/reference"
)

// TestReference: docs/reference/commands.md is what the commands say of themselves. make reference writes it anew.
func TestReference(t *testing.T) {
	if err := reference.Check("commands.md", reference.Commands(newRoot(cli.Streams{}))); err != nil {
		t.Error(err)
	}
}
