// Package auditcmd is the command "audit": it lists, shows, exports and verifies the record.
package auditcmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/record/report"
	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/visible"
)

// New makes the command "audit".
func New(s cli.Streams) *cobra.Command {
	return cli.NewGroup("audit", "Read the record: who called what, and who decided it", `The record holds what every program did: its calls, who or what decided them, what was
shown to whom, what was sent and how it ended. It is kept in codemode.db in the state
folder (on Linux ~/.local/state/codemode), or where the key "store" of the configuration says.`,
		newAuditList(s), newAuditShow(s), newAuditExport(s), newAuditVerify(s), newAuditReport(s),
		newAuditResults(s), newAuditKey(s))
}

// A filter holds the flags that select entries.
type filter struct {
	selected store.Query
	kinds, states,
	since, until string
}

func (f *filter) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.selected.Run, "run", "", "only of this run")
	cmd.Flags().StringVar(&f.selected.Principal, "principal", "", "only for this principal")
	cmd.Flags().StringVar(&f.selected.Profile, "profile", "", "only under this profile")
	cmd.Flags().StringVar(&f.selected.Tool, "tool", "", "only of this tool; * matches any characters")
	cmd.Flags().StringVar(&f.kinds, "kind", "",
		"only of these kinds: run, call, approval, grant, policy, access, notice, result, session")
	cmd.Flags().StringVar(&f.states, "state-is", "",
		"only in these states: pending, refused, running, ok, error, unknown, not_sent, ...")
	cmd.Flags().StringVar(&f.since, "since", "",
		"only from this time on: 2026-11-20, 2026-11-20T12:00:00Z, or 2h for the last two hours")
	cmd.Flags().StringVar(&f.until, "until", "", "only before this time")
}

// query is what the flags select.
func (f *filter) query() (q store.Query, err error) {
	words := func(s string) []string {
		return strings.FieldsFunc(s, func(c rune) bool { return c == ',' || c == ' ' })
	}
	q = f.selected
	q.Kinds, q.States = words(f.kinds), words(f.states)
	if q.Since, err = parseTime(f.since, time.Now()); err != nil {
		return q, cli.UsageError(fmt.Errorf("--since: %w", err))
	}
	if q.Until, err = parseTime(f.until, time.Now()); err != nil {
		return q, cli.UsageError(fmt.Errorf("--until: %w", err))
	}
	return q, nil
}

// parseTime reads a time as people write it; "" is the zero time.
func parseTime(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04",
		"2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a time such as 2026-11-20T12:00 nor a duration such as 2h", s)
}

