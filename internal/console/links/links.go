// Package links keeps the secrets of login links. Package console writes the links around them.
package links

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"sync"
	"time"
)

const (
	// linkLife is how long a login link is valid.
	linkLife = 10 * time.Minute
	// maxLinks is how many links may be open at once; one more replaces the oldest.
	maxLinks = 16
	// Refused logins are recorded up to one per refusedEvery, and Burst at once, so that a flood cannot fill the record.
	refusedEvery = 2 * time.Second
	Burst        = 10
)

// Links holds the secrets that open the page, each once. It keeps only their digests. A secret has 130 random bits, so
// guesses need no limit. With a limit, anybody could use it up and lock out the person with the right secret.
type Links struct {
	mu   sync.Mutex
	open []link

	refused int // logins recorded since the last reset of the limit
	since   time.Time
}

type link struct {
	digest  [sha256.Size]byte
	person  string
	expires time.Time
}

// Add makes a secret for a person.
func (l *Links) Add(person string, now time.Time) (secret string) {
	secret = rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	if len(l.open) == maxLinks {
		l.open = l.open[1:]
	}
	l.open = append(l.open, link{sha256.Sum256([]byte(secret)), person, now.Add(linkLife)})
	return secret
}

func (l *Links) sweep(now time.Time) {
	l.open = slices.DeleteFunc(l.open, func(x link) bool { return !now.Before(x.expires) })
}

// Use accepts a secret once, no matter how many wrong ones came before.
func (l *Links) Use(secret string, now time.Time) (person string, ok bool) {
	digest := sha256.Sum256([]byte(secret))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	found := -1
	for i := range l.open { // all of them, for constant time
		if subtle.ConstantTimeCompare(digest[:], l.open[i].digest[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return "", false
	}
	person = l.open[found].person
	l.open = slices.Delete(l.open, found, found+1)
	return person, true
}

// Records reports whether to record a refused login: not if there were many recently.
func (l *Links) Records(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if past := int(now.Sub(l.since) / refusedEvery); past > 0 {
		l.refused = max(l.refused-past, 0)
		l.since = now
	}
	if l.refused >= Burst {
		return false
	}
	l.refused++
	return true
}
