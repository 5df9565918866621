package changes

import (
	"strings"
	"testing"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/checktest"
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

var write = checktest.Write

var must = checktest.OK
