package changes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
)

// An Edit adds, changes, moves or removes one rule in the text of a configuration file. Everything else in the file
// stays as it is, byte for byte: comments, order and layout.
type Edit struct {
	At   string // the place of the rule, line:column, as its Position has it; "" adds a rule
	Rule string // as JSON; "" keeps the rule as it is, and without At it is an error
	List string // allowlist, asklist or denylist: where the rule shall be; "" keeps its list

	Profile string // the owner of an added rule
	Overlay string // likewise, an overlay by its id

	// Remove removes the rule, whatever Rule is. A comment behind it on its last line goes too; comments above it stay.
	Remove bool
}

// Apply returns the text with the edit. The caller checks whether the result is a good configuration.
func (e Edit) Apply(data []byte) ([]byte, error) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	root, bad := settings.ParseFile(text)
	if bad != nil {
		return nil, fmt.Errorf("the file has a problem already: %w", bad)
	}
	d := &document{text: text, lineEnd: "\n", lists: listsIn(root)}
	if strings.Contains(text, "\r\n") {
		d.lineEnd = "\r\n"
	}
	if e.List != "" && !slices.Contains(listNames, e.List) {
		return nil, fmt.Errorf("there is no list %q; the lists are %s", e.List, settings.QuotedList(listNames, "and"))
	}
	edits, want, err := d.edits(&e)
	if err != nil {
		return nil, err
	}
	after := edited(text, edits...)
	if err := has(after, want); err != nil {
		return nil, err
	}
	return []byte(string(data[:len(data)-len(text)]) + after), nil
}

// RuleAt returns the text of the rule at a place of a file, its list, and who has it: the name of a profile or the id of
// an overlay.
func RuleAt(data []byte, at string) (rule, list, owner string, err error) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	root, bad := settings.ParseFile(text)
	if bad != nil {
		return "", "", "", fmt.Errorf("the file has a problem: %w", bad)
	}
	d := &document{text: text, lists: listsIn(root)}
	l, i := d.find(at)
	if l == nil {
		return "", "", "", errNoRule(at)
	}
	n := l.rules[i]
	indent := d.indent(n.Offset())
	return strings.ReplaceAll(strings.ReplaceAll(n.Source(), "\r\n", "\n"), "\n"+indent, "\n"), l.name, l.owner.name, nil
}

func errNoRule(at string) error {
	return fmt.Errorf("there is no rule at %s of the file: it was changed meanwhile; load the page again", at)
}

var listNames = []string{profiles.Denylist.String(), profiles.Asklist.String(), profiles.Allowlist.String()}

// A document is the text of a file with its lists of rules.
type document struct {
	text    string
	lineEnd string
	lists   []*ruleList
}

// An owner has lists: a profile or an overlay.
type owner struct {
	name    string
	overlay bool
	value   strictjson.Value
}

type ruleList struct {
	owner owner
	name  string
	value strictjson.Value // missing if the owner has no such list
	rules []strictjson.Value
}

// listsIn finds all lists of a file, also those that do not exist yet.
func listsIn(root strictjson.Value) (all []*ruleList) {
	add := func(o owner) {
		for _, name := range listNames {
			l := &ruleList{owner: o, name: name, value: settings.Member(o.value, name)}
			l.rules = slices.Collect(settings.Children(l.value))
			all = append(all, l)
		}
	}
	evaluation := settings.Member(root, "evaluation")
	for p := range settings.Children(settings.Member(evaluation, "profiles")) {
		if p.Kind() == strictjson.Object {
			add(owner{name: p.Key(), value: p})
		}
	}
	for o := range settings.Children(settings.Member(evaluation, "overlays")) {
		if o.Kind() == strictjson.Object {
			add(owner{name: settings.Member(o, "id").Text(), overlay: true, value: o})
		}
	}
	return all
}

// find returns the list of the rule at line:column, and the rule's index; nil if there is none.
func (d *document) find(at string) (*ruleList, int) {
	where := &settings.Reader{Src: d.text}
	for _, l := range d.lists {
		for i, n := range l.rules {
			if p := where.Position(n.Offset()); at == fmt.Sprintf("%d:%d", p.Line, p.Column) {
				return l, i
			}
		}
	}
	return nil, 0
}

func (d *document) list(o owner, name string) *ruleList {
	for _, l := range d.lists {
		if l.owner.name == o.name && l.owner.overlay == o.overlay && l.name == name {
			return l
		}
	}
	return nil
}

