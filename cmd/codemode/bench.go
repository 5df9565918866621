package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/confined"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/guest/quickjs"
	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/bench/engine"
	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/internal/visible"
)

func newBench(s cli.Streams) *cobra.Command {
	return cli.NewGroup("bench", "Measure the isolation, the speed and the savings of this build, and test your rules",
		"", newBenchIsolation(s), newBenchSpeed(s), newBenchEngine(s), newBenchSavings(s), newBenchSearch(s),
		newBenchPolicy(s))
}

const isolationHelp = `Runs hostile programs in processes of this build and checks that each has the expected
outcome, in time, and leaves nothing behind. Each runs twice in a row, since the second run gets the
guest of the first; --once halves the time. Cases with measured time or memory run alone,
the others several at once. Progress is printed on standard error.

--cases runs your own suite: a folder with the programs and a list of them, attacks.json:

  [{"file": "loop.js", "class": "loops", "outcome": "timeout"},
   {"file": "plant.js", "class": "leaks", "outcome": "value"},
   {"file": "peek.js", "class": "leaks", "outcome": "value", "expect": "nothing", "after": "plant.js"}]

A program is the body of an async function. It has codemode.echo(x), slow({ms}), fail()
and secret(), which is denied; 3 s, or 1 s if a timeout is expected; 64 MiB and 16 calls in
flight. Outcomes are value, error, timeout, memory and denied; "also" lists others that are
accepted.

--session runs each program as the second one of a session, which holds a secret. Every
other session was put away and opened again. A case fails as well if its session does not
go on as it should: as it was before, if the program was stopped; or if the program learns
or changes anything of another session, or a new session finds anything of one.

--engine runs the suite against another engine: a command that speaks the isolation protocol
(docs/isolation-protocol.md), as words with spaces between them or a JSON array. The engine is
a process of its own, measured from outside, killed when it hangs, and asked questions whose
answers it cannot know. Cases that need what it does not claim are skipped, and shown so.
--engines takes a JSON file that lists several: {"mine": ["node", "mine.mjs"]}; they start in
the folder of the file. --baseline takes an earlier report as JSON: then only findings that
it does not have fail. A case that ended with an error before its point is unproven: it is
no finding, and -v lists it.

Exit codes: 0 if every case was accepted and nothing is left over, 1 if not; with --engine 0
without new findings, 1 with some; 2 if the command or the suite is wrong, 5 if the suite or
an engine could not run or the report could not be written, 130 if interrupted. --out changes
its file only when the report is complete.`

const isolationExamples = `  # what a case does, and what is accepted
  codemode bench isolation --show s29_steps_are_milliseconds.js
  # some of the cases, each listed
  codemode bench isolation --filter 's29_*' -v
  # a suite of your own
  codemode bench isolation --cases my-attacks
  # for CI: a third of it, each case once, with a JUnit report
  codemode bench isolation --cases my-attacks --once --shard 1/3 --out report.xml
  # some of them in sessions
  codemode bench isolation --session --filter 's29_*'
  # another engine, with a report for code scanning
  codemode bench isolation --engine ./my-sandbox --filter 's29_*' --out report.sarif
  # the report as JSON in a file of any name
  codemode bench isolation --filter 's29_*' --format json --out report`

