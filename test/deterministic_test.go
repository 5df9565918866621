package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/sandbox"
)

// The same deterministic request gives the same, when calls are answered at once and when a person takes so long that
// the run is parked and its answers come in another order.
func TestDeterministicRequests(t *testing.T) {
	up := newPerformed(t)
	e, _ := newReplica(t, fleetFolder(t, up, `"codemode.db"`))
	defer e.Close(context.WithoutCancel(t.Context()))
	request := codemode.Request{
		Code: `const log: unknown[] = [];
			const asked = codemode.up__second({n: 1}).then(() => log.push("asked", Date.now()));
			const first = codemode.up__first({n: 2}).then(() => log.push("allowed", Math.random()));
			await Promise.all([asked, first]); console.log(log.length);
			await new Promise(r => setTimeout(r, 3_600_000));
			return [log, new Date(), crypto.randomUUID(), input]`,
		Input:         json.RawMessage(`{"x": 1}`),
		Deterministic: &codemode.Deterministic{Seed: 1 << 63, Start: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)},
	}
	run := func(profile string) string {
		t.Helper()
		r := request
		r.Profile, r.Channels = profile, []approvals.Channel{slowly()}
		resp, err := e.Eval(t.Context(), r)
		if err != nil || resp.Usage.Steps == 0 {
			t.Fatalf("got %s, %v after %d steps", resp.Value, err, resp.Usage.Steps)
		}
		return fmt.Sprint(string(resp.Value), resp.Console, resp.Usage.Steps)
	}
	allowed := run("q")
	if asked := run("p"); asked != allowed {
		t.Errorf("a run whose first call was asked about gave\n%s\nwant\n%s", asked, allowed)
	}
	request.Deterministic = &codemode.Deterministic{Steps: 300}
	_, err := e.Eval(t.Context(), request)
	if ended, ok := errors.AsType[*sandbox.Error](err); !ok || ended.Kind != sandbox.TooManySteps {
		t.Errorf("with 300 steps allowed it ended with %v", err)
	}
}
