package links

import (
	"testing"
	"time"
)

// A link opens the page once, and not for longer than it says, however many others are made.
func TestLinks(t *testing.T) {
	l, now := &Links{}, time.Now()
	const anna = "local:anna"
	secret := l.Add(anna, now)
	if len(secret) != 26 {
		t.Errorf("a secret of %d characters", len(secret))
	}
	if _, ok := l.Use(secret, now.Add(linkLife)); ok {
		t.Error("a link lasts longer than it says")
	}
	for range 2 * maxLinks {
		secret = l.Add(anna, now)
	}
	if person, ok := l.Use(secret, now); !ok || person != anna || len(l.open) != maxLinks-1 {
		t.Errorf("%d links are open", len(l.open))
	}
	if _, ok := l.Use(secret, now); ok {
		t.Error("a secret opens the page twice")
	}
}
