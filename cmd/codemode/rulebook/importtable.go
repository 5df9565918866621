package rulebook

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/config/importtable"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/visible"
)

func newProfilesImport(s cli.Streams) *cobra.Command {
	var name, out, order string
	var servers []string
	cmd := &cobra.Command{
		Use:   "import releio FILE",
		Short: "Convert another program's rule table into a profile",
		Long: `Reads a rule table of releio (a JSON array with serverId, toolName, toolPattern,
autoApprove and priority, in which the first rule that matches decides) and prints a
configuration file with a profile that decides in the same way. --server ID=NAME, or a
"servers" list in the file, gives the names of server ids. A * in serverId or toolName
matches anything, as in toolPattern. What the command does not know in the file (a key, a
type, a server id) is an error: it could be what limits a rule. Rules that approve every
tool are named.

Some programs try the highest priority first, others the lowest. If the verdict on any tool
depends on that, the command writes nothing without --order, and lists each such tool with
both verdicts. The documentation of the program that wrote the table says which applies.`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] != "releio" {
				return cli.UsageError(fmt.Errorf("cannot import %q; only releio", args[0]))
			}
			data, err := os.ReadFile(args[1])
			if err != nil {
				return cli.UsageError(err)
			}
			names := map[string]string{}
			for _, pair := range servers {
				id, name, ok := strings.Cut(pair, "=")
				if !ok {
					return cli.UsageError(fmt.Errorf("--server %s: write ID=NAME", pair))
				}
				names[id] = name
			}
			first, err := importtable.ParseOrder(order)
			if err != nil {
				return cli.UsageError(fmt.Errorf("--order: %w", err))
			}
			imported, err := importtable.ImportReleio(data, name, names, first)
			if _, ok := errors.AsType[*importtable.OrderError](err); ok {
				err = fmt.Errorf("%w; add --order highest-first or --order lowest-first", err)
			}
			if problems, ok := errors.AsType[settings.Problems](err); ok {
				for i := range problems {
					problems[i].File = args[1]
				}
				return cli.UsageError(problems)
			}
			if err != nil {
				return cli.UsageError(fmt.Errorf("%s: %w", args[1], err))
			}
			for _, w := range imported.Wide {
				visible.Fprintf(s.Err, "warning: %s\n", w)
			}
			for _, d := range imported.Depends {
				visible.Fprintf(s.Err, "depends on the order: %s\n", d)
			}
			for _, note := range imported.Notes {
				visible.Fprintf(s.Err, "note: %s\n", note)
			}
			if out == "" {
				_, err = io.WriteString(s.Out, visible.JSON(string(imported.File)))
				return err
			}
			return cli.UsageError(cli.WriteNew(out, imported.File))
		},
	}
	cmd.Flags().StringVar(&name, "profile", "imported", "name of the profile")
	cmd.Flags().StringArrayVar(&servers, "server", nil, "ID=NAME: the name here of a server of the table")
	cmd.Flags().StringVar(&order, "order", "", "highest-first or lowest-first: the priority that is tried first")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write; it must not exist yet")
	return cmd
}
