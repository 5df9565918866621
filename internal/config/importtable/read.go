package importtable

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
)

// A tableReader reads a rule table, and collects every problem of it.
type tableReader struct {
	*settings.Reader
	names map[string]string // of servers, by their ids in the table
	used  []string          // ids of servers that rules name
	notes []string
}

// readTable reads the rules in the order of the file.
func readTable(data []byte, servers map[string]string) (rules []tableRule, notes []string, err error) {
	in, err := config.Read("the rule table", data)
	if err != nil {
		return nil, nil, err
	}
	in.Foreign = true
	t := tableReader{Reader: in, names: map[string]string{}}
	for n := range t.list() {
		rules = append(rules, t.rule(n, len(rules)+1))
	}
	t.knownServers(servers)
	if len(t.Problems) > 0 {
		return nil, nil, t.Problems
	}
	for i := range rules {
		r := &rules[i]
		r.Server = cmp.Or(servers[r.Server], t.names[r.Server], r.Server)
	}
	if len(rules) == 0 {
		t.notes = append(t.notes, "the table has no rule: the profile asks about every call")
	}
	return rules, t.notes, nil
}

// list finds the rules, and reads the servers of a table that has some.
func (t *tableReader) list() func(func(strictjson.Value) bool) {
	list := t.Root
	const shape = `the rule table must be an array of rules, or {"rules": [...]}`
	if list.Kind() == strictjson.Object {
		list = settings.Member(t.Root, "rules")
		if list.Kind() == strictjson.Missing {
			hint := ""
			for key := range t.Root.Members() {
				if visible.Nearest(key, []string{"rules"}) != "" {
					hint = fmt.Sprintf(`it has %q: did you mean "rules"?`, key)
				}
			}
			t.Wrong(t.Root, hint, shape+`, this is an object without "rules"`)
			return settings.Children(list)
		}
		t.Object(t.Root, "the rule table", []settings.Field{
			settings.Key("servers", t.servers), settings.Key("rules", func(strictjson.Value) {})})
	}
	if list.Kind() != strictjson.Array {
		t.Wrong(list, "", shape+", this is %s", list.Kind())
	}
	return func(yield func(strictjson.Value) bool) {
		for _, n := range list.Elements() {
			if !yield(n) {
				return
			}
		}
	}
}

// servers reads the names of the servers of the table.
func (t *tableReader) servers(n strictjson.Value) {
	for child := range t.Elements(n, `"servers"`, true) {
		var server struct {
			ID   string `key:"id" need:""`
			Name string `key:"name" need:""`
		}
		before := len(t.Problems)
		t.Decode(child, `an entry of "servers"`, &server)
		switch _, twice := t.names[server.ID]; {
		case len(t.Problems) > before:
		case twice:
			t.Wrong(child, "keep one of the two", `the id %q is twice in "servers"`, server.ID)
		default:
			t.names[server.ID] = server.Name
		}
	}
}

// knownServers compares the ids of the rules with those that have a name.
func (t *tableReader) knownServers(given map[string]string) {
	known := append(slices.Collect(maps.Keys(given)), slices.Collect(maps.Keys(t.names))...)
	for _, id := range slices.Sorted(maps.Keys(given)) {
		if _, listed := t.names[id]; !listed && !slices.Contains(t.used, id) {
			hint := ""
			if near := visible.Nearest(id, t.used); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			t.Report(0, 0, hint, "no rule is about the server id %q, to which a name was given", id)
		}
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(t.used))) {
		if len(known) > 0 && !slices.Contains(known, id) && !slices.Contains(slices.Collect(maps.Values(given)), id) {
			t.notes = append(t.notes, fmt.Sprintf("the server id %q has no name in the table, so it counts as the name", id))
		}
	}
}

// rule reads one row. A column may have the spelling of a database.
func (t *tableReader) rule(n strictjson.Value, order int) tableRule {
	r := tableRule{order: order}
	what := fmt.Sprintf("rule %d of the table", order)
	columns := map[string]string{} // the key of each column that was there
	var fields []settings.Field
	column := func(name, other string, read func(strictjson.Value)) {
		once := func(n strictjson.Value) {
			if before, twice := columns[name]; twice && before != n.Key() {
				t.WrongKey(n, "keep one of the two", "%q says the same as %q", n.Key(), before)
				return
			}
			columns[name] = n.Key()
			if n.Kind() != strictjson.Null {
				read(n)
			}
		}
		fields = append(fields, settings.Key(name, once), settings.Key(other, once))
	}
	text := func(to *string) func(strictjson.Value) {
		return func(n strictjson.Value) {
			if n.Kind() != strictjson.String || n.Text() == "" {
				t.Wrong(n, "", "%q must be text or null", n.Key())
			}
			*to = n.Text()
		}
	}
	decided, approved := false, false
	column("serverId", "server_id", text(&r.Server))
	column("toolName", "tool_name", text(&r.Tool))
	column("toolPattern", "tool_pattern", text(&r.Pattern))
	column("priority", "priority", func(n strictjson.Value) {
		if n.Kind() != strictjson.Number || json.Unmarshal([]byte(n.Text()), &r.Priority) != nil {
			t.Wrong(n, "", `"priority" must be a number`)
		}
	})
	column("autoApprove", "auto_approve", func(n strictjson.Value) {
		approved = true
		if verdict := t.autoApprove(n); !decided {
			r.Action = verdict
		}
	})
	column("action", "mode", func(n strictjson.Value) { r.Action, decided = t.action(n), true })
	fields = append(fields, settings.Key("id", func(strictjson.Value) {})) // which is not needed
	before := len(t.Problems)
	if t.Object(n, what, fields) && !decided && !approved && len(t.Problems) == before {
		t.Wrong(n, "", `%s has neither "autoApprove" nor "action"`, what)
	}
	t.subject(n, &r)
	return r
}

// subject settles which tools the rule is about.
func (t *tableReader) subject(n strictjson.Value, r *tableRule) {
	if strings.Trim(r.Server, "*") == "" {
		r.Server = ""
	} else {
		t.used = append(t.used, r.Server)
	}
	if strings.Contains(r.Server, "*") {
		t.Wrong(n, `write one rule for each server, or "*" for all`, "the server %q is a pattern", r.Server)
	}
	if strings.Contains(r.Tool, "*") { // no tool has such a name
		if r.Pattern != "" {
			t.Wrong(n, "leave one out", "both the tool's name %q and the pattern %q are patterns", r.Tool, r.Pattern)
		}
		r.Tool, r.Pattern = "", r.Tool
	}
	if strings.ContainsAny(r.Pattern, `^$()[]{}|\?+`) {
		t.notes = append(t.notes,
			fmt.Sprintf("only * has a meaning in the pattern %q of rule %d; all else is part of a name", r.Pattern, r.order))
	}
}

func (t *tableReader) action(n strictjson.Value) call.Verdict {
	if n.Kind() == strictjson.String {
		switch n.Text() {
		case "approve", "allow", "auto", "auto_approve":
			return call.Allow
		case "ask", "require_approval", "confirm":
			return call.Ask
		case "deny", "reject", "block":
			return call.Deny
		}
	}
	t.Word(n, fmt.Sprintf("%q", n.Key()), "approve", "ask", "deny")
	return call.Deny
}

func (t *tableReader) autoApprove(n strictjson.Value) call.Verdict {
	switch n.Compact() {
	case "true", "1":
		return call.Allow
	case "false", "0":
	default:
		t.Boolean(n, fmt.Sprintf("%q", n.Key()))
	}
	return call.Ask
}
