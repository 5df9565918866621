package rulebook

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/visible"
)

func newProfilesTest(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var verbose bool
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Test the rules against tables of calls, and list unexpected verdicts",
		Long: `Each FILE is a table of calls with the verdict each should get:

  # what the table is about
  profile supervised
  allow github__create_issue {"owner": "acme", "repo": "web"}
  deny  fs__read_file {"path": "/etc/passwd"}  # no-etc

After # you can name the rule that should decide. A FILE may also be a txtar archive with
its own configuration (a file with a name that ends in .json) and tables (all others). Exit
code 1 when a call gets another verdict.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			failed, rows := 0, 0
			for _, file := range args {
				results, err := testFile(&set, file)
				if err != nil {
					return err
				}
				for _, r := range results {
					rows++
					if r.Failure != "" {
						failed++
						printFailure(s, r)
					} else if verbose {
						visible.Fprintf(s.Out, "ok    %s:%d  %s\n", relative(r.Pos.File), r.Pos.Line, r.Source)
					}
				}
			}
			fmt.Fprintf(s.Out, "%d of %d calls as written\n", rows-failed, rows)
			if failed > 0 {
				return cli.WithCode(cli.ExitProgram, nil)
			}
			return nil
		},
	}
	set.FileFlags(cmd)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also print the calls with the verdict as written")
	return cmd
}

func printFailure(s cli.Streams, r config.RowResult) {
	visible.Fprintf(s.Out, "FAIL  %s:%d  %s\n      %s\n", relative(r.Pos.File), r.Pos.Line, r.Source, r.Failure)
	for _, reason := range r.Decision.Reasons {
		visible.Fprintf(s.Out, "      %s\n", because(reason))
	}
}

// testFile decides the calls of one file, by its own configuration if it has one.
func testFile(set *launch.Settings, file string) ([]config.RowResult, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	tables := map[string][]byte{file: data}
	order := []string{file}
	var cfg *config.Config
	if archive := txtar.Parse(data); len(archive.Files) > 0 {
		tables, order = map[string][]byte{}, nil
		for _, f := range archive.Files {
			name := file + "/" + f.Name
			if filepath.Ext(f.Name) == ".json" {
				if cfg, err = config.Parse(name, f.Data); err != nil {
					return nil, cli.UsageError(err)
				}
				continue
			}
			tables[name] = f.Data
			order = append(order, name)
		}
	}
	if cfg == nil {
		if cfg, err = set.Load(); err != nil {
			return nil, err
		}
	}
	var results []config.RowResult
	for _, name := range order {
		calls, err := config.ParseCalls(name, tables[name])
		if err != nil {
			return nil, cli.UsageError(err)
		}
		results = append(results, cfg.Try(calls)...)
	}
	if len(results) == 0 {
		return nil, cli.UsageError(fmt.Errorf("%s has no calls", file))
	}
	return results, nil
}
