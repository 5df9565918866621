package clientfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

func yamlDecode(text []byte) (v any, err error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&v); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has several documents")
	}
	return v, nil
}

// A yamlItem is one server: whole lines, and where its key or its dash stands in the first.
type yamlItem struct {
	Server
	from, to int // lines; to is the one behind the last
	indent   int // of the key, or of the dash
}

// A yamlPlace is where servers stand in a file.
type yamlPlace struct {
	lines []string // with their ends
	items []yamlItem
	key   *yaml.Node // the last of the path; nil if the path is missing
	value *yaml.Node
}

func yamlFind(text string, path []string, list bool) (*yamlPlace, error) {
	if _, err := yamlDecode([]byte(text)); err != nil {
		return nil, err // also for what only decoding finds, such as keys that come twice
	}
	if strings.ContainsAny(strings.ReplaceAll(text, "\r\n", ""), "\r\u0085\u2028\u2029") {
		return nil, errors.New("it has lines that end with neither \\n nor \\r\\n")
	}
	p := &yamlPlace{lines: strings.SplitAfter(text, "\n")}
	if p.lines[len(p.lines)-1] == "" {
		p.lines = p.lines[:len(p.lines)-1]
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 || document.Content[0].Tag == "!!null" {
		return p, nil // nothing, or comments
	}
	at := document.Content[0]
	for i, name := range path {
		if at.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("%s is no mapping", strings.Join(append([]string{"it"}, path[:i]...), "."))
		}
		p.key = nil
		for k := 0; k < len(at.Content); k += 2 {
			if at.Content[k].Value == name {
				p.key, p.value = at.Content[k], at.Content[k+1]
			}
		}
		if p.key == nil {
			return p, nil
		}
		at = p.value
	}
	switch {
	case p.value.Tag == "!!null":
	case list && at.Kind == yaml.SequenceNode:
		for _, item := range at.Content {
			var name struct{ Name string }
			_ = item.Decode(&name) // an item without a name, or with a strange one, is no server
			p.add(name.Name, item, item)
		}
	case !list && at.Kind == yaml.MappingNode:
		for k := 0; k < len(at.Content); k += 2 {
			p.add(at.Content[k].Value, at.Content[k], at.Content[k+1])
		}
	default:
		return nil, fmt.Errorf("%s has another form", strings.Join(path, "."))
	}
	return p, nil
}

// add finds the lines of an item: those that are indented more than its key or its dash.
func (p *yamlPlace) add(name string, start, value *yaml.Node) {
	item := yamlItem{Server: Server{Name: name}, from: start.Line - 1}
	_ = value.Decode(&item.Value) // no mapping: no server
	if item.from < len(p.lines) {
		item.indent = indentOf(p.lines[item.from])
		item.to = item.from + 1
		for i := item.to; i < len(p.lines); i++ {
			if strings.TrimSpace(p.lines[i]) == "" {
				continue
			}
			if indentOf(p.lines[i]) <= item.indent {
				break
			}
			item.to = i + 1
		}
		for _, line := range p.lines[item.from:item.to] {
			item.Text += line[min(item.indent, indentOf(line)):]
		}
	}
	p.items = append(p.items, item)
}

// indentOf counts the blanks before a line's text.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// block reports whether the servers stand in lines of their own.
func (p *yamlPlace) block() bool { return p.value == nil || p.value.Style&yaml.FlowStyle == 0 }

func yamlServers(text string, path []string, list bool) (all []Server, err error) {
	p, err := yamlFind(text, path, list)
	if err != nil {
		return nil, err
	}
	for _, item := range p.items {
		all = append(all, item.Server)
	}
	return all, nil
}

