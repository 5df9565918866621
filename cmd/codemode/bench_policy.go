package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/cmd/codemode/rulebook"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/bench/policy"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

func newBenchPolicy(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var format, toolsFile string
	var outs []string
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Run hostile programs against your profiles and the tools of your servers",
		Long: `Makes hostile programs from your rules and from what your servers say about their tools, and
runs them in the sandbox, under each profile that programs can have. No call reaches a
server: where the profile allows one, the command notes it, and answers with values that
fit the schema. The servers are started only to list their tools; --tools reads the tools
from a file instead, as codemode profiles lint --save-tools writes it.

A finding is a call that a profile allows without a question, and that its own rules refuse
in a plainer form, such as a path that begins with /data/ and is /etc/passwd. Some findings
need no such rule: a tool that destroys, which only a pattern allows; what one tool reads,
sent out by another one; hundreds of writes by one program; an answer that counts for any
other arguments. A finding has the rule with file and line, the program, and how to mend
it. codemode check --profile NAME FILE shows the same verdict for the program.

No finding is no proof: the suite knows tools by their names, schemas and hints.

Exit codes: 0 without findings, 1 with findings, 2 if the command or the configuration is
wrong, 5 if a server listed no tools or the suite could not run. The report has the findings
about the other servers, and names those that listed none.`,
		Example: `  codemode bench policy --config codemode.json
  # one profile, for CI
  codemode bench policy --config codemode.json --profile work --out policy.xml --out policy.sarif
  # without starting a server
  codemode profiles lint --config codemode.json --save-tools tools.json
  codemode bench policy --config codemode.json --tools tools.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("format", format, policy.Formats); err != nil {
				return err
			}
			files, err := reportFiles(outs, cmd.Flags().Changed("format"), format)
			for i := 0; err == nil && i < len(files); i++ {
				if err = oneOf("format", files[i].format, policy.Formats); err == nil {
					err = canWrite(files[i].path)
				}
			}
			if err != nil {
				return cli.UsageError(err)
			}
			if _, err := set.Load(); err != nil {
				return err
			}
			o := policy.Options{CacheDir: launch.CacheDir(), Worker: s.Worker}
			if toolsFile != "" {
				tools, err := rulebook.ReadTools(toolsFile)
				if err != nil {
					return err
				}
				if len(tools) == 0 {
					return cli.UsageError(fmt.Errorf("--tools %s: it has no tools", toolsFile))
				}
				o.Tools = catalogOf(tools)
			}
			if set.Profile != "" {
				o.Profiles = []string{set.Profile}
			}
			return set.Use(cmd.Context(), s, slog.LevelError, func(e *codemode.Evaluator) error {
				report, err := benchPolicy(cmd.Context(), s, e, o)
				if err != nil {
					return cli.InternalError(err)
				}
				said := fmt.Sprintf("findings: %d", len(report.Findings))
				err = writeReports(s, format, files, said, report.Write)
				for _, m := range report.Missing {
					err = errors.Join(err, fmt.Errorf("the server %s was not tested, because it listed no tools: %s",
						m.Server, m.Why))
				}
				return benchEnd(err, report.Pass())
			})
		},
	}
	set.Flags(cmd)
	cmd.Flags().StringVar(&format, "format", "table",
		strings.Join(policy.Formats, ", ")+"; by default the extension of --out decides")
	cmd.Flags().StringArrayVar(&outs, "out", nil,
		"write the complete report to this file instead of standard output; may be repeated, for several formats")
	cmd.Flags().StringVar(&toolsFile, "tools", "", "file with the tools, instead of asking the servers")
	return cmd
}

// benchPolicy runs the suite, with the tools of the servers unless o has others.
func benchPolicy(ctx context.Context, s cli.Streams, e *codemode.Evaluator, o policy.Options) (*policy.Report, error) {
	var missing []policy.Missing
	if o.Tools == nil {
		var err error
		if missing, err = listTools(ctx, e); err != nil {
			return nil, err
		}
	}
	bar := newBar(s.Err)
	o.Progress = bar.show
	report, err := policy.Run(ctx, e, o)
	bar.clear()
	if err != nil {
		return nil, err
	}
	report.Missing = missing
	here, err := os.Getwd()
	for i := range report.Findings {
		if f := &report.Findings[i]; err == nil {
			f.File = strings.TrimPrefix(f.File, here+string(filepath.Separator))
		}
	}
	return report, nil
}

// listTools waits until the servers have listed their tools. The result has the servers that have not; it is an error
// if none has.
func listTools(ctx context.Context, e *codemode.Evaluator) (missing []policy.Missing, err error) {
	e.Tools().Ready(ctx, launch.ReadyWait)
	configured := 0
	for _, st := range e.Tools().Manager.Status() {
		configuredAs := func(s config.Server) bool { return s.Name == st.Name }
		if st.State == upstream.Disabled || !slices.ContainsFunc(e.Config().Servers, configuredAs) {
			continue
		}
		configured++
		if st.State != upstream.Ready {
			missing = append(missing, policy.Missing{Server: st.Name, Why: cmp.Or(st.Error, "it "+st.State.Verb())})
		}
	}
	if configured > 0 && len(missing) == configured {
		return nil, fmt.Errorf("no server listed its tools; the first one, %s: %s", missing[0].Server, missing[0].Why)
	}
	return missing, nil
}

// catalogOf is a catalogue of tools that were read from a file.
func catalogOf(tools []config.ToolInfo) *catalog.Catalog {
	of := map[string][]catalog.Tool{}
	for _, t := range tools {
		hints, err := json.Marshal(t.Annotations)
		if err != nil { // cannot happen: it was decoded from JSON
			panic(errors.Join(errors.New("the annotations of "+t.Tool), err))
		}
		of[t.Server] = append(of[t.Server], catalog.Tool{Raw: t.Tool, Input: t.Input, Annotations: hints})
	}
	c := catalog.New()
	for server, list := range of {
		c.Replace(server, list)
	}
	return c
}
