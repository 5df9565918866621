package builtin

import (
	"context"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // for machines without a list of zones
)

// Time returns the built-in server for the time: the current one in any zone, and a given one in another zone.
func Time() Server { return timeServer(time.Now) }

// A moment is a point in time in a zone.
type moment struct {
	ISO      string `json:"iso"`
	UnixMS   int64  `json:"unix_ms"`
	Timezone string `json:"timezone"`
	Offset   string `json:"offset"`
	Date     string `json:"date"`
	Time     string `json:"time"`
	Weekday  string `json:"weekday"`
}

func momentOf(t time.Time, zone string) moment {
	return moment{
		ISO: t.Format("2006-01-02T15:04:05.000Z07:00"), UnixMS: t.UnixMilli(), Timezone: zone,
		Offset: t.Format("-07:00"), Date: t.Format(time.DateOnly), Time: t.Format(time.TimeOnly),
		Weekday: t.Weekday().String(),
	}
}

func timeServer(now func() time.Time) Server {
	return Server{Name: "time", Tools: []Tool{
		tool("now", func(_ context.Context, a struct {
			Timezone string `json:"timezone"`
		}) (any, error) {
			zone, name, err := zoneOf(a.Timezone)
			if err != nil {
				return nil, err
			}
			return momentOf(now().In(zone), name), nil
		}),
		tool("convert", func(_ context.Context, a struct {
			Time string `json:"time"`
			From string `json:"from"`
			To   string `json:"to"`
		}) (any, error) {
			from, _, err := zoneOf(a.From)
			if err != nil {
				return nil, err
			}
			to, name, err := zoneOf(a.To)
			if err != nil {
				return nil, err
			}
			t, err := parseTime(a.Time, from)
			if err != nil {
				return nil, err
			}
			return momentOf(t.In(to), name), nil
		}),
	}}
}

func zoneOf(name string) (*time.Location, string, error) {
	if name == "" {
		return time.UTC, "UTC", nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") { // the zone of this machine stays private
		return nil, "", fmt.Errorf("unknown timezone %q: use an IANA name such as Europe/Berlin", name)
	}
	return zone, name, nil
}

func parseTime(s string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04:05",
		"2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: write it like 2026-11-20T09:30:00+01:00", s)
}
