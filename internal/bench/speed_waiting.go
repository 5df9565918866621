package bench

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/codemode-project/codemode/sandbox"
)

// asking is a small program that waits for three answers and computes a result from them.
var asking = sandbox.Program{Source: `
const seen = new Map([['start', 1]]);
const answers = await Promise.all([1, 2, 3].map(async i => {
  const v = await codemode.bench__later({ i });
  seen.set('v' + i, v);
  return v * 10;
}));
return [answers, [...seen.keys()].length]`}

const asked = "[[10,20,30],4]"

func later(context.Context, *sandbox.Call) (json.RawMessage, error) { return nil, sandbox.ErrLater }

// waits returns when a run of asking has made its three calls.
func waits(r *sandbox.Run) error {
	for deadline := time.Now().Add(10 * time.Second); len(r.Open()) < 3; time.Sleep(10 * time.Microsecond) {
		if time.Now().After(deadline) {
			return errors.New("a program made no calls")
		}
	}
	return nil
}

// answer settles the calls of asking.
func answer(r *sandbox.Run) {
	for _, c := range r.Open() {
		var args struct {
			I json.RawMessage `json:"i"`
		}
		_ = json.Unmarshal(c.Args, &args)
		r.Settle(c.ID, args.I, nil)
	}
}

// restWait is long enough for a run to release the memory that waiting does not need, which it does after some
// milliseconds.
const restWait = 100 * time.Millisecond

// waiting measures the memory of live runs that wait. It counts only memory of their own, and the tables that map it,
// and not what guests share.
func (m *meter) waiting() error {
	const runs = 256
	ctx, cancel := context.WithCancel(m.ctx)
	defer cancel()
	before := ownKiB()
	var live []*sandbox.Run
	for range runs {
		r, err := m.engine.Start(ctx, asking, later)
		if err != nil {
			return err
		}
		live = append(live, r)
	}
	for _, r := range live {
		if err := waits(r); err != nil {
			return err
		}
	}
	time.Sleep(restWait)
	after := ownKiB()
	cancel()
	for _, r := range live {
		_, _ = r.Wait()
	}
	if before >= 0 && after >= 0 {
		each := Round(float64(after-before) / runs)
		m.report.Waiting = &each
	}
	return nil
}

// ownKiB is the process's own memory, after a collection.
func ownKiB() int {
	runtime.GC()
	debug.FreeOSMemory()
	return ownMemory()
}

// parked measures a run that is saved and continues in another engine.
func (m *meter) parked() error {
	other, err := sandbox.New(m.ctx, sandbox.Options{Wasm: m.o.Wasm, CacheDir: m.o.CacheDir, ParkKey: parkKey})
	if err != nil {
		return err
	}
	defer other.Close(context.WithoutCancel(m.ctx))
	var sizes, times []float64
	for range m.samples(200) {
		r, err := m.engine.Start(m.ctx, asking, later)
		if err != nil {
			return err
		}
		if err := waits(r); err != nil {
			return err
		}
		image, err := r.Park(m.ctx)
		if err != nil {
			return err
		}
		sizes = append(sizes, float64(len(image))/1024)
		at := time.Now()
		if r, err = other.Resume(m.ctx, image, sandbox.Program{}, later); err != nil {
			return err
		}
		answer(r)
		result, err := r.Wait()
		times = append(times, ms(time.Since(at)))
		if err == nil {
			err = expect(result.Value, asked)
		}
		if err != nil {
			return err
		}
	}
	m.report.Parked.Written = m.figure("parked.written_kib", sizes)
	m.report.Parked.Resume = m.figure("parked.resume_ms", times)
	return nil
}
