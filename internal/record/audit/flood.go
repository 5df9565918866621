package audit

import (
	"maps"
	"slices"
	"sync"

	"github.com/codemode-project/codemode/call"
)

const (
	// floodWhole is how many refusals of a run and a reason get an entry each. The record only counts later ones. It
	// writes the count each time it has doubled, and at the end of the run.
	floodWhole = 32
	// floodReasons bounds the reasons per run with their own count, floodRuns bounds the runs, floodTools bounds the
	// tools.
	floodReasons = 16
	floodRuns    = 1000
	floodTools   = 20
)

// A flood counts refusals, because programs can cause them at any rate.
type flood struct {
	mu   sync.Mutex
	runs map[string]*floodRun
}

type floodRun struct {
	reasons map[string]*floodCount
}

type floodCount struct {
	total   int
	next    int // the total at which to write the count
	pending int // counted and not written
	first   call.Entry
	tools   map[string]int
}

// admit reports whether to write an entry. It may change the entry into one that stands for many.
func (f *flood) admit(e *call.Entry) bool {
	if e.Kind != Call || e.State != Refused || e.Count != 0 {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	run := f.runs[e.Run]
	if run == nil {
		if len(f.runs) >= floodRuns {
			return true // runs that never end; their refusals are bounded by their limits
		}
		run = &floodRun{reasons: map[string]*floodCount{}}
		f.runs[e.Run] = run
	}
	reason := e.Reason
	if run.reasons[reason] == nil && len(run.reasons) >= floodReasons {
		reason = "others"
	}
	c := run.reasons[reason]
	if c == nil {
		c = &floodCount{next: 2 * floodWhole, tools: map[string]int{}}
		run.reasons[reason] = c
	}
	c.total++
	if c.total <= floodWhole {
		return true
	}
	if c.pending == 0 {
		c.first = *e
	}
	c.pending++
	tool := e.Tool
	if _, known := c.tools[tool]; !known && len(c.tools) >= floodTools {
		tool = "others"
	}
	c.tools[tool]++
	if c.total < c.next {
		return false
	}
	c.next *= 2
	*e = c.take(reason)
	return true
}

// take makes the entry for the refusals counted so far.
func (c *floodCount) take(reason string) call.Entry {
	e := c.first
	e = call.Entry{
		Time: e.Time, Kind: Call, State: Refused, Run: e.Run, Principal: e.Principal, Client: e.Client, Session: e.Session,
		Profile: e.Profile, ProfileDigest: e.ProfileDigest, Verdict: e.Verdict, DecidedBy: e.DecidedBy, Reason: reason,
		Detail: "refusals of this run that have no entries of their own", Count: c.pending, Tools: maps.Clone(c.tools),
	}
	c.pending = 0
	clear(c.tools)
	return e
}

// rest returns the counts that are not written yet, of one run or of all, and forgets the run.
func (f *flood) rest(run string) []call.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	var entries []call.Entry
	for _, name := range slices.Sorted(maps.Keys(f.runs)) {
		if run != "" && name != run {
			continue
		}
		for _, reason := range slices.Sorted(maps.Keys(f.runs[name].reasons)) {
			if c := f.runs[name].reasons[reason]; c.pending > 0 {
				entries = append(entries, c.take(reason))
			}
		}
		delete(f.runs, name)
	}
	return entries
}
