package audit_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/iofault"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

func long() bool { return os.Getenv("CODEMODE_LONG") != "" }

// TestEveryOperationFails lets the first operation on the files of the record fail, then the second, and so on until
// there are no more: opening, reading, writing, where half of it gets to the disk, syncing, cutting, removing; alone,
// or with all behind it.
func TestEveryOperationFails(t *testing.T) {
	hostile.NotRaced(t, "TestFaults and the outages race the writer")
	disk := iofault.Install()
	for _, lasting := range []bool{false, true} {
		hits := map[string]int{}
		first, step := 1, 1
		if !long() {
			first, step = 1+rand.IntN(8), 8 // one in eight shows it as well, and another one each time
		}
		for n := first; ; n += step {
			hit := operationFails(t, disk, n, lasting)
			if hit == "" {
				break
			}
			if hits[hit]++; t.Failed() {
				t.Fatalf("when operation %d failed, %s (lasting: %v)", n, hit, lasting)
			}
		}
		if len(hits) < 3 {
			t.Errorf("only %v failed: the test shows little", hits)
		}
		t.Logf("lasting %v: %v", lasting, hits)
	}
}

func operationFails(t *testing.T, disk *iofault.Disk, n int, lasting bool) (hit string) {
	p := newPlace(t)
	disk.FailAt(p.dir, n, lasting)
	told, refused := map[string]bool{}, map[int]bool{}
	for half := range 2 { // the second opens what the first closed, and finds what it left open
		r := audit.New(p.options())
		for call := 4*half + 1; call <= 4*half+4; call++ {
			if err := r.Write(t.Context(), running("r_1", call)); err != nil {
				refused[call] = true
				if reason(err) == "" {
					t.Errorf("a call was refused without a reason: %v", err)
				}
				continue
			}
			told[fmt.Sprint(call, " ", audit.Running)] = true
			must(t, r.Add(t.Context(), ended("r_1", call)))
			if call%2 == 0 && r.Flush(t.Context()) == nil {
				told[fmt.Sprint(call, " ", audit.OK)] = true
			}
		}
		if half == 0 {
			_ = r.Close(t.Context()) // it says what it could not write
			continue
		}
		hit = disk.Mend()
		eventually(t, "writing again", func() error { return r.Write(t.Context(), running("r_1", 99)) })
		told[fmt.Sprint(99, " ", audit.Running)] = true
		closeRecord(t, r)
	}
	states := map[string]int{}
	for _, e := range entries(t, p) {
		states[fmt.Sprint(e.Call, " ", e.State)]++
	}
	for what := range told {
		if states[what] != 1 {
			t.Errorf("%s was acknowledged, and is there %d times: %v", what, states[what], states)
		}
	}
	for call := range refused {
		if states[fmt.Sprint(call, " ", audit.Running)] != states[fmt.Sprint(call, " ",
			audit.NotSent)]+states[fmt.Sprint(call, " ", audit.Unknown)] {
			t.Errorf("call %d was refused, and is recorded as if it had been made: %v", call, states)
		}
	}
	verified(t, p)
	return hit
}

// A cut is what was promised before a moment of the log.
type promised struct {
	mu          sync.Mutex
	entries     map[string]int // by "run call state": how long the log was when it was acknowledged
	checkpoints []struct {
		line []byte
		at   int
	}
}

func (p *promised) entry(disk *iofault.Disk, what string) {
	at := disk.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries[what] = at
}

// publish keeps checkpoints with the moment at which they went out.
type publish struct {
	disk *iofault.Disk
	to   *promised
}

func (p publish) Publish(_ context.Context, line []byte) error {
	at := p.disk.Now()
	p.to.mu.Lock()
	defer p.to.mu.Unlock()
	p.to.checkpoints = append(p.to.checkpoints, struct {
		line []byte
		at   int
	}{slices.Clone(line), at})
	return nil
}

// TestPowerLoss cuts the power at many moments of a run: what was synced is there, and of what was not any part, in any
// order, the last of it torn. The record has to be whole behind each, with all that was acknowledged before.
func TestPowerLoss(t *testing.T) {
	hostile.NotRaced(t, "TestFaults and the outages race the writer")
	for name, relaxed := range map[string]bool{"full": false, "normal": true} {
		t.Run(name, func(t *testing.T) { powerLoss(t, relaxed) })
	}
}

func powerLoss(t *testing.T, relaxed bool) {
	disk := iofault.Install()
	p := newPlace(t)
	o := p.options()
	o.Open = func(ctx context.Context) (*store.DB, error) {
		return store.Open(ctx, store.Options{Path: p.path(), Relaxed: relaxed})
	}
	told := &promised{entries: map[string]int{}}
	o.Publish = []audit.Publisher{publish{disk, told}}
	disk.Log(p.dir)
	for half := range 3 { // the log is moved into the file when it is closed, and between by who reads it
		r := audit.New(o)
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				run := fmt.Sprintf("r_%d_%d", half, w)
				for call := range 8 {
					must(t, r.Write(t.Context(), running(run, call+1)))
					told.entry(disk, fmt.Sprint(run, " ", call+1, " ", audit.Running))
					must(t, r.Add(t.Context(), ended(run, call+1)))
				}
				must(t, r.Flush(t.Context()))
				told.entry(disk, fmt.Sprint(run, " ", 8, " ", audit.OK))
				if w == 0 {
					checkpointed(t, p)
				}
			})
		}
		wg.Wait()
		closeRecord(t, r)
	}
	log := disk.Stop()
	cuts := 30
	if long() {
		cuts = 3000
	}
	rnd := rand.New(rand.NewPCG(7, map[bool]uint64{true: 1}[relaxed]))
	lost := 0
	for range cuts {
		at := rnd.IntN(len(log) + 1)
		lost += afterPowerLoss(t, p, o, relaxed, log.Left(at, rnd), at, told)
		if t.Failed() {
			t.Fatalf("after a power cut behind operation %d of %d", at, len(log))
		}
	}
	t.Logf("%d cuts among %d operations: %d acknowledged entries were lost", cuts, len(log), lost)
}

// afterPowerLoss looks at what a cut left, and goes on writing.
func afterPowerLoss(t *testing.T, before *place, o audit.Options, relaxed bool, left map[string][]byte, at int,
	told *promised) (lost int) {
	p := &place{dir: t.TempDir(), key: before.key}
	for path, content := range left {
		must(t, os.WriteFile(filepath.Join(p.dir, filepath.Base(path)), content, 0o600))
	}
	var heads []byte
	for _, c := range told.checkpoints {
		if c.at <= at {
			heads = append(append(heads, c.line...), '\n')
		}
	}
	must(t, os.WriteFile(p.checkpoints(), heads, 0o600))
	o.Open = func(ctx context.Context) (*store.DB, error) {
		return store.Open(ctx, store.Options{Path: p.path(), Relaxed: relaxed})
	}
	o.Publish = []audit.Publisher{audit.FilePublisher(p.checkpoints())}
	r := audit.New(o)
	eventually(t, "writing on", func() error { return r.Write(t.Context(), running("r_after", 1)) })
	closeRecord(t, r)
	verified(t, p)
	states := map[string]bool{}
	for _, e := range entries(t, p) {
		states[fmt.Sprint(e.Run, " ", e.Call, " ", e.State)] = true
	}
	for _, what := range slices.Sorted(maps.Keys(told.entries)) {
		if told.entries[what] <= at && !states[what] {
			if lost++; !relaxed {
				t.Errorf("%s was acknowledged, and is gone", what)
			}
		}
	}
	return lost
}
