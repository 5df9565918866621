package inforce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/store"
)

// A window begins with each minute, hour or day of UTC, and a raised limit counts at once.
func TestWindows(t *testing.T) {
	for every, window := range map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour} {
		t.Run(every, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				most := 2
				k := &Budgets{Log: slog.Default(), Config: func() *config.Config {
					cfg, err := config.Parse("c.json", fmt.Appendf(nil,
						`{"budgets": [{"id": "a", "calls": %d, "every": %q}]}`, most, every))
					if err != nil {
						t.Error(err)
					}
					return cfg
				}}
				charge := func(principal string, fits bool) {
					t.Helper()
					err := k.Charge(t.Context(), &call.Charge{Principal: principal, Tool: &call.Tool{Name: "s__t", Server: "s"}})
					limit, ok := errors.AsType[*hostfns.LimitError](err)
					if fits != (err == nil) || !fits && (!ok || limit.Budget != "a" ||
						!limit.Until.Equal(time.Now().UTC().Truncate(window).Add(window))) {
						t.Fatalf("%s at %v: %v", principal, time.Now(), err)
					}
				}
				time.Sleep(window / 3)
				charge("anna", true)
				charge("anna", true)
				charge("anna", false)
				charge("bert", true)
				most = 3
				charge("anna", true)
				charge("anna", false)
				most = 1
				charge("bert", false)
				time.Sleep(window*2/3 - time.Nanosecond)
				charge("anna", false)
				time.Sleep(time.Nanosecond)
				charge("anna", true)
				time.Sleep(10 * window)
				charge("anna", true)
				charge("anna", false)
			})
		})
	}
}

// After the clock has moved by an hour nobody has a budget twice: a count goes on in the latest window that anybody has
// begun, and looking at the clock alone forgets none.
func TestTheClockMovesByAnHour(t *testing.T) {
	cfg, err := config.Parse("c.json", []byte(`{"budgets": [{"id": "a", "calls": 2, "every": "hour"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Truncate(24 * time.Hour).Add(12*time.Hour + 30*time.Minute)
	for _, test := range []struct {
		why   string
		calls []time.Duration // when, from now on
		want  string          // what fits
	}{
		{"in one hour", []time.Duration{0, 0, 0}, "yes yes no"},
		{"forward: the next hour begins early", []time.Duration{0, 0, time.Hour, time.Hour, time.Hour}, "yes yes yes yes no"},
		{"and back: counts go on in that hour", []time.Duration{0, 0, time.Hour, 0, 0}, "yes yes yes yes no"},
		{"back: counts go on in the hour before", []time.Duration{0, 0, -time.Hour, -time.Hour}, "yes yes no no"},
	} {
		k := &Budgets{Log: slog.Default(), Config: func() *config.Config { return cfg }}
		var got []string
		for _, after := range test.calls {
			k.memory.sweep(now.Add(time.Hour)) // somebody else's call, while the clock was an hour ahead
			fits := "no"
			parts := k.parts(&call.Charge{Principal: "anna", Tool: &call.Tool{Name: "s__t", Server: "s"}}, now.Add(after), false)
			if full, err := k.charge(t.Context(), parts); err != nil {
				t.Fatal(err)
			} else if full < 0 {
				fits = "yes"
			}
			got = append(got, fits)
			k.memory.last = time.Time{}
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s: %s, want %s", test.why, s, test.want)
		}
	}
}

// What cannot be counted does not fit.
func TestWithoutTheDatabase(t *testing.T) {
	k := &Budgets{Log: slog.Default(), Record: gone{}, Config: func() *config.Config {
		cfg, _ := config.Parse("c.json", []byte(`{"budgets": [{"id": "a", "calls": 9, "every": "day"}]}`))
		return cfg
	}}
	if err := k.Charge(t.Context(), &call.Charge{Tool: &call.Tool{}}); !errors.Is(err, errGone) {
		t.Error(err)
	}
	k.Config = func() *config.Config { return nil }
	if err := k.Charge(context.Background(), &call.Charge{Tool: &call.Tool{}}); err != nil {
		t.Error(err)
	}
}

var errGone = errors.New("gone")

type gone struct{}

func (gone) Keeps() bool                           { return true }
func (gone) Full(string) error                     { return nil }
func (gone) DB(context.Context) (*store.DB, error) { return nil, errGone }
