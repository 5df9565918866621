package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/codemode-project/codemode/sandbox"
)

// SpeedOptions are the settings of [Speed].
type SpeedOptions struct {
	Wasm     []byte // the guest; required
	CacheDir string // as in sandbox.Options
	// Start is a command that prints 1 through a run; nil skips the cold start.
	Start []string
	// Quick takes only a few samples: for tests, and for a first impression.
	Quick bool
	// Progress is called before each figure is measured; nil is ignored.
	Progress func(done, total int, what string)
}

// A SpeedReport holds the figures. Each is the median of its samples, except where it says otherwise; nil was not
// measured. Spread details each, under the figure's key, such as "fresh.p50_us".
type SpeedReport struct {
	Guest  string `json:"guest"` // sha256
	System string `json:"system"`
	CPUs   int    `json:"cpus"`

	ColdStart  *float64 `json:"cold_start_ms"`  // process start to first result, compiled guest cached
	FirstStart *float64 `json:"first_start_ms"` // the same with an empty cache, once

	Fresh struct {
		P50     float64 `json:"p50_us"` // parse, run, JSON result, reset
		P99     float64 `json:"p99_us"`
		PerS    float64 `json:"per_s"`     // one after the other
		PerSAll float64 `json:"per_s_all"` // from one goroutine per processor
	} `json:"fresh"`
	HostCall    float64 `json:"host_call_us"`   // 1,000 awaited one after the other, each
	Parallel100 float64 `json:"parallel100_ms"` // 100 calls of 10 ms at once
	CPU         struct {
		Fib       float64 `json:"fib_ms"`
		JSON      float64 `json:"json_ms"`
		Text      float64 `json:"text_ms"`
		Math      float64 `json:"math_ms"`
		KillCheck float64 `json:"kill_check_ratio"` // geometric mean of the ratios with to without
	} `json:"cpu"`
	Waiting *float64 `json:"waiting_kib"` // memory of a run that waits for a call
	Parked  struct {
		Written float64 `json:"written_kib"`
		Resume  float64 `json:"resume_ms"` // image to result, in another engine
	} `json:"parked"`
	Session struct {
		P50     float64 `json:"p50_us"`      // a program in a session whose guest is warm
		Ratio   float64 `json:"fresh_ratio"` // to a fresh run of it, by turns
		PutAway float64 `json:"put_away_ms"` // to an image, from it, and the next program
		Image   float64 `json:"image_kib"`

		Many       int      `json:"many"`        // so many sessions in a process with a record
		Reopened   float64  `json:"reopened_ms"` // a program in one that was used half of them ago
		ManyMemory *float64 `json:"many_mib"`    // resident memory of the process with all of them
		ManyGrowth *float64 `json:"many_growth"` // that, to the memory with a tenth of them
	} `json:"session"`
	GCPause  float64 `json:"gc_pause_ms"`  // runtime.GC during eight endless programs: the longest
	ProbeP99 float64 `json:"probe_p99_ms"` // a plain run beside them

	Spread map[string]Spread `json:"spread"`
}

// A Spread is the range of the middle nine tenths of the samples.
type Spread struct {
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Samples int     `json:"samples"`
}

// Speed measures the cost of runs.
func Speed(ctx context.Context, o SpeedOptions) (*SpeedReport, error) {
	m := &meter{ctx: ctx, o: o}
	m.report.Spread = map[string]Spread{}
	m.report.System, m.report.CPUs = runtime.GOOS+"/"+runtime.GOARCH, runtime.GOMAXPROCS(0)
	var err error
	if m.engine, err = sandbox.New(ctx, sandbox.Options{Wasm: o.Wasm, CacheDir: o.CacheDir,
		ParkKey: parkKey}); err != nil {
		return nil, err
	}
	defer m.engine.Close(context.WithoutCancel(ctx))
	m.report.Guest = m.engine.Hash()
	steps := []struct {
		what    string
		measure func() error
	}{
		{"fresh runs", m.fresh},
		{"fresh runs on all processors", m.throughput},
		{"host calls", m.hostCalls},
		{"calls at once", m.parallelCalls},
		{"computing", m.computing},
		{"waiting runs", m.waiting},
		{"parked runs", m.parked},
		{"sessions", m.sessions},
		{"many sessions", m.manySessions},
		{"garbage collections beside endless programs", m.collections},
		{"cold start", m.coldStart},
	}
	for i, step := range steps {
		if o.Progress != nil {
			o.Progress(i, len(steps), step.what)
		}
		if err := step.measure(); err != nil {
			return nil, fmt.Errorf("measuring %s: %w", step.what, err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return &m.report, nil
}

// parkKey authenticates only images that this process makes and reads.
var parkKey = []byte("codemode bench speed")

// A meter takes the samples of one report.
type meter struct {
	ctx    context.Context
	o      SpeedOptions
	engine *sandbox.Engine
	report SpeedReport
}

// samples is how many samples of a figure to take.
func (m *meter) samples(n int) int {
	if m.o.Quick {
		return max(n/20, 3)
	}
	return n
}

// times takes so many samples of how long f takes, in the unit.
func (m *meter) times(n int, unit func(time.Duration) float64, f func() error) ([]float64, error) {
	samples := make([]float64, 0, m.samples(n))
	for range cap(samples) {
		at := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		samples = append(samples, unit(time.Since(at)))
	}
	return samples, nil
}

// figure stores the spread of samples under a key and returns their median.
func (m *meter) figure(key string, samples []float64) float64 {
	slices.Sort(samples)
	m.report.Spread[key] = Spread{Round(Quantile(samples, 0.05)), Round(Quantile(samples, 0.95)), len(samples)}
	return Round(Quantile(samples, 0.5))
}
