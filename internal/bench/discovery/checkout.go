package discovery

import (
	"encoding/json"
	"regexp"
	"strings"
)

// A task is what a user wants, and the calls that do it.
type task struct {
	ID      string
	Says    string   // all that the user can tell
	Reason  string   // why the user calls
	Actions []action // the calls in their order
	Told    bool     // the user has to hear something that is in the data
}

// An action is one call.
type action struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func readTasks(text []byte) ([]task, error) {
	var stored []struct {
		ID       string `json:"id"`
		Scenario struct {
			Instructions struct {
				Task    string `json:"task_instructions"`
				Reason  string `json:"reason_for_call"`
				Known   string `json:"known_info"`
				Unknown string `json:"unknown_info"`
			} `json:"instructions"`
		} `json:"user_scenario"`
		Criteria struct {
			Actions []action `json:"actions"`
			Told    []string `json:"communicate_info"`
		} `json:"evaluation_criteria"`
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, err
	}
	var tasks []task
	for _, s := range stored {
		in := s.Scenario.Instructions
		tasks = append(tasks, task{ID: s.ID, Reason: in.Reason, Actions: s.Criteria.Actions, Told: len(s.Criteria.Told) > 0,
			Says: strings.Join([]string{in.Reason, in.Known, in.Task, in.Unknown}, "\n")})
	}
	return tasks, nil
}

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
