package config

import (
	"fmt"
	"time"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A quota is what the keys "results" and "sessions" have in common: how long something is kept, and how much of it.
type quota struct {
	keep    *time.Duration
	largest *int64 // bytes of one
	bytes   *int64 // of all of one principal
	number  *int   // likewise

	longest time.Duration // that keep may be
	most    int64         // that largest may be
}

// quota reads the object of a key, such as "results"; more are its other members.
func (b *builder) quota(n strictjson.Value, key string, q quota, more ...settings.Field) {
	var largest, all strictjson.Value
	b.Object(n, fmt.Sprintf("%q", key), append([]settings.Field{
		settings.Key("keep", func(n strictjson.Value) {
			if *q.keep = b.Duration(n, `"keep"`); *q.keep > q.longest {
				hours := int(q.longest.Hours())
				b.Wrong(n, fmt.Sprintf("write %dh or less", hours), "%s are kept for at most %d days", key, hours/24)
			}
		}),
		settings.Key("largest", func(n strictjson.Value) {
			largest = n
			*q.largest = b.keptSize(n, `"largest"`, q.most)
		}),
		settings.Key("bytes", func(n strictjson.Value) {
			all = n
			*q.bytes = b.keptSize(n, `"bytes"`, maxCapacity)
		}),
		settings.Key("number", func(n strictjson.Value) { *q.number = int(b.Whole(n, `"number"`, 1)) }),
	}, more...))
	if *q.largest <= *q.bytes || *q.bytes == 0 {
		return
	}
	at, hint := largest, `lower it, or raise "bytes"`
	if at.Kind() == strictjson.Missing {
		at, hint = all, `raise it, or lower "largest"`
	}
	b.Wrong(at, hint, `"largest" is %d bytes, and all %s of a principal may have %d: none of that size would be kept`,
		*q.largest, key, *q.bytes)
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
