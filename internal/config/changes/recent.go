package changes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// An Effect says which past calls an accepted proposal would have decided differently. It ignores limits, as
// [Profile.Replay] does.
type Effect struct {
	Calls  int     // calls that the rules decided before and after
	Own    int     // the changed calls with the proposal's tool, and its arguments if it has some
	Others []Shift // the other changed calls, most frequent first
	Gone   int     // calls under profiles that no longer exist; not among Calls
}

// A Shift is a way in which calls of one tool under one profile change.
type Shift struct {
	Profile, Tool string
	Was, Is       []call.Verdict // several if it depends on data that is not in the record
	Count         int
	Refused       int             // how many of them a person refused
	Args          json.RawMessage // of the first of them; nil if they are not in the record
	Runs          []string        // the latest runs of them, oldest first; at most mostRuns
}

// EffectOf says what a proposal would have changed in past calls. The errors are those of [ProposeInFiles]: a refused
// proposal has no effect.
func EffectOf(ctx context.Context, p Proposal, f config.Files, past []PastCall) (*Effect, error) {
	data, err := config.ReadFile(f.User)
	if err != nil {
		return nil, err
	}
	return p.effect(ctx, f.User, data, func(text []byte) (*config.Config, error) { return f.LoadWith(f.User, text) }, past)
}

func (p Proposal) effect(
	ctx context.Context, file string, data []byte, load func([]byte) (*config.Config, error), past []PastCall,
) (*Effect, error) {
	made, err := p.in(file, data, load)
	if err != nil {
		return nil, err
	}
	pattern, bad := match.ParseName(p.Tool)
	if bad != nil {
		return nil, fmt.Errorf("the tool %q: %s", p.Tool, bad.Message)
	}
	return compare(ctx, made.before, made.accepted, past, func(c *PastCall) bool {
		return pattern.Match(c.Tool) && (p.Args == nil || len(c.Masked) == 0 && sameJSON(p.Args, c.Args))
	})
}

// Compare says which past calls other rules would decide differently. It counts overlays that select by the session,
// the principal, the role or the saved program, and none that selects by a digest or a token: the record of calls has
// neither. It takes up to a millisecond for each call; its only error is that ctx has ended.
func Compare(ctx context.Context, before, after *config.Config, past []PastCall) (*Effect, error) {
	return compare(ctx, before, after, past, func(*PastCall) bool { return false })
}

func compare(
	ctx context.Context, before, after *config.Config, past []PastCall, own func(*PastCall) bool,
) (*Effect, error) {
	e := &Effect{}
	for i := range past {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := &past[i]
		was, is := before.Narrowed(c.Profile, c.Who, c.Time), after.Narrowed(c.Profile, c.Who, c.Time)
		if was == nil || is == nil {
			e.Gone++
			continue
		}
		e.Calls++
		before, after := Replay(was, *c), Replay(is, *c)
		switch {
		case slices.Equal(before.Verdicts, after.Verdicts):
		case own(c):
			e.Own++
		default:
			e.shift(Shift{Profile: c.Profile, Tool: c.Tool, Was: before.Verdicts, Is: after.Verdicts, Args: c.Args}, c)
		}
	}
	slices.SortStableFunc(e.Others, func(a, b Shift) int { return b.Count - a.Count })
	return e, nil
}

// shift counts a changed call.
func (e *Effect) shift(s Shift, c *PastCall) {
	at := slices.IndexFunc(e.Others, func(o Shift) bool {
		return o.Profile == s.Profile && o.Tool == s.Tool && slices.Equal(o.Was, s.Was) && slices.Equal(o.Is, s.Is)
	})
	if at < 0 {
		at, e.Others = len(e.Others), append(e.Others, s)
	}
	e.Others[at].Count++
	if c.Refused {
		e.Others[at].Refused++
	}
	if runs := e.Others[at].Runs; c.Run != "" && !slices.Contains(runs, c.Run) {
		e.Others[at].Runs = append(runs[max(0, len(runs)-mostRuns+1):], c.Run)
	}
}

// sameJSON reports whether two texts have the same value. It ignores the order of keys and the spelling of numbers.
func sameJSON(a, b json.RawMessage) bool {
	x, err1 := strictjson.Canonical(a)
	y, err2 := strictjson.Canonical(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// mostRuns bounds the runs of a [Shift].
const mostRuns = 3

// mostShifts bounds the listed shifts, and shownArgs the length of their arguments.
const mostShifts, shownArgs = 10, 100

// Lines describe the effect in words, for a person who is about to accept. over names the period of the calls: "30
// days". Show arguments of past calls only to people who may read the record.
func (e *Effect) Lines(over string, arguments bool) []string {
	if e.Calls == 0 {
		return []string{fmt.Sprintf("the record of the last %s has no calls to compare with", over)}
	}
	others := 0
	for _, s := range e.Others {
		others += s.Count
	}
	lines := []string{fmt.Sprintf("of %d recent calls (%s) it changes %d as proposed", e.Calls, over, e.Own)}
	if others == 0 {
		lines[0] += ", and no other"
		return lines
	}
	lines = append(lines, fmt.Sprintf("it also changes %d of %d recent calls:", others, e.Calls))
	for i, s := range e.Others {
		if i == mostShifts {
			lines = append(lines, fmt.Sprintf("  (%d more kinds of change)", len(e.Others)-i))
			break
		}
		if !arguments {
			s.Args = nil
		}
		lines = append(lines, "  "+s.text())
	}
	return lines
}

// text writes a shift on one line: ASK -> ALLOW: fs__write {"path":"b"} under work (3 calls, 1 refused by a person).
func (s *Shift) text() string {
	args := ""
	if s.Args != nil {
		if args = " " + string(s.Args); len(args) > shownArgs {
			args = strings.ToValidUTF8(args[:shownArgs], "") + "..."
		}
	}
	under := ""
	if s.Profile != "" {
		under = " under " + s.Profile
	}
	count := "1 call"
	if s.Count > 1 {
		count = fmt.Sprintf("%d calls, this one and others", s.Count)
	}
	if s.Refused > 0 {
		count += fmt.Sprintf(", %d refused by a person", s.Refused)
	}
	was, is := strings.ToUpper(VerdictsText(s.Was)), strings.ToUpper(VerdictsText(s.Is))
	return fmt.Sprintf("%s -> %s: %s%s%s (%s)", was, is, s.Tool, args, under, count)
}