func newBenchIsolation(s cli.Streams) *cobra.Command {
	var dir, format, filter, shard, show string
	var outs []string
	var once, core, session, verbose, confine bool
	var busy int
	var others otherEngines
	cmd := &cobra.Command{
		Use:     "isolation",
		Short:   "Run the attack suite against this build",
		Long:    isolationHelp,
		Example: isolationExamples,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("format", format, engine.Formats); err != nil {
				return err
			}
			files, err := reportFiles(outs, cmd.Flags().Changed("format"), format)
			if err == nil {
				err = others.check()
			}
			if err == nil && busy < 0 {
				err = fmt.Errorf("--busy %d: it is a number of programs, 0 or more", busy)
			}
			if err != nil {
				return cli.UsageError(err)
			}
			suite, err := loadSuite(dir, filter)
			if err == nil && core {
				suite = suite.Core()
			}
			if err == nil && cmd.Flags().Changed("shard") {
				suite, err = shardOf(suite, shard)
			}
			for i := 0; err == nil && i < len(files); i++ {
				err = canWrite(files[i].path)
			}
			if err != nil {
				return cli.UsageError(err)
			}
			if show != "" {
				return cli.UsageError(showCase(s.Out, suite, show))
			}
			place := placeOf(dir, &others)
			if others.any() {
				return others.test(cmd, s, suite, once, verbose, format, files, place)
			}
			if suite, err = suite.In(bench.JavaScript); err != nil {
				return cli.UsageError(err)
			}
			self, err := os.Executable()
			if err == nil && confine {
				err = confined.Possible(false)
			}
			if err != nil {
				return cli.UsageError(err)
			}
			bar := newBar(s.Err)
			report, err := engine.Own(cmd.Context(), engine.Options{Once: once, Progress: bar.show}, engine.OwnOptions{
				Command: []string{self, "bench", "engine"}, Session: session, Confine: confine, Busy: busy}, suite)
			bar.clear()
			if err != nil {
				return cli.InternalError(err)
			}
			report.Guest, report.Board.Place = quickjs.Hash(), place
			said := fmt.Sprintf("%d of %d cases accepted after %.1f s", report.Summary.OK, report.Summary.Cases,
				report.Summary.TotalMS/1000)
			return benchEnd(writeReports(s, format, files, said, func(w io.Writer, format string) error {
				return report.Write(w, format, verbose)
			}), report.Summary.Pass)
		},
	}
	cmd.Flags().StringVar(&dir, "cases", "", "folder with another suite, instead of the one in this binary")
	cmd.Flags().StringVar(&format, "format", "table",
		strings.Join(engine.Formats, ", ")+"; by default the extension of --out decides")
	cmd.Flags().StringVar(&filter, "filter", "", "only cases whose file or class matches this pattern, such as 's04_*'")
	cmd.Flags().StringVar(&show, "show", "", "run nothing: print the program of this case, what it does and what is accepted")
	cmd.Flags().BoolVar(&once, "once", false, "run each program once instead of twice in a row")
	cmd.Flags().BoolVar(&core, "core", false, "leave out cases that only vary another one")
	cmd.Flags().BoolVar(&session, "session", false, "run each program in a session of its own, and look for leaks")
	cmd.Flags().IntVar(&busy, "busy", 0, "how many endless programs run beside the suite, one case at a time")
	cmd.Flags().StringVar(&shard, "shard", "",
		"only one part of the cases: 2/3 is the second of three disjoint parts")
	cmd.Flags().BoolVar(&confine, "confine", false, "run the suite with the rights of codemode serve --confine (Linux)")
	cmd.Flags().StringArrayVar(&outs, "out", nil,
		"write the complete report to this file instead of standard output; may be repeated, for several formats")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false,
		"list every case; with --engine, every case that was skipped or proves nothing")
	others.flags(cmd)
	for _, name := range []string{"engine", "engines"} {
		for _, only := range []string{"session", "confine", "busy"} { // of this build
			cmd.MarkFlagsMutuallyExclusive(name, only)
		}
	}
	return cmd
}

// A reportFile is a file for a report.
type reportFile struct{ path, format string }

// reportFormats are the formats for file extensions.
var reportFormats = map[string]string{".json": "json", ".xml": "junit", ".md": "markdown", ".txt": "table",
	".sarif": "sarif", ".svg": "badge"}

// reportFiles are the files of --out. Each has the format of its extension, unless --format is there: a single file has
// that one.
func reportFiles(paths []string, forced bool, format string) (files []reportFile, err error) {
	if forced && len(paths) > 1 {
		return nil, errors.New("--format with several --out: leave --format out, the extension of each file decides")
	}
	for _, path := range paths {
		if !forced {
			if format = reportFormats[filepath.Ext(path)]; format == "" && path != "" {
				return nil, fmt.Errorf("--out %s: the name has to end in .json, .xml (JUnit), .sarif, .md, .txt or .svg (a badge), "+
					"or --format has to name the format", path)
			}
		}
		files = append(files, reportFile{path, format})
	}
	return files, nil
}

// writeReports prints a report, or puts it into each of the files when it is complete, and says what.
func writeReports(s cli.Streams, format string, files []reportFile, said string,
	write func(w io.Writer, format string) error) error {
	if len(files) == 0 {
		return write(s.Out, format)
	}
	for _, f := range files {
		var text bytes.Buffer
		err := write(&text, f.format)
		if err == nil {
			err = replace.File(f.path, text.Bytes(), 0o644)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Err, "codemode: %s; the report is in %s\n", said, visible.Line(f.path))
	}
	return nil
}

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
	if err != nil || filter == "" {
		return suite, err
	}
	return suite.Filter(filter)
}

func newBenchSpeed(s cli.Streams) *cobra.Command {
	var format string
	var quick bool
	var others otherEngines
	cmd := &cobra.Command{
		Use:   "speed",
		Short: "Measure what a run costs on this machine",
		Long: `Measures cold start, fresh runs, host calls, computing, the memory of waiting runs, and
programs in sessions. It stores 10,000 sessions in a temporary record, and 500 with --quick.
Each figure is a median, with the range of the middle nine tenths. Other work on the machine
affects the figures. The cost of the checks that make every loop stoppable is measured
against the same guest without the counters in its loops.

--engine measures other engines instead: commands that speak the isolation protocol
(docs/isolation-protocol.md). They take turns, each started anew in each round. If one fails,
the report has the others, and the exit code is 5. Without it, the exit code is 1 if a collection
of garbage beside endless programs takes more than 50 ms.`,
		Example: `  codemode bench speed --quick
  codemode bench speed --engine ./my-sandbox --engine 'codemode bench engine'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if others.any() {
				return others.time(cmd, s, quick, format)
			}
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
			beyond := report.Beyond()
			if beyond != "" {
				fmt.Fprintln(s.Err, "codemode:", beyond)
			}
			return benchEnd(report.Write(s.Out, format), beyond == "")
		},
	}
	cmd.Flags().StringVar(&format, "format", "table",
		strings.Join(bench.SpeedFormats, ", ")+"; with --engine also markdown")
	cmd.Flags().BoolVar(&quick, "quick", false, "fewer samples")
	others.commandFlags(cmd)
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
