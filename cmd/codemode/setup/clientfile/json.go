package clientfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// maxDepth is how deep the files of clients may nest: they keep more than their settings in them.
const maxDepth = 500

func jsonParse(text string) (strictjson.Value, error) {
	root, err := strictjson.Parse(text, strictjson.Options{Comments: true, MaxDepth: maxDepth, AllowDuplicates: true})
	if err != nil {
		return strictjson.Value{}, err
	}
	if root.Kind() != strictjson.Object {
		return strictjson.Value{}, fmt.Errorf("it is %s, and no object", root.Kind())
	}
	return root, nil
}

// blankJSON is the text to edit in place of a file with nothing in it, which clients make sometimes.
func blankJSON(text string) string {
	if strings.Trim(text, " \t\r\n") == "" {
		return "{}\n"
	}
	return text
}

func jsonDecode(text string) (v any, err error) {
	root, err := jsonParse(blankJSON(text))
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(root.Compact()))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// lastMember is the member of a name. Of several the last counts, as for all clients.
func lastMember(v strictjson.Value, name string) (last strictjson.Value, ok bool) {
	for key, member := range v.Members() {
		if key == name {
			last, ok = member, true
		}
	}
	return last, ok
}

// jsonAt follows path as far as there are members. rest is what is missing.
func jsonAt(root strictjson.Value, path []string) (at strictjson.Value, rest []string, err error) {
	at = root
	for i, key := range path {
		next, ok := lastMember(at, key)
		if !ok {
			return at, path[i:], nil
		}
		if next.Kind() != strictjson.Object {
			return at, nil, fmt.Errorf("%s is %s, and no object", strings.Join(path[:i+1], "."), next.Kind())
		}
		at = next
	}
	return at, nil, nil
}

func jsonServers(text string, path []string) (all []Server, err error) {
	root, err := jsonParse(blankJSON(text))
	if err != nil {
		return nil, err
	}
	at, rest, err := jsonAt(root, path)
	if err != nil || len(rest) > 0 {
		return nil, err
	}
	for name, value := range at.Members() {
		if last, _ := lastMember(at, name); last != value {
			continue
		}
		s := Server{Name: name, Text: text[value.KeyOffset():value.End()]}
		if value.Kind() == strictjson.Object {
			// as encoding/json reads values everywhere else in setup
			if err := json.Unmarshal([]byte(value.Compact()), &s.Value); err != nil {
				return nil, err
			}
		}
		all = append(all, s)
	}
	return all, nil
}

func jsonExchange(text string, path, out []string, in []Entry) (string, error) {
	j := jsonText{text: blankJSON(text)}
	j.newline = newline(j.text)
	for _, name := range out {
		at, err := j.at(path)
		if err != nil {
			return "", err
		}
		server, ok := lastMember(at, name)
		if !ok {
			continue
		}
		for first, _ := at.Member(name); first != server; first, _ = at.Member(name) { // those that counted for nothing
			j.remove(at, first)
			if at, err = j.at(path); err != nil {
				return "", err
			}
			server, _ = lastMember(at, name)
		}
		if len(in) == 0 {
			j.remove(at, server)
			continue
		}
		indent := j.indentOf(server)
		members := make([]string, len(in))
		for i, e := range in {
			members[i] = j.member(e, indent)
		}
		j.splice(server.KeyOffset(), server.End(), strings.Join(members, ","+j.between(indent)))
		in = nil
	}
	for _, e := range in {
		root, err := jsonParse(j.text)
		if err != nil {
			return "", err
		}
		at, rest, err := jsonAt(root, path)
		if err != nil {
			return "", err
		}
		j.insert(at, rest, e)
	}
	return j.text, nil
}

// A jsonText is a text while it is edited, one member at a time.
type jsonText struct {
	text, newline string
}

func (j *jsonText) at(path []string) (strictjson.Value, error) {
	root, err := jsonParse(j.text)
	if err != nil {
		return root, err
	}
	at, rest, err := jsonAt(root, path)
	if err == nil && len(rest) > 0 {
		return strictjson.Value{}, nil
	}
	return at, err
}

func (j *jsonText) splice(from, to int, text string) { j.text = j.text[:from] + text + j.text[to:] }

// oneLine reports whether the whole text is one line, as programs write it that no person reads.
func (j *jsonText) oneLine() bool {
	text := strings.TrimSpace(j.text)
	return text != "{}" && !strings.Contains(text, "\n")
}

