package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/hostile"
)

// TestEveryCheckHasItsTest holds testdata/profiles/checks.txt: the tests that it names are
// there, and every check of the sections that profiles answer for is named.
func TestEveryCheckHasItsTest(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	data, err := os.ReadFile("../testdata/profiles/checks.txt")
	must(t, err)
	declared := map[string]string{}
	named := map[string]bool{}
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
		if story, ok := strings.CutPrefix(test, "TestStories/"); ok {
			if _, err := os.Stat(filepath.Join("../testdata/stories", story+".txtar")); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			continue
		}
		if declared[folder] == "" {
			declared[folder] = testsOf(t, folder)
		}
		if !regexp.MustCompile(`(?m)^func ` + test + `\(t \*testing\.T\)`).MatchString(declared[folder]) {
			t.Errorf("%s: there is no %s in %s", id, test, folder)
		}
	}
	for _, id := range strings.Fields(`A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A17 A18 B1 B2 B3 B4 B5 B7 E6 E9 H1 H2 H3 H4 H5
		7.1/1 7.1/2 7.1/3 7.1/4 7.1/5 7.1/6 7.1/7 7.1/8 7.1/9 7.1/10 7.1/11 7.1/12 7.1/13 7.1/14 7.1/15 7.1/16 7.1/17 7.1/18 7.1/19
		S1.1 S1.2 S4.5 S4.6 S4.8 P01 P02 P03 P04 P05 P06 P07 P08 P09 P10 P11 P12 F14 F15 F16 F17 F18 F19 F20 F21 G8 G14 G19`) {
		if !named[id] {
			t.Errorf("nothing shows %s", id)
		}
	}
}

// testsOf gives the text of the tests of a folder and of those in it.
func testsOf(t *testing.T, folder string) string {
	t.Helper()
	var paths []string
	var texts strings.Builder
	must(t, filepath.WalkDir(filepath.Join("..", folder), func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, "_test.go") {
			paths = append(paths, path)
		}
		return err
	}))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		must(t, err)
		texts.Write(text)
	}
	return texts.String()
}
