package metrics

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
)

// Metrics are the figures of one process, or of one of its tenants. Many goroutines may call its methods.
type Metrics struct {
	registry *prometheus.Registry
	to       prometheus.Registerer // adds the label "tenant", if there are tenants
	sources  atomic.Pointer[Sources]

	runsStarted, runsEnded, runsParked, runsResumed *prometheus.CounterVec
	runSeconds                                      *prometheus.HistogramVec
	calls, refusals                                 *prometheus.CounterVec
	callSeconds                                     *prometheus.HistogramVec
	asks, answers                                   *prometheus.CounterVec
	askSeconds                                      prometheus.Histogram
	writeSeconds                                    prometheus.Histogram
	writeFailures                                   prometheus.Counter
	access, policy                                  *prometheus.CounterVec
	requests                                        *prometheus.CounterVec
	open                                            *prometheus.GaugeVec

	profiles, servers, reasons, answered, outcomes, states names
}

// The buckets of the durations, in seconds. A call is a question to another process or across a network; a run may wait
// for a person, who may take a day.
var (
	callBuckets  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	runBuckets   = []float64{.0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600, 86400}
	askBuckets   = []float64{1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14400, 86400}
	writeBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
)

// New makes figures that begin at zero. version is that of the program.
func New(version string) *Metrics {
	registry := newRegistry(version)
	return newMetrics(registry, registry)
}

// ForTenants makes the figures of a process with tenants, which begin at zero: those of each tenant by its name, and
// those of the process as a whole by "". They have the label "tenant" with that name. The handler of one serves all.
func ForTenants(version string, names ...string) map[string]*Metrics {
	registry := newRegistry(version)
	all := map[string]*Metrics{}
	for _, name := range append([]string{""}, names...) {
		all[name] = newMetrics(registry, prometheus.WrapRegistererWith(prometheus.Labels{"tenant": name}, registry))
	}
	return all
}

// newRegistry has the figures of the process itself.
func newRegistry(version string) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "codemode_build_info",
		Help: "Always 1; the labels say what runs."}, []string{"version", "goversion"})
	info.WithLabelValues(version, runtime.Version()).Set(1)
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), info)
	return registry
}

func newMetrics(registry *prometheus.Registry, to prometheus.Registerer) *Metrics {
	m := &Metrics{registry: registry, to: to}
	m.to.MustRegister((*scrape)(m))
	m.runsStarted = m.counters("runs_started_total", "Programs that began to run.", "profile")
	m.runsEnded = m.counters("runs_ended_total", "Programs that ended, also those that never began, by how they ended.",
		"profile", "outcome")
	m.runsParked = m.counters("runs_parked_total", "How often a run that waits for people was taken out of memory.",
		"profile")
	m.runsResumed = m.counters("runs_resumed_total", "Runs of other processes that this one went on with.", "profile")
	m.runSeconds = m.histograms("run_duration_seconds", "From the begin of a program to its end, waiting included.",
		runBuckets, "profile")
	m.calls = m.counters("calls_total", "Calls of programs that ended, by server, decision (allow, ask, deny) and "+
		"outcome (ok, error, unknown, not_sent, refused).", "server", "decision", "outcome")
	m.refusals = m.counters("call_refusals_total", "Calls that were refused, by the reason that the program got.",
		"reason")
	m.callSeconds = m.histograms("call_duration_seconds", "From the moment a call was sent to its outcome.", callBuckets,
		"server")
	m.asks = m.counters("asks_total", "Questions that were put to people.", "profile")
	m.answers = m.counters("asks_answered_total", "Questions that ended, by the answer: allowed, answered, or why not.",
		"answer")
	m.askSeconds = m.histogram("ask_wait_seconds", "How long a question waited until a person answered.", askBuckets)
	m.writeSeconds = m.histogram("record_write_seconds", "How long a call waited until the record had its entry on disk.",
		writeBuckets)
	m.writeFailures = prometheus.NewCounter(prometheus.CounterOpts{Name: "codemode_record_write_failures_total",
		Help: "Calls that did not happen because the record could not write."})
	m.to.MustRegister(m.writeFailures)
	m.access = m.counters("access_total", "Entries about clients, by state: admitted, or why they were turned away.",
		"state")
	m.policy = m.counters("policy_changes_total", "Configurations that were put in force or rejected.", "state")
	m.requests = m.counters("http_requests_total", "Requests over HTTP that ended, by route, method and status.",
		"route", "method", "code")
	m.open = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "codemode_http_requests_open",
		Help: "Requests over HTTP that are being served, event streams included."}, []string{"route"})
	m.to.MustRegister(m.open)
	return m
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "codemode_" + name, Help: help}, labels)
	m.to.MustRegister(v)
	return v
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	o := prometheus.HistogramOpts{Name: "codemode_" + name, Help: help, Buckets: buckets}
	v := prometheus.NewHistogramVec(o, labels)
	m.to.MustRegister(v)
	return v
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "codemode_" + name, Help: help, Buckets: buckets})
	m.to.MustRegister(h)
	return h
}

