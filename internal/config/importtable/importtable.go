// Package importtable converts another gate's rule table, in which the first match decides, into a profile with the
// same decisions.
package importtable

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// An Imported is a profile made of a rule table.
type Imported struct {
	File    []byte   // a configuration file with the profile
	Wide    []string // in a sentence each, the rules that approve every tool
	Notes   []string // where the profile is stricter than the table, and other notes
	Depends []string // in a sentence each, which tools the other order, or a tie, would decide differently
}

// ImportReleio makes a profile of the rules of releio: a JSON array of objects, or an object with such an array in
// "rules", with serverId, toolName, toolPattern, autoApprove and priority. The table tries its rules in the given
// order, the first matching rule decides, and without a match it asks a person. Without an order, a table that depends
// on it gives an [*OrderError]. In a toolName, * stands for any characters, as in a toolPattern. An "action" of
// approve, ask or deny replaces autoApprove in tables with three actions. Servers maps the ids of the table to server
// names here. An id that is not in it counts as a name, unless "servers" in the file has it. An unknown key, a wrong
// type and an id of servers that no rule has are [settings.Problems] of the file: what is not understood could be what
// limits a rule.
//
// The profile decides as the table does. An ask rule names the approve rules above it as its exceptions, so no pattern
// needs to exclude another one. A deny rule has no exceptions here: it also denies what rules above it approve or ask
// about, and a note says so. A final rule that denies everything else becomes "unmatched".
func ImportReleio(data []byte, profile string, servers map[string]string, order Order) (Imported, error) {
	rules, notes, err := readTable(data, servers)
	if err != nil {
		return Imported{}, err
	}
	depends := orderMatters(rules)
	if order == 0 && len(depends) > 0 {
		return Imported{}, &OrderError{depends}
	}
	im := importer{rules: order.sorted(rules), notes: notes, unmatched: call.Ask}
	im.write()
	im.refuseAmbiguous()
	depends = append(depends, ties(rules)...)
	file := im.file(profile, order, depends)
	if _, err := config.Parse("imported.json", file); err != nil {
		return Imported{}, fmt.Errorf("the profile made of the table would not load: %w", err)
	}
	return Imported{File: file, Wide: im.wide, Notes: im.notes, Depends: depends}, nil
}

// An importer converts an ordered table, in which the first matching rule decides, into lists, in which the strictest
// does.
type importer struct {
	rules     []tableRule // the first match counts
	lists     [3][]string // rules of each list, as JSON
	wide      []string    // sentences about the rules that approve every tool
	notes     []string
	unmatched call.Verdict
	vague     bool // a loosening rule is about a tool of any server
}

// write writes the rules that have an effect.
func (im *importer) write() {
	var rules []tableRule // without rules below a rule that covers them
	for _, r := range im.rules {
		if slices.ContainsFunc(rules, func(above tableRule) bool { return above.covers(&r) }) {
			im.notes = append(im.notes, r.name()+" never decides anything: rules above it do")
			continue
		}
		rules = append(rules, r)
	}
	if last := len(rules) - 1; last >= 0 && rules[last].Action == call.Deny && rules[last].everything() {
		im.unmatched = call.Deny
		rules = rules[:last]
	}
	im.rules = rules
	for i := range rules {
		r := &rules[i]
		switch r.Action {
		case call.Allow:
			im.loosens(r)
			if r.allTools() {
				im.wide = append(im.wide, r.name()+" approves every tool, also those that come later")
			}
			im.add(profiles.Allowlist, r, nil)
		case call.Ask:
			// "unmatched" asks anyway, unless a rule below would allow.
			if im.unmatched == call.Deny || len(im.meeting(r, rules[i+1:], call.Allow)) > 0 {
				if im.unmatched == call.Deny {
					im.loosens(r)
				}
				im.add(profiles.Asklist, r, im.meeting(r, rules[:i], call.Allow))
			}
		case call.Deny:
			for _, above := range slices.Concat(im.meeting(r, rules[:i], call.Allow), im.meeting(r, rules[:i], call.Ask)) {
				im.notes = append(im.notes, fmt.Sprintf("%s cannot be an exception to %s: what both are about is denied",
					above.name(), r.name()))
			}
			im.add(profiles.Denylist, r, nil)
		}
	}
}

// loosens notes a rule that allows more than "unmatched" does.
func (im *importer) loosens(r *tableRule) {
	im.vague = im.vague || r.Server == "" && !r.everything()
}

// meeting returns the rules with that action that may share a tool with r.
func (im *importer) meeting(r *tableRule, rules []tableRule, action call.Verdict) (all []*tableRule) {
	for i := range rules {
		if rules[i].Action == action && rules[i].meets(r) {
			all = append(all, &rules[i])
		}
	}
	return all
}

// add writes a rule; exceptions are the allow rules that an ask rule gives way to.
func (im *importer) add(l profiles.List, r *tableRule, exceptions []*tableRule) {
	var unless []string
	for _, x := range exceptions {
		unless = append(unless, x.label())
	}
	raw, err := json.Marshal(struct {
		ID     string   `json:"id"`
		Tool   string   `json:"tool"`
		Unless []string `json:"unlessAllowed,omitempty"`
		Reason string   `json:"reason"`
	}{r.label(), r.pattern(l != profiles.Allowlist), unless, r.name()})
	if err != nil {
		panic(err) // strings are always JSON
	}
	im.lists[l] = append(im.lists[l], string(raw))
}

// refuseAmbiguous handles names that a rule about any server could split at the wrong place: with two "__" a pattern
// cannot separate the server's part from the tool's. The profile asks about such tools, or denies them if the table
// denies unnamed tools.
func (im *importer) refuseAmbiguous() {
	if !im.vague {
		return
	}
	l := profiles.Asklist
	if im.unmatched == call.Deny {
		l = profiles.Denylist
	}
	im.lists[l] = append(im.lists[l],
		`{"id":"imported-ambiguous","tool":["*__*__*","*___*"],"reason":"where the server's name ends cannot be told"}`)
}

func (im *importer) file(profile string, order Order, depends []string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  // Made of a rule table in which the first rule that fits decides.\n")
	if order != 0 {
		fmt.Fprintf(&b, "  // Its priorities were read %s.\n", order)
	}
	for _, d := range depends {
		fmt.Fprintf(&b, "  // Depends on the order: %s.\n", visible.InComment(d))
	}
	for _, w := range im.wide {
		fmt.Fprintf(&b, "  // Look at this: %s.\n", visible.InComment(w))
	}
	for _, n := range im.notes {
		fmt.Fprintf(&b, "  // Note: %s.\n", visible.InComment(n))
	}
	fmt.Fprintf(&b, "  \"evaluation\": {\n    \"profiles\": {\n      %s: {\n", strictjson.AppendString(nil, profile))
	for l := profiles.Denylist; l <= profiles.Allowlist; l++ {
		if len(im.lists[l]) > 0 {
			fmt.Fprintf(&b, "        %q: [\n          %s\n        ],\n", l, strings.Join(im.lists[l], ",\n          "))
		}
	}
	fmt.Fprintf(&b, "        \"unmatched\": %q\n      }\n    }\n  }\n}\n", im.unmatched)
	return []byte(b.String())
}
