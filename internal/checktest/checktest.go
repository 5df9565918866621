// Package checktest has the smallest checks of tests, which most packages need.
package checktest

import (
	"os"
	"testing"
)

// OK ends the test at an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must is a value that comes without an error. It panics at one.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Read is the text of a file.
func Read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	OK(t, err)
	return string(text)
}

// Write writes a file that only its owner may read, and returns its path.
func Write(t testing.TB, path, text string) string {
	t.Helper()
	OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
