package bench

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/bench/printed"
	"github.com/codemode-project/codemode/internal/visible"
)

// SpeedFormats are the formats that [SpeedReport.Write] supports.
var SpeedFormats = []string{"table", "json"}

// Write prints the report.
func (r *SpeedReport) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		return printed.JSON(w, r)
	case "table":
		return r.writeTable(w)
	}
	return printed.Unknown(format)
}

func (r *SpeedReport) writeTable(w io.Writer) error {
	var b strings.Builder
	visible.Fprintf(&b, "%s, %d processors, guest %.16s\n\n", r.System, r.CPUs, r.Guest)
	var rows [][]string
	row := func(what, key, unit string, value *float64) {
		if value == nil {
			return
		}
		spread := ""
		if s, ok := r.Spread[key]; ok {
			spread = fmt.Sprintf("%s to %s", Digits(s.Low), Digits(s.High))
		}
		rows = append(rows, []string{what, Digits(*value) + " " + unit, spread})
	}
	row("process start to first result", "cold_start_ms", "ms", r.ColdStart)
	row("  with an empty cache", "", "ms", r.FirstStart)
	row("fresh run", "fresh.p50_us", "µs", &r.Fresh.P50)
	row("  99 of 100 within", "", "µs", &r.Fresh.P99)
	row("  one after the other", "", "a second", &r.Fresh.PerS)
	row("  on all processors", "", "a second", &r.Fresh.PerSAll)
	row("host call", "host_call_us", "µs", &r.HostCall)
	row("100 calls of 10 ms at once", "parallel100_ms", "ms", &r.Parallel100)
	row("computing: recursion", "cpu.fib_ms", "ms", &r.CPU.Fib)
	row("  JSON", "cpu.json_ms", "ms", &r.CPU.JSON)
	row("  text", "cpu.text_ms", "ms", &r.CPU.Text)
	row("  numbers", "cpu.math_ms", "ms", &r.CPU.Math)
	row("  with kill checks", "", "times the time without", &r.CPU.KillCheck)
	row("a waiting run holds", "", "KiB", r.Waiting)
	row("a parked one", "parked.written_kib", "KiB", &r.Parked.Written)
	row("  image to result", "parked.resume_ms", "ms", &r.Parked.Resume)
	row("a program in a warm session", "session.p50_us", "µs", &r.Session.P50)
	row("  to a fresh run of it", "session.fresh_ratio", "times that", &r.Session.Ratio)
	row("  put away, opened again, and a program", "session.put_away_ms", "ms", &r.Session.PutAway)
	row("  its image", "session.image_kib", "KiB", &r.Session.Image)
	many := fmt.Sprintf("a program in one of %d stored sessions", r.Session.Many)
	row(many, "session.reopened_ms", "ms", &r.Session.Reopened)
	row("  resident memory with all of them", "", "MiB", r.Session.ManyMemory)
	row("  to that with a tenth of them", "", "times that", r.Session.ManyGrowth)
	row("runtime.GC during eight endless programs, at most", "gc_pause_ms", "ms", &r.GCPause)
	row("a fresh run beside them, 99 of 100 within", "probe_p99_ms", "ms", &r.ProbeP99)
	printed.Table(&b, rows)
	_, err := io.WriteString(w, b.String())
	return err
}

// Digits keeps about three digits of a number.
func Digits(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}
