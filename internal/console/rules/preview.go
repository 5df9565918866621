package rules

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/config/changes"
	"github.com/codemode-project/codemode/profiles"
)

// A Preview is what a new text of a file would change.
type Preview struct {
	Diff []Line `json:"diff"`
	// Settings are changes of profiles besides their rules, and profiles that come or go, in words.
	Settings []string `json:"settings"`
	Bound    Bound    `json:"bound"`
	Compared int      `json:"compared"` // recent calls that both texts have a profile for
	Changed  int      `json:"changed"`  // those that they decide differently
	Gone     int      `json:"gone"`     // calls under profiles that one of them does not have
	Shifts   []Shift  `json:"shifts"`   // the most frequent first
	More     int      `json:"more"`     // kinds of change that are left out
}

// A Shift is a kind of change: calls of one tool under one profile, from one verdict to another one.
type Shift struct {
	Profile string   `json:"profile"`
	Tool    string   `json:"tool"`
	Was     string   `json:"was"` // several verdicts with "or": it depends on what the record does not keep
	Is      string   `json:"is"`
	Calls   int      `json:"calls"`
	Refused int      `json:"refused"`        // by a person, then
	Looser  bool     `json:"looser"`         // something may happen that did not, or that a person was asked about
	Runs    []string `json:"runs,omitempty"` // the latest ones with such a call
}

// mostShifts bounds the shifts of a preview.
const mostShifts = 50

// Preview compares a new text of a file with the rules in force. The error says that the text is not good.
func (b *Book) Preview(ctx context.Context, path, before, after string) (*Preview, error) {
	files, err := b.Files()
	if err != nil {
		return nil, err
	}
	next, err := files.LoadWith(path, []byte(after))
	if err != nil {
		return nil, err
	}
	p := &Preview{Diff: Diff(Plain(before), Plain(after), 2), Settings: []string{}, Shifts: []Shift{}}
	now := b.Rules.Config()
	if now == nil {
		return p, nil
	}
	for _, name := range union(append(now.All(), ""), append(next.All(), "")) {
		was, is := now.Profile(name), next.Profile(name)
		title := "profile " + cmp.Or(name, "of the base tool")
		switch {
		case was == nil:
			p.Settings = append(p.Settings, title+" is new")
		case is == nil:
			p.Settings = append(p.Settings, title+" is gone: its programs may call nothing any more")
		case name == "" && (now.Default != "" || next.Default != ""):
		default:
			_, settings := profiles.Diff(was, is)
			for _, line := range settings {
				p.Settings = append(p.Settings, title+": "+line)
			}
		}
	}
	if now.Default != next.Default {
		p.Settings = append(p.Settings, fmt.Sprintf("defaultProfile: %q -> %q", now.Default, next.Default))
	}
	e := &changes.Effect{}
	p.Bound = b.count(ctx, func(ctx context.Context, past changes.Past) (err error) {
		if e, err = changes.Compare(ctx, now, next, past.Calls); err != nil {
			e = &changes.Effect{}
		}
		return err
	})
	p.Compared, p.Gone = e.Calls, e.Gone
	for i := range e.Others {
		s := &e.Others[i]
		if p.Changed += s.Count; len(p.Shifts) == mostShifts {
			p.More++
			continue
		}
		p.Shifts = append(p.Shifts, Shift{Profile: cmp.Or(s.Profile, BaseName), Tool: s.Tool, Was: changes.VerdictsText(s.Was),
			Is: changes.VerdictsText(s.Is), Calls: s.Count, Refused: s.Refused, Runs: s.Runs,
			Looser: slices.Max(append(s.Is, call.Deny)) > slices.Max(append(s.Was, call.Deny))})
	}
	return p, nil
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
