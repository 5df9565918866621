package approvals

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/hostile"
)

// TestEveryCheckHasItsTest holds testdata/approvals/checks.txt: the tests that it names are there, and every check of
// the sections about people is named.
func TestEveryCheckHasItsTest(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	data, err := os.ReadFile("../testdata/approvals/checks.txt")
	checktest.OK(t, err)
	declared, named := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		words := strings.Fields(line)
		if len(words) != 3 {
			t.Errorf("%q is not an id, a folder and a test", line)
			continue
		}
		id, folder, test := words[0], words[1], words[2]
		named[id] = true
		if declared[folder] == "" {
			declared[folder] = testsOf(t, folder)
		}
		if !regexp.MustCompile(`(?m)^func ` + test + `\((t \*testing\.T)?\)`).MatchString(declared[folder]) {
			t.Errorf("%s: there is no %s in %s", id, test, folder)
		}
	}
	wanted := strings.Fields("D1 D2 D3 D4 D5 D6 D7 D8 E1 E2 E3 E4 E5 E6 E7 E8 E9 F1 F2 F3 H6 H8 N1 N2 N5 N6 S3.1 S3.2 S3.3 S3.4 S3.5 S3.6 S3.7 S3.8 S3.9")
	for n := 1; n <= 19; n++ {
		wanted = append(wanted, fmt.Sprint("C", n))
	}
	for n := 20; n <= 38; n++ {
		wanted = append(wanted, fmt.Sprint("7.2/", n))
	}
	for n := 39; n <= 51; n++ {
		wanted = append(wanted, fmt.Sprint("7.3/", n))
	}
	for _, id := range wanted {
		if !named[id] {
			t.Errorf("nothing shows %s", id)
		}
	}
}

// testsOf gives the text of a folder's tests.
func testsOf(t *testing.T, folder string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	checktest.OK(t, err)
	var all strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		checktest.OK(t, err)
		all.Write(text)
	}
	return all.String()
}
