package engine

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/codemode-project/codemode/internal/bench"
)

// OwnOptions are the settings of [Own] besides those for every engine.
type OwnOptions struct {
	Command []string // of this build as an engine, with the flags --confine and --busy of codemode bench engine
	Confine bool
	Busy    int // how many endless programs run beside the suite, one case at a time
	// AtOnce is how many cases run at once, among those that test neither time nor memory; zero is one for each
	// processor.
	AtOnce int
	// Session runs each program in a session of its own that has state before it. The case fails if the program changes
	// or learns what another session has, or if its session is wrong afterwards.
	Session bool
}

// Own runs a suite against this build. It has no questions for it: this build passes each case, or the
// case fails. First it runs the cases that test neither time nor memory, several at once, each in a process that no
// other case uses meanwhile. Then it runs alone the other cases, and those of the first group that did not end exactly
// as expected: every failure in the report occurred while the case ran alone.
func Own(ctx context.Context, o Options, own OwnOptions, suite *bench.Suite) (*OwnReport, error) {
	if own.Busy > 0 {
		own.AtOnce = 1
	}
	o.own, o.ask = &own, func(question) bool { return false }
	o.Baseline = &Scoreboard{} // no finding is known: a busy machine must not fail a build
	e := Engine{own: true, Command: append(slices.Clone(own.Command), fmt.Sprintf("--confine=%t", own.Confine),
		fmt.Sprintf("--busy=%d", own.Busy))}
	board, err := Isolation(ctx, []Engine{e}, o, suite)
	if err == nil {
		err = board.Failed()
	}
	if err != nil {
		return nil, err
	}
	return ownReport(board), nil
}

// atOnce runs the cases that can run beside others, and keeps the results of those that ended exactly as expected.
func (s *session) atOnce(ctx context.Context, cases []*bench.Case, results []*CaseResult, done *atomic.Int64,
	progress func(string)) error {
	left := make(chan int, len(cases))
	for i, c := range cases {
		if !c.Measured() {
			left <- i
		}
	}
	close(left)
	n := s.o.own.AtOnce
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	if n = min(n, len(left)); n < 2 {
		return nil
	}
	others := make([]*session, n)
	var work errgroup.Group
	for i := range others {
		other := &session{engine: s.engine, starter: s.starter, o: s.o, hello: s.hello, grown: growth{}}
		others[i] = other
		work.Go(func() error {
			defer other.end()
			for i := range left {
				progress(cases[i].File)
				r, err := other.judged(ctx, cases[i])
				if err != nil {
					return err
				}
				if r.own.PeakKiB = 0; len(r.Findings) == 0 && !r.own.inexact { // its peak is not its own
					results[i] = &r
					done.Add(1)
				}
			}
			return nil
		})
	}
	err := work.Wait()
	for _, other := range others {
		s.starts, s.left = s.starts+other.starts, append(s.left, other.left...)
		s.grown.add(other.grown)
	}
	return err
}

// ownEnds are how the runs of a case ended.
type ownEnds struct {
	OwnCase
	runs    int
	wrong   bool      // a run had a finding
	inexact bool      // a run ended otherwise than the case expects first
	late    []float64 // milliseconds beyond the limit for computing, of runs that reached it
}

func (e *ownEnds) add(expected string, end result, round int) {
	wrong := len(end.found) > 0
	if e.runs == 0 || wrong && !e.wrong {
		e.Got, e.Detail = end.Outcome.Outcome, shorten(end.said)
		if end.dead {
			e.Got = end.found[len(end.found)-1].kind
		}
		for _, f := range end.found {
			if f.kind != Wrong { // which the rest says
				e.Detail = strings.TrimPrefix(e.Detail+"; "+f.kind+": "+f.detail, "; ")
			}
		}
		if round > 0 {
			e.Detail = "in the second run: " + e.Detail
		}
	}
	e.runs++
	e.wrong, e.inexact = e.wrong || wrong, e.inexact || end.Outcome.Outcome != expected
	if over := bench.Round(max(ms(end.over), 0)); end.Outcome.Outcome == bench.Timeout || over > 0 {
		e.late = append(e.late, over)
		e.OvershootMS = max(e.OvershootMS, over)
	}
	e.PeakKiB = max(e.PeakKiB, end.to.PeakKiB)
}

// A growth is how much more processes of this build held after their cases than before, at the most, as far as the
// system tells.
type growth map[string]int

// spares are how much more it may be: the runtime and the pool vary.
var spares = []struct {
	what string
	most int
}{{"goroutines", 5}, {"file descriptors", 2}, {"guests", 2 * runtime.GOMAXPROCS(0)}}

// add takes the larger counts of another process.
func (g growth) add(other growth) {
	for what, more := range other {
		if known, ok := g[what]; !ok || more > known {
			g[what] = more
		}
	}
}

// leaks names what the processes did not release.
func (g growth) leaks() (leaks []string) {
	for _, spare := range spares {
		if more := g[spare.what]; more > spare.most {
			leaks = append(leaks, fmt.Sprintf("%d %s", more, spare.what))
		}
	}
	return leaks
}

func growthOf(before, after map[string]int) growth {
	g := growth{}
	for what, was := range before {
		if is, ok := after[what]; ok {
			g[what] = is - was
		}
	}
	return g
}

// ownMemory is that of the process that runs cases alone: before its first case, and after the last one.
type ownMemory struct {
	BeforeKiB int `json:"rss_before_kib,omitempty"`
	AfterKiB  int `json:"rss_after_kib,omitempty"`
	HeapKiB   int `json:"heap_kib"` // the largest size of Go's heap
}

// callsWait is how long goroutines of abandoned calls may take to end.
const callsWait = 5 * time.Second

// leave looks for what the engine left behind. This build says what it holds when pending work has had time to end.
func (s *session) leave() {
	p := s.process
	for end := time.Now().Add(callsWait); p.holds != nil; time.Sleep(callsWait / 500) {
		now := p.run(context.Background(), program{name: "holds", source: "return 1", limits: limits(shortWall),
			holds: true}, false).Holds
		if now["goroutines"] <= p.holds["goroutines"] || time.Now().After(end) {
			s.grown.add(growthOf(p.holds, now))
			s.memory = ownMemory{p.at.ResidentKiB, p.measure().ResidentKiB, max(s.memory.HeapKiB, now["heap KiB"])}
			break
		}
	}
	s.left = append(s.left, p.left()...)
}
