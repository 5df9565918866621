//go:build unix

package analysis_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/hostile"
)

// What one text may cost a process that reads it, with the processes it starts.
const (
	hostileCPU    = 3 * time.Second
	hostileMemory = 256 << 20 // bytes more than before
)

// hostileFrom is set in the process that reads hostile texts: the first of them.
const hostileFrom = "CODEMODE_HOSTILE_FROM"

// No text ends the process that reads it, keeps it busy or takes its memory.
func TestHostile(t *testing.T) {
	if hostile.Raced() {
		t.Skip("with the race detector everything takes many times as long: run it without -race")
	}
	cases := hostile.Cases()
	if os.Getenv("CODEMODE_LONG") == "" {
		const hidden = 21 // the first, which differ in what hides the rest
		cases = cases[:hidden]
	}
	if from, err := strconv.Atoi(os.Getenv(hostileFrom)); err == nil {
		for _, c := range cases[from:] {
			readHostile(c)
		}
		os.Exit(0)
	}
	for from := 0; from < len(cases); {
		done, last := readHostiles(t, from, len(cases))
		for _, r := range done {
			if r.Busy || r.Memory > hostileMemory {
				t.Errorf("%s: %v of processor time, %d MiB", r.Name, r.CPU, r.Memory>>20)
			}
		}
		from += len(done)
		stopped := len(done) > 0 && done[len(done)-1].Busy // by the test
		if from < len(cases) && !stopped {
			t.Errorf("%s: the process ended: %s", cases[from].Name, last)
			from++
		}
	}
}

// A hostileReading is what one text cost. It is a line of the process that reads.
type hostileReading struct {
	Name   string
	CPU    time.Duration
	Memory int64 // bytes more than before, at most
	Busy   bool
}

// readHostiles reads the texts from one on in a process of its own, up to the
// first that ends it, and returns the last that it said.
func readHostiles(t *testing.T, from, to int) (done []hostileReading, last string) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestHostile$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), hostileFrom+"="+strconv.Itoa(from))
	var said strings.Builder
	cmd.Stderr = &said
	stdout, err := cmd.StdoutPipe()
	checktest.OK(t, err)
	checktest.OK(t, cmd.Start())
	lines := json.NewDecoder(stdout)
	for from+len(done) < to {
		var r hostileReading
		if err := lines.Decode(&r); err != nil {
			break
		}
		done = append(done, r)
	}
	_ = cmd.Wait()
	last, _, _ = strings.Cut(strings.TrimSpace(said.String()), "\n")
	return done, cmd.ProcessState.String() + ": " + last
}

// readHostile reads one text and prints what it cost. What keeps the process
// busy ends it, after the line.
func readHostile(c hostile.Case) {
	text := c.Text.String()
	cpu, memory := spent()
	r := hostileReading{Name: c.Name}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		analysis.Compile("", text)
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ended := false; !ended && !r.Busy; {
		select {
		case <-finished:
			ended = true
		case <-tick.C:
		}
		nowCPU, nowMemory := spent()
		r.CPU, r.Memory = nowCPU-cpu, max(r.Memory, nowMemory-memory)
		r.Busy = r.CPU > hostileCPU
	}
	line, _ := json.Marshal(r)
	fmt.Printf("%s\n", line)
	if r.Busy {
		os.Exit(0)
	}
}

// spent returns the processor time of this process and those that it waited
// for, and the memory that it holds.
func spent() (time.Duration, int64) {
	var cpu time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			cpu += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return cpu, int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
