package budgets

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/store"
)

// A window begins with each minute, hour or day of UTC, and a raised limit counts at once.
func TestWindows(t *testing.T) {
	for every, window := range map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour} {
		t.Run(every, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				most := 2
				k := &Keeper{Log: slog.Default(), Config: func() *config.Config {
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

// What cannot be counted does not fit.
func TestWithoutTheDatabase(t *testing.T) {
	k := &Keeper{Log: slog.Default(), Record: gone{}, Config: func() *config.Config {
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
func (gone) DB(context.Context) (*store.DB, error) { return nil, errGone }
