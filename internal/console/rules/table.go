package rules

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/changes"
	"github.com/codemode-project/codemode/profiles"
)

// A Table is a profile or an overlay as its rules decide: the denylist before the asklist before the allowlist. The
// sections decide independently, and the strictest verdict counts.
type Table struct {
	Name     string          `json:"name"` // of the profile, BaseName for the base tool's; or the id of the overlay
	Overlay  *config.Overlay `json:"overlay,omitempty"`
	Over     bool            `json:"over,omitempty"` // the overlay's time is over
	File     string          `json:"file"`
	At       string          `json:"at"` // file:line, without the folder
	Sections []Section       `json:"sections"`
	Bound    Bound           `json:"bound"`
	// Gone counts calls that were decided by rules that are not here any more, or that nobody can tell apart.
	Gone int `json:"gone"`
	// NoRule counts calls that something else than a rule decided: "unmatched", "raise" or a mark of the server.
	NoRule Use `json:"noRule"`
}

// A Section is the profile's own rules, or those of a layer over it.
type Section struct {
	Layer     string `json:"layer,omitempty"` // floor, overlay ...; "" is the profile itself
	Profile   string `json:"profile,omitempty"`
	At        string `json:"at"`
	Muted     string `json:"muted,omitempty"` // why the allow rules allow nothing
	Rows      []Row  `json:"rules"`
	Unmatched string `json:"unmatched"` // the verdict on calls that no rule here mentions
}

