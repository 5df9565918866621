package metrics

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
)

// Metrics are the figures of one process, or of one of its tenants. Many goroutines may call its methods.
type Metrics struct {
	*registry
	tenant  []string // its name, if there are tenants
	sources atomic.Pointer[Sources]

	runsStarted, runsEnded, runsParked, runsResumed, runSeconds counted
	calls, refusals, callSeconds                                counted
	asks, answers, askSeconds                                   counted
	writeSeconds, writeFailures                                 counted
	access, policy, requests, open                              counted

	profiles, servers, reasons, answered, outcomes, states names
}

// A registry has the figures of a process.
type registry struct {
	version  string
	all      []*Metrics // of each tenant
	families map[string]*family
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
	return newMetrics(&registry{version: version, families: map[string]*family{}})
}

// ForTenants makes the figures of a process with tenants, which begin at zero: those of each tenant by its name, and
// those of the process as a whole by "". They have the label "tenant" with that name. The handler of one serves all.
func ForTenants(version string, names ...string) map[string]*Metrics {
	r := &registry{version: version, families: map[string]*family{}}
	all := map[string]*Metrics{}
	for _, name := range append([]string{""}, names...) {
		all[name] = newMetrics(r, name)
	}
	return all
}

func newMetrics(r *registry, tenant ...string) *Metrics {
	m := &Metrics{registry: r, tenant: tenant}
	r.all = append(r.all, m)
	m.runsStarted = m.counter("runs_started_total", "Programs that began to run.", "profile")
	m.runsEnded = m.counter("runs_ended_total", "Programs that ended, also those that never began, by how they ended.",
		"profile", "outcome")
	m.runsParked = m.counter("runs_parked_total", "How often a run that waits for people was taken out of memory.",
		"profile")
	m.runsResumed = m.counter("runs_resumed_total", "Runs of other processes that this one went on with.", "profile")
	m.runSeconds = m.histogram("run_duration_seconds", "From the begin of a program to its end, waiting included.",
		runBuckets, "profile")
	m.calls = m.counter("calls_total", "Calls of programs that ended, by server, decision (allow, ask, deny) and "+
		"outcome (ok, error, unknown, not_sent, refused).", "server", "decision", "outcome")
	m.refusals = m.counter("call_refusals_total", "Calls that were refused, by the reason that the program got.",
		"reason")
	m.callSeconds = m.histogram("call_duration_seconds", "From the moment a call was sent to its outcome.", callBuckets,
		"server")
	m.asks = m.counter("asks_total", "Questions that were put to people.", "profile")
	m.answers = m.counter("asks_answered_total", "Questions that ended, by the answer: allowed, answered, or why not.",
		"answer")
	m.askSeconds = m.histogram("ask_wait_seconds", "How long a question waited until a person answered.", askBuckets)
	m.writeSeconds = m.histogram("record_write_seconds", "How long a call waited until the record had its entry on disk.",
		writeBuckets)
	m.writeFailures = m.counter("record_write_failures_total",
		"Calls that did not happen because the record could not write.")
	for _, at := range []counted{m.askSeconds, m.writeSeconds, m.writeFailures} {
		at.of() // begins at zero
	}
	m.access = m.counter("access_total", "Entries about clients, by state: admitted, or why they were turned away.",
		"state")
	m.policy = m.counter("policy_changes_total", "Configurations that were put in force or rejected.", "state")
	m.requests = m.counter("http_requests_total", "Requests over HTTP that ended, by route, method and status.",
		"route", "method", "code")
	m.open = m.figure(Gauge, "http_requests_open",
		"Requests over HTTP that are being served, event streams included.", nil, "route")
	return m
}

func (m *Metrics) counter(name, help string, labels ...string) counted {
	return m.figure(Counter, name, help, nil, labels...)
}

func (m *Metrics) histogram(name, help string, bounds []float64, labels ...string) counted {
	return m.figure(Histogram, name, help, bounds, labels...)
}

// figure makes a figure, or what this tenant has of it. bounds are those of a histogram.
func (m *Metrics) figure(kind Kind, name, help string, bounds []float64, labels ...string) counted {
	f := m.families[name]
	if f == nil {
		f = &family{Family: Family{Name: "codemode_" + name, Help: help, Kind: kind, Bounds: bounds},
			labels: labels, series: map[[maxLabels]string]*series{}}
		if m.tenant != nil {
			f.labels = append([]string{"tenant"}, labels...)
		}
		m.families[name] = f
	}
	return counted{f, m.tenant}
}

