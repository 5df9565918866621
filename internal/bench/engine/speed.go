package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// SpeedOptions are the settings of [Speed].
type SpeedOptions struct {
	Quick    bool // a few samples only
	Progress func(done, total int, what string)
}

// A SpeedReport has the figures of several engines, measured by turns.
type SpeedReport struct {
	System  string         `json:"system"`
	CPUs    int            `json:"cpus"`
	Engines []*EngineSpeed `json:"engines"`
}

// An EngineSpeed has the figures of one engine. Each is the median of its samples, with the range of the middle nine
// tenths in Spread under the figure's key; nil was not measured, because the engine does not claim it, or Failed says
// why.
type EngineSpeed struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Failed  string   `json:"failed,omitempty"`
	Cold    *float64 `json:"cold_start_ms"` // process start to the first outcome
	Fresh   *float64 `json:"fresh_ms"`      // "return 1"
	Call    *float64 `json:"call_us"`       // a call of a tool, awaited one after the other
	AtOnce  *float64 `json:"at_once_us"`    // a call of a tool, many at the same time
	Compute *float64 `json:"compute_ms"`    // recursion: fib(22)
	Memory  *float64 `json:"resident_mib"`  // of all its processes, after the runs
	Spread  Spreads  `json:"spread,omitzero"`

	samples map[string][]float64
}

// Spreads are ranges by the key of their figure.
type Spreads map[string]bench.Spread

// The programs that are measured, by language.
var (
	plainProgram = "return 1"

	oneAfterTheOther = map[string]string{
		"javascript": "for (let i = 0; i < %d; i++) await codemode.echo(i);\nreturn 1",
		"python":     "for i in range(%d):\n    await codemode.echo(i)\nreturn 1",
	}
	atOnce = map[string]string{
		"javascript": "await Promise.all(Array.from({length: %d}, (_, i) => codemode.echo(i)));\nreturn 1",
		"python":     "import asyncio\nawait asyncio.gather(*[codemode.echo(i) for i in range(%d)])\nreturn 1",
	}
	fib = map[string]string{
		"javascript": "const fib = (n) => n < 2 ? n : fib(n - 1) + fib(n - 2);\nfib(22);\nreturn 1",
		"python":     "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(22)\nreturn 1",
	}
)

// Speed measures engines by turns: in each round each engine starts anew and takes its samples. The first error of an
// engine ends its part.
func Speed(ctx context.Context, engines []Engine, o SpeedOptions) (*SpeedReport, error) {
	report := &SpeedReport{System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0)}
	rounds, samples := 5, 40
	if o.Quick {
		rounds, samples = 2, 5
	}
	starter := upstream.NewStarter()
	defer starter.Close()
	for _, e := range engines {
		report.Engines = append(report.Engines, &EngineSpeed{Name: e.Name, samples: map[string][]float64{}})
	}
	for round := range rounds {
		for i, e := range engines {
			s := report.Engines[i]
			if o.Progress != nil {
				o.Progress(round*len(engines)+i, rounds*len(engines), s.Name)
			}
			if s.Failed != "" {
				continue
			}
			if err := s.measure(ctx, starter, e, samples); ctx.Err() != nil {
				return nil, context.Cause(ctx)
			} else if err != nil {
				s.Failed = err.Error()
			}
		}
	}
	for _, s := range report.Engines {
		s.finish()
	}
	return report, nil
}

// Failed is an error for each engine that could not be measured to the end; nil if there is none.
func (r *SpeedReport) Failed() error {
	var failed []error
	for _, s := range r.Engines {
		failed = append(failed, failure(s.Name, s.Failed))
	}
	return errors.Join(failed...)
}

// speedCalls is how many calls one program of the measurements makes.
const speedCalls = 100

// measure takes the samples of one round.
func (s *EngineSpeed) measure(ctx context.Context, starter *upstream.Starter, e Engine, samples int) error {
	started := time.Now()
	p, err := start(ctx, starter, e)
	if err != nil {
		return err
	}
	defer p.stop()
	s.Version = p.hello.Version
	if s.Name == "" {
		s.Name = p.hello.Name
	}
	language := p.hello.Language
	if _, err := p.timed(ctx, plainProgram); err != nil {
		return err
	}
	s.sample("cold_start_ms", ms(time.Since(started)))
	for range samples {
		took, err := p.timed(ctx, plainProgram)
		if err != nil {
			return err
		}
		s.sample("fresh_ms", ms(took))
	}
	slices.Sort(s.samples["fresh_ms"])
	plain := bench.Quantile(s.samples["fresh_ms"], 0.5)
	for _, m := range []struct {
		key, source string
		claim       string
	}{
		{"call_us", fmt.Sprintf(oneAfterTheOther[language], speedCalls), "calls"},
		{"at_once_us", fmt.Sprintf(atOnce[language], speedCalls), "parallel"},
		{"compute_ms", fib[language], ""},
	} {
		if m.claim != "" && !p.claims(m.claim) {
			continue
		}
		for range max(samples/4, 3) {
			took, err := p.timed(ctx, m.source)
			if err != nil {
				return fmt.Errorf("%s: %w", m.key, err)
			}
			value := max(ms(took)-plain, 0)
			if m.claim != "" {
				value *= 1000 / speedCalls
			}
			s.sample(m.key, value)
		}
	}
	if now := p.measure(); now.Known {
		s.sample("resident_mib", float64(now.ResidentKiB)/1024)
	}
	return nil
}

// timed runs a program that returns 1, and says how long it took.
func (p *process) timed(ctx context.Context, source string) (time.Duration, error) {
	r := p.run(ctx, program{name: "speed", source: source, limits: limits(helloWait)}, false)
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case len(r.found) > 0:
		return 0, errors.New(r.found[0].detail)
	case r.Outcome.Outcome != bench.Value || string(r.Value) != "1":
		return 0, fmt.Errorf("a program ended with %s %s %s", r.Outcome.Outcome, r.Value, r.Message)
	}
	return r.took, nil
}

func (s *EngineSpeed) sample(key string, value float64) {
	s.samples[key] = append(s.samples[key], value)
}

// A figure is a median and its key.
type figure struct {
	key    string
	median **float64
}

// figures are those of the report, in its order.
func (s *EngineSpeed) figures() []figure {
	return []figure{{"cold_start_ms", &s.Cold}, {"fresh_ms", &s.Fresh}, {"call_us", &s.Call}, {"at_once_us", &s.AtOnce},
		{"compute_ms", &s.Compute}, {"resident_mib", &s.Memory}}
}

// finish turns samples into figures.
func (s *EngineSpeed) finish() {
	s.Spread = Spreads{}
	for _, f := range s.figures() {
		if samples := s.samples[f.key]; len(samples) > 0 {
			slices.Sort(samples)
			median := bench.Quantile(samples, 0.5)
			*f.median = &median
			s.Spread[f.key] = bench.Spread{Low: bench.Quantile(samples, 0.05), High: bench.Quantile(samples, 0.95),
				Samples: len(samples)}
		}
	}
}
