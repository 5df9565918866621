package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"
)

const (
	// linkLife is how long a login link can be used.
	linkLife = 10 * time.Minute
	// maxLinks is how many links may be open at once; the oldest makes way.
	maxLinks = 16
	// Failed logins are let through one in a while, a few of them at once.
	loginEvery, loginBurst = 2 * time.Second, 10
)

// links are the secrets that open the page, each once. Only their digests are kept.
type links struct {
	mu   sync.Mutex
	open []link

	failures int // that have not been waited for
	since    time.Time
}

type link struct {
	digest  [sha256.Size]byte
	person  string
	expires time.Time
}

// Link makes a login link for a person: it opens the page once, within ten minutes. It must be shown to that person and to
// nobody else, and written nowhere.
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
	kept := l.open[:0]
	for _, x := range l.open {
		if now.Before(x.expires) {
			kept = append(kept, x)
		}
	}
	l.open = kept
}

// take uses a secret. busy says that there were too many wrong ones lately for another try.
func (l *links) take(secret string, now time.Time) (person string, ok, busy bool) {
	digest := sha256.Sum256([]byte(secret))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	if past := int(now.Sub(l.since) / loginEvery); past > 0 {
		l.failures = max(l.failures-past, 0)
		l.since = now
	}
	if l.failures >= loginBurst {
		return "", false, true
	}
	found := -1
	for i := range l.open { // all of them, however soon it is found
		if subtle.ConstantTimeCompare(digest[:], l.open[i].digest[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		l.failures++
		return "", false, false
	}
	person = l.open[found].person
	l.open = append(l.open[:found:found], l.open[found+1:]...)
	return person, true, false
}
