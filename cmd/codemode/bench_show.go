package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/visible"
)

// showCase prints a case for somebody whose engine fails it.
func showCase(w io.Writer, suite *bench.Suite, file string) error {
	var names []string
	for _, c := range suite.Cases {
		if c.File == file {
			return printCase(w, c)
		}
		names = append(names, c.File)
	}
	if near := visible.Nearest(file, names); near != "" {
		return fmt.Errorf("--show %s: there is no such case: did you mean %s?", file, near)
	}
	return fmt.Errorf("--show %s: there is no such case; --filter '*' -v lists them", file)
}

func printCase(w io.Writer, c *bench.Case) error {
	accepted := append([]string{c.Outcome}, c.Also...)
	visible.Fprintf(w, "case      %s\nclass     %s\n", c.File, c.Class)
	if c.Kind != "" {
		visible.Fprintf(w, "severity  %s\nif it fails  %s: %s\n", c.Severity, c.Kind, c.Text)
	}
	visible.Fprintf(w, "accepted  %s\n", strings.Join(accepted, ", "))
	if c.Expect != nil {
		visible.Fprintf(w, "value     %s\n", string(c.Expect))
	}
	if len(c.Needs) > 0 {
		visible.Fprintf(w, "needs     %s\n", strings.Join(c.Needs, ", "))
	}
	for _, before := range c.Before() {
		visible.Fprintf(w, "after     %s\n", before.File)
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.TrimRight(visible.JSON(c.Program()), "\n"))
	return err
}

// placeOf returns the file of the reader's project to which the findings of a case belong: the case itself, if the
// suite is in the project; else the file that lists the engines, the program of the engine, or the workflow. Nil if
// nothing of these is a file below the working directory.
func placeOf(suite string, f *otherEngines) func(file string) string {
	inProject := func(path string) (string, bool) {
		path = filepath.Clean(path)
		_, err := os.Stat(path)
		return filepath.ToSlash(path), err == nil && filepath.IsLocal(path)
	}
	if folder, ok := inProject(suite); suite != "" && ok {
		return func(file string) string { return folder + "/" + file }
	}
	candidates := []string{f.list}
	for _, text := range f.commands {
		words, _ := commandWords(text)
		candidates = append(candidates, words...)
	}
	_, workflow, _ := strings.Cut(os.Getenv("GITHUB_WORKFLOW_REF"), "/") // owner/name/path@ref
	_, workflow, _ = strings.Cut(workflow, "/")
	workflow, _, _ = strings.Cut(workflow, "@")
	for _, path := range append(candidates, workflow) {
		if info, err := os.Stat(path); path == "" || err != nil || info.IsDir() {
			continue
		}
		if file, ok := inProject(path); ok {
			return func(string) string { return file }
		}
	}
	return nil
}
