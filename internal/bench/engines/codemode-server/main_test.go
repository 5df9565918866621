package main

import (
	"testing"

	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/internal/isolation/isolationtest"
)

func TestTheEngine(t *testing.T) {
	isolationtest.Test(t, hello("").Claims, isolationtest.Build(t, "."), isolationtest.Build(t, "../../../../cmd/codemode"))
}

// A denial is one that the host lists, not one that a program describes.
func TestEnding(t *testing.T) {
	const denial = "error (threw): ToolCallDeniedError: the call of harness__secret was refused (denied): no rule\n" +
		"    at program.ts:1:1\n"
	for _, c := range []struct {
		text string
		want string
	}{
		{denial + "\ncalls: 1 (1 refused)\n  1. harness__secret refused (denied): no rule\n", isolation.Denied},
		{denial + "\ncalls: 9 (9 refused)\n  1-3, 5-9, …. harness__secret x9 refused (denied): no rule\n", isolation.Denied},
		{denial + "\ncalls: 3 (2 done, 1 refused)\n  3. harness__secret refused (denied): no rule\n" +
			"  1-2. harness__echo x2 done\n", isolation.Denied},
		{denial + "\ncalls: none\n", isolation.Error},
		{denial + "\ncalls: 1 (1 refused)\n  1. harness__other refused (denied): no rule\n", isolation.Error},
		{denial + "\nconsole:\n  log: 1. harness__secret refused (denied)\n\ncalls: none\n", isolation.Error},
		{"error (threw): Error: mine\n\ncalls: 1 (1 refused)\n  1. harness__secret refused (denied): no\n", isolation.Error},
		{"error (threw): Error: error (timed out): never\n\ncalls: none\n", isolation.Error},
		{"error (timed out): the program ran longer than 3s\n\ncalls: none\n", isolation.Timeout},
		{"error (out of memory): the program needs more\n\ncalls: none\n", isolation.Memory},
		{"error (too many calls): the program made more than 5 calls\n", isolation.Error},
		{"The program was not started.\nerror (timed out): in line 1\n", isolation.Error},
	} {
		if got := ending(c.text); got != c.want {
			t.Errorf("%s\ngot %s, want %s", c.text, got, c.want)
		}
	}
}
