package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/config/servers"
)

// TestNoCommandStartsServersBehindItself: not only serve has servers.
func TestNoCommandStartsServersBehindItself(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(servers.ChildVariable, "")
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{}`)
	for _, args := range [][]string{{"serve"}, {"tools"}, {"run", "-e", "return 1"}, {"doctor"}, {"review"},
		{"profiles", "lint"}} {
		var out strings.Builder
		code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out},
			append(args, "--project", "none", "--config", config)...)
		if code == cli.ExitOK || !strings.Contains(out.String(), "CODEMODE_CHILD") {
			t.Errorf("%v: exit code %d\n%s", args, code, out.String())
		}
	}
	var out strings.Builder
	if code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard},
		"version"); code != cli.ExitOK {
		t.Errorf("version: exit code %d", code)
	}
}