// Observer returns the functions that count what the record gets.
func (m *Metrics) Observer() recorder.Observer {
	return recorder.Observer{Entry: m.entry, Written: m.written}
}

// entry counts an entry of the record.
func (m *Metrics) entry(_ context.Context, e *audit.Entry) {
	switch e.Kind {
	case audit.Call:
		m.call(e)
	case audit.Run:
		m.run(e)
	case audit.Approval:
		m.answers.WithLabelValues(m.answered.bound(e.State)).Inc()
		if e.DecidedBy != nil && e.DecidedBy.How == "person" && e.State != hostfns.KindLate {
			m.askSeconds.Observe(float64(e.DecidedBy.LatencyMS) / 1000)
		}
	case audit.Access:
		m.access.WithLabelValues(m.states.bound(e.State)).Inc()
	case audit.Policy:
		m.policy.WithLabelValues(m.states.bound(e.State)).Inc()
	}
}

func (m *Metrics) call(e *audit.Entry) {
	switch e.State {
	case audit.Running:
		return
	case audit.Pending:
		m.asks.WithLabelValues(m.profile(e)).Inc()
		return
	case audit.Refused:
		m.refusals.WithLabelValues(m.reasons.bound(e.Reason)).Inc()
	}
	server := "none" // nobody has such a tool
	if e.Server != "" {
		server = m.servers.bound(e.Server)
	}
	m.calls.WithLabelValues(server, e.Verdict, e.State).Inc()
	if e.State != audit.Refused {
		m.callSeconds.WithLabelValues(server).Observe(e.MS / 1000)
	}
}

func (m *Metrics) run(e *audit.Entry) {
	profile := m.profile(e)
	switch e.State {
	case audit.Running:
		m.runsStarted.WithLabelValues(profile).Inc()
	case audit.Parked:
		m.runsParked.WithLabelValues(profile).Inc()
	case audit.OK, audit.Failed, audit.Refused, audit.Unknown:
		m.runsEnded.WithLabelValues(profile, m.outcomes.bound(e.Reason)).Inc()
		if e.MS > 0 {
			m.runSeconds.WithLabelValues(profile).Observe(e.MS / 1000)
		}
	case audit.Resumed:
		m.runsResumed.WithLabelValues(profile).Inc()
	}
}

// profile is the name of an entry's profile; "(base tool)" is the base tool without one.
func (m *Metrics) profile(e *audit.Entry) string {
	if e.Profile == "" {
		return "(base tool)"
	}
	return m.profiles.bound(e.Profile)
}

// written counts the writing of a call's entry.
func (m *Metrics) written(took time.Duration, err error) {
	m.writeSeconds.Observe(took.Seconds())
	if err != nil {
		m.writeFailures.Inc()
	}
}

// maxNames bounds the values of a label.
const maxNames = 200

// names are the values of a label. The zero value has none yet.
type names struct {
	n   atomic.Int64
	all sync.Map // of strings
}

// bound returns a value, or "others" if there are too many.
func (n *names) bound(name string) string {
	if _, known := n.all.Load(name); known {
		return name
	}
	if n.n.Add(1) > maxNames {
		return "others"
	}
	if len(name) > 128 {
		name = name[:128]
	}
	name = strings.Clone(strings.ToValidUTF8(name, "?")) // it may be a part of a long text
	if _, known := n.all.LoadOrStore(name, true); known {
		n.n.Add(-1)
	}
	return name
}

// routes are the values of the label route, by the first part of the path.
var routes = map[string]string{
	"mcp": "mcp", "console": "page", "healthz": "probe", "readyz": "probe", "livez": "probe",
}

// HTTP counts the requests of a handler whose paths begin with a prefix, such as /t/acme; "" is none.
func (m *Metrics) HTTP(prefix string, next http.Handler) http.Handler {
	counted := map[string]http.Handler{}
	for _, route := range []string{"mcp", "page", "probe", "other"} {
		label := prometheus.Labels{"route": route}
		counted[route] = promhttp.InstrumentHandlerInFlight(m.open.With(label),
			promhttp.InstrumentHandlerCounter(m.requests.MustCurryWith(label), next))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, prefix), "/"), "/")
		if route, ok := routes[first]; ok {
			counted[route].ServeHTTP(w, r)
		} else {
			counted["other"].ServeHTTP(w, r)
		}
	})
}

// scrapes bounds the scrapes at once, and how long one takes.
const (
	scrapes    = 4
	scrapeWait = 10 * time.Second
)

// Gatherer returns what gathers the figures, to send them elsewhere.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Handler serves the figures in the formats of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes, Timeout: scrapeWait,
		EnableOpenMetrics: true})
}
