package config

import (
	"time"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// Results is the key "results": what is kept of values and console outputs that do not fit into a reply, and of the
// images, audio and files that programs keep.
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
	b.quota(n, "results", quota{keep: &r.Keep, largest: &r.Largest, bytes: &r.Bytes, number: &r.Number,
		longest: longestResults, most: largestResult})
	return r
}
