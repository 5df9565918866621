package bench

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// A CaseResult is the outcome of a case. It has the worst figures of its runs.
type CaseResult struct {
	File        string    `json:"file"`
	Class       string    `json:"class"`
	Expected    Outcome   `json:"expected"`
	Got         Outcome   `json:"got"`
	OK          bool      `json:"ok"`    // every run ended in a way that the case accepts
	Exact       bool      `json:"exact"` // and in the first way that it lists
	MS          float64   `json:"ms"`    // the longest run
	Started     time.Time `json:"started"`
	TookMS      float64   `json:"took_ms"`      // the whole case: its runs, its prerequisites, and the plain program
	OvershootMS float64   `json:"overshoot_ms"` // beyond the limit for computing
	Detail      string    `json:"detail"`
	PeakKiB     int       `json:"peak_kib,omitempty"` // of the process, while the case ran; 0 if others did
	Unhealthy   bool      `json:"unhealthy,omitempty"`

	overshoots []float64 // of the runs that reached the limit
	runs       int
}

// add judges one run of a case.
func (r *CaseResult) add(c *Case, v verdict, limit time.Duration) {
	r.runs++
	r.MS = max(r.MS, ms(v.took))
	if v.outcome == Timeout || v.took > limit {
		over := max(ms(v.took-limit), 0)
		r.overshoots = append(r.overshoots, over)
		r.OvershootMS = max(r.OvershootMS, over)
	}
	wrong := !c.Accepts(v.outcome)
	detail := v.detail
	if v.outcome == Value {
		detail = "value " + shorten(string(v.value))
		if !c.Fits(v.value) {
			wrong = true
			detail += ", expected " + shorten(string(c.Expect))
		}
	}
	if v.problem != "" {
		wrong, detail = true, v.problem
	}
	if r.runs == 1 || wrong && r.OK {
		r.Got, r.Detail = v.outcome, shorten(detail)
		if r.runs == 2 {
			r.Detail = "in the second run: " + r.Detail
		}
	}
	r.OK = r.OK && !wrong
	r.Exact = r.Exact && r.OK && v.outcome == c.Outcome
}

func (r *CaseResult) fail(why string) {
	r.OK, r.Exact, r.Detail = false, false, why
}

// detailRunes bounds the length shown of a value or a message.
const detailRunes = 300

func shorten(s string) string {
	n := 0
	for i := range s {
		if n++; n > detailRunes {
			return s[:i] + "…"
		}
	}
	return s
}

// An IsolationReport is the result of a suite.
type IsolationReport struct {
	Guest   string           `json:"guest"` // sha256
	Started time.Time        `json:"started"`
	Cases   []CaseResult     `json:"cases"`
	Summary IsolationSummary `json:"summary"`
}

// An IsolationSummary sums up the cases.
type IsolationSummary struct {
	ClassSummary
	Pass      bool           `json:"pass"` // every case accepted, the process healthy and without leaks
	Unhealthy int            `json:"unhealthy"`
	TotalMS   float64        `json:"total_ms"`
	Classes   []ClassSummary `json:"classes"`

	// How much more the process holds than before; nil is unknown on this system.
	Goroutines *int `json:"goroutines_delta"`
	Files      *int `json:"fds_delta"`
	Guests     *int `json:"guests_delta"`

	// Memory of the process in KiB: before the first case, the peak, the case of the peak, and after the last case.
	// HeapKiB is the largest size of Go's heap.
	BeforeKiB int    `json:"rss_before_kib,omitempty"`
	PeakKiB   int    `json:"rss_peak_kib,omitempty"`
	PeakCase  string `json:"rss_peak_case,omitempty"`
	AfterKiB  int    `json:"rss_after_kib,omitempty"`
	HeapKiB   int    `json:"heap_kib"`
}

// A ClassSummary sums up the cases of one class, or all of them.
type ClassSummary struct {
	Class     string    `json:"class,omitempty"`
	Cases     int       `json:"cases"`
	OK        int       `json:"ok"`
	Exact     int       `json:"exact"`
	Overshoot Overshoot `json:"overshoot_ms"`

	samples []float64
}

// An Overshoot says by how many milliseconds runs exceeded their limit.
type Overshoot struct {
	Runs int     `json:"runs"` // that reached it
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

func (s *ClassSummary) add(r *CaseResult) {
	s.Cases++
	if r.OK {
		s.OK++
	}
	if r.Exact {
		s.Exact++
	}
	s.samples = append(s.samples, r.overshoots...)
}

func (s *ClassSummary) finish() {
	if len(s.samples) == 0 {
		return
	}
	slices.Sort(s.samples)
	s.Overshoot = Overshoot{len(s.samples), Quantile(s.samples, 0.5), Quantile(s.samples, 0.99),
		s.samples[len(s.samples)-1]}
}

func (r *IsolationReport) summarise(total time.Duration, before, after level) {
	s := &r.Summary
	s.TotalMS = ms(total)
	var order []string
	classes := map[string]*ClassSummary{}
	for i := range r.Cases {
		c := &r.Cases[i]
		if classes[c.Class] == nil {
			classes[c.Class] = &ClassSummary{Class: c.Class}
			order = append(order, c.Class)
		}
		classes[c.Class].add(c)
		s.add(c)
		if c.Unhealthy {
			s.Unhealthy++
		}
		if c.PeakKiB > s.PeakKiB {
			s.PeakKiB, s.PeakCase = c.PeakKiB, c.File
		}
	}
	for _, name := range order {
		classes[name].finish()
		s.Classes = append(s.Classes, *classes[name])
	}
	s.finish()
	s.Goroutines, s.Files, s.Guests = delta(before.goroutines, after.goroutines), delta(before.files, after.files),
		delta(before.guests, after.guests)
	s.BeforeKiB, s.AfterKiB = max(before.residentKiB, 0), max(after.residentKiB, 0)
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	s.HeapKiB = int(mem.HeapSys >> 10)
	s.Pass = s.OK == s.Cases && s.Unhealthy == 0 && len(s.Leaks()) == 0
}

func delta(before, after int) *int {
	if before < 0 || after < 0 {
		return nil
	}
	d := after - before
	return &d
}

// Leaks names the resources that the process did not release.
func (s *IsolationSummary) Leaks() []string {
	var leaks []string
	for _, l := range []struct {
		what  string
		delta *int
		spare int
	}{{"goroutines", s.Goroutines, spareGoroutines}, {"file descriptors", s.Files, spareFiles},
		{"guests", s.Guests, spareGuests()}} {
		if l.delta != nil && *l.delta > l.spare {
			leaks = append(leaks, fmt.Sprintf("%d %s", *l.delta, l.what))
		}
	}
	return leaks
}

// spareGuests is how many guests the engine keeps ready for runs.
func spareGuests() int { return 2 * runtime.GOMAXPROCS(0) }

// Failed lists the cases that were not accepted.
func (r *IsolationReport) Failed() []CaseResult {
	return slices.DeleteFunc(slices.Clone(r.Cases), func(c CaseResult) bool { return c.OK })
}
