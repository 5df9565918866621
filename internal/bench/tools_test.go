package bench

import (
	"context"
	"encoding/json"
	"time"

	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/sandbox"
)

// suiteLimits are the limits that suites assume, but for the time.
func suiteLimits(cpu time.Duration) sandbox.Limits {
	return sandbox.Limits{CPU: cpu, Wall: cpu + 10*time.Millisecond, Memory: 64 << 20, Calls: 2000, InFlight: 16,
		ArgumentBytes: 8 << 20, ResultBytes: 1 << 20}
}

// ownTools are the tools of a harness, in this process.
func ownTools(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	switch name {
	case "echo":
		return args, nil
	case "slow":
		var a struct {
			MS float64 `json:"ms"`
		}
		_ = json.Unmarshal(args, &a) // anything else is a wait of zero
		select {
		case <-time.After(time.Duration(min(max(a.MS, 0), 1e7) * float64(time.Millisecond))):
			return json.RawMessage(`"done"`), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, &isolation.Refused{Code: "failed", Message: "it failed, as it always does"}
}

// runs runs a case.
func (s *served) runs(ctx context.Context, c *Case) isolation.Outcome {
	end, _ := s.once(ctx, isolation.Run{Name: c.File, Program: c.source, Allow: []string{"echo", "slow", "fail"}}, nil, ownTools)
	return end
}
