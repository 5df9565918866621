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

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/confined"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/guest/quickjs"
	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/internal/visible"
)

func newBench(s cli.Streams) *cobra.Command {
	return cli.NewGroup("bench", "Measure the isolation, the speed and the savings of this build",
		"", newBenchIsolation(s), newBenchSpeed(s), newBenchSavings(s), newBenchSearch(s))
}

func newBenchIsolation(s cli.Streams) *cobra.Command {
	var dir, format, filter, shard, out string
	var once, session, verbose, confine bool
	cmd := &cobra.Command{
		Use:   "isolation",
		Short: "Run the attack suite against this build",
		Long: `Runs hostile programs in this process and checks that each has the expected outcome, in
time, and leaves nothing behind. Each runs twice in a row, since the second run gets the
guest of the first; --once halves the time. Cases with measured time or memory run alone,
the others several at once. Progress is printed on standard error.

--cases runs your own suite: a folder with the programs and a list of them, attacks.json:

  [{"file": "loop.js", "class": "loops", "outcome": "timeout"},
   {"file": "plant.js", "class": "leaks", "outcome": "value"},
   {"file": "peek.js", "class": "leaks", "outcome": "value", "expect": "nothing", "after": "plant.js"}]

A program is the body of an async function. It has codemode.echo(x), slow({ms}), fail()
and secret(), which is denied; 3 s, 64 MiB and 16 calls in flight. Outcomes are value,
error, timeout, memory and denied; "also" lists others that are accepted.

--session runs each program as the second one of a session, which holds a secret. Every
other session was put away and opened again. A case fails as well if its session does not
go on as it should: as it was before, if the program was stopped; or if the program learns
or changes anything of another session, or a new session finds anything of one.

Exit codes: 0 if every case was accepted and nothing is left over, 1 if not, 2 if the
command or the suite is wrong, 5 if the suite could not run or the report could not be
written, 130 if interrupted. --out changes its file only when the report is complete.`,
		Example: `  # some of the cases, each listed
  codemode bench isolation --filter 's29_*' -v
  # a suite of your own
  codemode bench isolation --cases my-attacks
  # for CI: a third of it, each case once, with a JUnit report
  codemode bench isolation --cases my-attacks --once --shard 1/3 --out report.xml
  # some of them in sessions
  codemode bench isolation --session --filter 's29_*'
  # the report as JSON in a file of any name
  codemode bench isolation --filter 's29_*' --format json --out report`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out != "" && !cmd.Flags().Changed("format") {
				if format = reportFormats[filepath.Ext(out)]; format == "" {
					return cli.UsageError(fmt.Errorf(
						"--out %s: the name has to end in .json, .xml (JUnit), .md or .txt, or --format has to name the format", out))
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
				return cli.UsageError(err)
			}
			worker := s.Worker
			if confine {
				if worker, err = enterConfinement(worker, dir, out); err != nil {
					return cli.UsageError(err)
				}
			}
			bar := newBar(s.Err)
			report, err := bench.Isolation(cmd.Context(), bench.IsolationOptions{
				Wasm: quickjs.Wasm(), CacheDir: launch.CacheDir(), Worker: worker,
				Once: once, Session: session, Progress: bar.show,
			}, suite)
			bar.clear()
			if err != nil {
				return cli.InternalError(err)
			}
			return benchEnd(writeReport(s, report, format, out, verbose), report.Summary.Pass)
		},
	}
	cmd.Flags().StringVar(&dir, "cases", "", "folder with another suite, instead of the one in this binary")
	cmd.Flags().StringVar(&format, "format", "table",
		strings.Join(bench.IsolationFormats, ", ")+"; by default the extension of --out decides")
	cmd.Flags().StringVar(&filter, "filter", "", "only cases whose file or class matches this pattern, such as 's04_*'")
	cmd.Flags().BoolVar(&once, "once", false, "run each program once instead of twice in a row")
	cmd.Flags().BoolVar(&session, "session", false, "run each program in a session of its own, and look for leaks")
	cmd.Flags().StringVar(&shard, "shard", "",
		"only one part of the cases: 2/3 is the second of three disjoint parts")
	cmd.Flags().BoolVar(&confine, "confine", false, "run the suite with the rights of codemode serve --confine (Linux)")
	cmd.Flags().StringVar(&out, "out", "", "write the complete report to this file instead of standard output")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "list every case")
	return cmd
}

