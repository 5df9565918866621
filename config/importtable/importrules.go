package importtable

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// A tableRule is a row of a rule table with priorities, as desktop assistants keep it.
type tableRule struct {
	ID       string
	Server   string // "" = all
	Tool     string // exact name, "" = see Pattern
	Pattern  string // * stands for any characters, case does not matter; "" = every tool
	Action   profiles.Verdict
	Priority float64
	order    int
}

// An Imported is a profile made of a rule table.
type Imported struct {
	File    []byte   // a configuration file with the profile
	Notes   []string // where the profile is stricter than the table, and what else to know
	Depends []string // in a sentence each, which tools would be decided otherwise in the other order, or by a tie
}

// ImportReleio makes a profile of the rules of releio: a JSON array of objects, or an object
// whose "rules" is one, with serverId, toolName, toolPattern, autoApprove and priority. The
// rules are tried in the given order, the first rule that fits decides, and where none fits a
// person is asked. Without an order, a table that depends on it is an [*OrderError]. In a
// toolName * stands for any characters, as in a toolPattern. An "action" of approve, ask or deny
// stands in for autoApprove where the table has three. Servers gives the names here by the ids there; an id that is not in it is
// taken for a name, unless "servers" in the file knows it.
//
// The profile decides as the table does. Deny comes before ask and ask before allow here, so
// where a rule is an exception to one below it, the one below is written out around it. What
// cannot be written out, because both have patterns with several stars, becomes stricter.
func ImportReleio(data []byte, profile string, servers map[string]string, order Order) (Imported, error) {
	rules, err := readTable(data, servers)
	if err != nil {
		return Imported{}, err
	}
	depends := orderMatters(rules)
	if order == 0 && len(depends) > 0 {
		return Imported{}, &OrderError{depends}
	}
	im := importer{rules: order.sorted(rules)}
	im.write()
	im.askAboutAmbiguous()
	depends = append(depends, ties(rules)...)
	file := im.file(profile, order, depends)
	if _, err := config.Parse("imported.json", file); err != nil {
		return Imported{}, fmt.Errorf("the profile made of the table would not load: %w", err)
	}
	return Imported{File: file, Notes: im.notes, Depends: depends}, nil
}

func readTable(data []byte, servers map[string]string) ([]tableRule, error) {
	list, bad := settings.ParseArguments(string(data))
	if bad != nil {
		return nil, fmt.Errorf("the rule table is not JSON: %s", bad.Message)
	}
	names := map[string]string{}
	if list.Kind() == strictjson.Object {
		if known := settings.Member(list, "servers"); known.Kind() != strictjson.Missing {
			for s := range settings.Children(known) {
				names[textOf(s, "id")] = textOf(s, "name")
			}
		}
		list = settings.Member(list, "rules")
	}
	if list.Kind() != strictjson.Array {
		return nil, errors.New(`the rule table must be an array of rules, or {"rules": [...]}`)
	}
	for id, name := range servers {
		names[id] = name
	}
	var rules []tableRule
	for n := range settings.Children(list) {
		r, err := readTableRule(n, len(rules))
		if err != nil {
			return nil, fmt.Errorf("rule %d of the table: %w", len(rules)+1, err)
		}
		r.Server = cmp.Or(names[r.Server], r.Server)
		rules = append(rules, r)
	}
	return rules, nil
}

// textOf gives a member that is text; the spelling of database columns counts too.
func textOf(n strictjson.Value, keys ...string) string {
	for _, key := range keys {
		if m := settings.Member(n, key); m.Kind() == strictjson.String {
			return m.Text()
		}
	}
	return ""
}

