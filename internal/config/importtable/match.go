package importtable

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/codemode-project/codemode/call"
)

// A tableRule is a row of a rule table with priorities, as desktop assistants use it.
type tableRule struct {
	Server   string // "" = all
	Tool     string // exact name, "" = see Pattern
	Pattern  string // * stands for any characters, case does not matter; "" = every tool
	Action   call.Verdict
	Priority float64
	order    int
}

func (r *tableRule) label() string { return fmt.Sprintf("imported-%d", r.order) }

// name is the rule's text in the table.
func (r *tableRule) name() string {
	verb := map[call.Verdict]string{call.Allow: "approve", call.Ask: "ask about", call.Deny: "deny"}[r.Action]
	return fmt.Sprintf("rule %d (%s %s, priority %v)", r.order, verb, r.tools(), r.Priority)
}

// tools is the rule's subject, in the table's words.
func (r *tableRule) tools() string {
	return cmp.Or(r.Tool, r.Pattern, "every tool") + " of " + cmp.Or(r.Server, "every server")
}

// everything reports whether the rule is about every tool of every server.
func (r *tableRule) everything() bool { return r.Server == "" && r.allTools() }

func (r *tableRule) allTools() bool { return r.Tool == "" && strings.Trim(r.Pattern, "*") == "" }

// covers reports whether the rule is about every tool that other is about. It may report false negatives.
func (r *tableRule) covers(other *tableRule) bool {
	server := r.Server == "" || other.Server != "" && call.Part(r.Server) == call.Part(other.Server)
	return server && r.coversNames(other)
}

// coversNames is covers for the names of tools alone.
func (r *tableRule) coversNames(other *tableRule) bool {
	switch {
	case r.allTools():
		return true
	case r.Tool != "":
		return other.Tool != "" && call.Part(r.Tool) == call.Part(other.Tool)
	case other.Tool != "":
		return fits(r.Pattern, call.Part(other.Tool))
	}
	return !other.allTools() && fits(r.Pattern, other.Pattern) // a star of r stands for the stars of other, too
}

// and returns a rule about the tools that both rules share; false if no pattern names them. The rules must meet.
func (r *tableRule) and(other *tableRule) (tableRule, bool) {
	both := tableRule{Server: cmp.Or(r.Server, other.Server), Tool: other.Tool, Pattern: other.Pattern}
	if !r.coversNames(other) {
		both.Tool, both.Pattern = r.Tool, r.Pattern
		return both, other.coversNames(r)
	}
	return both, true
}

// meets reports whether the two rules may share a tool. For two patterns it compares only the beginnings and ends of
// names, so it may report false positives.
func (r *tableRule) meets(other *tableRule) bool {
	if r.Server != "" && other.Server != "" && call.Part(r.Server) != call.Part(other.Server) {
		return false
	}
	switch {
	case r.allTools(), other.allTools():
		return true
	case r.Tool != "" && other.Tool != "":
		return call.Part(r.Tool) == call.Part(other.Tool)
	case r.Tool != "":
		return fits(other.Pattern, call.Part(r.Tool))
	case other.Tool != "":
		return fits(r.Pattern, call.Part(other.Tool))
	}
	head, tail := ends(r.Pattern)
	otherHead, otherTail := ends(other.Pattern)
	begin, end := min(len(head), len(otherHead)), min(len(tail), len(otherTail))
	return head[:begin] == otherHead[:begin] && tail[len(tail)-end:] == otherTail[len(otherTail)-end:]
}

// ends returns the text before the first star of a pattern and after the last one, ignoring case.
func ends(pattern string) (head, tail string) {
	parts := parts(pattern)
	if len(parts) == 1 {
		return "", "" // it is a name; "any name" is wider
	}
	return strings.ToLower(parts[0]), strings.ToLower(parts[len(parts)-1])
}

// parts returns the texts between the stars of a pattern, in canonical form.
func parts(pattern string) []string {
	parts := strings.Split(stars.ReplaceAllString(pattern, "*"), "*")
	for i := range parts {
		parts[i] = call.Part(parts[i])
	}
	return parts
}

var stars = regexp.MustCompile(`\*+`)

// fits reports whether a name, or another pattern with its stars, matches a pattern. It ignores case.
func fits(pattern, name string) bool {
	var text []string
	for _, part := range parts(name) {
		text = append(text, strings.ToLower(part))
	}
	rest, all := strings.Join(text, "*"), parts(strings.ToLower(pattern))
	rest, ok := strings.CutPrefix(rest, all[0])
	if !ok || len(all) == 1 {
		return ok && rest == ""
	}
	for _, part := range all[1 : len(all)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, all[len(all)-1])
}

// pattern writes the rule's subject as one of our patterns. Wide includes every case of a letter in a pattern, as the
// table does. An allow rule takes the written case, which is narrower.
func (r *tableRule) pattern(wide bool) string {
	server, tool := "*", "*"
	if r.Server != "" {
		server = call.Part(r.Server)
	}
	switch {
	case r.Tool != "":
		tool = call.Part(r.Tool)
	case r.Pattern != "":
		tool = strings.Join(parts(r.Pattern), "*")
		if wide {
			tool = letter.ReplaceAllStringFunc(tool, func(l string) string { return "[" + l + other(l) + "]" })
		}
	}
	return server + "__" + tool
}

var letter = regexp.MustCompile(`[a-zA-Z]`)

// other is a letter in its other case.
func other(letter string) string {
	if upper := strings.ToUpper(letter); upper != letter {
		return upper
	}
	return strings.ToLower(letter)
}
