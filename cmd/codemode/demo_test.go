package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

// The demonstration says what it said last; make pages writes that. It leaves no folder behind.
func TestDemo(t *testing.T) {
	t.Parallel()
	endToEnd(t)
	const golden = "../../testdata/demo.txt"
	folder, err := os.MkdirTemp("", "cm") // sockets have short paths
	checktest.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	cmd := exec.Command(os.Args[0], "demo", "--fast")
	cmd.Env = append(os.Environ(), asCommand+"=codemode", "HOME="+folder, "TMPDIR="+folder, "CODEMODE_CONFIG=",
		"XDG_CONFIG_HOME="+folder, "XDG_CACHE_HOME="+cachetest.Dir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := string(out)
	for _, varies := range [][2]string{
		{`code [0-9a-f]{4}`, "code 1234"}, // of a question
		{`entries 1 to \d+.*`, "entries 1 to 20; those after 12 are not signed yet"},
		{`\d+ entries are what was written.*`, "20 entries are what was written, as far as 3 checkpoints tell"},
	} {
		text = regexp.MustCompile(varies[0]).ReplaceAllString(text, varies[1])
	}
	if os.Getenv("UPDATE_PAGES") != "" {
		checktest.OK(t, os.WriteFile(golden, []byte(text), 0o644))
	}
	want, err := os.ReadFile(golden)
	checktest.OK(t, err)
	if text != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	left, err := os.ReadDir(folder)
	checktest.OK(t, err)
	for _, f := range left {
		if strings.HasPrefix(f.Name(), "codemode-demo") {
			t.Errorf("%s is left", f.Name())
		}
	}
}
