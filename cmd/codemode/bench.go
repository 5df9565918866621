package main

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/bench"
)

func newBench(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what this build holds against, and what it costs",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchIsolation(s), newBenchSpeed(s), newBenchLanguage(s))
	return cmd
}

func newBenchIsolation(s streams) *cobra.Command {
	var dir, format, filter string
	var busy int
	var verbose bool
	cmd := &cobra.Command{
		Use:   "isolation",
		Short: "Run the attack suite against this build",
		Long: `Runs hostile programs in this process, one after the other, each twice, and checks
that each ends as it has to, in time, and leaves nothing behind. Exits with 0 if every
case was accepted, else with 1. --cases runs a suite of your own: a folder with the
programs and a list of them, attacks.json:

  [{"file": "loop.js", "class": "loops", "outcome": "timeout"},
   {"file": "plant.js", "class": "leaks", "outcome": "value"},
   {"file": "peek.js", "class": "leaks", "outcome": "value", "expect": "nothing", "after": "plant.js"}]

A program is the body of an async function. It has codemode.echo(x), slow({ms}), fail()
and secret(), which is denied; 3 s, 64 MiB and 16 calls in flight. Outcomes are value,
error, timeout, memory and denied; "also" lists others that are accepted.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("format", format, bench.IsolationFormats); err != nil {
				return err
			}
			suite, err := loadSuite(dir, filter)
			if err != nil {
				return usage(err)
			}
			bar := newBar(s.err)
			report, err := bench.Isolation(cmd.Context(), bench.IsolationOptions{
				Wasm: codemode.Guest(), CacheDir: cacheDir(), Busy: busy, Progress: bar.show, Worker: s.worker,
			}, suite)
			bar.clear()
			if err != nil {
				return &exitError{code: exitInternal, err: err}
			}
			return benchEnd(report.Write(s.out, format, verbose), report.Summary.Pass)
		},
	}
	cmd.Flags().StringVar(&dir, "cases", "", "folder with another suite; the one in this binary is used without")
	cmd.Flags().StringVar(&format, "format", "table", strings.Join(bench.IsolationFormats, ", "))
	cmd.Flags().StringVar(&filter, "filter", "", "only cases whose file or class matches this pattern, such as 's04_*'")
	cmd.Flags().IntVar(&busy, "busy", 0, "how many endless programs run beside the suite")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "list every case")
	return cmd
}

func loadSuite(dir, filter string) (*bench.Suite, error) {
	var files fs.FS
	if dir != "" {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, fmt.Errorf("--cases: %w", err)
		}
		defer root.Close()
		files = root.FS()
	} else {
		files = bench.Attacks()
	}
	suite, err := bench.LoadSuite(files)
	if err != nil || filter == "" {
		return suite, err
	}
	return suite.Filter(filter)
}

func newBenchSpeed(s streams) *cobra.Command {
	var format, unchecked string
	var quick bool
	cmd := &cobra.Command{
		Use:   "speed",
		Short: "Measure what a run costs on this machine",
		Long: `Measures cold start, fresh runs, host calls, computing, and the memory of runs that
wait. Each figure is a median, with the range of the middle nine tenths. What else runs
on the machine shows in the figures. The price of the checks that make every loop
stoppable is measured against the same guest with the counters taken out of its loops, or
against another that --unchecked names.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("format", format, bench.SpeedFormats); err != nil {
				return err
			}
			o := bench.SpeedOptions{Wasm: codemode.Guest(), CacheDir: cacheDir(), Quick: quick}
			if unchecked != "" {
				wasm, err := os.ReadFile(unchecked)
				if err != nil {
					return usage(fmt.Errorf("--unchecked: %w", err))
				}
				o.Unchecked = wasm
			}
			if binary, err := os.Executable(); err == nil {
				o.Start = []string{binary, "run", "-e", "return 1"}
			}
			bar := newBar(s.err)
			o.Progress = bar.show
			report, err := bench.Speed(cmd.Context(), o)
			bar.clear()
			if err != nil {
				return &exitError{code: exitInternal, err: err}
			}
			return benchEnd(report.Write(s.out, format), true)
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", strings.Join(bench.SpeedFormats, ", "))
	cmd.Flags().StringVar(&unchecked, "unchecked", "", "a guest built without kill checks, to compare with")
	cmd.Flags().BoolVar(&quick, "quick", false, "fewer samples")
	return cmd
}

func newBenchLanguage(s streams) *cobra.Command {
	var o bench.LanguageOptions
	var dir, baseline, format string
	var update bool
	cmd := &cobra.Command{
		Use:   "language --test262 DIR",
		Short: "Run test262, the test suite of the JavaScript standard",
		Long: `Runs the script tests of test262's language and built-ins folders, each in a fresh
guest, strict and sloppy as each test asks. Tests of what is absent by design are counted
and skipped. Failures are compared with a list of known ones: a failure that is not
listed, or a line whose test passes, makes the exit code 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("format", format, bench.LanguageFormats); err != nil {
				return err
			}
			if dir == "" {
				return usage(fmt.Errorf("--test262 has to name a checkout of https://github.com/tc39/test262"))
			}
			if update && baseline == "" {
				return usage(fmt.Errorf("--update needs --baseline, the file to write"))
			}
			var known *bench.Baseline
			if baseline != "" {
				f, err := os.Open(baseline)
				if err == nil {
					known, err = bench.ReadBaseline(f)
					f.Close()
				}
				if err != nil && !(update && os.IsNotExist(err)) {
					return usage(fmt.Errorf("--baseline: %w", err))
				}
			}
			bar := newBar(s.err)
			o.Wasm, o.CacheDir, o.Progress = codemode.Guest(), cacheDir(), bar.show
			report, err := bench.Language(cmd.Context(), o, os.DirFS(dir), known)
			bar.clear()
			if err != nil {
				return &exitError{code: exitInternal, err: err}
			}
			if update {
				if err := os.WriteFile(baseline, report.Baseline(known), 0o644); err != nil {
					return usage(fmt.Errorf("--update: %w", err))
				}
			}
			return benchEnd(report.Write(s.out, format), report.Pass())
		},
	}
	cmd.Flags().StringVar(&dir, "test262", "", "a checkout of test262 (required)")
	cmd.Flags().StringVar(&baseline, "baseline", "", "the list of known failures, such as testdata/test262.txt")
	cmd.Flags().BoolVar(&update, "update", false, "write the failures of this run to the baseline, keeping its reasons")
	cmd.Flags().StringVar(&o.Filter, "filter", "", "only tests or folders that match this pattern, such as 'built-ins/Array*'")
	cmd.Flags().StringVar(&format, "format", "table", strings.Join(bench.LanguageFormats, ", "))
	return cmd
}

func oneOf(flag, value string, may []string) error {
	if slices.Contains(may, value) {
		return nil
	}
	return usage(fmt.Errorf("--%s %s: it can be %s", flag, value, strings.Join(may, ", ")))
}

// benchEnd makes the exit code of a report that was printed.
func benchEnd(printing error, pass bool) error {
	switch {
	case printing != nil:
		return &exitError{code: exitInternal, err: printing}
	case !pass:
		return &exitError{code: exitProgram}
	}
	return nil
}
