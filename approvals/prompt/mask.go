package prompt

import (
	"fmt"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/secrets"
)

// Masking keeps secrets out of prompts. It must not become a hiding place: a masked value shows its length, and also a
// digest when the value is too long to be guessed from one.

// A masker finds the spans that must not be shown.
type masker struct {
	*secrets.Finder
	reveal bool
	known  map[masked][]span // spans of texts in the JSON, which is laid out several times
}

func newMasker(d Display, reveal bool) *masker {
	rules := secrets.Rules{Keys: d.Keys, Pointers: d.Pointers, NoDetect: d.NoDetect}
	return &masker{Finder: secrets.New(rules, secrets.Mild), reveal: reveal, known: map[masked][]span{}}
}

// A span of characters to hide.
type span struct {
	from, to int
	what     string // "" when only its key tells
}

// masked is the cache key: a text, and the level of its place.
type masked struct {
	text  string
	level secrets.Level
}

// in returns the spans of a text to hide, in order, counted in characters.
func (m *masker) in(text string, level secrets.Level) []span {
	if m.reveal {
		return nil
	}
	found, ok := m.known[masked{text, level}]
	if !ok {
		last, at := 0, 0
		for _, s := range m.Spans(text, level) {
			from := at + utf8.RuneCountInString(text[last:s.From])
			last, at = s.To, from+utf8.RuneCountInString(text[s.From:s.To])
			found = append(found, span{from, at, s.What})
		}
		m.known[masked{text, level}] = found
	}
	return found
}

// guessable is the length up to which the digest of a secret would give it away.
const guessable = 16

// mark is the text shown in place of a secret.
func mark(secret []rune, what string) string {
	if what != "" {
		what += ", "
	}
	s := fmt.Sprintf("(hidden: %s%d characters", what, len(secret))
	if len(secret) >= guessable {
		s += fmt.Sprintf(", sha256 %x", digest([]byte(plain(secret)))[:4])
	}
	return s + ")"
}
