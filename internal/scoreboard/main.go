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

// A figure sums up what became of the cases of an engine.
type figure struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Passed   int    `json:"passed"`
	Cases    int    `json:"cases"`    // that ran
	Unproven int    `json:"unproven"` // of these, those that ended with an error and prove nothing
	Skipped  int    `json:"skipped"`
	Findings int    `json:"findings"`
	Failed   string `json:"failed,omitempty"` // what kept the engine from being tested
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
			f.Passed, f.Cases = f.Passed+k.Passed, f.Cases+k.Cases
			f.Unproven, f.Skipped = f.Unproven+k.Unproven, f.Skipped+k.Skipped
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
[bench/engines](https://github.com/codemode-project/codemode/tree/main/bench/engines). A case that ended with an error
instead of what it tests proves nothing. A case that needs what an engine does not claim is skipped.

| engine | version | passed | prove nothing | skipped | findings |
|---|---|---|---|---|---|
`)
	var names []string // of the newest week, then of earlier ones
	for _, f := range newest.Engines {
		if f.Failed != "" {
			writeRow(&b, f.Name, f.Version, "not tested: "+f.Failed, "", "", "")
			continue
		}
		writeRow(&b, f.Name, f.Version, f.passed(), fmt.Sprint(f.Unproven), fmt.Sprint(f.Skipped), fmt.Sprint(f.Findings))
	}
	for _, w := range weeks {
		for _, f := range w.Engines {
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	b.WriteString("\n## Each week\n\nCases that passed, of those that ran, and findings.\n\n")
	writeRow(&b, append([]string{"week"}, names...)...)
	b.WriteString(strings.Repeat("|---", len(names)+1) + "|\n")
	for _, w := range weeks {
		cells := []string{w.Date}
		for _, name := range names {
			cells = append(cells, w.cell(name))
		}
		writeRow(&b, cells...)
	}
	return b.String()
}

func (f *figure) passed() string { return fmt.Sprintf("%d of %d", f.Passed, f.Cases) }

// cell is what a week says about an engine.
func (w *week) cell(name string) string {
	i := slices.IndexFunc(w.Engines, func(f figure) bool { return f.Name == name })
	switch {
	case i < 0:
		return "-"
	case w.Engines[i].Failed != "":
		return "not tested"
	}
	return fmt.Sprintf("%s, %d", w.Engines[i].passed(), w.Engines[i].Findings)
}

func writeRow(b *strings.Builder, cells ...string) {
	for _, c := range cells {
		b.WriteString("| " + visible.Markdown(c) + " ")
	}
	b.WriteString("|\n")
}
