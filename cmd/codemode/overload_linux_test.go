package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/testwait"
)

// Of 10,000 requests that one principal sends at once, far more than the process takes, each is either answered, with
// its effect done once, or refused with 429 and when to come back, with no effect. Another principal is served
// throughout, and memory stays bounded.
func TestTenThousandRequestsAtOnce(t *testing.T) {
	t.Parallel()
	const requests, clients, capacity = 10_000, 1000, 64
	up := newEffects(t, 20*time.Millisecond)
	state := t.TempDir()
	config := write(t, filepath.Join(state, "codemode.json"), fmt.Sprintf(`{
		"mcpServers": {"up": {"type": "http", "url": %q}}, "capacity": {"requests": %d},
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["up__do"], "limits": {"wall": "60s"}}}},
		"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${BERT}", "principal": "bert"}]}}`,
		up.url, capacity))
	s := serveOverHTTP(t, "0", []string{"ANNA=the-token-of-anna", "BERT=the-token-of-bert"},
		"--config", config, "--state", state)
	connections := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 2 * clients}, Timeout: 2 * time.Minute}
	send := func(who, code string) (*http.Response, string, error) {
		return evalAs(t.Context(), connections, s.url, "the-token-of-"+who, code)
	}
	if res, body, err := send("bert", "return 1"); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v %s", err, body)
	}
	before := memoryOf(t, s.cmd.Process.Pid)

	next := make(chan int)
	var answered, refused atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := range next {
				res, body, err := send("anna", fmt.Sprintf("await codemode.up__do({n: %d}); return 'did %d.'", i, i))
				switch {
				case err != nil:
					t.Errorf("request %d has no answer: %v", i, err)
				case res.StatusCode == http.StatusOK && strings.Contains(body, fmt.Sprintf("did %d.", i)):
					answered.Add(1)
				case res.StatusCode == http.StatusTooManyRequests && res.Header.Get("Retry-After") != "":
					refused.Add(1)
				default:
					t.Errorf("request %d: status %d, %q: %.300s", i, res.StatusCode, res.Header.Get("Retry-After"), body)
				}
			}
		})
	}
	var bert int
	var most int64
	over := make(chan struct{})
	other := make(chan struct{})
	go func() {
		defer close(other)
		for {
			select {
			case <-over:
				return
			default:
			}
			if res, body, err := send("bert", "return 1"); err != nil || res.StatusCode != http.StatusOK {
				t.Errorf("bert, after %d answers: %v %s", bert, err, body)
				return
			}
			bert++
			most = max(most, memoryOf(t, s.cmd.Process.Pid))
		}
	}()
	for i := range requests {
		next <- i
	}
	close(next)
	all.Wait()
	close(over)
	<-other
	t.Logf("%d answered, %d refused; meanwhile bert had %d answers; memory %d MiB before, %d MiB at most",
		answered.Load(), refused.Load(), bert, before>>20, most>>20)
	if answered.Load()+refused.Load() != requests || answered.Load() == 0 || refused.Load() == 0 || bert == 0 {
		t.Error("that is not what 10,000 requests beyond the capacity get")
	}
	up.once(t, int(answered.Load()))
	if grown := most - before; grown > 512<<20 && !hostile.Raced() {
		t.Errorf("the process grew by %d MiB", grown>>20)
	}
	served := func() bool {
		res, _, err := send("anna", "return 1")
		return err == nil && res.StatusCode == http.StatusOK
	}
	if !testwait.Holds(served) {
		t.Error("anna is not served afterwards")
	}
}
