package upstream

import (
	"fmt"
	"strings"
)

// The limits above which Health mentions something.
const (
	manyChanges = 50
	muchStderr  = 10 << 20
)

// Health says in sentences what a person should know about the server beside
// its state, and what to do about it. An empty list means that all is well.
func (s Status) Health() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if s.State == Starting && s.Tools == 0 && s.Restarts == 0 {
		say("it has not listed its tools yet")
	}
	if s.Stale && s.State == Ready {
		say("it no longer lists its tools (%s); the tools shown are those of its last good list", s.ListError)
	} else if s.Stale {
		say("the tools shown are those of its last good list")
	}
	if s.Restarts > 0 {
		what := "started"
		if s.Protocol == "" {
			what = "tried"
		}
		say("it was %s again %s", what, times(s.Restarts))
	}
	if s.State != Ready && strings.HasPrefix(s.Error, errStart.Error()) {
		say(`start its command by hand to see what it waits for, or give it more time: "timeout": {"startup": milliseconds}`)
	}
	if s.CallError != "" {
		say("its last call got no answer: %s", s.CallError)
	}
	if s.Dropped > 0 {
		say("dropped lines on its standard output that are no messages: %d; logs belong on standard error", s.Dropped)
	}
	if s.Unexpected > 0 {
		say("dropped answers to no request, or to one that had timed out: %d", s.Unexpected)
	}
	if s.StderrBytes > muchStderr {
		say("it wrote %d MiB to its standard error; only the end is kept", s.StderrBytes>>20)
	}
	if s.Changes > manyChanges {
		say("it announced a change of its tools %s; the list is read again at most twice a second", times(s.Changes))
	}
	if s.Refused > 0 {
		say("it sent requests that failed %s (last: %s)", times(s.Refused), s.LastRefused)
	}
	return append(out, s.Notes...)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