func readTableRule(n strictjson.Value, order int) (r tableRule, err error) {
	if n.Kind() != strictjson.Object {
		return r, fmt.Errorf("it is %s, not an object", n.Kind())
	}
	r = tableRule{
		ID: textOf(n, "id"), Server: textOf(n, "serverId", "server_id"),
		Tool: textOf(n, "toolName", "tool_name"), Pattern: textOf(n, "toolPattern", "tool_pattern"), order: order + 1,
	}
	if r.Server == "*" {
		r.Server = ""
	}
	if strings.Contains(r.Tool, "*") { // no tool has such a name
		if r.Pattern != "" {
			return r, fmt.Errorf("both the tool's name %q and the pattern %q are patterns: leave one out", r.Tool, r.Pattern)
		}
		r.Tool, r.Pattern = "", r.Tool
	}
	for _, key := range []string{"serverId", "server_id", "toolName", "tool_name", "toolPattern", "tool_pattern"} {
		if m := settings.Member(n, key); m.Kind() != strictjson.Missing && m.Kind() != strictjson.Null && (m.Kind() != strictjson.String || m.Text() == "") {
			return r, fmt.Errorf("%q must be text or null", key)
		}
	}
	if m := settings.Member(n, "priority"); m.Kind() != strictjson.Missing {
		if json.Unmarshal(settings.Source(m), &r.Priority) != nil {
			return r, errors.New(`"priority" must be a number`)
		}
	}
	r.Action, err = tableAction(n)
	return r, err
}

func tableAction(n strictjson.Value) (profiles.Verdict, error) {
	for _, key := range []string{"action", "mode"} {
		m := settings.Member(n, key)
		if m.Kind() == strictjson.Missing {
			continue
		}
		switch m.Text() {
		case "approve", "allow", "auto", "auto_approve":
			return profiles.Allow, nil
		case "ask", "require_approval", "confirm":
			return profiles.Ask, nil
		case "deny", "reject", "block":
			return profiles.Deny, nil
		}
		return profiles.Deny, fmt.Errorf("%q must be approve, ask or deny", key)
	}
	for _, key := range []string{"autoApprove", "auto_approve"} {
		m := settings.Member(n, key)
		if m.Kind() == strictjson.Missing {
			continue
		}
		switch m.Compact() {
		case "true", "1":
			return profiles.Allow, nil
		case "false", "0":
			return profiles.Ask, nil
		}
		return profiles.Deny, fmt.Errorf("%q must be true or false", key)
	}
	return profiles.Deny, errors.New(`it has neither "autoApprove" nor "action"`)
}

// An importer turns rules of which the first counts into lists of which the strictest does.
type importer struct {
	rules []tableRule // the first that fits counts
	lists [3][]string // rules of each list, as JSON
	hard  []bool      // an ask rule that stands in the asklist
	notes []string
	vague bool // an allow rule is about a tool of any server
}

// write decides for each rule whether its list says the same by itself. Where no rule fits,
// unmatched asks, so an ask rule is only needed above what would allow.
func (im *importer) write() {
	im.hard = make([]bool, len(im.rules))
	for i := range im.rules {
		r := &im.rules[i]
		if r.Action == profiles.Ask {
			im.hard[i] = im.meets(i, profiles.Allow, false) && !im.meets(i, profiles.Allow, true)
			if im.hard[i] {
				im.add(profiles.Asklist, r, []area{r.area()})
			}
		}
	}
	for i := range im.rules {
		r := &im.rules[i]
		switch r.Action {
		case profiles.Allow:
			im.around(i, profiles.Allowlist, func(j int) bool { return im.rules[j].Action == profiles.Ask && !im.hard[j] })
		case profiles.Deny:
			im.around(i, profiles.Denylist, func(j int) bool { return im.rules[j].Action != profiles.Deny })
		}
	}
}

// meets reports whether a rule of that action, above or below, fits some tool of rule i.
func (im *importer) meets(i int, action profiles.Verdict, above bool) bool {
	for j := range im.rules {
		if (j < i) == above && j != i && im.rules[j].Action == action && im.rules[i].area().meets(im.rules[j].area()) {
			return true
		}
	}
	return false
}