// edits returns the changes of the text, and what the lists must contain after them.
func (d *document) edits(e *Edit) (edits []edit, want [][]string, err error) {
	rule, compact := "", ""
	if !e.Remove {
		if rule, compact, err = e.rule(); err != nil {
			return nil, nil, err
		}
	}
	for _, l := range d.lists {
		var texts []string
		for _, n := range l.rules {
			texts = append(texts, n.Compact())
		}
		want = append(want, texts)
	}
	from, at := d.find(e.At)
	o := owner{name: e.Profile}
	switch {
	case e.At != "" && from == nil:
		return nil, nil, errNoRule(e.At)
	case from != nil:
		o = from.owner
	case e.Overlay != "":
		o = owner{name: e.Overlay, overlay: true}
	}
	to := from
	if e.List != "" {
		to = d.list(o, e.List)
	}
	of := func(l *ruleList) *[]string { return &want[slices.Index(d.lists, l)] }
	switch {
	case to == nil && e.List == "":
		return nil, nil, errors.New("the edit names no list")
	case to == nil:
		return nil, nil, fmt.Errorf("this file has no profile and no overlay %q: a rule is added where its profile is",
			o.name)
	case from == nil && (rule == "" || e.Remove):
		return nil, nil, errors.New("the edit has no rule")
	case e.Remove:
		*of(from) = slices.Delete(*of(from), at, at+1)
		return d.remove(from, at), want, nil
	}
	if from != nil && rule == "" {
		n := from.rules[at]
		rule, compact = n.Source(), n.Compact()
	} else {
		rule = strings.ReplaceAll(rule, "\n", d.lineEnd+d.indentIn(to, from, at))
	}
	switch {
	case from == nil:
		edits = d.add(to, rule)
	case from == to:
		n := from.rules[at]
		(*of(from))[at] = compact
		return []edit{{n.Offset(), n.End(), rule}}, want, nil
	default:
		edits = append(d.remove(from, at), d.add(to, rule)...)
		*of(from) = slices.Delete(*of(from), at, at+1)
	}
	*of(to) = append(*of(to), compact)
	return edits, want, nil
}

// rule returns the rule of the edit as it is written, and as standard JSON: without what is around the value, and with
// every character visible to the person who reads the file.
func (e *Edit) rule() (rule, compact string, err error) {
	text := strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(e.Rule, "\r\n", "\n"), "\t", "  "))
	if text == "" {
		return "", "", nil
	}
	n, bad := settings.ParseFile(text)
	if bad != nil {
		line, column := bad.Place(text)
		return "", "", fmt.Errorf("the rule, line %d, column %d: %s", line, column, bad.Message)
	}
	if kind := n.Kind(); kind != strictjson.String && kind != strictjson.Object {
		return "", "", fmt.Errorf("a rule is a text such as \"server__*\", or an object with a \"tool\"; this is %s", kind)
	}
	return visible.JSON(n.Source()), n.Compact(), nil
}

// has verifies the rules of a text: an edit must do what it says, and nothing else.
func has(text string, want [][]string) error {
	root, bad := settings.ParseFile(text)
	if bad != nil {
		return fmt.Errorf("the edit would break the file (line and column are those of the new text): %w", bad)
	}
	for i, l := range listsIn(root) {
		var got []string
		for _, n := range l.rules {
			got = append(got, n.Compact())
		}
		if i >= len(want) || !sameRules(got, want[i]) {
			return fmt.Errorf("the layout of the %s of %q is too unusual for this form: change it in the text of the file",
				l.name, l.owner.name)
		}
	}
	return nil
}

// sameRules compares rules by value: a rule that a person typed may have escapes now.
func sameRules(got, want []string) bool {
	return slices.EqualFunc(got, want, func(a, b string) bool { return a == b || sameJSON([]byte(a), []byte(b)) })
}

// next is the first byte from i on that is neither white space nor in a comment.
func (d *document) next(i int) int {
	for i < len(d.text) {
		rest := d.text[i:]
		switch {
		case strings.HasPrefix(rest, "//"):
			i += len(firstLine(rest))
		case strings.HasPrefix(rest, "/*"):
			i += 2 + strings.Index(rest[2:], "*/") + 2
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			i++
		default:
			return i
		}
	}
	return i
}

// firstLine is the text up to its first line end.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(line, "\r")
}

// lineStart is where the line of a byte begins.
func (d *document) lineStart(i int) int { return strings.LastIndexByte(d.text[:i], '\n') + 1 }