func newAuditList(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var f filter
	var follow, asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List entries of the record, the latest last",
		Long: `Prints one line for each entry. With --follow it continues with new entries. With --json
each entry is the JSON object in the record.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return set.ReadRecord(cmd.Context(), s, func(db *store.DB, _ recorder.Place) error {
				q, err := f.query()
				if err != nil {
					return err
				}
				q.Newest, q.Limit = true, limit
				return list(cmd.Context(), s, db, q, follow, asJSON)
			})
		},
	}
	set.RecordFlags(cmd)
	f.flags(cmd)
	cmd.Flags().IntVarP(&limit, "limit", "n", 100, "how many of the latest; 0 for all")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue with new entries")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each entry as JSON")
	return cmd
}

func list(ctx context.Context, s cli.Streams, db *store.DB, q store.Query, follow, asJSON bool) error {
	out := bufio.NewWriter(s.Out)
	show := func(e *audit.Entry) error {
		line := entryLine(e)
		if asJSON {
			line = visible.JSON(string(e.Line()))
		}
		_, err := fmt.Fprintln(out, line)
		return err
	}
	var latest []*audit.Entry
	err := audit.Entries(ctx, db, q, func(e *audit.Entry) error {
		latest = append(latest, e)
		return nil
	})
	for i := len(latest) - 1; i >= 0 && err == nil; i-- {
		err = show(latest[i])
	}
	if err = errors.Join(err, out.Flush()); err != nil || !follow {
		return err
	}
	return report.Follow(ctx, db, q, func(e *audit.Entry) error { return errors.Join(show(e), out.Flush()) })
}

func newAuditShow(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var file string
	var asJSON, revealed bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show one run: program, calls, who decided, what was shown, what was sent",
		Long: `Prints the entries of a run. Secrets in them are masked, and long values are cut. The
record holds these values sealed, up to 1 MiB each. With --reveal they are printed as they
were. That needs the key of the record (record.key), and is an entry of the record itself.
With --json, a line with revealed values is not the text that its hash covers.

--file FILE reads a file of codemode audit export instead, which it verifies first.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return set.ReadRecord(cmd.Context(), s, func(db *store.DB, place recorder.Place) error {
				entries, err := entriesOf(cmd.Context(), db, place, store.Query{Run: args[0], Sealed: revealed}, file)
				switch {
				case err != nil:
					return err
				case len(entries) == 0:
					return cli.UsageError(fmt.Errorf("the record has no run %s; codemode audit list --kind run lists its runs",
						args[0]))
				case revealed:
					if err := reveal(cmd.Context(), place, set.Logger(s, slog.LevelWarn), entries); err != nil {
						return err
					}
				}
				if !asJSON {
					_, err = fmt.Fprint(s.Out, runText(entries))
					return err
				}
				for _, e := range entries {
					line := visible.JSON(string(e.Line()))
					if revealed {
						line = string(e.Line())
					}
					fmt.Fprintln(cli.JSONWriter(s.Out), line)
				}
				return nil
			})
		},
	}
	set.RecordFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the entries as JSON")
	cmd.Flags().StringVar(&file, "file", "", "read this file of codemode audit export")
	cmd.Flags().BoolVar(&revealed, "reveal", false,
		"print masked and cut values as they were; needs the key of the record, and is recorded")
	return cmd
}

// entriesOf reads the entries of a run from the record, or from a file.
func entriesOf(ctx context.Context, db *store.DB, place recorder.Place, q store.Query, file string) (all []*audit.Entry,
	err error) {
	if file == "" {
		err = audit.Entries(ctx, db, q, func(e *audit.Entry) error {
			all = append(all, e)
			return nil
		})
		return all, err
	}
	verdict, err := verifyFile(ctx, place, file, func(e *audit.Entry) {
		if e.Run == q.Run {
			all = append(all, e)
		}
	})
	if err == nil && len(verdict.Problems) > 0 {
		err = cli.WithCode(cli.ExitProgram, fmt.Errorf("the file is not what was written: %s", verdict.Problems[0]))
	}
	return all, err
}

// reveal puts the sealed values of a run into its entries, and records that somebody reads them.
func reveal(ctx context.Context, place recorder.Place, log *slog.Logger, entries []*audit.Entry) error {
	key, err := ownKey(place.Key)
	if err == nil && key == nil {
		err = fmt.Errorf("--reveal needs the key of the record, and there is none at %s: run it where codemode keeps the "+
			"record, or put that record.key there", place.Key)
	}
	if err != nil {
		return cli.UsageError(err)
	}
	run, sealed := entries[0].Run, 0
	for _, e := range entries {
		if e.Sealed != "" {
			sealed++
		}
		if err := e.Reveal(key); err != nil {
			return cli.WithCode(cli.ExitProgram, err)
		}
	}
	err = place.Write(ctx, log, call.Entry{Kind: audit.Access, State: "revealed", Run: run, Principal: launch.Owner(),
		Client: "cli", Detail: fmt.Sprintf("audit show --reveal showed the sealed values of %d entries", sealed)})
	if err != nil {
		return fmt.Errorf("nothing is revealed, because it cannot be recorded: %w", err)
	}
	return nil
}

