// Command scoreboard adds a report of "make scoreboard" to the folder of a history, and writes the pages there anew:
// README.md with the figures of each week, and board.md with the newest findings. The workflow scoreboard keeps the
// folder as a branch.
//
//	go run ./internal/scoreboard -board FILE.json -commit SHA DIR
//
// The figures are in history.json. A report of a day that is there already replaces it.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/bench/engine"
	"github.com/codemode-project/codemode/internal/visible"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "scoreboard:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	set := flag.NewFlagSet("scoreboard", flag.ContinueOnError)
	file := set.String("board", "", "the report, as JSON")
	commit := set.String("commit", "", "the commit of codemode that made it")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *file == "" || set.NArg() != 1 {
		return errors.New("-board FILE.json and the folder of the history are needed")
	}
	return publish(*file, *commit, set.Arg(0))
}

// A week has the figures of one report.
type week struct {
	Date    string   `json:"date"` // of its beginning, in UTC
	Commit  string   `json:"commit,omitempty"`
	Engines []figure `json:"engines"`
}

// A figure is what became of the cases of an engine. There is no sum over the kinds: it would hide a zero.
type figure struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Kinds    []kind `json:"kinds"`
	Findings int    `json:"findings"`
	Failed   string `json:"failed,omitempty"` // what kept the engine from being tested
}

type kind struct {
	Kind     string `json:"kind"`
	Passed   int    `json:"passed"`
	Cases    int    `json:"cases"`    // that ran
	Unproven int    `json:"unproven"` // of these, those that ended with an error and prove nothing
	Skipped  int    `json:"skipped"`
}

// publish adds the report of a file to the history in a folder, and writes its pages.
func publish(file, commit, dir string) error {
	var board engine.Scoreboard
	if err := readJSON(file, &board); err != nil {
		return err
	}
	if len(board.Engines) == 0 {
		return fmt.Errorf("%s has no engines", file)
	}
	path := filepath.Join(dir, "history.json")
	var weeks []week
	if err := readJSON(path, &weeks); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	added := weekOf(&board, commit)
	weeks = slices.DeleteFunc(weeks, func(w week) bool { return w.Date == added.Date })
	weeks = append(weeks, added)
	slices.SortFunc(weeks, func(a, b week) int { return cmp.Compare(b.Date, a.Date) }) // the newest first
	history, err := json.MarshalIndent(weeks, "", "  ")
	if err != nil {
		return err
	}
	pages := map[string][]byte{"history.json": append(history, '\n'), "README.md": []byte(page(weeks))}
	if weeks[0].Date == added.Date {
		var findings bytes.Buffer
		fmt.Fprintf(&findings, "# Findings of %s\n\n", added.Date)
		if err := board.Write(&findings, "markdown", nil, true); err != nil {
			return err
		}
		pages["board.md"] = findings.Bytes()
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
}

func weekOf(board *engine.Scoreboard, commit string) week {
	w := week{Commit: commit}
	var began time.Time
	for _, r := range board.Engines {
		f := figure{Name: r.Name, Version: r.Engine.Version, Findings: len(r.Findings()), Failed: r.Failed}
		for _, k := range r.Kinds {
			f.Kinds = append(f.Kinds, kind{k.Kind, k.Passed, k.Cases, k.Unproven, k.Skipped})
		}
		w.Engines = append(w.Engines, f)
		if began.IsZero() || r.Started.Before(began) {
			began = r.Started
		}
	}
	w.Date = began.UTC().Format(time.DateOnly)
	return w
}

// page is README.md: the newest week, and a row for each earlier one.
func page(weeks []week) string {
	newest := weeks[0]
	var b strings.Builder
	b.WriteString("# Scoreboard\n\ncodemode runs its attack suite against engines for the programs of language models, " +
		"each week. The newest report\nis of " + newest.Date)
	if newest.Commit != "" {
		b.WriteString(", at commit " + visible.Markdown(newest.Commit))
	}
	b.WriteString(`: [each finding](board.md).

How the engines are set up, and how to add one, is in
[internal/bench/engines](https://github.com/codemode-project/codemode/tree/main/internal/bench/engines). A case that
ended with an error instead of what it tests proves nothing. A case that needs what an engine does not claim is skipped.

`)
	kinds := newest.kinds()
	head := slices.Concat([]string{"engine", "version"}, kinds, []string{"prove nothing", "skipped", "findings"})
	b.WriteString(visible.MarkdownRow(head...))
	b.WriteString(strings.Repeat("|---", len(kinds)+5) + "|\n")
	for _, f := range newest.Engines {
		b.WriteString(visible.MarkdownRow(f.row(kinds)...))
	}
	var names []string // of the newest week, then of earlier ones
	for _, w := range weeks {
		for _, f := range w.Engines {
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	b.WriteString("\n## Each week\n\nHow many cases of each kind have findings.\n\n")
	b.WriteString(visible.MarkdownRow(append([]string{"week"}, names...)...))
	b.WriteString(strings.Repeat("|---", len(names)+1) + "|\n")
	for _, w := range weeks {
		cells := []string{w.Date}
		for _, name := range names {
			cells = append(cells, w.cell(name))
		}
		b.WriteString(visible.MarkdownRow(cells...))
	}
	return b.String()
}

// kinds are the kinds that any engine of the week has, in order.
func (w *week) kinds() (names []string) {
	for _, name := range bench.Kinds {
		if slices.ContainsFunc(w.Engines, func(f figure) bool { return f.of(name) != nil }) {
			names = append(names, name)
		}
	}
	return names
}

func (f *figure) of(name string) *kind {
	i := slices.IndexFunc(f.Kinds, func(k kind) bool { return k.Kind == name })
	if i < 0 {
		return nil
	}
	return &f.Kinds[i]
}

// row has how many cases of each kind passed, of those that ran and prove something.
func (f *figure) row(kinds []string) []string {
	cells := []string{f.Name, f.Version}
	if f.Failed != "" {
		return append(append(cells, "not tested: "+f.Failed), make([]string, len(kinds)+2)...)
	}
	unproven, skipped := 0, 0
	for _, name := range kinds {
		k := f.of(name)
		if k == nil {
			cells = append(cells, "-")
			continue
		}
		cells = append(cells, (&engine.Kind{Passed: k.Passed, Cases: k.Cases, Unproven: k.Unproven}).Share())
		unproven, skipped = unproven+k.Unproven, skipped+k.Skipped
	}
	return append(cells, fmt.Sprint(unproven), fmt.Sprint(skipped), fmt.Sprint(f.Findings))
}

// cell is what a week says about an engine.
func (w *week) cell(name string) string {
	i := slices.IndexFunc(w.Engines, func(f figure) bool { return f.Name == name })
	switch {
	case i < 0:
		return "-"
	case w.Engines[i].Failed != "":
		return "not tested"
	}
	var said []string
	for _, k := range w.Engines[i].Kinds {
		if n := k.Cases - k.Passed - k.Unproven; n > 0 {
			said = append(said, fmt.Sprintf("%s %d", k.Kind, n))
		}
	}
	return cmp.Or(strings.Join(said, ", "), "none")
}
