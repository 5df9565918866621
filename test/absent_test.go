package codemode_test

import (
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/sandbox"
)

func TestWhatIsAbsentComesWithAHint(t *testing.T) {
	for name, want := range map[string]string{"fetch": "search_tools", "require": "no modules", "process": "input",
		"Intl": "toISOString", "Temporal": "use Date", "nothing": ""} {
		text := (&codemode.Response{}).Text(&sandbox.Error{Kind: sandbox.Threw, Name: "ReferenceError",
			Message: name + " is not defined"})
		if hint := strings.Contains(text, "hint:"); hint != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%s: got %s, want a hint with %q", name, text, want)
		}
	}
}
