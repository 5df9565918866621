package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/guest/quickjs"
	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/internal/visible"
)

func newBench(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what this build holds against, and what it costs",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchIsolation(s), newBenchSpeed(s))
	return cmd
}

func newBenchIsolation(s streams) *cobra.Command {
	var dir, format, filter, shard, out string
	var busy int
	var once, verbose bool
	cmd := &cobra.Command{
		Use:   "isolation",
		Short: "Run the attack suite against this build",
		Long: `Runs hostile programs in this process and checks that each ends as it has to, in
time, and leaves nothing behind. Each runs twice in a row, since the second run gets the
guest of the first; --once halves the time. Cases whose time or memory is measured run
alone, the others several at once. How far it is stands on stderr.

--cases runs a suite of your own: a folder with the programs and a list of them,
attacks.json:

  [{"file": "loop.js", "class": "loops", "outcome": "timeout"},
   {"file": "plant.js", "class": "leaks", "outcome": "value"},
   {"file": "peek.js", "class": "leaks", "outcome": "value", "expect": "nothing", "after": "plant.js"}]

A program is the body of an async function. It has codemode.echo(x), slow({ms}), fail()
and secret(), which is denied; 3 s, 64 MiB and 16 calls in flight. Outcomes are value,
error, timeout, memory and denied; "also" lists others that are accepted.

Exits with 0 if every case was accepted and nothing is left over, with 1 if not, with 2 if
the command or the suite is wrong, with 5 if the suite could not run or the report could
not be written, with 130 if interrupted. --out changes its file only when the report is
complete.`,
		Example: `  # some of the cases, each listed
  codemode bench isolation --filter 's29_*' -v
  # a suite of your own
  codemode bench isolation --cases my-attacks
  # for CI: a third of it, each case once, the report as JUnit has it
  codemode bench isolation --cases my-attacks --once --shard 1/3 --out report.xml
  # the report as JSON in a file of any name
  codemode bench isolation --filter 's29_*' --format json --out report`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out != "" && !cmd.Flags().Changed("format") {
				if format = reportFormats[filepath.Ext(out)]; format == "" {
					return usage(fmt.Errorf("--out %s: the name has to end in .json, .xml (JUnit), .md or .txt, "+
						"or --format has to say the form", out))
				}
			}
			if err := oneOf("format", format, bench.IsolationFormats); err != nil {
				return err
			}
			suite, err := loadSuite(dir, filter)
			if err == nil && cmd.Flags().Changed("shard") {
				suite, err = shardOf(suite, shard)
			}
			if err == nil && cmd.Flags().Changed("out") {
				err = canWrite(out)
			}
			if err != nil {
				return usage(err)
			}
			bar := newBar(s.err)
			report, err := bench.Isolation(cmd.Context(), bench.IsolationOptions{
				Wasm: quickjs.Wasm(), CacheDir: cacheDir(), Worker: s.worker,
				Busy: busy, Once: once, Progress: bar.show,
			}, suite)
			bar.clear()
			if err != nil {
				return &exitError{code: exitInternal, err: err}
			}
			if out == "" {
				return benchEnd(report.Write(s.out, format, verbose), report.Summary.Pass)
			}
			var text bytes.Buffer
			err = report.Write(&text, format, verbose)
			if err == nil {
				err = replace.File(out, text.Bytes(), 0o644)
			}
			if err == nil {
				fmt.Fprintf(s.err, "codemode: %d of %d cases accepted after %.1f s; the report is in %s\n",
					report.Summary.OK, report.Summary.Cases, report.Summary.TotalMS/1000, visible.Line(out))
			}
			return benchEnd(err, report.Summary.Pass)
		},
	}
	cmd.Flags().StringVar(&dir, "cases", "", "folder with another suite; the one in this binary is used without")
	cmd.Flags().StringVar(&format, "format", "table",
		strings.Join(bench.IsolationFormats, ", ")+"; without, the end of --out's name says it")
	cmd.Flags().StringVar(&filter, "filter", "", "only cases whose file or class matches this pattern, such as 's04_*'")
	cmd.Flags().BoolVar(&once, "once", false, "run each program once instead of twice in a row")
	cmd.Flags().StringVar(&shard, "shard", "",
		"only one part of the cases: 2/3 is the second of three, which are disjoint and together all")
	cmd.Flags().StringVar(&out, "out", "", "write the report to this file when it is complete, and nothing to stdout")
	cmd.Flags().IntVar(&busy, "busy", 0, "how many endless programs run beside the suite")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "list every case")
	return cmd
}

// reportFormats are the forms that names of files stand for.
var reportFormats = map[string]string{".json": "json", ".xml": "junit", ".md": "markdown", ".txt": "table"}

// shardOf is the part of a suite that I/N names.
func shardOf(suite *bench.Suite, shard string) (*bench.Suite, error) {
	part, of, _ := strings.Cut(shard, "/")
	i, err := strconv.Atoi(part)
	n, err2 := strconv.Atoi(of)
	if err != nil || err2 != nil || fmt.Sprintf("%d/%d", i, n) != shard {
		return nil, fmt.Errorf("--shard %q: it has to be two numbers, such as 1/3 for the first of three parts", shard)
	}
	suite, err = suite.Shard(i, n)
	if err != nil {
		return nil, fmt.Errorf("--shard: %w", err)
	}
	return suite, nil
}

// canWrite tries whether a report can be put at a path, before it takes minutes to make one.
func canWrite(path string) error {
	if path == "" {
		return errors.New("--out names no file")
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("--out %s is a folder", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".codemode-report-*")
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
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
			o := bench.SpeedOptions{Wasm: quickjs.Wasm(), CacheDir: cacheDir(), Quick: quick}
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