// between is what stands between two members.
func (j *jsonText) between(indent string) string {
	if j.oneLine() {
		return " "
	}
	return j.newline + indent
}

// lineIndent is the white space at the beginning of the line of an offset.
func (j *jsonText) lineIndent(at int) string {
	line := j.text[strings.LastIndexByte(j.text[:at], '\n')+1 : at]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// unit is one level of indentation: that of the first member of the file.
func (j *jsonText) unit() string {
	if root, err := jsonParse(j.text); err == nil {
		for _, first := range root.Members() {
			if before := j.text[:first.KeyOffset()]; strings.Contains(before, "\n") {
				if unit := j.lineIndent(first.KeyOffset()); unit != "" {
					return unit
				}
			}
			break
		}
	}
	return "  "
}

// indentOf is the indentation of the members of an object; member is one of them.
func (j *jsonText) indentOf(member strictjson.Value) string {
	at := member.KeyOffset()
	indent := j.lineIndent(at)
	if strings.TrimSpace(j.text[strings.LastIndexByte(j.text[:at], '\n')+1:at]) != "" { // not the first of its line
		indent += j.unit()
	}
	return indent
}

// member writes an entry with its name.
func (j *jsonText) member(e Entry, indent string) string {
	if e.Text != "" {
		return e.Text
	}
	if j.oneLine() {
		fields := make([]string, len(e.Fields))
		for i, f := range e.Fields {
			fields[i] = quoted(f.Key) + ": " + inline(f.Value, ": ")
		}
		return quoted(e.Name) + ": {" + strings.Join(fields, ", ") + "}"
	}
	inner := indent + j.unit()
	lines := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		lines[i] = j.newline + inner + quoted(f.Key) + ": " + inline(f.Value, ": ")
	}
	return quoted(e.Name) + ": {" + strings.Join(lines, ",") + j.newline + indent + "}"
}

// insert adds an entry at the end of an object, below the objects of rest, which are missing.
func (j *jsonText) insert(at strictjson.Value, rest []string, e Entry) {
	open, end := at.Offset(), at.End()-1 // of the braces
	var last strictjson.Value
	for _, last = range at.Members() {
		_ = last
	}
	outer := j.lineIndent(open)
	indent := outer + j.unit()
	if last.Kind() != strictjson.Missing {
		indent = j.indentOf(last)
	}
	text := j.below(rest, e, indent)
	if last.Kind() == strictjson.Missing {
		inside := strings.TrimRight(j.text[open+1:end], " \t\r\n")
		if j.oneLine() && inside == "" && at.Offset() > 0 {
			j.splice(open+1, end, text)
			return
		}
		j.splice(open+1, end, inside+j.newline+indent+text+j.newline+outer)
		return
	}
	j.follow(last, text, indent)
}

// follow writes a text behind the last value of an object or a list.
func (j *jsonText) follow(last strictjson.Value, text, indent string) {
	comma := j.skip(last.End())
	after := comma + 1
	if j.text[comma] != ',' {
		j.splice(last.End(), last.End(), ",")
		after = last.End() + 1
	}
	after = j.restOfLine(after)
	j.splice(after, after, j.between(indent)+text)
}

// below writes an entry inside the objects of path.
func (j *jsonText) below(path []string, e Entry, indent string) string {
	if len(path) == 0 {
		return j.member(e, indent)
	}
	if j.oneLine() {
		return quoted(path[0]) + ": {" + j.below(path[1:], e, indent) + "}"
	}
	inner := indent + j.unit()
	return quoted(path[0]) + ": {" + j.newline + inner + j.below(path[1:], e, inner) + j.newline + indent + "}"
}

// skip returns the offset of what follows white space and comments.
func (j *jsonText) skip(at int) int {
	for at < len(j.text) {
		switch rest := j.text[at:]; {
		case strings.HasPrefix(rest, "//"):
			if n := strings.IndexByte(rest, '\n'); n >= 0 {
				at += n
			} else {
				return len(j.text)
			}
		case strings.HasPrefix(rest, "/*"):
			at += 2 + strings.Index(rest[2:], "*/") + 2 // the text was parsed: it ends
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			at++
		default:
			return at
		}
	}
	return at
}

