package changes

import (
	"os"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/profiletest"
	"github.com/codemode-project/codemode/profiles"
)

// parse loads a configuration that has to be good.
func parse(t testing.TB, content string) *config.Config {
	t.Helper()
	c, err := config.Parse("codemode.json", []byte(content))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, content)
	}
	return c
}

// profile loads one profile from the text between its braces.
func profile(t testing.TB, body string) *profiles.Profile {
	t.Helper()
	return parse(t, profiletest.In(body)).Profile("p")
}

func contains(s, part string) bool { return strings.Contains(s, part) }

func write(t testing.TB, path, content string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
