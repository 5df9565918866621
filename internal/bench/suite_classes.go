package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// classList is the name of the file that describes the classes.
const classList = "classes.json"

// A class is what the cases of one class have in common.
type class struct {
	Class    string `json:"class"`
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	Text     string `json:"text"` // what an engine that fails a case of the class lets happen
}

// Kinds are what an engine that fails a class of cases lets happen, worst first.
var Kinds = []string{
	"escape", "leak between runs", "policy bypass", "spoofed outcome", "bridge confusion", "denial of service",
	"resource overshoot", "correctness",
}

// Severities are how bad that is, worst first.
var Severities = []string{"critical", "high", "medium", "low"}

// readClasses reads what classes.json says into the cases. A suite without that file is fine; a file that leaves out a
// class, or has one without cases, is an error.
func (s *Suite) readClasses(dir fs.FS) error {
	data, err := fs.ReadFile(dir, classList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading what classes are: %w", err)
	}
	var list []*class
	strict := func(text []byte, into any) error {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		return decoder.Decode(into)
	}
	if err := decode(data, strict, &list); err != nil {
		return fmt.Errorf("reading %s: %w", classList, err)
	}
	byName := make(map[string]*class, len(list))
	for i, k := range list {
		if k == nil {
			return fmt.Errorf("%s, class %d is null", classList, i+1)
		}
		if err := s.checkClass(k, byName); err != nil {
			return fmt.Errorf("%s, class %d (%q): %w", classList, i+1, k.Class, err)
		}
		byName[k.Class] = k
	}
	for i, c := range s.Cases {
		k := byName[c.Class]
		if k == nil {
			return fmt.Errorf("%s has no class %q, which %s, case %d (%q) has", classList, c.Class, manifest, i+1, c.File)
		}
		c.Kind, c.Severity, c.Text = k.Kind, k.Severity, k.Text
	}
	return nil
}

func (s *Suite) checkClass(k *class, earlier map[string]*class) error {
	switch {
	case k.Class == "":
		return errors.New("it has no name")
	case earlier[k.Class] != nil:
		return errors.New("it is listed twice")
	case !slices.ContainsFunc(s.Cases, func(c *Case) bool { return c.Class == k.Class }):
		return errors.New("no case has it")
	case !slices.Contains(Kinds, k.Kind):
		return fmt.Errorf("the kind %q is none of %s", k.Kind, strings.Join(Kinds, ", "))
	case !slices.Contains(Severities, k.Severity):
		return fmt.Errorf("the severity %q is none of %s", k.Severity, strings.Join(Severities, ", "))
	case strings.TrimSpace(k.Text) == "":
		return errors.New("it has no text")
	}
	return nil
}
