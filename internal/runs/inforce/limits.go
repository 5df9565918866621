package inforce

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/sandbox"
)

// DefaultTextBytes is the longest text of a response, unless somebody says otherwise: what the clients that we know
// give their models whole.
const DefaultTextBytes = 10 << 10

// LargestTextBytes is the longest text of a response to a client that gives more to its model.
const LargestTextBytes = 64 << 10

// TextBytes is the longest text of a response to a client, by the name that the client gives. Codex gives its model
// 12,000 characters, OpenCode 50 KB; of a longer text the model gets a part from both ends, or nothing.
func TextBytes(client string) int {
	name, _, _ := strings.Cut(client, " ")
	switch name {
	case "claude-code", "codemode": // the latter is our own command, whose reader scrolls
		return LargestTextBytes
	}
	return DefaultTextBytes
}

// keptConsole is how much a program may print, unless somebody says otherwise, where what does not fit is kept.
const keptConsole = 1 << 20

// Limits are those of the profile, else of the configuration, else the defaults. reply bounds the text of
// Response.Text, for a client of that name. Where results are kept, a program may return and print more than a reply
// shows.
func (r *Rules) Limits(p *profiles.Profile, client string) (l sandbox.Limits, reply int) {
	l = sandbox.DefaultLimits()
	reply = TextBytes(client)
	kept := r.KeptResults(p)
	if !kept.Off {
		l.ConsoleBytes = keptConsole
		l.ResultBytes = int(kept.Largest)
	}
	apply := func(from profiles.Limits) {
		l.CPU, l.Wall = cmp.Or(from.CPU, l.CPU), cmp.Or(from.Wall, l.Wall)
		l.Memory = cmp.Or(from.Memory, l.Memory)
		l.Calls, l.InFlight = cmp.Or(from.Calls, l.Calls), cmp.Or(from.InFlight, l.InFlight)
		l.ArgumentBytes = cmp.Or(from.ArgumentBytes, l.ArgumentBytes)
		l.ConsoleBytes, l.ProgramBytes = cmp.Or(from.ConsoleBytes, l.ConsoleBytes), cmp.Or(from.ProgramBytes, l.ProgramBytes)
		reply = cmp.Or(from.ResultBytes, reply)
	}
	if cfg := r.Config(); cfg != nil {
		apply(cfg.Limits)
	}
	if p != nil {
		apply(p.Bounded(profiles.Limits{
			CPU: l.CPU, Wall: l.Wall, Memory: l.Memory, Calls: l.Calls, InFlight: l.InFlight, ArgumentBytes: l.ArgumentBytes,
			ConsoleBytes: l.ConsoleBytes, ProgramBytes: l.ProgramBytes, ResultBytes: reply,
		}))
	}
	l.ResultBytes = max(l.ResultBytes, reply)
	return l, reply
}

// KeptResults says whether and how results of programs under a profile are kept.
func (r *Rules) KeptResults(p *profiles.Profile) config.Results {
	kept := r.Config().KeptResults()
	kept.Off = kept.Off || p != nil && !p.KeepsResults()
	return kept
}

// KeptSessions says whether and how sessions of programs under a profile are kept.
func (r *Rules) KeptSessions(p *profiles.Profile) config.Sessions {
	kept := r.Config().Sessions()
	kept.Off = kept.Off || p != nil && !p.HasSessions()
	return kept
}

// CallTimeout is the time limit of one call.
func (r *Rules) CallTimeout(p *profiles.Profile) time.Duration {
	timeout := hostfns.DefaultCallTimeout
	if cfg := r.Config(); cfg != nil {
		timeout = cmp.Or(cfg.Limits.Call, timeout)
	}
	if p != nil {
		timeout = p.Bounded(profiles.Limits{Call: timeout}).Call
	}
	return timeout
}

// PreflightLife is how long the token of a check is valid.
func (r *Rules) PreflightLife() time.Duration {
	if cfg := r.Config(); cfg != nil && cfg.PreflightLifetime > 0 {
		return cfg.PreflightLifetime
	}
	return config.UsualPreflightLifetime // unless the configuration says
}

// ProgramHash identifies a program by its text, byte for byte.
func ProgramHash(code string) string {
	sum := sha256.Sum256([]byte(code))
	return "sha256:" + hex.EncodeToString(sum[:])
}
