package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

// updatePages says that the outputs on the pages become what the commands print: UPDATE_PAGES=1.
var updatePages = os.Getenv("UPDATE_PAGES") != ""

// A newcomer is somebody with an empty home, who has just installed codemode.
type newcomer struct {
	t      *testing.T
	folder string
	bin    string // before the other folders of PATH
	env    []string
}

func newNewcomer(t *testing.T, files map[string]string) *newcomer {
	t.Helper()
	folder, err := filepath.EvalSymlinks(writeFiles(t, files))
	checktest.OK(t, err)
	self, err := filepath.Abs(os.Args[0])
	checktest.OK(t, err)
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "codemode")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	return &newcomer{t, folder, bin, []string{asCommand + "=codemode", "HOME=" + folder, "TZ=UTC", "NO_COLOR=1",
		"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "XDG_CACHE_HOME=" + cachetest.Dir(), "USER=you"}}
}

// command is a script that ends at the first command that fails.
func (s *newcomer) command(script string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), "sh", "-e", "-c", script)
	cmd.Dir, cmd.Env = s.folder, s.env
	return cmd
}

// run returns what a script prints on both streams.
func (s *newcomer) run(script string) string {
	s.t.Helper()
	out, err := s.command(script).CombinedOutput()
	if err != nil {
		s.t.Errorf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// shown is what a block "console" shows of the output of its commands.
func shown(text string) string {
	var b bytes.Buffer
	goesOn := false
	for line := range strings.Lines(text) {
		begins := strings.HasPrefix(line, "$ ")
		if !begins && !goesOn {
			b.WriteString(line)
		}
		goesOn = (begins || goesOn) && (strings.HasSuffix(line, "\\\n") || strings.HasPrefix(line, "> "))
	}
	return b.String()
}

// changing are the parts of an output that differ from run to run, with what stands for them.
var changing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`), ""},
	{regexp.MustCompile(`\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2})?(\.\d+)?( UTC|Z|[+-]\d{2}:\d{2})?`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d{2}-\d{2}`), "DATE"},
	{regexp.MustCompile(`\b\d{2}:\d{2}:\d{2}\b`), "TIME"},
	{regexp.MustCompile(`(, the slowest)? in \d+(\.\d+)?(ms|s)\b`), ""}, // where something is slow
	{regexp.MustCompile(`\b\d+(\.\d+)?(µs|ms|s)\b`), "LENGTH"},
	{regexp.MustCompile(`(?m)^\w+ +confine .*\n(   .*\n)*`), ""}, // what the system can do
	{regexp.MustCompile(`\b(\d+ )?(entries|checkpoints?)( 1 to \d+)?\b`), "$2"},
	{regexp.MustCompile(`\blocal:\w+`), "local:you"},
	{regexp.MustCompile(`\bcodemode\.json:\d+`), "codemode.json:LINE"},
	{regexp.MustCompile(`\b[A-Z2-7]{26}\b`), "ID"},
	{regexp.MustCompile(`\b([a-z]{1,2})_[a-z0-9]{6,}\b`), "${1}_ID"},
	{regexp.MustCompile(`\b[0-9a-f]{12,64}\b`), "DIGEST"},
	{regexp.MustCompile(`(?m)^( +code +)[0-9a-f]{4}$`), "${1}CODE"},
	{regexp.MustCompile(`[ \t]+\n`), "\n"},
	{regexp.MustCompile(`  +`), "  "},
	{regexp.MustCompile(`(?m)^(LENGTH|TIME|DATE) +`), "$1  "},
}

var (
	aPrincipal    = regexp.MustCompile(`\blocal:\w+`)
	aBlankAtAnEnd = regexp.MustCompile(`[ \t]+\n`)
)

// sameOutput compares outputs but for times, identifiers and digests.
func sameOutput(got, want string) bool { return steady(got) == steady(want) }

// steady puts words in the place of what differs from run to run.
func steady(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.with)
	}
	return strings.TrimSpace(text)
}

// installNPX gives the newcomer an npx that takes the servers of testdata/npm, if the page has their version.
func (s *newcomer) installNPX(npm string) {
	s.t.Helper()
	var installed struct{ Dependencies map[string]string }
	checktest.OK(s.t, json.Unmarshal([]byte(readText(s.t, filepath.Join(npm, "package.json"))), &installed))
	script := "#!/bin/sh\n[ \"$1\" = -y ] || exit 9\nname=$2\nshift 2\ncase $name in\n"
	for name, version := range installed.Dependencies {
		if server, ok := strings.CutPrefix(name, "@modelcontextprotocol/server-"); ok {
			script += fmt.Sprintf("%s@%s) exec %s \"$@\" ;;\n", name, version,
				filepath.Join(npm, "node_modules", ".bin", "mcp-server-"+server))
		}
	}
	script += "*) echo \"testdata/npm/package.json has another version than $name\" >&2; exit 9 ;;\nesac\n"
	checktest.OK(s.t, os.WriteFile(filepath.Join(s.bin, "npx"), []byte(script), 0o700))
}

// goOn makes a script go on in the folder and with the variables of the one before.
func (s *newcomer) goOn(script string) string {
	state := filepath.Join(s.bin, "state")
	return fmt.Sprintf("if [ -f %[1]s ]; then . %[1]s; cd \"$PWD\"; fi\n%[2]s\ncode=$?; export -p >%[1]s\nexit $code",
		state, script)
}

// where is the folder that the last script ended in.
func (s *newcomer) where() string {
	s.t.Helper()
	return strings.TrimSpace(s.run(s.goOn("pwd")))
}