// enterConfinement replaces this process by one that is confined as "serve --confine" is, and may also read the suite
// and write the report. There it returns the command of the workers.
func enterConfinement(worker []string, suite, report string) ([]string, error) {
	p, err := confined.Current()
	if p != nil || err != nil {
		return p.Worker(worker), err
	}
	folders := &config.Confine{}
	if suite != "" {
		path, err := filepath.Abs(suite)
		if err != nil {
			return nil, err
		}
		folders.Read = append(folders.Read, path)
	}
	if report != "" {
		path, err := filepath.Abs(filepath.Dir(report))
		if err != nil {
			return nil, err
		}
		folders.Write = append(folders.Write, path)
	}
	rules, err := confined.Own(codemode.Options{CacheDir: launch.CacheDir(), Env: os.LookupEnv},
		&config.Config{Confine: folders})
	if err != nil {
		return nil, err
	}
	return nil, confined.Enter(rules)
}

// writeReport prints a report, or puts it into a file when it is complete.
func writeReport(s cli.Streams, report *bench.IsolationReport, format, out string, verbose bool) error {
	if out == "" {
		return report.Write(s.Out, format, verbose)
	}
	var text bytes.Buffer
	err := report.Write(&text, format, verbose)
	if err == nil {
		err = replace.File(out, text.Bytes(), 0o644)
	}
	if err == nil {
		fmt.Fprintf(s.Err, "codemode: %d of %d cases accepted after %.1f s; the report is in %s\n",
			report.Summary.OK, report.Summary.Cases, report.Summary.TotalMS/1000, visible.Line(out))
	}
	return err
}

// reportFormats are the formats for file extensions.
var reportFormats = map[string]string{".json": "json", ".xml": "junit", ".md": "markdown", ".txt": "table"}

// shardOf is the part I/N of a suite.
func shardOf(suite *bench.Suite, shard string) (*bench.Suite, error) {
	part, of, _ := strings.Cut(shard, "/")
	i, err := strconv.Atoi(part)
	n, err2 := strconv.Atoi(of)
	if err != nil || err2 != nil || fmt.Sprintf("%d/%d", i, n) != shard {
		return nil, fmt.Errorf("--shard %q: write two numbers, such as 1/3 for the first of three parts", shard)
	}
	suite, err = suite.Shard(i, n)
	if err != nil {
		return nil, fmt.Errorf("--shard: %w", err)
	}
	return suite, nil
}

// canWrite checks that a report can be written to a path, before the suite runs for minutes.
func canWrite(path string) error {
	if path == "" {
		return errors.New("--out names no file")
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("--out %s is a folder", path)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return cli.CanCreateFiles(filepath.Dir(path))
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
	if err == nil {
		suite, err = suite.In(bench.JavaScript)
	}
	if err != nil || filter == "" {
		return suite, err
	}
	return suite.Filter(filter)
}

func newBenchSpeed(s cli.Streams) *cobra.Command {
	var format string
	var quick bool
	cmd := &cobra.Command{
		Use:   "speed",
		Short: "Measure what a run costs on this machine",
		Long: `Measures cold start, fresh runs, host calls, computing, the memory of waiting runs, and
programs in sessions. It stores 10,000 sessions in a temporary record, and 500 with --quick.
Each figure is a median, with the range of the middle nine tenths. Other work on the machine
affects the figures. The cost of the checks that make every loop stoppable is measured
against the same guest without the counters in its loops.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("format", format, bench.SpeedFormats); err != nil {
				return err
			}
			o := bench.SpeedOptions{Wasm: quickjs.Wasm(), CacheDir: launch.CacheDir(), Quick: quick}
			if binary, err := os.Executable(); err == nil {
				o.Start = []string{binary, "run", "-e", "return 1"}
			}
			bar := newBar(s.Err)
			o.Progress = bar.show
			report, err := bench.Speed(cmd.Context(), o)
			bar.clear()
			if err != nil {
				return cli.InternalError(err)
			}
			return benchEnd(report.Write(s.Out, format), true)
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", strings.Join(bench.SpeedFormats, ", "))
	cmd.Flags().BoolVar(&quick, "quick", false, "fewer samples")
	return cmd
}

func oneOf(flag, value string, may []string) error {
	if slices.Contains(may, value) {
		return nil
	}
	return cli.UsageError(fmt.Errorf("--%s %s: it can be %s", flag, value, strings.Join(may, ", ")))
}

// benchEnd is the exit code for a report.
func benchEnd(printing error, pass bool) error {
	if printing == nil && !pass {
		return cli.WithCode(cli.ExitProgram, nil)
	}
	return cli.InternalError(printing)
}
