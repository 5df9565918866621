package inforce

import (
	"log/slog"
	"sync"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/profiles"
)

// shadows logs where the shadow profile ("shadow" in the configuration) would decide otherwise. It has no effect on the
// call.
type shadows struct {
	noted sync.Map // logged differences: a call is decided several times
}

func (s *shadows) compare(log *slog.Logger, live *profiles.Profile, c profiles.Call, d call.Decision) {
	beside := live.Shadow()
	if beside == nil {
		return
	}
	difference := profiles.Differ(d, beside.Decide(c))
	if difference == "" {
		return
	}
	if _, again := s.noted.LoadOrStore(c.Name+"\x00"+c.Args.String()+"\x00"+difference, true); !again {
		log.Warn("the shadow profile would decide otherwise", "profile", live.Name(), "shadow", beside.Name(), "tool", c.Name,
			"difference", difference)
	}
}
