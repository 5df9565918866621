package main

import (
	"testing"

	"github.com/codemode-project/codemode/internal/isolation/isolationtest"
)

func TestTheEngine(t *testing.T) {
	isolationtest.Test(t, hello().Claims, isolationtest.Build(t, "."))
}