func yamlExchange(text string, path []string, list bool, out []string, in []Entry) (string, error) {
	if len(path) != 1 {
		panic("clientfile: no client has its servers deeper in a YAML file")
	}
	p, err := yamlFind(text, path, list)
	if err != nil {
		return "", err
	}
	end := newline(text)
	if len(p.items) > 0 && !p.block() {
		return "", fmt.Errorf("%s is written with brackets: write each server on lines of its own", path[0])
	}
	entries := func(indent int) (all []string) {
		for _, e := range in {
			for line := range strings.Lines(yamlEntry(e, list, end)) {
				if strings.TrimSpace(line) != "" {
					line = strings.Repeat(" ", indent) + line
				}
				all = append(all, line)
			}
		}
		return all
	}
	switch {
	case p.key == nil: // at the end of the file
		lines := p.lines
		if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
			lines[n-1] += end
		}
		lines = append(lines, path[0]+":"+end)
		return strings.Join(append(lines, entries(2)...), ""), nil
	case len(p.items) == 0:
		return p.fill(entries(2), end)
	}
	return p.exchange(out, entries, end)
}

// fill puts entries below a key that has none: its value is nothing, {} or [].
func (p *yamlPlace) fill(entries []string, end string) (string, error) {
	at := p.key.Line - 1
	before, after, _ := strings.Cut(p.lines[at][p.key.Column-1:], ":")
	rest := strings.TrimLeft(after, " ")
	for _, empty := range []string{"{}", "[]", "null", "~"} {
		rest = strings.TrimPrefix(rest, empty)
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		if rest[0] != '#' {
			return "", errMeansOther
		}
		rest = " " + rest
	}
	lines := append([]string{}, p.lines[:at]...)
	lines = append(lines, p.lines[at][:p.key.Column-1]+before+":"+rest+end)
	lines = append(append(lines, entries...), p.lines[at+1:]...)
	return strings.Join(lines, ""), nil
}

func (p *yamlPlace) exchange(out []string, entries func(int) []string, end string) (string, error) {
	indent := p.items[0].indent
	going := map[int]yamlItem{}
	kept := 0
	for _, item := range p.items {
		if item.indent != indent {
			return "", errMeansOther
		}
		if !slices.Contains(out, item.Name) {
			kept++
		} else {
			going[item.from] = item
		}
	}
	coming := entries(indent)
	var lines []string
	for i := 0; i < len(p.lines); i++ {
		item, goes := going[i]
		if !goes {
			lines = append(lines, p.lines[i])
			continue
		}
		lines = append(lines, coming...)
		if item.to == len(p.lines) && len(coming) == 0 && len(lines) > 0 && !strings.HasSuffix(lines[len(lines)-1], "\n") {
			return "", errMeansOther
		}
		coming = nil
		i = item.to - 1
	}
	if len(coming) > 0 { // nothing went: behind the last
		last := p.items[len(p.items)-1].to
		if !strings.HasSuffix(lines[last-1], "\n") {
			lines[last-1] += end
		}
		lines = append(lines[:last:last], append(coming, lines[last:]...)...)
	}
	if kept == 0 && len(entries(0)) == 0 {
		empty := ": {}"
		if p.value.Kind == yaml.SequenceNode {
			empty = ": []"
		}
		at, column := p.key.Line-1, p.key.Column-1
		lines[at] = lines[at][:column] + strings.Replace(lines[at][column:], ":", empty, 1)
	}
	return strings.Join(lines, ""), nil
}

func yamlEntry(e Entry, list bool, end string) string {
	if e.Text != "" {
		if !strings.HasSuffix(e.Text, "\n") {
			return e.Text + end
		}
		return e.Text
	}
	var b strings.Builder
	if list {
		b.WriteString("- name: " + yamlKey(e.Name) + end)
	} else {
		b.WriteString(yamlKey(e.Name) + ":" + end)
	}
	for _, f := range e.Fields {
		b.WriteString("  " + f.Key + ": " + inline(f.Value, ": ") + end)
	}
	return b.String()
}

// yamlKey writes a name without quotation marks where all readers take it for a string.
func yamlKey(name string) string {
	if name == "codemode" {
		return name
	}
	return quoted(name)
}
