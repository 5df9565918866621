package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/sandbox"
)

// smallest is the program that measures fresh runs.
var smallest = sandbox.Program{Source: "return (async () => 1+1)()"}

// must runs a program that must return want.
func must(ctx context.Context, e *sandbox.Engine, p sandbox.Program, h sandbox.Host, want string) error {
	r, err := e.Run(ctx, p, h)
	if err != nil {
		return err
	}
	return expect(r.Value, want)
}

func expect(value json.RawMessage, want string) error {
	if string(value) != want {
		return fmt.Errorf("a program returned %.100q instead of %s", value, want)
	}
	return nil
}

func (m *meter) fresh() error {
	const runs = 20000
	run := func() error { return must(m.ctx, m.engine, smallest, nil, "2") }
	if _, err := m.times(runs/10, us, run); err != nil { // to warm up
		return err
	}
	started := time.Now()
	samples, err := m.times(runs, us, run)
	if err != nil {
		return err
	}
	m.report.Fresh.PerS = Round(float64(len(samples)) / time.Since(started).Seconds())
	m.report.Fresh.P50 = m.figure("fresh.p50_us", samples)
	m.report.Fresh.P99 = Quantile(samples, 0.99)
	return nil
}

func (m *meter) throughput() error {
	n := int64(m.samples(40000))
	var left atomic.Int64
	var failed atomic.Pointer[error]
	left.Store(n)
	var wg sync.WaitGroup
	started := time.Now()
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := must(m.ctx, m.engine, smallest, nil, "2"); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	m.report.Fresh.PerSAll = Round(float64(n) / time.Since(started).Seconds())
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func echo(_ context.Context, c *sandbox.Call) (json.RawMessage, error) { return c.Args, nil }

func (m *meter) hostCalls() error {
	const calls = 1000
	p := sandbox.Program{
		Source: fmt.Sprintf("let n = 0; for (let i = 0; i < %d; i++) n += await codemode.bench__echo(1); return n", calls),
		Limits: sandbox.Limits{Calls: calls},
	}
	each := func(d time.Duration) float64 { return us(d) / calls }
	samples, err := m.times(200, each, func() error { return must(m.ctx, m.engine, p, echo, "1000") })
	if err == nil {
		m.report.HostCall = m.figure("host_call_us", samples)
	}
	return err
}

func (m *meter) parallelCalls() error {
	p := sandbox.Program{
		Source: "return (await Promise.all(Array.from({length: 100}, () => codemode.bench__slow(1)))).length",
		Limits: sandbox.Limits{InFlight: 100},
	}
	slow := func(ctx context.Context, c *sandbox.Call) (json.RawMessage, error) {
		time.Sleep(10 * time.Millisecond)
		return c.Args, nil
	}
	samples, err := m.times(100, ms, func() error { return must(m.ctx, m.engine, p, slow, "100") })
	if err == nil {
		m.report.Parallel100 = m.figure("parallel100_ms", samples)
	}
	return err
}

// runaways is how many endless programs [meter.collections] runs.
const runaways = 8

// collecting bounds the measurement, in case collections take long.
const collecting = 10 * time.Second

// maxGCPause is the bound of a collection beside endless programs, in milliseconds: while it lasts, whoever allocates
// may have to help or wait.
const maxGCPause = 50

// Beyond says which figures are beyond their bounds; "" if none is.
func (r *SpeedReport) Beyond() string {
	if r.GCPause <= maxGCPause {
		return ""
	}
	return fmt.Sprintf("runtime.GC during eight endless programs took up to %s ms, and the bound is %d ms: programs keep the "+
		"rest of the process from its work, or this machine has other work", Digits(r.GCPause), maxGCPause)
}

func (m *meter) collections() error {
	ctx, cancel := context.WithCancel(m.ctx)
	defer cancel()
	var wg sync.WaitGroup
	endless := sandbox.Program{Source: "for (;;);", Limits: sandbox.Limits{CPU: time.Hour, Wall: time.Hour}}
	for range runaways {
		wg.Go(func() { _, _ = m.engine.Run(ctx, endless, nil) })
	}
	defer wg.Wait()
	defer cancel()
	time.Sleep(100 * time.Millisecond) // until all of them loop
	var collections, probes []float64
	for range 3 { // other work on the machine shows in these figures first of all
		var again []float64
		for started := time.Now(); len(again) < m.samples(60) && time.Since(started) < collecting; {
			at := time.Now()
			runtime.GC()
			again = append(again, ms(time.Since(at)))
		}
		if collections == nil || slices.Max(again) < slices.Max(collections) {
			collections = again
		}
		if slices.Max(collections) <= maxGCPause {
			break
		}
	}
	for range m.samples(300) {
		at := time.Now()
		if err := must(m.ctx, m.engine, smallest, nil, "2"); err != nil {
			return err
		}
		probes = append(probes, ms(time.Since(at)))
		time.Sleep(time.Millisecond)
	}
	m.figure("gc_pause_ms", collections)
	m.report.GCPause = slices.Max(collections)
	m.figure("probe_p99_ms", probes)
	m.report.ProbeP99 = Quantile(probes, 0.99)
	return nil
}
