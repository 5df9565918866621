package console

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
	// Wrong logins are recorded up to one per wrongEvery, and wrongBurst at once, so that a flood cannot fill the
	// record.
	wrongEvery, wrongBurst = 2 * time.Second, 10
)

// links holds the secrets that open the page, each once. It keeps only their digests. A secret has 130 random bits, so
// guesses need no limit. With a limit, anybody could use it up and lock out the person with the right secret.
type links struct {
	mu   sync.Mutex
	open []link

	wrong int // logins recorded since the last reset of the limit
	since time.Time
}

type link struct {
	digest  [sha256.Size]byte
	person  string
	expires time.Time
}

// Link makes a login link for a person: it opens the page once, within ten minutes. Show it to that person alone, and
// store it nowhere.
func (c *Console) Link(person string) string {
	return c.options.Origins[0] + c.options.Path + "/login#" + c.links.add(person, time.Now())
}

func (l *links) add(person string, now time.Time) (secret string) {
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

func (l *links) sweep(now time.Time) {
	l.open = slices.DeleteFunc(l.open, func(x link) bool { return !now.Before(x.expires) })
}

// use accepts a secret once, no matter how many wrong ones came before.
func (l *links) use(secret string, now time.Time) (person string, ok bool) {
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

// records reports whether to record a wrong login: not if there were many recently.
func (l *links) records(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if past := int(now.Sub(l.since) / wrongEvery); past > 0 {
		l.wrong = max(l.wrong-past, 0)
		l.since = now
	}
	if l.wrong >= wrongBurst {
		return false
	}
	l.wrong++
	return true
}
