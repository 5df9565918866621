// Package sessionscmd is the command "sessions": it lists the sessions in which programs go on where others ended, shows
// what is declared in them, and forks, rolls back and deletes them.
package sessionscmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs/sessions"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/visible"
)

// New makes the command "sessions".
func New(s cli.Streams) *cobra.Command {
	return cli.NewGroup("sessions", "List, show, fork, roll back and delete sessions of programs",
		`A program that runs in a session (codemode run --session NAME, or the session that a client
names) leaves what it declared to the next one. Each end of a program is a version. Sessions
are kept beside the record, until they are not used for a week, or as long as the key
"sessions" of the configuration says.`,
		newList(s), newShow(s), newFork(s), newRollback(s), newDelete(s), newMade(s))
}

func newList(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions, those used last first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return set.ReadRecord(cmd.Context(), s, func(db *store.DB, _ recorder.Place) error {
				all, err := sessions.In(db).All(cmd.Context())
				if err != nil {
					return err
				}
				return printList(s, all, asJSON)
			})
		},
	}
	set.RecordFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each session as JSON")
	return cmd
}

func printList(s cli.Streams, all []*store.Session, asJSON bool) error {
	rows := [][]string{{"SESSION", "FOR", "PROFILE", "VERSIONS", "SIZE", "LAST USE", "KEPT UNTIL", "RUNNING"}}
	for _, one := range all {
		if asJSON {
			if err := cli.PrintJSONLine(s.Out, sessions.Summarize(one)); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{one.Name, cmp.Or(one.Principal, "anybody"), one.Profile,
			strconv.Itoa(len(one.Versions)), size(sessions.Size(one)), when(one.Used), when(one.Expires),
			cmp.Or(one.Run, "no")})
	}
	if len(rows) > 1 {
		fmt.Fprintln(s.Out, strings.Join(cli.Table(rows), "\n"))
	}
	return nil
}

func when(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// A named holds what selects one session by its name.
type named struct {
	launch.Settings
	principal string
}

func (n *named) flags(cmd *cobra.Command) {
	n.RecordFlags(cmd)
	cmd.Flags().StringVar(&n.principal, "principal", "", "the session's principal, where several have one of the name")
}

// use opens the store of the sessions, and calls f with it. Without write permission nobody can do that.
func (n *named) use(ctx context.Context, to cli.Streams, f func(*opened) error) error {
	place, err := n.Place()
	if err != nil {
		return err
	}
	o := &opened{place: place, log: n.Logger(to, slog.LevelWarn)}
	db, err := place.OpenSealed(ctx, o.log)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.UsageError(fmt.Errorf(
			"there are no sessions at %s: no program has run in one, or they are elsewhere (see --state and --config): %w",
			launch.DatabaseName(place), err))
	}
	if err != nil {
		return cli.InternalError(err)
	}
	defer db.Close()
	o.in = sessions.In(db)
	return cli.InternalError(f(o))
}

// An opened is the store of the sessions, and the place of its record.
type opened struct {
	in    *sessions.Sessions
	place recorder.Place
	log   *slog.Logger
}

// owner returns the principal of the session of a name: of the one that cmd names, if it names one.
func (n *named) owner(cmd *cobra.Command, o *opened, name string) (string, error) {
	if cmd.Flags().Changed("principal") {
		return n.principal, nil
	}
	all, err := o.in.All(cmd.Context())
	if err != nil {
		return "", err
	}
	var owners []string
	for _, one := range all {
		if one.Name == name {
			owners = append(owners, strconv.Quote(one.Principal))
		}
	}
	switch {
	case len(owners) == 0:
		return "", cli.UsageError(sessions.Missing(name, all))
	case len(owners) > 1:
		return "", cli.UsageError(fmt.Errorf("several principals have a session %.80q: add --principal with one of %s", name,
			some(owners)))
	}
	return strconv.Unquote(owners[0])
}

// some lists names, and not too many.
func some(names []string) string {
	const most = 20
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "...")
	}
	return strings.Join(names, ", ")
}

func newShow(s cli.Streams) *cobra.Command {
	var of named
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show a session's versions, and what the next program can use",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return of.use(cmd.Context(), s, func(o *opened) error {
				owner, err := of.owner(cmd, o, args[0])
				if err != nil {
					return err
				}
				one, err := o.in.Find(cmd.Context(), owner, args[0])
				if err != nil {
					return cli.UsageError(err)
				}
				all, err := sessions.DescribeAt(cmd.Context(), one, 0)
				switch {
				case err != nil:
				case asJSON:
					err = cli.PrintJSON(s.Out, all)
				default:
					_, err = fmt.Fprint(s.Out, sessionText(all))
				}
				return err
			})
		},
	}
	of.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the session as JSON")
	return cmd
}

// sessionText writes a session for a person. Names and programs come from outside, so they are escaped.
func sessionText(all *sessions.Description) string {
	var b strings.Builder
	visible.Fprintf(&b, "session %s\n", all.Name)
	line := func(name, value string) { visible.Fprintf(&b, "  %-10s %s\n", name, value) }
	line("for", cmp.Or(all.Principal, "anybody"))
	line("profile", all.Profile)
	line("size", size(all.Bytes))
	line("last use", when(all.Used))
	line("kept until", when(all.Expires))
	if all.Run != "" {
		line("running", all.Run)
	}
	b.WriteString("\n")
	if len(all.Versions) == 0 {
		b.WriteString("no program has ended in it yet\n")
		return b.String()
	}
	rows := [][]string{{"VERSION", "WHEN", "SIZE", "RUN", "FROM"}}
	for _, v := range all.Versions {
		rows = append(rows, []string{strconv.FormatInt(v.Version, 10), when(v.Created), size(v.Bytes), v.Run, v.Note})
	}
	b.WriteString(strings.Join(cli.Table(rows), "\n") + "\n\n")
	switch {
	case all.Unlisted:
		b.WriteString("what it declares is unknown: its programs keep the sandbox from listing it\n")
	case len(all.Names) == 0:
		b.WriteString("it declares nothing\n")
	}
	for _, n := range all.Names {
		visible.Fprintf(&b, "%s\n", sessions.Describe(n))
	}
	return b.String()
}
