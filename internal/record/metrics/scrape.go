package metrics

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// Sources tell what is in use at the moment of a scrape. A nil function tells nothing.
type Sources struct {
	// Runs returns how many runs this process has in memory, how many of them are parked, and how many of their calls
	// wait for people.
	Runs      func() (all, parked, asks int)
	Budgets   func() []fair.Use
	Upstreams func() []upstream.Status
	// Spans returns how many spans reached the collector of traces, were not taken by it, and were dropped before.
	Spans func() (sent, lost, dropped int64)
	// Ready returns nil if the process takes programs.
	Ready func() error
}

// Follow sets the sources. Figures without a source are left out.
func (m *Metrics) Follow(s Sources) { m.sources.Store(&s) }

// emit takes one value of a figure.
type emit func(kind Kind, name, help string, v float64, labels ...Label)

// scrape tells what is in use.
func (m *Metrics) scrape(to emit) {
	sources := m.sources.Load()
	if sources == nil {
		return
	}
	add := func(kind Kind, name, help string, v float64, labels ...Label) {
		for _, tenant := range m.tenant {
			labels = append([]Label{{"tenant", tenant}}, labels...)
		}
		to(kind, "codemode_"+name, help, v, labels...)
	}
	if sources.Ready != nil {
		add(Gauge, "ready", "1 if the process takes programs: it has started, is not stopping, and its store answers.",
			number(sources.Ready() == nil))
	}
	if sources.Runs != nil {
		all, parked, asks := sources.Runs()
		const help = "Runs that this process has, by state: running, or parked until people have answered."
		add(Gauge, "runs", help, float64(all-parked), Label{"state", "running"})
		add(Gauge, "runs", help, float64(parked), Label{"state", "parked"})
		add(Gauge, "asks_open", "Calls of these runs that wait for people.", float64(asks))
	}
	if sources.Budgets != nil {
		for _, b := range sources.Budgets() {
			name := Label{"budget", strings.ReplaceAll(b.What, " ", "_")}
			add(Gauge, "budget_used", "What is in use of a budget that all share.", float64(b.Used), name)
			add(Gauge, "budget_size", "The size of a budget.", float64(b.Total), name)
			add(Gauge, "budget_waiting", "Requests that wait for a share of a budget.", float64(b.Waiting), name)
			add(Counter, "budget_refusals_total", "Requests that got no share of a budget.", float64(b.Refused), name)
		}
	}
	if sources.Spans != nil {
		const help = "Spans of traces that ended, by what became of them: sent, lost or dropped."
		sent, lost, dropped := sources.Spans()
		add(Counter, "spans_total", help, float64(sent), Label{"state", "sent"})
		add(Counter, "spans_total", help, float64(lost), Label{"state", "lost"})
		add(Counter, "spans_total", help, float64(dropped), Label{"state", "dropped"})
	}
	if sources.Upstreams == nil {
		return
	}
	for _, u := range sources.Upstreams() {
		if m.servers.bound(u.Name) != u.Name {
			continue // a name may be there once
		}
		server := Label{"server", u.Name}
		for _, state := range []upstream.State{
			upstream.Starting, upstream.Ready, upstream.Failed, upstream.Stopped, upstream.Disabled,
		} {
			add(Gauge, "upstream_state", "1 for the state that a server is in, 0 for the others.", number(u.State == state),
				server, Label{"state", string(state)})
		}
		add(Gauge, "upstream_tools", "The tools of a server that are known.", float64(u.Tools), server)
		add(Counter, "upstream_restarts_total", "How often a server was started again.", float64(u.Restarts), server)
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// began is when the process began, nearly.
var began = time.Now()

// ofProcess tells the figures of the process itself, under the names that Prometheus' own library gives them. What the
// system does not tell is left out.
func ofProcess(add emit) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	add(Gauge, "go_goroutines", "Goroutines that there are.", float64(runtime.NumGoroutine()))
	add(Gauge, "go_memstats_heap_alloc_bytes", "Bytes of the heap that are in use.", float64(memory.HeapAlloc))
	add(Gauge, "go_memstats_sys_bytes", "Bytes that Go has from the system.", float64(memory.Sys))
	add(Counter, "go_gc_cycles_total", "Collections of garbage that ended.", float64(memory.NumGC))
	add(Gauge, "process_start_time_seconds", "When the process began, in seconds since 1970.",
		float64(began.UnixMilli())/1000)
	if cpu, ok := processorTime(); ok {
		add(Counter, "process_cpu_seconds_total", "Processor time that the process used, of the user and the system.",
			cpu.Seconds())
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		add(Gauge, "process_open_fds", "Files, sockets and pipes that are open.", float64(len(open)))
	}
	var all, resident int64
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		if _, err := fmt.Sscan(string(statm), &all, &resident); err == nil {
			add(Gauge, "process_resident_memory_bytes", "Bytes of the process that are in memory.",
				float64(resident)*float64(os.Getpagesize()))
		}
	}
}