// Gather returns all figures of the process as they are, sorted by name. Figures without a series are left out.
func (r *registry) Gather() []Family {
	all := map[string]*Family{}
	for _, f := range r.families {
		if one := f.gather(); one.Series != nil {
			all[one.Name] = &one
		}
	}
	add := func(kind Kind, name, help string, v float64, labels ...Label) {
		if all[name] == nil {
			all[name] = &Family{Name: name, Help: help, Kind: kind}
		}
		all[name].Series = append(all[name].Series, Series{Labels: labels, Value: v})
	}
	for _, m := range r.all {
		m.scrape(add)
	}
	add(Gauge, "codemode_build_info", "Always 1; the labels say what runs.", 1, Label{"goversion", runtime.Version()},
		Label{"version", r.version})
	ofProcess(add)
	sorted := make([]Family, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sorted = append(sorted, *all[name])
	}
	return sorted
}

// Observer returns the functions that count what the record gets.
func (m *Metrics) Observer() recorder.Observer {
	return recorder.Observer{Entry: m.entry, Written: m.written}
}

// entry counts an entry of the record.
func (m *Metrics) entry(_ context.Context, e *call.Entry) {
	switch e.Kind {
	case audit.Call:
		m.call(e)
	case audit.Run:
		m.run(e)
	case audit.Approval:
		m.answers.add(1, m.answered.bound(e.State))
		if e.DecidedBy != nil && e.DecidedBy.How == "person" && e.State != call.Late {
			m.askSeconds.observe(float64(e.DecidedBy.LatencyMS) / 1000)
		}
	case audit.Access:
		m.access.add(1, m.states.bound(e.State))
	case audit.Policy:
		m.policy.add(1, m.states.bound(e.State))
	}
}

func (m *Metrics) call(e *call.Entry) {
	switch e.State {
	case audit.Running:
		return
	case audit.Pending:
		m.asks.add(1, m.profile(e))
		return
	case audit.Refused:
		m.refusals.add(1, m.reasons.bound(e.Reason))
	}
	server := "none" // nobody has such a tool
	if e.Server != "" {
		server = m.servers.bound(e.Server)
	}
	m.calls.add(1, server, e.Verdict, e.State)
	if e.State != audit.Refused {
		m.callSeconds.observe(e.MS/1000, server)
	}
}

func (m *Metrics) run(e *call.Entry) {
	profile := m.profile(e)
	switch e.State {
	case audit.Running:
		m.runsStarted.add(1, profile)
	case audit.Parked:
		m.runsParked.add(1, profile)
	case audit.OK, audit.Failed, audit.Refused, audit.Unknown:
		m.runsEnded.add(1, profile, m.outcomes.bound(e.Reason))
		if e.MS > 0 {
			m.runSeconds.observe(e.MS/1000, profile)
		}
	case audit.Resumed:
		m.runsResumed.add(1, profile)
	}
}

// profile is the name of an entry's profile; "(base tool)" is the base tool without one.
func (m *Metrics) profile(e *call.Entry) string {
	if e.Profile == "" {
		return "(base tool)"
	}
	return m.profiles.bound(e.Profile)
}

// written counts the writing of a call's entry.
func (m *Metrics) written(took time.Duration, err error) {
	m.writeSeconds.observe(took.Seconds())
	if err != nil {
		m.writeFailures.add(1)
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
	for _, route := range []string{"mcp", "page", "probe", "other"} {
		m.open.add(0, route)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, prefix), "/"), "/")
		route := cmp.Or(routes[first], "other")
		method := "unknown"
		if slices.Contains(methods, r.Method) {
			method = strings.ToLower(r.Method)
		}
		m.open.add(1, route)
		answer := &status{ResponseWriter: w, code: http.StatusOK}
		defer func() {
			m.open.add(-1, route)
			m.requests.add(1, route, method, strconv.Itoa(answer.code))
		}()
		next.ServeHTTP(answer, r)
	})
}

// methods are the values of the label method; others count as unknown.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace}

// A status remembers the status of a response.
type status struct {
	http.ResponseWriter
	code  int
	final bool
}

// WriteHeader is of [http.ResponseWriter]. The first status that is not of 1xx counts.
func (s *status) WriteHeader(code int) {
	if !s.final {
		s.code, s.final = code, code >= 200
	}
	s.ResponseWriter.WriteHeader(code)
}

// Flush is of [http.Flusher].
func (s *status) Flush() { _ = http.NewResponseController(s.ResponseWriter).Flush() }

// Unwrap is of [http.ResponseController].
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// scrapes bounds the scrapes at once, and how long one takes.
const (
	scrapes    = 4
	scrapeWait = 10 * time.Second
)

// Handler serves the figures in the text format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	turns := make(chan struct{}, scrapes)
	return http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		default:
			http.Error(w, "too many scrapes at once", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		write(w, m.Gather())
	}), scrapeWait, "the figures could not be gathered in time")
}
