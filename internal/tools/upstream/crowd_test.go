package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// badServers are ways to behave badly, each with what a person is then told of
// the server; "" where there is nothing to tell, because it disturbs nobody.
var badServers = []struct{ mode, told string }{
	{"crashes", "exit status 7; it last wrote: panic: out of luck"},
	{"is killed", "signal: killed"},
	{"half a line", "exit status 1"},
	{"closes its output", `tool "echo": `},
	{"huge", "more than 64 MiB"},
	{"hangs", "no answer in time"},
	{"hangs for good", "no answer in time"},
	{"never starts", "did not get ready in time"},
	{"slow start", "did not get ready in time"},
	{"exits at once", "cannot find the license file"},
	{"refuses", "your licence has expired"},
	{"flaps", "exit status 1"},
	{"banner", "that are no messages"},
	{"garbage", "that are no messages"},
	{"floods stderr", "MiB to its standard error"},
	{"storms", "announced a change of its tools"},
	{"answers nobody", "dropped answers to no request"},
	{"asks", "sampling/createMessage"},
	{"odd names", "listed several times with different definitions"},
	{"endless list", "does not end"},
	{"same cursor", "does not end"},
	{"list breaks", "database is down"},
	{"answers twice", "dropped answers to no request"},
	{"stubborn", ""},
	{"has a grandchild", ""},
}

// badCrowd is one of each.
func badCrowd(t testing.TB) []upstream.Server {
	var all []upstream.Server
	for _, bad := range badServers {
		s := fakeServer(t, "bad: "+bad.mode, bad.mode)
		switch bad.mode {
		case "slow start":
			s.Env["CODEMODE_FAKE_ARG"] = "60000"
			fallthrough
		case "never starts":
			s.StartTimeout = 500 * time.Millisecond
		}
		all = append(all, s)
	}
	return all
}

// bother calls each of the bad servers about once a second, at moments of its own, until stop is called.
func bother(m *upstream.Manager) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, bad := range badServers {
		wg.Go(func() {
			for wait := rand.N(time.Second); ; wait = time.Second {
				select {
				case <-time.After(wait):
				case <-ctx.Done():
					return
				}
				limit := 100 * time.Millisecond
				if bad.mode == "huge" {
					limit = patience
				}
				calling, done := context.WithTimeout(ctx, limit)
				_, _ = m.Call(calling, "bad: "+bad.mode, "echo", json.RawMessage(`{}`), upstream.CallOptions{}) // most of them fail
				done()
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

func healthy(t testing.TB) []upstream.Server {
	return []upstream.Server{fakeServer(t, "good1", "plain"), fakeServer(t, "good2", "plain")}
}

// TestHealthyServersBesideBadOnes: whatever the bad servers do, the healthy ones answer every call, and the status says
// what is wrong with each bad one. The bad ones may slow the healthy ones down.
func TestHealthyServersBesideBadOnes(t *testing.T) {
	m := manage(t, upstream.Options{}, append(healthy(t), badCrowd(t)...)...)
	stop := bother(m)
	defer stop()
	var calls sync.WaitGroup
	for _, name := range []string{"good1", "good2"} {
		calls.Go(func() {
			for i := range 200 {
				if _, err := call(t, m, name, "echo", fmt.Sprintf(`{"i":%d}`, i)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	calls.Wait()
	for _, bad := range badServers {
		if bad.told != "" {
			eventually(t, bad.mode+" is explained", func() bool {
				s := status(t, m, "bad: "+bad.mode)
				return strings.Contains(s.Error+"\n"+strings.Join(s.Health(), "\n"), bad.told)
			})
		}
	}
	for _, name := range []string{"good1", "good2"} {
		if s := status(t, m, name); s.State != upstream.Ready || len(s.Health()) > 0 || s.Restarts > 0 {
			t.Errorf("%s is %s: %q", name, s.State, s.Health())
		}
	}
}

// TestAServerThatStormsStillAnswers: its answers come behind thousands of announcements.
func TestAServerThatStormsStillAnswers(t *testing.T) {
	t.Parallel()
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "storms"))
	eventually(t, "it storms", func() bool { return status(t, m, "s").Changes > 2800 })
	for i := range 3 {
		if _, err := call(t, m, "s", "echo", `{}`); err != nil {
			t.Fatal(i, err)
		}
	}
}