// around writes rule i without what the rules above it, that its list would override, decide.
func (im *importer) around(i int, l profiles.List, overridden func(j int) bool) {
	r := &im.rules[i]
	areas := []area{r.area()}
	for j := range i {
		above := &im.rules[j]
		if !overridden(j) || !r.area().meets(above.area()) {
			continue
		}
		left, ok := without(areas, above.area())
		if !ok {
			im.stricter(r, above, j)
			if l == profiles.Denylist {
				continue // it denies what is above it too
			}
			im.add(profiles.Asklist, above, []area{above.area()})
			im.hard[j] = true
			continue
		}
		areas = left
	}
	im.add(l, r, areas)
}

func (im *importer) stricter(r, above *tableRule, j int) {
	im.notes = append(im.notes, fmt.Sprintf("%s cannot be written as an exception to %s: what both are about is decided by the stricter of the two", above.name(), r.name()))
}

func (im *importer) add(l profiles.List, r *tableRule, areas []area) {
	seen := map[string]bool{}
	var patterns []string
	for _, a := range areas {
		im.vague = im.vague || l == profiles.Allowlist && a.server.star && !a.tool.all()
		if p := a.pattern(l != profiles.Allowlist); !seen[p] {
			seen[p] = true
			patterns = append(patterns, p)
		}
	}
	if len(patterns) == 0 {
		im.notes = append(im.notes, r.name()+" never decides anything: rules above it do")
		return
	}
	var tool any = patterns
	if len(patterns) == 1 {
		tool = patterns[0]
	}
	raw, err := json.Marshal(struct {
		ID     string `json:"id"`
		Tool   any    `json:"tool"`
		Reason string `json:"reason"`
	}{fmt.Sprintf("imported-%d", r.order), tool, r.name()})
	if err != nil {
		panic(err) // strings are always JSON
	}
	im.lists[l] = append(im.lists[l], string(raw))
}

// askAboutAmbiguous keeps an allow rule about a tool of any server from being read with the
// name cut at another place: where "__" stands twice, a pattern cannot tell the server's
// part from the tool's.
func (im *importer) askAboutAmbiguous() {
	if !im.vague {
		return
	}
	im.lists[profiles.Asklist] = append(im.lists[profiles.Asklist], `{"id":"imported-ambiguous","tool":["*__*__*","*___*"],"reason":"where the server's name ends cannot be told"}`)
}

// name is what the rule said in the table.
func (r *tableRule) name() string {
	verb := map[profiles.Verdict]string{profiles.Allow: "approve", profiles.Ask: "ask about", profiles.Deny: "deny"}[r.Action]
	return fmt.Sprintf("rule %d (%s %s, priority %v)", r.order, verb, r.tools(), r.Priority)
}

// tools is what the rule is about, as the table says it.
func (r *tableRule) tools() string {
	return cmp.Or(r.Tool, r.Pattern, "every tool") + " of " + cmp.Or(r.Server, "every server")
}

func (im *importer) file(profile string, order Order, depends []string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  // Made of a rule table of which the first rule that fits decides.\n")
	if order != 0 {
		fmt.Fprintf(&b, "  // Its priorities were read %s.\n", order)
	}
	for _, d := range depends {
		fmt.Fprintf(&b, "  // Depends on the order: %s.\n", visible.InComment(d))
	}
	for _, n := range im.notes {
		fmt.Fprintf(&b, "  // Stricter than the table, or without effect: %s.\n", visible.InComment(n))
	}
	fmt.Fprintf(&b, "  \"evaluation\": {\n    \"profiles\": {\n      %s: {\n", Quote(profile))
	for l := profiles.Denylist; l <= profiles.Allowlist; l++ {
		if len(im.lists[l]) > 0 {
			fmt.Fprintf(&b, "        %q: [\n          %s\n        ],\n", l, strings.Join(im.lists[l], ",\n          "))
		}
	}
	b.WriteString("        \"unmatched\": \"ask\"\n      }\n    }\n  }\n}\n")
	return []byte(b.String())
}

func Quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings are always JSON
	}
	return string(raw)
}