// indent is the white space at the beginning of a byte's line.
func (d *document) indent(i int) string {
	line := d.text[d.lineStart(i):i]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// alone reports whether nothing but white space precedes a byte on its line.
func (d *document) alone(i int) bool { return strings.Trim(d.text[d.lineStart(i):i], " \t") == "" }

// indentIn is the indent of the lines of a rule after its first one.
func (d *document) indentIn(to, from *ruleList, at int) string {
	switch {
	case from == to:
		return d.indent(from.rules[at].Offset())
	case len(to.rules) > 0:
		return d.indent(to.rules[len(to.rules)-1].Offset())
	}
	return d.indent(to.owner.value.Offset()) + "  "
}

// endsLine reports whether only white space and a comment follow on the line, and returns the end of the line.
func (d *document) endsLine(i int) (end int, ok bool) {
	line := firstLine(d.text[i:])
	rest := strings.TrimLeft(line, " \t")
	closed := strings.HasPrefix(rest, "/*") && strings.HasSuffix(strings.TrimRight(rest, " \t"), "*/") &&
		strings.Count(rest, "*/") == 1
	return i + len(line), i+len(line) < len(d.text) && (rest == "" || strings.HasPrefix(rest, "//") || closed)
}

// add writes a rule at the end of a list.
func (d *document) add(l *ruleList, rule string) []edit {
	switch {
	case l.value.Kind() == strictjson.Missing:
		return d.addList(l, rule)
	case len(l.rules) == 0:
		return []edit{{l.value.Offset() + 1, l.value.Offset() + 1, rule}}
	}
	last := l.rules[len(l.rules)-1]
	tail, comma := last.End(), ","
	if after := d.next(tail); d.text[after] == ',' {
		tail, comma = after+1, ""
	}
	end, ok := d.endsLine(tail)
	if !ok || !d.alone(last.Offset()) {
		return []edit{{last.End(), last.End(), ", " + rule}}
	}
	line := d.lineEnd + d.indent(last.Offset()) + rule
	if comma == "" { // the list had a comma at its end, and keeps it
		return []edit{{end, end, line + ","}}
	}
	return []edit{{last.End(), end, comma + d.text[last.End():end] + line}}
}

// addList writes a list of one rule as the first member of its owner.
func (d *document) addList(l *ruleList, rule string) []edit {
	at := l.owner.value.Offset() + 1
	member := fmt.Sprintf("%q: [%s]", l.name, rule)
	if l.owner.value.Len() == 0 {
		return []edit{{at, at, member}}
	}
	var first strictjson.Value
	for n := range settings.Children(l.owner.value) {
		first = n
		break
	}
	if key := first.KeyOffset(); d.alone(key) {
		return []edit{{at, at, d.lineEnd + d.indent(key) + member + ","}}
	}
	return []edit{{at, at, member + ", "}}
}

// remove takes a rule out of its list, with its line if nothing else is there.
func (d *document) remove(l *ruleList, i int) []edit {
	n := l.rules[i]
	start, end := n.Offset(), n.End()
	var edits []edit
	comma := d.next(end)
	own := d.text[comma] == ','
	if !own && i > 0 { // it was the last one: the comma before it goes
		if before := d.next(l.rules[i-1].End()); d.text[before] == ',' {
			edits = append(edits, edit{before, before + 1, ""})
		}
	}
	tail := end
	if own && strings.TrimLeft(d.text[end:comma], " \t") == "" {
		tail = comma + 1
	} else if own {
		edits = append(edits, edit{comma, comma + 1, ""})
	}
	if lineEnd, ok := d.endsLine(tail); ok && d.alone(start) {
		start, tail = d.lineStart(start), lineEnd+len(firstBreak(d.text[lineEnd:]))
	} else if own {
		tail += len(d.text[tail:]) - len(strings.TrimLeft(d.text[tail:], " \t"))
	} else if i > 0 {
		start -= len(d.text[:start]) - len(strings.TrimRight(d.text[:start], " \t"))
	}
	for j := range edits { // a comma on a line that goes
		if e := &edits[j]; e.start >= start && e.end <= tail {
			edits = slices.Delete(edits, j, j+1)
			break
		}
	}
	return append(edits, edit{start, tail, ""})
}

// firstBreak is the line end at the beginning of a text.
func firstBreak(text string) string {
	switch {
	case strings.HasPrefix(text, "\r\n"):
		return "\r\n"
	case strings.HasPrefix(text, "\n"):
		return "\n"
	}
	return ""
}
