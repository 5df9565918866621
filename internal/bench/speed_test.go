package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/guest/quickjs"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/hostile"
)

// asFirst makes the test binary a command that prints 1, for the cold start.
const asFirst = "BENCH_TEST_PRINTS_1"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asFirst {
		os.Stdout.WriteString("1\n")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestSpeed(t *testing.T) {
	hostile.NotRaced(t, "it measures times")
	if testing.Short() {
		t.Skip("it measures times: run it without -short")
	}
	binary, err := os.Executable()
	checktest.OK(t, err)
	var steps []string
	r, err := Speed(t.Context(), SpeedOptions{
		Wasm: quickjs.Wasm(), CacheDir: cachetest.Dir(), Quick: true, Start: []string{binary, asFirst},
		Progress: func(_, _ int, what string) { steps = append(steps, what) },
	})
	checktest.OK(t, err)
	if len(steps) != 11 {
		t.Errorf("progress was told of %q", steps)
	}

	var b bytes.Buffer
	checktest.OK(t, r.Write(&b, "json"))
	var keys map[string]any
	checktest.OK(t, json.Unmarshal(b.Bytes(), &keys))
	for _, path := range []string{
		"cold_start_ms", "first_start_ms", "fresh.p50_us", "fresh.p99_us", "fresh.per_s", "fresh.per_s_all",
		"host_call_us", "parallel100_ms", "cpu.fib_ms", "cpu.json_ms", "cpu.text_ms", "cpu.math_ms", "cpu.kill_check_ratio",
		"waiting_kib", "parked.written_kib", "parked.resume_ms", "session.p50_us",
		"session.fresh_ratio", "session.put_away_ms", "session.image_kib", "session.many",
		"session.reopened_ms", "session.many_mib", "session.many_growth", "gc_pause_ms", "probe_p99_ms",
	} {
		at := any(keys)
		for key := range strings.SplitSeq(path, ".") {
			at = at.(map[string]any)[key]
		}
		if n, ok := at.(float64); (!ok || n <= 0) && !(at == nil && liveGuests() < 0) {
			t.Errorf("%s is %v, want a number above 0", path, at)
		}
	}
	if r.Fresh.P50 > r.Fresh.P99 || r.Parallel100 < 10 || r.Parked.Written > 64 ||
		r.Session.Image > 16 {
		t.Errorf("these cannot be: %+v", r)
	}

	b.Reset()
	checktest.OK(t, r.Write(&b, "table"))
	if !strings.Contains(b.String(), "host call") || !strings.Contains(b.String(), "times the time without") {
		t.Errorf("the table lacks figures:\n%s", &b)
	}
	if err := r.Write(&b, "junit"); err == nil {
		t.Error("an unknown format was accepted")
	}
}

func TestWhatIsNotMeasuredIsNull(t *testing.T) {
	m := meter{ctx: t.Context()}
	checktest.OK(t, m.coldStart())
	var b bytes.Buffer
	checktest.OK(t, m.report.Write(&b, "json"))
	for _, want := range []string{`"cold_start_ms": null`, `"waiting_kib": null`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("want %s in\n%s", want, &b)
		}
	}
}

// What is compared with is this guest, but for the counters in its loops.
func TestGuestWithoutChecks(t *testing.T) {
	checked := quickjs.Wasm()
	check := findCheck(checked)
	unchecked, err := withoutChecks(checked)
	if err != nil || len(check) < 20 || len(unchecked) != len(checked) || findCheck(unchecked) != nil {
		t.Fatalf("got %d bytes of %d, %v; the check is % x", len(unchecked), len(checked), err, check)
	}
	if n := bytes.Count(checked, check); n < 1000 {
		t.Errorf("%d loops report in, want those of a whole interpreter", n)
	}
	changed := 0
	for i := range checked {
		if checked[i] != unchecked[i] {
			changed++
		}
	}
	if most := bytes.Count(checked, check) * len(check); changed > most {
		t.Errorf("%d bytes changed, of which checks are %d", changed, most)
	}
	if _, err := withoutChecks(unchecked); err == nil {
		t.Error("a guest without checks was taken for one")
	}
}

func TestColdStartOfACommandThatFails(t *testing.T) {
	m := meter{ctx: t.Context(), o: SpeedOptions{Start: []string{"/nothing/here"}}}
	if err := m.coldStart(); err == nil {
		t.Error("it gave no error")
	}
	binary, err := os.Executable()
	checktest.OK(t, err)
	m.o.Start = []string{binary, "-test.list", "none"}
	if err := m.coldStart(); err == nil || !strings.Contains(err.Error(), "instead of 1") {
		t.Errorf("a command that prints something else gave %v", err)
	}
}

func TestQuantile(t *testing.T) {
	for _, test := range []struct {
		q    float64
		want float64
	}{{0, 1}, {0.05, 1}, {0.5, 5}, {0.9, 9}, {0.95, 10}, {0.99, 10}, {1, 10}} {
		if got := Quantile([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, test.q); got != test.want {
			t.Errorf("quantile %v: got %v, want %v", test.q, got, test.want)
		}
	}
}
