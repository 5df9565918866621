package audit_test

import (
	"bufio"
	"context"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/record/audit"
)

// loadedIn names the folder in which a copy of the test program writes entries until it is killed.
const loadedIn = "CODEMODE_TEST_LOAD_IN"

// TestLoad is no test: it is what the next one starts, and kills.
func TestLoad(t *testing.T) {
	dir := os.Getenv(loadedIn)
	if dir == "" {
		t.Skip("it is started by TestKilled")
	}
	p := &place{dir: dir}
	key, err := audit.LoadKey(dir + "/record.key")
	must(t, err)
	p.key = key
	r := audit.New(p.options())
	say := func(what string, run string, n int) { // one write: a line is there or not
		if _, err := fmt.Fprintf(os.Stdout, "\n%s %s %d\n", what, run, n); err != nil {
			os.Exit(1)
		}
	}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			run := fmt.Sprintf("r_%d_%d", os.Getpid(), i)
			for n := 1; ; n++ {
				if err := r.Write(context.Background(), running(run, n)); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				say("running", run, n)
				if err := r.Add(context.Background(), ended(run, n)); err != nil {
					os.Exit(1)
				}
				if n%3 == 0 {
					if err := r.Flush(context.Background()); err != nil {
						os.Exit(1)
					}
					say("ok", run, n)
				}
			}
		})
	}
	wg.Wait()
}

// TestKilled kills processes that write the record, two at a time on one file, at random moments. What they
// were told is on the disk has to be there, and calls that were open have to be closed as unknown.
func TestKilled(t *testing.T) {
	kills := 16
	if os.Getenv("CODEMODE_LONG") != "" {
		kills = 1000
	}
	p := newPlace(t)
	told := map[string]bool{} // "state run call"
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(1, 2))
	for done := 0; done < kills; {
		var wg sync.WaitGroup
		for range min(2, kills-done) {
			after := time.Duration(rnd.IntN(120)) * time.Millisecond
			done++
			wg.Go(func() {
				lines := loadAndKill(t, p.dir, after)
				mu.Lock()
				defer mu.Unlock()
				for _, line := range lines {
					told[line] = true
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
	}
	// The next process finds what was left open; in a chain of its own that another left, a little later.
	r := audit.New(p.options())
	eventually(t, "closing what was left open", func() error {
		must(t, r.Write(t.Context(), call.Entry{Kind: audit.Notice, State: "looking"}))
		if n := len(left(t, p)); n > 0 {
			return fmt.Errorf("%d calls are open", n)
		}
		return nil
	})
	closeRecord(t, r)

	states := map[string]map[string]int{}
	count := map[string]int{}
	for _, e := range entries(t, p) {
		if e.Kind == audit.Call {
			call := fmt.Sprintf("%s %d", e.Run, e.Call)
			if states[call] == nil {
				states[call] = map[string]int{}
			}
			states[call][e.State]++
			count[e.State]++
		}
	}
	for line := range told {
		state, call, _ := strings.Cut(line, " ")
		if states[call][state] != 1 {
			t.Errorf("%s was acknowledged, and the call is recorded as %v", line, states[call])
		}
	}
	for call, s := range states {
		if s[audit.Running] != 1 || s[audit.OK]+s[audit.Unknown] != 1 {
			t.Errorf("the call %s is recorded as %v", call, s)
		}
	}
	if len(told) < kills {
		t.Errorf("only %d entries were acknowledged before %d kills: the test shows nothing", len(told), kills)
	}
	v := verified(t, p)
	t.Logf("%d kills, %d acknowledged, %d entries in %d chains: %v", kills, len(told), v.Entries, len(v.Chains), count)
}

// left lists the calls without an end.
func left(t *testing.T, p *place) map[string]bool {
	open := map[string]bool{}
	for _, e := range entries(t, p) {
		if e.Kind != audit.Call {
			continue
		}
		call := fmt.Sprintf("%s %d", e.Run, e.Call)
		if e.State == audit.Running {
			open[call] = true
		} else {
			delete(open, call)
		}
	}
	return open
}

// loadAndKill starts a process that writes, kills it a while after its first acknowledgement, and gives what it was
// told.
func loadAndKill(t *testing.T, dir string, after time.Duration) (lines []string) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestLoad$")
	cmd.Env = append(os.Environ(), loadedIn+"="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return nil
	}
	in := bufio.NewScanner(out)
	first := true
	for in.Scan() {
		if first && in.Text() != "" {
			first = false
			if after < 20*time.Millisecond { // some in the middle of the start too
				_ = cmd.Process.Kill()
			}
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		if n := len(strings.Fields(in.Text())); n == 3 {
			lines = append(lines, in.Text())
		}
	}
	_ = cmd.Process.Kill()
	if err := cmd.Wait(); stderr.Len() > 0 {
		t.Errorf("the process said %s (%v)", stderr.String(), err)
	}
	return lines
}
