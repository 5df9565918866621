package upstream_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/upstream"
)

// badModes are ways to behave badly, with what the status then says.
var badModes = map[string]string{
	"stubborn": "", "slow start": "", "never starts": "", "exits at once": "cannot find the license file", "banner": "", "floods stderr": "",
	"has a grandchild": "", "flaps": "exit status 1", "storms": "", "asks": "", "garbage": "", "odd names": "", "endless list": "", "same cursor": "",
	"list breaks": "", "refuses": "your licence has expired", "hangs for good": "", "closes its output": "",
}

// TestHealthyServersBesideBadOnes runs two healthy servers, first by themselves
// and then beside one of each bad kind.
func TestHealthyServersBesideBadOnes(t *testing.T) {
	healthy := []upstream.Server{fakeServer(t, "good1", "plain"), fakeServer(t, "good2", "plain")}
	measure := func(m *upstream.Manager) time.Duration {
		var mu sync.Mutex
		var took []time.Duration
		var wg sync.WaitGroup
		for _, s := range healthy {
			wg.Go(func() {
				for i := range 300 {
					began := time.Now()
					if _, err := call(t, m, s.Name, "echo", fmt.Sprintf(`{"i":%d}`, i)); err != nil {
						t.Errorf("%s: %v", s.Name, err)
					}
					mu.Lock()
					took = append(took, time.Since(began))
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		slices.Sort(took)
		return took[len(took)*99/100]
	}
	alone := measure(manage(t, upstream.Options{}, healthy...))
	all := slices.Clone(healthy)
	for mode := range badModes {
		s := fakeServer(t, mode, mode, "60000")
		if mode == "has a grandchild" {
			s = fakeServer(t, mode, mode)
		}
		if mode == "slow start" || mode == "never starts" {
			s.StartTimeout = 500 * time.Millisecond
		}
		all = append(all, s)
	}
	m := manage(t, upstream.Options{}, all...)
	beside := measure(m)
	t.Logf("99 of 100 calls take at most %v alone, %v beside %d bad servers", alone, beside, len(badModes))
	if beside > 250*time.Millisecond { // the bad ones burn the same two cores
		t.Errorf("healthy servers are disturbed: %v, alone %v", beside, alone)
	}
	for mode, want := range badModes {
		if want != "" {
			eventually(t, mode+" is explained", func() bool { return strings.Contains(status(t, m, mode).Error, want) })
		}
	}
}
