package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/visible"
)

func newTypes(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var dir string
	cmd := &cobra.Command{
		Use:   "types [-o DIR]",
		Short: "Write TypeScript declarations of what programs can use, for editors",
		Long: `Connects to every server, and writes one .d.ts file for each with its tools, and index.d.ts
with the globals of programs. Without -o it prints all of them. With --profile it leaves out
the tools that the profile denies whatever the arguments. The same tools give the same bytes.
The beginning of index.d.ts says which settings a compiler needs.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return set.Use(cmd.Context(), s, slog.LevelWarn, func(e *codemode.Evaluator) error {
				return types(cmd.Context(), s, e, set.Profile, dir)
			})
		},
	}
	set.Flags(cmd)
	cmd.Flags().StringVarP(&dir, "output", "o", "", "write the files into this folder, and replace those that are there")
	return cmd
}

func types(ctx context.Context, s cli.Streams, e *codemode.Evaluator, profile, dir string) error {
	launch.Await(ctx, s.Err, e, launch.ReadyWait)
	profiles := []string{profile}
	files, err := e.Discovery().Files(ctx, registry.Query{Profiles: profiles})
	if err != nil {
		return startError(err)
	}
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making the folder of the declarations: %w", err)
		}
	}
	for i, f := range files {
		if dir != "" {
			if err := replace.File(filepath.Join(dir, f.Name), []byte(f.Text), 0o644); err != nil {
				return fmt.Errorf("writing declarations: %w", err)
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(s.Out)
		}
		fmt.Fprintf(s.Out, "// %s\n\n%s", f.Name, f.Text)
	}
	return undeclared(s, e.Discovery().Servers(profiles))
}

// undeclared is an error if a server has listed no tools.
func undeclared(s cli.Streams, servers []upstream.Status) error {
	missing := false
	for _, st := range servers {
		if st.State != upstream.Ready && !st.Stale {
			missing = true
			visible.Fprintf(s.Err, "%s has no declarations: the server %s", st.Name, st.State.Verb())
			visible.Fprintf(s.Err, ": %s\n", cmp.Or(cli.WithoutName(st.Error, st.Name), "it has not listed its tools"))
		}
	}
	if missing {
		return errors.New("declarations are missing; codemode doctor says why a server does not start")
	}
	return nil
}