// A Row is a rule.
type Row struct {
	List    string `json:"list"`
	Rule    string `json:"rule"`  // as written, as standard JSON
	Label   string `json:"label"` // its id, else its patterns
	Profile string `json:"profile"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	At      string `json:"at"` // line:column in the file

	Tools  []string `json:"tools"` // connected ones that it is about
	Use    Use      `json:"use"`
	Doubts []string `json:"doubts,omitempty"` // what the check of the rules finds
}

// Never reports whether no call in the record was decided by the rule.
func (r *Row) Never() bool { return r.Use == Use{} }

// mostNames is how many tools of a rule a page lists.
const mostNames = 200

// Few are the names that a page lists, and Beyond is how many more there are.
func (r *Row) Few() []string { return r.Tools[:min(len(r.Tools), mostNames)] }

// Beyond pairs with Few.
func (r *Row) Beyond() int { return max(0, len(r.Tools)-mostNames) }

// Use counts recent calls.
type Use struct {
	Calls   int `json:"calls"`
	Asked   int `json:"asked"`   // put to a person
	Refused int `json:"refused"` // denied, or refused by a person
}

func (u *Use) add(c *changes.PastCall) {
	u.Calls++
	if c.Verdict == call.Ask {
		u.Asked++
	}
	if c.Verdict == call.Deny || c.Refused {
		u.Refused++
	}
}

// A Summary is a profile in a list.
type Summary struct {
	Name    string `json:"name"` // BaseName is the base tool's
	At      string `json:"at"`
	Rules   int    `json:"rules"`
	Default bool   `json:"default,omitempty"` // the base tool runs under it
	Listed  bool   `json:"listed"`            // programs may choose it
}

// Profiles lists the profiles in force, the base tool's first.
func (b *Book) Profiles() []Summary {
	all := []Summary{}
	cfg := b.Rules.Config()
	if cfg == nil {
		return all
	}
	listed := cfg.Names()
	for _, name := range append([]string{""}, cfg.All()...) {
		p := cfg.Profile(name)
		if p == nil || name == "" && cfg.Default != "" { // the default profile is listed under its own name
			continue
		}
		all = append(all, Summary{Name: cmp.Or(name, BaseName), At: p.Pos().Short(), Rules: len(p.Rules()),
			Default: name == cfg.Default, Listed: name == "" || slices.Contains(listed, name)})
	}
	return all
}

// Profile makes the table of a profile; nil if there is no such profile.
func (b *Book) Profile(ctx context.Context, name string) *Table {
	cfg := b.Rules.Config()
	if name == BaseName {
		name = ""
	}
	if cfg == nil || cfg.Profile(name) == nil {
		return nil
	}
	p := cfg.Profile(name)
	m := b.maker(ctx, cfg)
	t := &Table{Name: cmp.Or(name, BaseName), File: p.Pos().File, At: p.Pos().Short(), Bound: m.bound}
	t.Sections = append(t.Sections, m.section(p, ""))
	for _, l := range p.Layers() {
		s := m.section(l.Profile, l.What)
		s.Profile, s.Muted = l.Name(), l.Mute
		t.Sections = append(t.Sections, s)
	}
	m.count(t, func(c *changes.PastCall) bool {
		return c.Profile == p.Name() && !strings.HasPrefix(c.Layer, overlayLayer)
	})
	return t
}

const overlayLayer = "overlay "

// Overlays makes the tables of all overlays, most specific first, as they are tried.
func (b *Book) Overlays(ctx context.Context) []*Table {
	all := []*Table{}
	cfg := b.Rules.Config()
	if cfg == nil {
		return all
	}
	m := b.maker(ctx, cfg)
	for _, o := range cfg.Overlays() {
		t := &Table{Name: o.ID, Overlay: &o, File: o.Pos.File, At: o.Pos.Short(), Bound: m.bound,
			Over: !o.Until.IsZero() && !time.Now().Before(o.Until)}
		for _, l := range o.Layers() {
			s := m.section(l.Profile, l.What)
			s.Profile, s.Muted = l.Name(), l.Mute
			t.Sections = append(t.Sections, s)
		}
		m.count(t, func(c *changes.PastCall) bool { return c.Layer == overlayLayer+o.ID })
		all = append(all, t)
	}
	return all
}

// A maker makes tables of one configuration.
type maker struct {
	tools  []*call.Tool
	doubts map[string][]string // by position
	past   changes.Past
	bound  Bound
}

func (b *Book) maker(ctx context.Context, cfg *config.Config) *maker {
	m := &maker{tools: b.Tools(), doubts: map[string][]string{}}
	for _, f := range cfg.Lint(infos(m.tools)) {
		at := f.Position.String()
		if !slices.Contains(m.doubts[at], f.Message) {
			m.doubts[at] = append(m.doubts[at], f.Message)
		}
	}
	m.bound = b.count(ctx, func(_ context.Context, past changes.Past) error {
		m.past = past
		return nil
	})
	return m
}

func (m *maker) section(p *profiles.Profile, layer string) Section {
	s := Section{Layer: layer, At: p.Pos().Short(), Unmatched: p.ByDefault().String(), Rows: []Row{}}
	for _, r := range p.Rules() {
		row := Row{List: r.List.String(), Rule: r.Text, Label: r.Label(), Profile: r.Profile, File: r.Pos.File,
			Line: r.Pos.Line, At: fmt.Sprintf("%d:%d", r.Pos.Line, r.Pos.Column), Tools: []string{},
			Doubts: m.doubts[r.Pos.String()]}
		for _, t := range m.tools {
			if r.Matches(t.Name, t.Server+"__"+t.Raw) {
				row.Tools = append(row.Tools, t.Name)
			}
		}
		slices.Sort(row.Tools)
		s.Rows = append(s.Rows, row)
	}
	return s
}

// A decider is how the record names what decided a call.
type decider struct{ layer, label string }

// count adds what the record says about the rules of a table. The record has the label of the rule that led to the
// verdict, and its place at that time. Where several rules have one label, the place tells them apart.
func (m *maker) count(t *Table, about func(*changes.PastCall) bool) {
	rows := map[decider][]*Row{}
	for i := range t.Sections {
		s := &t.Sections[i]
		for j := range s.Rows {
			by := decider{s.Layer, s.Rows[j].Label}
			rows[by] = append(rows[by], &s.Rows[j])
		}
	}
	for i := range m.past.Calls {
		c := &m.past.Calls[i]
		if !about(c) {
			continue
		}
		if c.Rule == "" {
			t.NoRule.add(c)
			continue
		}
		found := rows[decider{c.Layer, c.Rule}]
		if len(found) > 1 {
			found = slices.DeleteFunc(slices.Clone(found), func(r *Row) bool {
				return call.Position{File: r.File, Line: r.Line}.Short() != c.At
			})
		}
		if len(found) != 1 {
			t.Gone++
			continue
		}
		found[0].Use.add(c)
	}
}
