package tau2

import (
	"regexp"
	"strings"
)

// A doc is what the Python source says about one tool.
type doc struct {
	text      string
	arguments map[string]string
}

var (
	// toolSource matches the decorator, the signature and the docstring of a tool.
	toolSource = regexp.MustCompile(`(?m)^    @is_tool\([^)]*\)\s+def (\w+)\([^)]*\)[^:]*:[^\n]*\n\s+"""((?s:.*?))"""`)
	// section matches the head of a section of a docstring, with its depth.
	section = regexp.MustCompile(`^(\s*)(Args|Returns|Raises):\s*$`)
	// argument matches the first line about an argument.
	argument = regexp.MustCompile(`^(\s*)(\w+):\s*(.*)$`)
)

// readDocs reads the docstrings of tools: the text before the first section describes the tool, and the section Args
// describes its arguments, each in a line that further lines may continue.
func readDocs(source string) map[string]doc {
	docs := map[string]doc{}
	for _, m := range toolSource.FindAllStringSubmatch(source, -1) {
		docs[m[1]] = readDoc(m[2])
	}
	return docs
}

func readDoc(text string) doc {
	d := doc{arguments: map[string]string{}}
	var about []string
	in, depth, last := "", 0, ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if m := section.FindStringSubmatch(line); m != nil {
			in, depth, last = m[2], 0, ""
			continue
		}
		switch in {
		case "":
			about = append(about, strings.TrimSpace(line))
		case "Args":
			indent := len(line) - len(strings.TrimLeft(line, " "))
			m := argument.FindStringSubmatch(line)
			if m != nil && (depth == 0 || indent <= depth) {
				depth, last = indent, m[2]
				d.arguments[last] = m[3]
			} else if last != "" && strings.TrimSpace(line) != "" {
				d.arguments[last] += " " + strings.TrimSpace(line)
			}
		}
	}
	d.text = strings.TrimSpace(strings.Join(about, "\n"))
	return d
}
