package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
)

// The script that is committed is the one that its source and the packages of the lock file make.
func TestTheBundleIsTheOneOfTheSource(t *testing.T) {
	if _, err := os.Stat("../node_modules"); err != nil {
		t.Skip("the npm packages of the editor are not installed here: make editor")
	}
	committed, err := os.ReadFile("../editor.js")
	checktest.OK(t, err)
	built, err := bundle("..")
	checktest.OK(t, err)
	if !bytes.Equal(built, committed) {
		t.Errorf("editor.js has %d bytes, and its source makes another of %d: make editor", len(committed), len(built))
	}
	if most := 600_000; len(committed) > most {
		t.Errorf("editor.js has %d bytes, more than %d: people load it over slow lines too", len(committed), most)
	}
}

// Where a package does not say its licence, no script is made.
func TestEachPackageSaysItsLicence(t *testing.T) {
	says := map[string]map[string]string{
		"a file":                  {"LICENSE.md": "MIT text\r\n"},
		"a file in small letters": {"licence.txt": "MIT text"},
	}
	for name, files := range says {
		folder := t.TempDir()
		for file, text := range files {
			checktest.Write(t, filepath.Join(folder, file), text)
		}
		if text, err := licence(folder); err != nil || text != "MIT text" {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	for text, want := range map[string]string{
		`{"license": "MIT", "author": "A Person"}`: "MIT licence, A Person", `{"license": "MIT"}`: "", `{}`: "", `[`: "",
	} {
		folder := t.TempDir()
		checktest.Write(t, filepath.Join(folder, "package.json"), text)
		if got, err := licence(folder); got != want || (err == nil) != (want != "") {
			t.Errorf("package.json %s: %q %v", text, got, err)
		}
	}
}