// restOfLine is the offset behind a comment that follows on the same line, else at.
func (j *jsonText) restOfLine(at int) int {
	rest := j.text[at:]
	blanks := len(rest) - len(strings.TrimLeft(rest, " \t"))
	switch rest = rest[blanks:]; {
	case strings.HasPrefix(rest, "//"):
		end := strings.IndexByte(rest, '\n')
		return at + blanks + len(strings.TrimRight(rest[:end], "\r"))
	case strings.HasPrefix(rest, "/*"):
		end := 2 + strings.Index(rest[2:], "*/") + 2
		if after := strings.TrimLeft(rest[end:], " \t\r"); strings.HasPrefix(after, "\n") {
			return at + blanks + end
		}
	}
	return at
}

// remove takes a member out of an object, with the comma that it needs no more.
func (j *jsonText) remove(of, member strictjson.Value) {
	var previous strictjson.Value
	found, last := false, true
	for _, m := range of.Members() {
		switch {
		case m == member:
			found = true
		case found:
			last = false
		default:
			previous = m
		}
	}
	from := member.KeyOffset()
	to := member.End()
	next := j.skip(to)
	if last && j.text[next] != ',' {
		// what ends a comment before it stays
		start := of.Offset() // of what ends before the member: the brace, or the comma
		if previous.Kind() != strictjson.Missing {
			start = j.skip(previous.End())
		}
		before, ends := strings.TrimRight(j.text[:from], " \t\r\n"), strings.TrimLeft(j.text[to:], " \t\r")
		if len(before) == start+1 || strings.HasPrefix(ends, "\n") {
			from = len(before)
		}
	}
	switch {
	case j.text[next] == ',' && !last:
		to = next + 1 + len(j.text[next+1:]) - len(strings.TrimLeft(j.text[next+1:], " \t\r\n"))
		if comments := j.text[member.End():next]; strings.TrimSpace(comments) != "" {
			j.splice(next, to, "") // the comments between the value and its comma stay
			to = member.End()
		}
	case j.text[next] == ',':
		j.splice(next, next+1, "")
	case previous.Kind() != strictjson.Missing:
		comma := j.skip(previous.End())
		j.splice(from, to, "")
		j.splice(comma, comma+1, "")
		return
	}
	if last && previous.Kind() == strictjson.Missing && strings.TrimSpace(j.text[to:of.End()-1]) == "" &&
		from == of.Offset()+1 {
		to = j.skip(to) // nothing is left between the braces
	}
	j.splice(from, to, "")
}

// Append adds an element, written as JSON, to the end of an array of a JSON text with comments.
func Append(text []byte, path []string, element string) ([]byte, error) {
	j := jsonText{text: string(text), newline: newline(string(text))}
	root, err := jsonParse(j.text)
	if err != nil {
		return nil, err
	}
	at, rest, err := jsonAt(root, path[:len(path)-1])
	if err != nil {
		return nil, err
	}
	list, ok := at.Member(path[len(path)-1])
	if len(rest) > 0 || !ok || list.Kind() != strictjson.Array {
		return nil, fmt.Errorf("%s is no list", strings.Join(path, "."))
	}
	var last strictjson.Value
	for _, last = range list.Elements() {
		_ = last
	}
	if last.Kind() == strictjson.Missing {
		inside := strings.TrimRight(j.text[list.Offset()+1:list.End()-1], " \t\r\n")
		outer := j.lineIndent(list.Offset())
		j.splice(list.Offset()+1, list.End()-1, inside+j.newline+outer+j.unit()+element+j.newline+outer)
	} else {
		j.follow(last, element, j.lineIndent(last.Offset()))
	}
	return []byte(j.text), appended(text, []byte(j.text), path, element)
}

// appended reports an edit by [Append] that did more or less than to append.
func appended(before, after []byte, path []string, element string) error {
	was, err := jsonDecode(string(before))
	if err != nil {
		return err
	}
	is, err := jsonDecode(string(after))
	if err != nil {
		return errMeansOther
	}
	v, err := jsonDecode(`{"v":` + element + `}`)
	if err != nil {
		return err
	}
	at, _ := was.(map[string]any)
	for _, key := range path[:len(path)-1] {
		at, _ = at[key].(map[string]any)
	}
	list, _ := at[path[len(path)-1]].([]any)
	at[path[len(path)-1]] = append(list, v.(map[string]any)["v"])
	a, errA := json.Marshal(was)
	b, errB := json.Marshal(is)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		return errMeansOther
	}
	return nil
}
