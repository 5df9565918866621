package hostfns

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheClockOfACallStandsStillWhileAPersonIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := 0
		ctx, clock, cancel := newClock(t.Context(), 10*time.Second, func() func() { run++; return func() { run-- } })
		defer cancel()
		time.Sleep(6 * time.Second)
		first, second := clock.pause(), clock.pause()
		time.Sleep(time.Hour)
		first()
		time.Sleep(time.Hour)
		if ctx.Err() != nil || run != 1 {
			t.Fatalf("while one of two waits goes on: %v, the run is stopped %d times", ctx.Err(), run)
		}
		second()
		time.Sleep(3 * time.Second)
		if ctx.Err() != nil || run != 0 {
			t.Fatalf("9 s of 10 are over: %v, the run is stopped %d times", ctx.Err(), run)
		}
		time.Sleep(2 * time.Second)
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("11 s are over: got %v", context.Cause(ctx))
		}
	})
}

func TestAClockThatIsOverStaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, clock, cancel := newClock(t.Context(), time.Second, nil)
		resume := clock.pause()
		cancel()
		resume()
		time.Sleep(time.Minute)
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Error("it went on after the call was over")
		}
	})
}
