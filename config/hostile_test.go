package config

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/profiles"
)

var saves = flag.Int("saves", unlessRace(1000, 200), "hostile saves of a watched file")

// TestWatchHostileSaves is THREATS.md G19: saves of every kind in any order, good and
// broken, faster than anybody can follow. Nothing is ever in force that was not saved
// whole, versions never go back, and whenever there is quiet the last one rules within two
// seconds.
// Ten thousand: go test ./profiles -run HostileSaves -saves 10000.
func TestWatchHostileSaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codemode.json")
	write(t, path, version(1))
	var mu sync.Mutex
	latest, wrong := 1, 0 // of what is in force
	started := make(chan struct{}, 1)
	w, err := Watch(t.Context(), path, WatchOptions{Settle: 10 * time.Millisecond, Poll: 100 * time.Millisecond},
		func(c *Config, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				denies := c.Profile("p").Decide(profiles.Call{Name: fmt.Sprintf("v%d__x", c.Limits.Calls)}).Verdict == call.Deny
				if c.Limits.Calls < latest || !denies {
					wrong++
				}
				latest = c.Limits.Calls
			}
			select {
			case started <- struct{}{}:
			default:
			}
		})
	must(t, err)
	defer w.Close()
	<-started
	m := maker{rand.New(rand.NewPCG(9, 10))}
	names := []string{}
	for name := range savers {
		names = append(names, name)
	}
	slices.Sort(names)
	last := 1
	var took []time.Duration
	for n := 2; n < 2+*saves; n++ {
		content := version(n)
		good := m.chance(70)
		if !good {
			content = pick(m, "", content[:m.IntN(len(content)-1)], content+"}", `{"evaluation": {"denylst": []}}`, "\x00")
		}
		savers[names[m.IntN(len(names))]](t, path, content)
		if m.chance(3) { // gone for a moment
			must(t, os.Remove(path))
			write(t, path, content)
		}
		if good {
			last = n
		}
		if m.chance(10) || n == 1+*saves {
			if !good {
				last = n
				write(t, path, version(n))
			}
			began := time.Now()
			if !testwait.Holds(func() bool { return w.Config().Limits.Calls == last && w.Stale() == nil }) {
				t.Fatalf("save %d: version %d is not in force, but %d, stale %v", n, last, w.Config().Limits.Calls, w.Stale())
			}
			took = append(took, time.Since(began))
		}
	}
	slices.Sort(took)
	if usual := took[len(took)/2]; usual > reloadWithin { // a busy machine may be slower now and then
		t.Errorf("half of the changes were visible within %s only, want %s", usual, reloadWithin)
	}
	mu.Lock()
	defer mu.Unlock()
	if wrong > 0 {
		t.Errorf("%d times an older version came back, or one without its deny rule", wrong)
	}
}
