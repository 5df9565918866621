package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// An Outcome is a way in which a program of an attack suite may end, as docs/isolation-protocol.md defines them.
type Outcome = string

const (
	Value   = isolation.Value   // it finished
	Error   = isolation.Error   // it threw, or was refused or stopped for any other reason
	Timeout = isolation.Timeout // a limit of time
	Memory  = isolation.Memory  // the limit of memory
	Denied  = isolation.Denied  // by a call that the profile denies and the program did not catch
)

var outcomes = []Outcome{Value, Error, Timeout, Memory, Denied}

// A Case is one program of an attack suite, as the manifest attacks.json describes it.
type Case struct {
	File    string          `json:"file"`
	Class   string          `json:"class"`
	Outcome Outcome         `json:"outcome"`
	Also    []Outcome       `json:"also,omitempty"`   // other outcomes that are as safe
	Expect  json.RawMessage `json:"expect,omitempty"` // the required value; for two strings, a part of it
	After   string          `json:"after,omitempty"`  // the file that must run directly before

	// Needs are the claims of docs/isolation-protocol.md without which the case says nothing about an engine. The
	// manifest has those that the outcome and the program do not show; [LoadSuite] adds the others.
	Needs    []string `json:"needs,omitempty"`
	Like     string   `json:"like,omitempty"`     // the file of a case of the same class that shows the same
	Language string   `json:"language,omitempty"` // JavaScript if the manifest has none

	// What classes.json says of the class: what an engine that fails the case lets happen. Empty if the suite has no
	// such file.
	Kind     string `json:"-"`
	Severity string `json:"-"`
	Text     string `json:"-"`

	source string
	before []*Case // the chain of After, first to last
}

// The languages of programs.
const (
	JavaScript = "javascript"
	Python     = "python"
)

// A Suite holds the cases of one directory, in the order of its manifest.
type Suite struct{ Cases []*Case }

// manifest is the name of the file that lists the cases.
const manifest = "attacks.json"

// LoadSuite reads a manifest, the programs it names, and what classes.json says of their classes, if there is such a
// file. An error about a broken manifest names the case.
func LoadSuite(dir fs.FS) (*Suite, error) {
	data, err := fs.ReadFile(dir, manifest)
	if err != nil {
		return nil, fmt.Errorf("reading the list of cases: %w", err)
	}
	s := &Suite{}
	if err := decode(data, json.Unmarshal, &s.Cases); err != nil {
		return nil, fmt.Errorf("reading %s: %w", manifest, err)
	}
	if len(s.Cases) == 0 {
		return nil, fmt.Errorf("%s lists no cases", manifest)
	}
	byFile := make(map[string]*Case, len(s.Cases))
	for i, c := range s.Cases {
		if c == nil {
			return nil, fmt.Errorf("%s, case %d is null", manifest, i+1)
		}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("%s, case %d (%q): %w", manifest, i+1, c.File, err)
		}
		if byFile[c.File] != nil {
			return nil, fmt.Errorf("%s, case %d: %q is listed twice", manifest, i+1, c.File)
		}
		source, err := fs.ReadFile(dir, c.File)
		if err != nil {
			return nil, fmt.Errorf("%s, case %d: %w", manifest, i+1, err)
		}
		c.source = string(source)
		c.addNeeds()
		byFile[c.File] = c
	}
	for _, c := range s.Cases {
		err := c.chain(byFile)
		if err == nil {
			err = c.checkLike(byFile)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, case %q: %w", manifest, c.File, err)
		}
	}
	for _, c := range s.Cases {
		c.addNeedsOfBefore()
	}
	if err := s.readClasses(dir); err != nil {
		return nil, err
	}
	return s, nil
}

// decode is unmarshal for text without duplicate members.
func decode(text []byte, unmarshal func([]byte, any) error, into any) error {
	if _, err := strictjson.Parse(text, strictjson.Options{}); err != nil {
		return err
	}
	return unmarshal(text, into)
}

// check checks what a case says by itself. It sets the language if the manifest has none.
func (c *Case) check() error {
	if c.Language == "" {
		c.Language = JavaScript
	}
	switch {
	case c.File == "":
		return errors.New("it names no file")
	case !slices.Contains(outcomes, c.Outcome):
		return fmt.Errorf("the outcome %q is none of %v", c.Outcome, outcomes)
	case c.Language != JavaScript && c.Language != Python:
		return fmt.Errorf("the language %q is neither %s nor %s", c.Language, JavaScript, Python)
	}
	for _, o := range c.Also {
		if !slices.Contains(outcomes, o) {
			return fmt.Errorf("the outcome %q in also is none of %v", o, outcomes)
		}
	}
	return c.checkNeeds()
}