func newAuditExport(s cli.Streams) *cobra.Command {
	var to destination
	var set, f = launch.Settings{}, filter{}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the record, or a part of it, as JSONL, JSON or CSV, or its calls as a table",
		Long: `Writes entries, chain by chain, and ends the file with a signed checkpoint, so that
codemode audit verify FILE finds entries that are changed, removed or cut off later. The
file also holds the checkpoints that the writers of the chains signed. With --split DIR it
writes executions.jsonl, policy.jsonl and access.jsonl to that folder instead, and creates
the folder; audit verify reads them too.

Cells of CSV are safe to open in a spreadsheet: an apostrophe precedes what could be a
formula, and invisible characters are written as escapes such as \n and \u{202e}. On a
terminal, JSON has such characters escaped too; in a file it is as recorded.

--format calls writes CSV for spreadsheets instead, with one row for each call: who asked
for what, what decided, when it was asked about, started and completed, and how it ended.
It has no signatures.

--sealed adds the values that entries show masked or cut, encrypted as in the record:
codemode audit show --file FILE --reveal prints them where the key of the record is.

--prune verifies the file when it is written, and then removes the entries that it has and
that are older than store.keep (30 days) from the record. The record says, signed, what was
removed, so that audit verify goes on from there. Keep the file: with it, audit verify FILE
--database verifies the whole record again.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return set.ReadRecord(cmd.Context(), s, func(db *store.DB, place recorder.Place) error {
				q, err := f.query()
				if err != nil {
					return err
				}
				key, err := audit.LoadKey(place.Key)
				if err != nil {
					return err
				}
				if err := to.export(cmd.Context(), s, db, key, q); err != nil || !to.prune {
					return err
				}
				return prune(cmd.Context(), s, place, key, set.Logger(s, slog.LevelWarn), to.out)
			})
		},
	}
	set.RecordFlags(cmd)
	f.flags(cmd)
	cmd.Flags().StringVar(&to.format, "format", "jsonl",
		"jsonl, json or csv; or calls, which is CSV with one row for each call and no signatures")
	cmd.Flags().StringVarP(&to.out, "out", "o", "", "file to write, instead of standard output")
	cmd.Flags().StringVar(&to.split, "split", "", "folder for the three records: executions, policy, access")
	cmd.Flags().BoolVar(&to.sealed, "sealed", false, "with the values that entries show masked or cut, encrypted")
	cmd.Flags().BoolVar(&to.prune, "prune", false,
		"then remove the entries in the file that are older than store.keep; needs --out, and the whole record")
	return cmd
}

// A destination says where an export goes, and in what form.
type destination struct {
	format, out, split string
	sealed, prune      bool
}

func (to *destination) export(ctx context.Context, s cli.Streams, db *store.DB, key *audit.Key, q store.Query) error {
	if whole := reflect.DeepEqual(q, store.Query{Kinds: []string{}, States: []string{}}); to.prune &&
		(!whole || to.out == "" || to.format == "calls") {
		return cli.UsageError(errors.New("--prune removes what a file has: give --out FILE, and neither a filter nor " +
			"--format calls"))
	}
	q.Sealed = to.sealed || to.prune
	if to.split != "" {
		n, err := report.Split(ctx, to.split, db, key, q, time.Now())
		if err == nil {
			visible.Fprintf(s.Err, "%d entries in %s\n", n, to.split)
		}
		return err
	}
	noun := "entries"
	write := func(w io.Writer) (int, error) { return report.Calls(ctx, w, db, q) }
	if to.format == "calls" {
		noun = "calls"
	} else {
		as, err := audit.ParseFormat(to.format)
		if err != nil {
			return cli.UsageError(err)
		}
		write = func(w io.Writer) (int, error) { return audit.Export(ctx, w, db, key, as, q, time.Now()) }
	}
	n, err := writeFile(to.out, cli.JSONWriter(s.Out), write)
	if err == nil && to.out != "" {
		visible.Fprintf(s.Err, "%d %s in %s\n", n, noun, to.out)
	}
	return err
}

// prune removes the entries of a file from the record that are older than it keeps such entries. First it verifies the
// file, and records what it will do.
func prune(ctx context.Context, s cli.Streams, place recorder.Place, key *audit.Key, log *slog.Logger,
	path string) error {
	verdict, err := verifyFile(ctx, place, path, nil)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(verdict.Problems, func(p audit.Problem) bool { return !p.Undecided }); i >= 0 {
		return cli.WithCode(cli.ExitProgram, fmt.Errorf("nothing is removed, because the file is not what was written: %s",
			verdict.Problems[i]))
	}
	before := time.Now().Add(-place.Keep)
	err = place.Write(ctx, log, call.Entry{Kind: audit.Notice, State: "pruned", Principal: launch.Owner(), Client: "cli",
		Detail: fmt.Sprintf("entries before %s were exported to %s, and are removed", before.UTC().Format(time.RFC3339),
			filepath.Base(path))})
	if err != nil {
		return fmt.Errorf("nothing is removed, because it cannot be recorded: %w", err)
	}
	db, err := place.OpenSealed(ctx, log)
	if err != nil {
		return err
	}
	defer db.Close()
	n, err := audit.Prune(ctx, db, key, verdict.Chains, before, time.Now())
	visible.Fprintf(s.Err, "%d entries older than %v are removed from the record\n", n, place.Keep)
	if err != nil {
		return cli.WithCode(cli.ExitProgram, err)
	}
	return nil
}

// writeFile writes to a file, which appears when it is complete; without a path it writes to w.
func writeFile(path string, w io.Writer, write func(io.Writer) (int, error)) (n int, err error) {
	if path == "" {
		out := bufio.NewWriter(w)
		n, err = write(out)
		return n, errors.Join(err, out.Flush())
	}
	err = replace.Built(path, true, func(temporary string) error {
		f, err := os.Create(temporary)
		if err != nil {
			return err
		}
		out := bufio.NewWriter(f)
		n, err = write(out)
		return errors.Join(err, out.Flush(), f.Close())
	})
	return n, err
}

func newAuditReport(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var f filter
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Count how often rules ask, and what programs save",
		Long: `Counts runs, calls and questions, lists the rules that asked people, with those that are always
approved, and compares programs with the same calls made one at a time: how many calls a model
makes, and how many tokens it writes as arguments or programs and reads as results. Tokens are
approximate, as "codemode bench savings" counts them. The list of tools and the search for
tools are not in the record, so they are in none of the figures. A result that the record has
only in part counts by its size.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return set.ReadRecord(cmd.Context(), s, func(db *store.DB, _ recorder.Place) error {
				q, err := f.query()
				if err != nil {
					return err
				}
				sum, err := report.Summarise(cmd.Context(), db, q)
				if err != nil {
					return err
				}
				if asJSON {
					return cli.PrintJSON(s.Out, sum)
				}
				_, err = fmt.Fprint(s.Out, summaryText(sum))
				return err
			})
		},
	}
	set.RecordFlags(cmd)
	f.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func newAuditKey(s cli.Streams) *cobra.Command {
	var set launch.Settings
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Print the public key that verifies the checkpoints of this machine",
		Long: `Prints the key as tools for signed notes read it (c2sp.org/signed-note): its name, a hash,
and the key. It verifies the checkpoints of every chain of the record and the output of
codemode audit export. Keep it where nobody who can change the record can change the key.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			place, err := set.Place()
			if err != nil {
				return err
			}
			key, err := place.Prepare()
			if err != nil {
				return cli.InternalError(err)
			}
			_, err = fmt.Fprintln(s.Out, key.Public())
			return cli.InternalError(err)
		},
	}
	set.RecordFlags(cmd)
	return cmd
}
