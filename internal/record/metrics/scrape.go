package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

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

func description(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("codemode_"+name, help, labels, nil)
}

var (
	readyDesc = description("ready",
		"1 if the process takes programs: it has started, is not stopping, and its store answers.")
	runsDesc = description("runs", "Runs that this process has, by state: running, or parked until people have answered.",
		"state")
	asksDesc   = description("asks_open", "Calls of these runs that wait for people.")
	usedDesc   = description("budget_used", "What is in use of a budget that all share.", "budget")
	sizeDesc   = description("budget_size", "The size of a budget.", "budget")
	waitDesc   = description("budget_waiting", "Requests that wait for a share of a budget.", "budget")
	refuseDesc = description("budget_refusals_total", "Requests that got no share of a budget.", "budget")
	stateDesc  = description("upstream_state", "1 for the state that a server is in, 0 for the others.", "server", "state")
	toolsDesc  = description("upstream_tools", "The tools of a server that are known.", "server")
	spansDesc  = description("spans_total", "Spans of traces that ended, by what became of them: sent, lost or dropped.",
		"state")
	againDesc = description("upstream_restarts_total", "How often a server was started again.", "server")
)

// scrape collects what is in use.
type scrape Metrics

// Describe is of [prometheus.Collector].
func (*scrape) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		readyDesc, runsDesc, asksDesc, usedDesc, sizeDesc, waitDesc, refuseDesc, stateDesc, toolsDesc, againDesc,
		spansDesc,
	} {
		to <- d
	}
}

// Collect is of [prometheus.Collector].
func (s *scrape) Collect(to chan<- prometheus.Metric) {
	sources := s.sources.Load()
	if sources == nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	if sources.Ready != nil {
		gauge(readyDesc, number(sources.Ready() == nil))
	}
	if sources.Runs != nil {
		all, parked, asks := sources.Runs()
		gauge(runsDesc, float64(all-parked), "running")
		gauge(runsDesc, float64(parked), "parked")
		gauge(asksDesc, float64(asks))
	}
	if sources.Budgets != nil {
		for _, b := range sources.Budgets() {
			name := strings.ReplaceAll(b.What, " ", "_")
			gauge(usedDesc, float64(b.Used), name)
			gauge(sizeDesc, float64(b.Total), name)
			gauge(waitDesc, float64(b.Waiting), name)
			count(refuseDesc, float64(b.Refused), name)
		}
	}
	if sources.Spans != nil {
		sent, lost, dropped := sources.Spans()
		count(spansDesc, float64(sent), "sent")
		count(spansDesc, float64(lost), "lost")
		count(spansDesc, float64(dropped), "dropped")
	}
	if sources.Upstreams == nil {
		return
	}
	for _, u := range sources.Upstreams() {
		if (*Metrics)(s).servers.bound(u.Name) != u.Name {
			continue // a name may be there once
		}
		for _, state := range []upstream.State{
			upstream.Starting, upstream.Ready, upstream.Failed, upstream.Stopped, upstream.Disabled,
		} {
			gauge(stateDesc, number(u.State == state), u.Name, string(state))
		}
		gauge(toolsDesc, float64(u.Tools), u.Name)
		count(againDesc, float64(u.Restarts), u.Name)
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
