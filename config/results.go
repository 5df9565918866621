package config

import (
	"time"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Results is the key "results": what is kept of values and console outputs that do not fit into a reply.
//
//	"results": { "keep": "24h", "largest": "32MiB", "bytes": "256MiB", "number": 1000 }
//
// The key is false to keep nothing.
type Results struct {
	Off     bool
	Keep    time.Duration // how long a result is kept
	Largest int64         // bytes of one result: a program that returns more fails
	Bytes   int64         // of all results of one principal; the oldest make way
	Number  int           // likewise
}

const (
	// longestResults is the longest that results are kept.
	longestResults = 30 * 24 * time.Hour
	// largestResult is the most that results.largest may be: programs need several times as much memory.
	largestResult = 256 << 20
)

// usualResults are the rules if no file sets them.
var usualResults = Results{Keep: 24 * time.Hour, Largest: 32 << 20, Bytes: 256 << 20, Number: 1000}

// KeptResults returns the key "results", or the usual rules.
func (c *Config) KeptResults() Results {
	if c == nil || c.results == nil {
		return usualResults
	}
	return *c.results
}

func (b *builder) results(n strictjson.Value) Results {
	r := usualResults
	switch n.Kind() {
	case strictjson.False:
		r.Off = true
		return r
	case strictjson.Object:
	default:
		b.Wrong(n, `write false, or {"keep": "24h"}`, `"results" must be false or an object, this is %s`, n.Kind())
		return r
	}
	var largest, all strictjson.Value
	b.Object(n, `"results"`, []settings.Field{
		settings.Key("keep", func(n strictjson.Value) {
			if r.Keep = b.Duration(n, `"keep"`); r.Keep > longestResults {
				b.Wrong(n, "write 720h or less", "results are kept for at most 30 days")
			}
		}),
		settings.Key("largest", func(n strictjson.Value) {
			largest = n
			r.Largest = b.keptSize(n, `"largest"`, largestResult)
		}),
		settings.Key("bytes", func(n strictjson.Value) {
			all = n
			r.Bytes = b.keptSize(n, `"bytes"`, maxCapacity)
		}),
		settings.Key("number", func(n strictjson.Value) { r.Number = int(b.Whole(n, `"number"`, 1)) }),
	})
	b.fits(largest, all, r.Largest, r.Bytes, "results")
	return r
}

func (b *builder) keptSize(n strictjson.Value, what string, most int64) int64 {
	size := b.SizeUpTo(n, what, most)
	switch {
	case size > most:
		b.Wrong(n, "lower it", "%s must be at most %d bytes", what, most)
	case size > 0 && size < leastCapacity:
		b.Wrong(n, "raise it", "%s must be at least 1MiB", what)
	}
	return size
}
