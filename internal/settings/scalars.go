package settings

import (
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// Duration reads a positive Go duration.
func (r *Reader) Duration(n strictjson.Value, what string) time.Duration {
	return r.DurationFrom(n, what, 1)
}

// DurationFrom reads a Go duration of at least low, which is 0 or more.
func (r *Reader) DurationFrom(n strictjson.Value, what string, low time.Duration) time.Duration {
	const hint = `write it as "90s", "5m" or "2h30m"`
	if n.Kind() != strictjson.String {
		r.Wrong(n, hint, "%s must be a duration in a string, this is %s", what, n.Kind())
		return 0
	}
	d, err := time.ParseDuration(n.Text())
	switch {
	case err != nil:
		r.Wrong(n, hint, "%s is not a duration", what)
	case d < low && low == 0:
		r.Wrong(n, hint, "%s must not be negative", what)
	case d < low:
		r.Wrong(n, "remove it if there should be no limit of its own", "%s must be longer than nothing", what)
	}
	return max(d, 0)
}

// Moment reads the time at which a rule ends.
func (r *Reader) Moment(n strictjson.Value) time.Time {
	const hint = `write it as "2026-12-31T18:00:00Z"`
	if n.Kind() != strictjson.String {
		r.Wrong(n, hint, `"until" must be a string, this is %s`, n.Kind())
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, n.Text())
	if err != nil || t.IsZero() {
		r.Wrong(n, hint, `"until" is not a time as RFC 3339 has it`)
	}
	return t
}

// Whole reads a whole number of at least low.
func (r *Reader) Whole(n strictjson.Value, what string, low int64) int64 {
	if n.Kind() == strictjson.String {
		r.Wrong(n, "write it without quotes", "%s must be a whole number, this is %s", what, n.Kind())
		return 0
	}
	if n.Kind() != strictjson.Number {
		r.Wrong(n, "", "%s must be a whole number, this is %s", what, n.Kind())
		return 0
	}
	i, err := strconv.ParseInt(n.Text(), 10, 64)
	switch {
	case err != nil:
		r.Wrong(n, "", "%s must be a whole number", what)
	case i < low:
		r.Wrong(n, "", "%s must be at least %d", what, low)
	case i > maxCount:
		r.Wrong(n, "", "%s must be at most %d", what, int64(maxCount))
	}
	return i
}

// maxCount exceeds every count here, and fits every int.
const maxCount = 1 << 31

// units are the suffixes that a size in bytes may have.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"KB", 1000}, {"MB", 1000 * 1000}, {"GB", 1000 * 1000 * 1000}, {"B", 1},
}

// SizeUpTo reads a number of bytes, or text such as "64KiB".
func (r *Reader) SizeUpTo(n strictjson.Value, what string, most int64) int64 {
	const hint = `write a number of bytes, or "64KiB", "1MiB"`
	switch n.Kind() {
	case strictjson.Number:
		return r.Whole(n, what, 1)
	case strictjson.String:
		if i, ok := bytesOf(n.Text(), most); ok {
			return i
		}
	}
	r.Wrong(n, hint, "%s must be a number of bytes", what)
	return 0
}

// bytesOf reads a text such as "64KiB".
func bytesOf(text string, most int64) (int64, bool) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		i, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		return i * u.bytes, err == nil && i >= 1 && i <= most/u.bytes
	}
	return 0, false
}
