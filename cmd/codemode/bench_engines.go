package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/confined"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/bench/engine"
)

// otherEngines are the flags of "bench isolation" for other engines.
type otherEngines struct {
	commands []string
	list     string
	baseline string
	programs int
}

func (f *otherEngines) commandFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.commands, "engine", nil,
		"test this command instead of this build; it speaks the isolation protocol; may be repeated")
	cmd.Flags().StringVar(&f.list, "engines", "", "test the commands that this JSON file lists by name")
}

func (f *otherEngines) flags(cmd *cobra.Command) {
	f.commandFlags(cmd)
	cmd.Flags().StringVar(&f.baseline, "baseline", "",
		"with --engine: an earlier report as JSON; only findings that it does not have make the command fail")
	cmd.Flags().IntVar(&f.programs, "programs", 0,
		"with --engine: how many programs that call a denied tool run beside the cases; by default 5000 or as many as "+
			"run in two minutes, -1 for none")
}

func (f *otherEngines) any() bool { return len(f.commands) > 0 || f.list != "" }

// engines are the engines of the flags.
func (f *otherEngines) engines() (engines []engine.Engine, err error) {
	for _, text := range f.commands {
		words, err := commandWords(text)
		if err != nil {
			return nil, fmt.Errorf("--engine: %w", err)
		}
		engines = append(engines, engine.Engine{Command: words})
	}
	if f.list == "" {
		return engines, nil
	}
	raw, err := os.ReadFile(f.list)
	if err != nil {
		return nil, fmt.Errorf("--engines: %w", err)
	}
	var listed map[string][]string
	if err := json.Unmarshal(raw, &listed); err != nil {
		return nil, fmt.Errorf(`--engines %s: it has to be an object such as {"mine": ["node", "mine.mjs"]}: %w`, f.list, err)
	}
	dir, err := filepath.Abs(filepath.Dir(f.list))
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if len(listed[name]) == 0 {
			return nil, fmt.Errorf("--engines %s: %q has no command", f.list, name)
		}
		engines = append(engines, engine.Engine{Name: name, Command: listed[name], Dir: dir})
	}
	if len(engines) == 0 {
		return nil, fmt.Errorf("--engines %s: it lists no engine", f.list)
	}
	return engines, nil
}

// commandWords splits a command at its spaces, or reads it as a JSON array.
func commandWords(text string) (words []string, err error) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		if err := json.Unmarshal([]byte(text), &words); err != nil {
			return nil, fmt.Errorf("%q is no JSON array of words: %w", text, err)
		}
	} else {
		words = strings.Fields(text)
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("there is no command")
	}
	return words, nil
}

// known is the baseline; nil if there is none.
func (f *otherEngines) known() (*engine.Scoreboard, error) {
	if f.baseline == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(f.baseline)
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	var board engine.Scoreboard
	untested := func(r *engine.Report) bool { return r == nil || r.Name == "" || r.Failed != "" || r.Cases == nil }
	if err := json.Unmarshal(raw, &board); err != nil || len(board.Engines) == 0 ||
		slices.ContainsFunc(board.Engines, untested) {
		return nil, fmt.Errorf("--baseline %s: it is no report of bench isolation --engine --format json, or has an "+
			"engine that could not be tested", f.baseline)
	}
	return &board, nil
}

// check refuses flags that need an engine.
func (f *otherEngines) check() error {
	switch {
	case f.any():
		return nil
	case f.baseline != "":
		return errors.New("--baseline needs --engine or --engines: this build has no known findings")
	case f.programs != 0:
		return errors.New("--programs needs --engine or --engines")
	}
	return nil
}

// test runs a suite against the engines and writes the report.
func (f *otherEngines) test(cmd *cobra.Command, s cli.Streams, suite *bench.Suite, once, verbose bool, format string,
	files []reportFile, place func(string) string) error {
	engines, err := f.engines()
	if err != nil {
		return cli.UsageError(err)
	}
	baseline, err := f.known()
	if err != nil {
		return cli.UsageError(err)
	}
	bar := newBar(s.Err)
	board, err := engine.Isolation(cmd.Context(), engines,
		engine.Options{Once: once, Programs: f.programs, Baseline: baseline, Progress: bar.show}, suite)
	bar.clear()
	if err != nil {
		return cli.InternalError(err)
	}
	board.Place = place
	fresh := len(board.New(baseline))
	said := fmt.Sprintf("engines: %d, new findings: %d", len(board.Engines), fresh)
	err = writeReports(s, format, files, said, func(w io.Writer, format string) error {
		return board.Write(w, format, baseline, verbose)
	})
	if err == nil {
		err = board.Failed()
	}
	return benchEnd(err, fresh == 0)
}

// time measures the speed of the engines.
func (f *otherEngines) time(cmd *cobra.Command, s cli.Streams, quick bool, format string) error {
	if err := oneOf("format", format, engine.SpeedFormats); err != nil {
		return err
	}
	engines, err := f.engines()
	if err != nil {
		return cli.UsageError(err)
	}
	bar := newBar(s.Err)
	report, err := engine.Speed(cmd.Context(), engines, engine.SpeedOptions{Quick: quick, Progress: bar.show})
	bar.clear()
	if err != nil {
		return cli.InternalError(err)
	}
	if err = report.Write(s.Out, format); err == nil {
		err = report.Failed()
	}
	return benchEnd(err, true)
}

func newBenchEngine(s cli.Streams) *cobra.Command {
	var confine bool
	var busy int
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Be an engine of the isolation protocol",
		Long: `Reads programs from standard input and runs them, as the isolation protocol says
(docs/isolation-protocol.md), until the input ends. With it you can compare this build with
other engines.`,
		Example: `  codemode bench isolation --engine 'codemode bench engine' --engine ./mine
  codemode bench speed --engine 'codemode bench engine' --engine ./mine`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			worker := s.Worker
			if confine {
				var err error
				if worker, err = enterConfinement(worker); err != nil {
					return cli.UsageError(err)
				}
			}
			o := bench.ServeOptions{CacheDir: launch.CacheDir(), Worker: worker, Busy: busy}
			return cli.InternalError(bench.Serve(cmd.Context(), o, launch.Version(), s.In, s.Out))
		},
	}
	cmd.Flags().BoolVar(&confine, "confine", false, "for bench isolation: see there")
	cmd.Flags().IntVar(&busy, "busy", 0, "for bench isolation: see there")
	for _, name := range []string{"confine", "busy"} {
		_ = cmd.Flags().MarkHidden(name) // they are there
	}
	return cmd
}

// enterConfinement replaces this process by one that is confined as "serve --confine" is. There it returns the command
// of the workers.
func enterConfinement(worker []string) ([]string, error) {
	p, err := confined.Current()
	if p != nil || err != nil {
		return p.Worker(worker), err
	}
	rules, err := confined.Own(codemode.Options{CacheDir: launch.CacheDir(), Env: os.LookupEnv}, &config.Config{})
	if err != nil {
		return nil, err
	}
	return nil, confined.Enter(rules)
}
