package engine

import (
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/bench"
)

// An OwnReport says how the cases of a suite ended in this build. SARIF and the badge are those of every engine.
type OwnReport struct {
	Guest   string     `json:"guest"` // sha256
	Started time.Time  `json:"started"`
	Cases   []OwnCase  `json:"cases"`
	Summary OwnSummary `json:"summary"`

	Board *Scoreboard `json:"-"`
}

// An OwnCase is the outcome of a case. It has the worst figures of its runs.
type OwnCase struct {
	File        string    `json:"file"`
	Class       string    `json:"class"`
	Expected    string    `json:"expected"`
	Got         string    `json:"got"`
	OK          bool      `json:"ok"`    // every run ended in a way that the case accepts
	Exact       bool      `json:"exact"` // and in the first way that it lists
	MS          float64   `json:"ms"`    // the longest run
	Started     time.Time `json:"started"`
	TookMS      float64   `json:"took_ms"`      // the whole case: its runs, its prerequisites, and the plain program
	OvershootMS float64   `json:"overshoot_ms"` // beyond the limit for computing
	Detail      string    `json:"detail"`
	PeakKiB     int       `json:"peak_kib,omitempty"` // of the processes, while the case ran; 0 if others did
	Unhealthy   bool      `json:"unhealthy,omitempty"`
}

// An OwnSummary sums up the cases.
type OwnSummary struct {
	ClassSummary
	Pass      bool           `json:"pass"` // every case accepted, the process healthy and without leaks
	Unhealthy int            `json:"unhealthy"`
	TotalMS   float64        `json:"total_ms"`
	Classes   []ClassSummary `json:"classes"`

	// How much more the processes held after their cases than before; nil is unknown on this system.
	Goroutines *int `json:"goroutines_delta"`
	Files      *int `json:"fds_delta"`
	Guests     *int `json:"guests_delta"`

	ownMemory
	PeakKiB  int    `json:"rss_peak_kib,omitempty"`
	PeakCase string `json:"rss_peak_case,omitempty"`

	left []string // what processes left behind, as the harness saw it
}

// A ClassSummary sums up the cases of one class, or all of them.
type ClassSummary struct {
	Class     string   `json:"class,omitempty"`
	Cases     int      `json:"cases"`
	OK        int      `json:"ok"`
	Exact     int      `json:"exact"`
	Overshoot Lateness `json:"overshoot_ms"`
}

// A Lateness says by how many milliseconds runs exceeded their limit.
type Lateness struct {
	Runs int     `json:"runs"` // that reached it
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

func ownReport(board *Scoreboard) *OwnReport {
	of := board.Engines[0]
	r := &OwnReport{Started: of.Started, Board: board, Cases: []OwnCase{}}
	s := &r.Summary
	s.ownMemory, s.left, s.TotalMS = of.memory, of.left, bench.Round(of.TotalMS)
	for what, to := range map[string]**int{"goroutines": &s.Goroutines, "file descriptors": &s.Files, "guests": &s.Guests} {
		if more, ok := of.grown[what]; ok {
			*to = &more
		}
	}
	var all []ownEnds
	for _, c := range of.Cases[:len(of.Cases)-1] { // the last one is about what was left behind
		own := c.own
		own.File, own.Class, own.Expected, own.MS = c.Case, c.Class, c.Expected, bench.Round(c.MS)
		own.OK = len(c.Findings) == 0
		own.Exact = own.OK && !own.inexact
		all, r.Cases = append(all, own), append(r.Cases, own.OwnCase)
		if own.Unhealthy {
			s.Unhealthy++
		}
		if own.PeakKiB > s.PeakKiB {
			s.PeakKiB, s.PeakCase = own.PeakKiB, own.File
		}
		if !slices.ContainsFunc(s.Classes, func(k ClassSummary) bool { return k.Class == c.Class }) {
			s.Classes = append(s.Classes, ClassSummary{Class: c.Class})
		}
	}
	for i := range s.Classes {
		class := s.Classes[i].Class
		s.Classes[i] = summary(class, slices.DeleteFunc(slices.Clone(all), func(e ownEnds) bool { return e.Class != class }))
	}
	s.ClassSummary = summary("", all)
	s.Pass = s.OK == s.Cases && s.Unhealthy == 0 && len(s.left) == 0
	return r
}

func summary(class string, all []ownEnds) ClassSummary {
	s := ClassSummary{Class: class, Cases: len(all)}
	var late []float64
	for _, c := range all {
		if c.OK {
			s.OK++
		}
		if c.Exact {
			s.Exact++
		}
		late = append(late, c.late...)
	}
	if len(late) > 0 {
		slices.Sort(late)
		s.Overshoot = Lateness{len(late), bench.Quantile(late, 0.5), bench.Quantile(late, 0.99), late[len(late)-1]}
	}
	return s
}
