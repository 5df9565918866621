package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Kinds are what an engine that fails a class of cases lets happen, worst first.
var Kinds = []string{
	"escape", "leak between runs", "policy bypass", "spoofed outcome", "bridge confusion", "denial of service",
	"resource overshoot", "correctness",
}

// Severities are how bad that is, worst first.
var Severities = []string{"critical", "high", "medium", "low"}

// classesFile is the name of the file that describes the classes of a suite. A suite may have none.
const classesFile = "classes.json"

// A class is an entry of that file.
type class struct {
	Class    string `json:"class"`
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	Text     string `json:"text"` // for people: what an engine that fails this lets happen
}

// describe reads the classes of a suite and gives each case those of its class.
func (s *Suite) describe(dir fs.FS) error {
	data, err := fs.ReadFile(dir, classesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var classes []class
	if err == nil {
		_, err = strictjson.Parse(data, strictjson.Options{})
	}
	if err == nil {
		err = json.Unmarshal(data, &classes)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", classesFile, err)
	}
	byName := make(map[string]class, len(classes))
	for i, c := range classes {
		switch {
		case byName[c.Class].Class != "":
			err = errors.New("it is listed twice")
		case !slices.Contains(Kinds, c.Kind):
			err = fmt.Errorf("the kind %q is none of %s", c.Kind, strings.Join(Kinds, ", "))
		case !slices.Contains(Severities, c.Severity):
			err = fmt.Errorf("the severity %q is none of %s", c.Severity, strings.Join(Severities, ", "))
		case c.Text == "":
			err = errors.New("it has no text")
		case !slices.ContainsFunc(s.Cases, func(of *Case) bool { return of.Class == c.Class }):
			err = errors.New("no case has this class")
		}
		if err != nil {
			return fmt.Errorf("%s, class %d (%q): %w", classesFile, i+1, c.Class, err)
		}
		byName[c.Class] = c
	}
	for _, c := range s.Cases {
		of, ok := byName[c.Class]
		if !ok {
			return fmt.Errorf("%s does not list the class %q of %s", classesFile, c.Class, c.File)
		}
		c.Kind, c.Severity, c.Text = of.Kind, of.Severity, of.Text
	}
	return nil
}

// Words of a program that need a claim of the isolation protocol.
var needed = map[string]*regexp.Regexp{
	"calls":   regexp.MustCompile(`\bcodemode\b`),
	"timers":  regexp.MustCompile(`\b(set|clear)(Timeout|Interval)\b`),
	"console": regexp.MustCompile(`\bconsole\b`),
}

// findNeeds adds to what a case says that it needs what its outcome and its program show.
func (c *Case) findNeeds() error {
	for _, need := range c.Needs {
		if !slices.Contains(isolation.Claims, need) {
			return fmt.Errorf("it needs %q, which is none of %s", need, strings.Join(isolation.Claims, ", "))
		}
	}
	switch c.Outcome {
	case Timeout:
		c.Needs = append(c.Needs, "time")
	case Memory:
		c.Needs = append(c.Needs, "memory")
	}
	code := comment.ReplaceAllString(c.source, "")
	for need, words := range needed {
		if words.MatchString(code) {
			c.Needs = append(c.Needs, need)
		}
	}
	slices.Sort(c.Needs)
	c.Needs = slices.Compact(c.Needs)
	return nil
}

// comment is a line that is a comment.
var comment = regexp.MustCompile(`(?m)^\s*(//|#).*$`)

// Program is the source of the case.
func (c *Case) Program() string { return c.source }

// Before are the cases that have to run directly before this one, in the same process, first to last.
func (c *Case) Before() []*Case { return c.before }

// In keeps the cases whose programs are in a language.
func (s *Suite) In(language string) *Suite {
	return &Suite{slices.DeleteFunc(slices.Clone(s.Cases), func(c *Case) bool { return c.Language != language })}
}
