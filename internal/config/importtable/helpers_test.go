package importtable

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/checktest"
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

func contains(s, part string) bool { return strings.Contains(s, part) }

var must = checktest.OK

type object = map[string]any

// A maker makes random profiles and calls out of few words, so that they often meet.
type maker struct{ *rand.Rand }

func pick[T any](m maker, all ...T) T { return all[m.IntN(len(all))] }

const pairs = 100_000 // names that are decided by a table and by what becomes of it

func (m maker) chance(percent int) bool { return m.IntN(100) < percent }