// chain finds the cases that must run before a case.
func (c *Case) chain(byFile map[string]*Case) error {
	for at := c; at.After != ""; {
		earlier := byFile[at.After]
		switch {
		case earlier == nil:
			return fmt.Errorf("after names %q, which is not listed", at.After)
		case earlier.Language != c.Language:
			return fmt.Errorf("after names %q, which is in another language", at.After)
		case earlier == c || slices.Contains(c.before, earlier):
			return fmt.Errorf("after leads back to %q", earlier.File)
		}
		c.before = slices.Insert(c.before, 0, earlier)
		at = earlier
	}
	return nil
}

// checkLike checks that Like names a case that stands for others and is of the same class and language.
func (c *Case) checkLike(byFile map[string]*Case) error {
	if c.Like == "" {
		return nil
	}
	switch other := byFile[c.Like]; {
	case other == nil:
		return fmt.Errorf("like names %q, which is not listed", c.Like)
	case other.Like != "":
		return fmt.Errorf("like names %q, which is itself like %q", c.Like, other.Like)
	case other.Class != c.Class || other.Language != c.Language:
		return fmt.Errorf("like names %q, which has another class or language", c.Like)
	}
	return nil
}

// Program is the source of the case.
func (c *Case) Program() string { return c.source }

// Before are the cases that have to run directly before this one, in the same process, first to last.
func (c *Case) Before() []*Case { return c.before }

// keep keeps some of the cases.
func (s *Suite) keep(which func(*Case) bool) *Suite {
	return &Suite{slices.DeleteFunc(slices.Clone(s.Cases), func(c *Case) bool { return !which(c) })}
}

// In keeps the cases in a language.
func (s *Suite) In(language string) (*Suite, error) {
	kept := s.keep(func(c *Case) bool { return cmp.Or(c.Language, JavaScript) == language })
	if len(kept.Cases) == 0 {
		return nil, fmt.Errorf("no case is in %s", language)
	}
	return kept, nil
}

// Core keeps the cases that show something of their own: those without Like.
func (s *Suite) Core() *Suite { return s.keep(func(c *Case) bool { return c.Like == "" }) }

// Filter keeps the cases with a file, or a class, that matches a pattern of [path.Match].
func (s *Suite) Filter(pattern string) (*Suite, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("the pattern %q: %w", pattern, err)
	}
	kept := s.keep(func(c *Case) bool {
		return slices.ContainsFunc([]string{c.File, strings.TrimSuffix(c.File, path.Ext(c.File)), c.Class},
			func(name string) bool { ok, err := path.Match(pattern, name); return ok && err == nil })
	})
	if len(kept.Cases) == 0 {
		return nil, fmt.Errorf("no case matches %q", pattern)
	}
	return kept, nil
}

// Shard keeps the i-th of n parts of a suite, counted from 1: each n-th case, starting with the i-th. The same suite
// always has the same parts. They are disjoint and together all of it. Prerequisites of a case run with it in each
// part.
func (s *Suite) Shard(i, n int) (*Suite, error) {
	switch {
	case n < 1 || i < 1 || i > n:
		return nil, fmt.Errorf("there is no part %d of %d", i, n)
	case i > len(s.Cases):
		return nil, fmt.Errorf("part %d of %d is empty, as there are only %d cases", i, n, len(s.Cases))
	}
	part := &Suite{}
	for at := i - 1; at < len(s.Cases); at += n {
		part.Cases = append(part.Cases, s.Cases[at])
	}
	return part, nil
}

// Measured reports whether the case tests time or memory: then it runs alone.
func (c *Case) Measured() bool { return c.Accepts(Timeout) || c.Accepts(Memory) }

// Accepts reports whether an outcome is safe for the case.
func (c *Case) Accepts(o Outcome) bool { return o == c.Outcome || slices.Contains(c.Also, o) }

// Fits reports whether a value matches Expect; nil is undefined, which counts as null.
func (c *Case) Fits(value json.RawMessage) bool {
	if c.Expect == nil {
		return true
	}
	if value == nil {
		value = json.RawMessage("null")
	}
	want, err := strictjson.Parse(c.Expect, strictjson.Options{})
	got, err2 := strictjson.Parse(value, strictjson.Options{})
	if err != nil || err2 != nil {
		return false
	}
	if want.Kind() == strictjson.String && got.Kind() == strictjson.String {
		return strings.Contains(got.Text(), want.Text())
	}
	return bytes.Equal(want.AppendCanonical(nil), got.AppendCanonical(nil))
}
