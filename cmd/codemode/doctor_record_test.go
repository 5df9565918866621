package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
)

// A record that codemode serve could not keep is a failure of doctor, which makes nothing by itself.
func TestDoctorLooksAtTheRecord(t *testing.T) {
	folder := t.TempDir()
	file := write(t, filepath.Join(t.TempDir(), "file"), "no database, and no key")
	for name, test := range map[string]struct {
		store string
		code  int
		want  string
	}{
		"a folder in place of the database":  {`{"path": "` + folder + `"}`, cli.ExitInternal, folder},
		"no database":                        {`{"path": "` + file + `"}`, cli.ExitInternal, file},
		"below a file":                       {`{"path": "` + file + `/codemode.db"}`, cli.ExitUsage, file},
		"a folder in place of the key":       {`{"key": "` + folder + `"}`, cli.ExitUsage, "reading the key of the record"},
		"no key":                             {`{"key": "` + file + `"}`, cli.ExitUsage, "holds no key of a record"},
		"checkpoints below a file":           {`{"checkpoints": {"file": "` + file + `/x"}}`, cli.ExitUsage, file},
		"a database that nobody answers for": {`"postgres://127.0.0.1:1/x"`, cli.ExitInternal, "127.0.0.1"},
		"a record that is not there yet":     {`{"path": "new/record.db"}`, cli.ExitOK, "the first run creates it"},
	} {
		config := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{"store": `+test.store+`}`)
		state := t.TempDir()
		code, out := outOf(t, []string{"CODEMODE_STATE=" + state}, "doctor", "--config", config)
		if code != test.code || !strings.Contains(out, test.want) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s", name, code, test.code, test.want, out)
		}
		if left, _ := os.ReadDir(state); len(left) > 0 {
			t.Errorf("%s: doctor made %s", name, left[0].Name())
		}
	}
}
