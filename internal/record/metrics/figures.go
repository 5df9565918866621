package metrics

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A Family is one figure at the moment of its gathering, with a series for each set of label values.
type Family struct {
	Name, Help string
	Kind       Kind
	Bounds     []float64 // of the buckets of a histogram, without infinity
	Series     []Series
}

// A Series is a value with its labels.
type Series struct {
	Labels  []Label
	Value   float64  // of a histogram: the sum of the values
	Buckets []uint64 // of a histogram: how many values are between the bounds; one more than Bounds
}

// A Label is a name and a value.
type Label struct{ Name, Value string }

// Kind is what a figure is, in the words of Prometheus.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// maxLabels is how many labels a figure has at most, tenant included.
const maxLabels = 4

// A family has the series of a figure that is counted. Many goroutines may use it.
type family struct {
	Family
	labels []string
	mu     sync.RWMutex
	series map[[maxLabels]string]*series
}

type series struct {
	value   atomic.Uint64 // the bits of a float64
	buckets []atomic.Uint64
}

// A counted is a family, or what a tenant has of it.
type counted struct {
	*family
	tenant []string // its name, if there are tenants
}

// of returns the series with these values of the labels.
func (f counted) of(values ...string) *series {
	var key [maxLabels]string
	copy(key[copy(key[:], f.tenant):], values)
	f.mu.RLock()
	s := f.series[key]
	f.mu.RUnlock()
	if s != nil {
		return s
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s = f.series[key]; s == nil {
		s = &series{}
		if f.Kind == Histogram {
			s.buckets = make([]atomic.Uint64, len(f.Bounds)+1)
		}
		f.series[key] = s
	}
	return s
}

// add adds to the value of a counter or gauge.
func (f counted) add(n float64, values ...string) { f.of(values...).add(n) }

// observe adds a value to a histogram. The upper bound of a bucket belongs to it.
func (f counted) observe(v float64, values ...string) {
	s := f.of(values...)
	at, _ := slices.BinarySearch(f.Bounds, v)
	s.add(v)
	s.buckets[at].Add(1)
}

func (s *series) add(n float64) {
	for {
		old := s.value.Load()
		if s.value.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+n)) {
			return
		}
	}
}

// gather returns the series as they are, sorted by the values of their labels.
func (f *family) gather() Family {
	f.mu.RLock()
	defer f.mu.RUnlock()
	all := f.Family
	for key, s := range f.series {
		one := Series{Value: math.Float64frombits(s.value.Load())}
		for i, name := range f.labels {
			one.Labels = append(one.Labels, Label{name, key[i]})
		}
		for i := range s.buckets {
			one.Buckets = append(one.Buckets, s.buckets[i].Load())
		}
		all.Series = append(all.Series, one)
	}
	slices.SortFunc(all.Series, func(a, b Series) int {
		return slices.CompareFunc(a.Labels, b.Labels, func(a, b Label) int { return strings.Compare(a.Value, b.Value) })
	})
	return all
}

// write writes figures in the text format of Prometheus, version 0.0.4
// (prometheus.io/docs/instrumenting/exposition_formats).
func write(w io.Writer, all []Family) {
	for _, f := range all {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", f.Name, f.Help, f.Kind)
		for _, s := range f.Series {
			sorted := slices.SortedFunc(slices.Values(s.Labels), func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
			labels := labelled(sorted)
			if f.Kind != Histogram {
				fmt.Fprintf(w, "%s%s %s\n", f.Name, labels, decimal(s.Value))
				continue
			}
			below := uint64(0)
			for i, n := range s.Buckets {
				below += n
				bound := math.Inf(1)
				if i < len(f.Bounds) {
					bound = f.Bounds[i]
				}
				fmt.Fprintf(w, "%s_bucket%s %d\n", f.Name, labelled(append(sorted, Label{"le", decimal(bound)})), below)
			}
			fmt.Fprintf(w, "%s_sum%s %s\n%[1]s_count%[2]s %[4]d\n", f.Name, labels, decimal(s.Value), below)
		}
	}
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func labelled(labels []Label) string {
	if len(labels) == 0 {
		return ""
	}
	var b strings.Builder
	for i, l := range labels {
		b.WriteString(string("{,"[min(i, 1)]))
		b.WriteString(l.Name + `="` + escapeLabel.Replace(l.Value) + `"`)
	}
	return b.String() + "}"
}

// decimal writes a number; infinity is +Inf.
func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
