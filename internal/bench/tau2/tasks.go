package tau2

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
)

// A Task is what a user wants, and the calls that do it.
type Task struct {
	ID string
	// Says is all that the user can tell.
	Says string
	// Reason is why the user calls.
	Reason string
	// Actions are the calls in their order.
	Actions []Action
	// Told says that the user has to hear something that is in the data.
	Told bool
}

// An Action is one call.
type Action struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func readTasks(files fs.FS, domain string) ([]Task, error) {
	path := "data/tau2/domains/" + domain + "/tasks.json"
	text, err := fs.ReadFile(files, path)
	if err != nil {
		return nil, err
	}
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
			Actions []Action `json:"actions"`
			Told    []string `json:"communicate_info"`
		} `json:"evaluation_criteria"`
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	var tasks []Task
	for _, s := range stored {
		in := s.Scenario.Instructions
		tasks = append(tasks, Task{ID: s.ID, Reason: in.Reason, Actions: s.Criteria.Actions, Told: len(s.Criteria.Told) > 0,
			Says: strings.Join([]string{in.Reason, in.Known, in.Task, in.Unknown}, "\n")})
	}
	return tasks, nil
}
