package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/audit/report"
	"github.com/codemode-project/codemode/internal/visible"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/recorder"
	"github.com/codemode-project/codemode/store"
)

func newAudit(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read the record: who called what, and who decided it",
		Long: `The record holds what every program did: its calls, who or what decided them, what was
shown to whom, what was sent and how it ended. It is kept in codemode.db in the state
folder (on Linux ~/.local/state/codemode), or where the key "store" of the configuration says.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAuditList(s), newAuditShow(s), newAuditExport(s), newAuditVerify(s), newAuditReport(s), newAuditKey(s))
	return cmd
}

// reading holds the flags of the commands that read a record.
type reading struct {
	set   setting
	query store.Query
	kinds, states,
	since, until string
}

func (r *reading) flags(cmd *cobra.Command, filters bool) {
	cmd.Flags().StringVar(&r.set.config, "config", "", "configuration file (see: codemode help configuration)")
	cmd.Flags().StringVar(&r.set.state, "state", "", "state folder, instead of the usual one")
	if !filters {
		return
	}
	cmd.Flags().StringVar(&r.query.Run, "run", "", "only of this run")
	cmd.Flags().StringVar(&r.query.Principal, "principal", "", "only for this principal")
	cmd.Flags().StringVar(&r.query.Profile, "profile", "", "only under this profile")
	cmd.Flags().StringVar(&r.query.Tool, "tool", "", "only of this tool; * is any characters")
	cmd.Flags().StringVar(&r.kinds, "kind", "", "only of these kinds: run, call, approval, grant, policy, access, notice")
	cmd.Flags().StringVar(&r.states, "state-is", "", "only in these states: pending, refused, running, ok, error, unknown, not_sent, ...")
	cmd.Flags().StringVar(&r.since, "since", "", "only from this time on: 2026-11-20, 2026-11-20T12:00:00Z, or 2h for the last two hours")
	cmd.Flags().StringVar(&r.until, "until", "", "only before this time")
}

// filter is what the flags select.
func (r *reading) filter() (q store.Query, err error) {
	q = r.query
	q.Kinds, q.States = words(r.kinds), words(r.states)
	if q.Since, err = when(r.since, time.Now()); err != nil {
		return q, usage(fmt.Errorf("--since: %w", err))
	}
	if q.Until, err = when(r.until, time.Now()); err != nil {
		return q, usage(fmt.Errorf("--until: %w", err))
	}
	return q, nil
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(c rune) bool { return c == ',' || c == ' ' })
}

// when reads a time as people write it.
func when(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a time such as 2026-11-20T12:00 nor a duration such as 2h", s)
}

// place finds out where the record is.
func (r *reading) place() (recorder.Place, error) {
	dir, err := r.set.stateFolder()
	if err != nil {
		return recorder.Place{}, usage(err)
	}
	files, err := r.set.files()
	if err != nil {
		return recorder.Place{}, usage(err)
	}
	var cfg *config.Config
	if !files.None() {
		if cfg, err = files.Load(); err != nil {
			return recorder.Place{}, usage(err)
		}
	}
	place, err := recorder.PlaceOf(dir, cfg, os.LookupEnv)
	if err != nil {
		return place, usage(err)
	}
	return place, nil
}

// open opens the record for reading.
func (r *reading) open(ctx context.Context, s streams) (*store.DB, recorder.Place, error) {
	place, err := r.place()
	if err != nil {
		return nil, place, err
	}
	o := place.Store
	o.ReadOnly, o.Log = true, r.set.logger(s, slog.LevelWarn)
	db, err := store.Open(ctx, o)
	if errors.Is(err, fs.ErrNotExist) {
		if err := place.Present(); err != nil {
			return nil, place, &exitError{code: exitInternal, err: err}
		}
		return nil, place, usage(fmt.Errorf("there is no record at %s: nothing has run yet, or it is elsewhere (see --state and --config)", o.Path))
	}
	if err != nil {
		return nil, place, &exitError{code: exitInternal, err: fmt.Errorf("opening the record: %w", err)}
	}
	return db, place, nil
}

// reader makes the RunE of a command that reads the record.
func (r *reading) reader(s streams, f func(ctx context.Context, db *store.DB, place recorder.Place) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		db, place, err := r.open(cmd.Context(), s)
		if err != nil {
			return err
		}
		defer db.Close()
		err = f(cmd.Context(), db, place)
		if _, known := errors.AsType[*exitError](err); err != nil && !known {
			err = &exitError{code: exitInternal, err: err}
		}
		return err
	}
}

func newAuditList(s streams) *cobra.Command {
	var r reading
	var follow, asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List entries of the record, the latest last",
		Long: `Prints a line for each entry. With --follow it goes on with those that come. With --json
each entry is the JSON object that the record holds.`,
		Args: cobra.NoArgs,
	}
	cmd.RunE = r.reader(s, func(ctx context.Context, db *store.DB, _ recorder.Place) error {
		q, err := r.filter()
		if err != nil {
			return err
		}
		out := bufio.NewWriter(s.out)
		show := func(e *audit.Entry) error {
			if asJSON {
				_, err := fmt.Fprintln(out, visible.JSON(string(e.Line())))
				return err
			}
			_, err := fmt.Fprintln(out, entryLine(e))
			return err
		}
		var latest []*audit.Entry
		q.Newest, q.Limit = true, limit
		err = audit.Entries(ctx, db, q, func(e *audit.Entry) error {
			latest = append(latest, e)
			return nil
		})
		for i := len(latest) - 1; i >= 0 && err == nil; i-- {
			err = show(latest[i])
		}
		if err = errors.Join(err, out.Flush()); err != nil || !follow {
			return err
		}
		return audit.Follow(ctx, db, q, func(e *audit.Entry) error { return errors.Join(show(e), out.Flush()) })
	})
	r.flags(cmd, true)
	cmd.Flags().IntVarP(&limit, "limit", "n", 100, "how many of the latest; 0 for all")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with the entries that come")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each entry as JSON")
	return cmd
}

func newAuditShow(s streams) *cobra.Command {
	var r reading
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show one run: program, calls, who decided, what was shown, what ran",
		Args:  cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return r.reader(s, func(ctx context.Context, db *store.DB, _ recorder.Place) error {
			var entries []*audit.Entry
			err := audit.Entries(ctx, db, store.Query{Run: args[0]}, func(e *audit.Entry) error {
				entries = append(entries, e)
				return nil
			})
			if err != nil {
				return err
			}
			if len(entries) == 0 {
				return usage(fmt.Errorf("the record has no run %s; codemode audit list --kind run lists those it has", args[0]))
			}
			if asJSON {
				for _, e := range entries {
					fmt.Fprintln(s.out, visible.JSON(string(e.Line())))
				}
				return nil
			}
			fmt.Fprint(s.out, runText(entries))
			return nil
		})(cmd, nil)
	}
	r.flags(cmd, false)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the entries as JSON")
	return cmd
}

func newAuditExport(s streams) *cobra.Command {
	var r reading
	var format, out, split string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the record, or a part of it, as JSONL, JSON or CSV, or its calls as a table",
		Long: `Writes entries, chain by chain, and closes the file with a signed checkpoint, so that
codemode audit verify FILE finds what is changed, taken out or cut off later. Cells of
CSV are safe to open in a spreadsheet: what could be a formula stands behind an apostrophe,
and characters that do not show are written as escapes such as \n and \u{202e}. On a
terminal JSON has such characters escaped too, as JSON does; in a file it is as recorded. With --split DIR it writes executions.jsonl,
policy.jsonl and access.jsonl there instead, which audit verify takes too; the folder is
made if it is not there. The file also holds the checkpoints that the writers of the
chains signed.

--format calls writes CSV for spreadsheets instead, a row for each call: who asked for
what, what decided, when it was asked about, started and completed, and how it ended.
Nothing in it is signed.`,
		Args: cobra.NoArgs,
	}
	cmd.RunE = r.reader(s, func(ctx context.Context, db *store.DB, place recorder.Place) error {
		q, err := r.filter()
		if err != nil {
			return err
		}
		key, err := audit.LoadKey(place.Key)
		if err != nil {
			return err
		}
		if split != "" {
			n, err := audit.Split(ctx, split, db, key, q, time.Now())
			if err == nil {
				visible.Fprintf(s.err, "%d entries in %s\n", n, split)
			}
			return err
		}
		if format == "calls" {
			n := 0
			err := writeFile(out, forScreen(s.out), func(w io.Writer) (err error) {
				n, err = report.Calls(ctx, w, db, q)
				return err
			})
			if err == nil && out != "" {
				visible.Fprintf(s.err, "%d calls in %s\n", n, out)
			}
			return err
		}
		f, err := audit.ParseFormat(format)
		if err != nil {
			return usage(err)
		}
		n := 0
		err = writeFile(out, forScreen(s.out), func(w io.Writer) error {
			var err error
			n, err = audit.Export(ctx, w, db, key, f, q, time.Now())
			return err
		})
		if err == nil && out != "" {
			visible.Fprintf(s.err, "%d entries in %s\n", n, out)
		}
		return err
	})
	r.flags(cmd, true)
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl, json or csv; or calls, which is CSV with a row for each call and no proof")
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write; standard output if left out")
	cmd.Flags().StringVar(&split, "split", "", "folder for the three records: executions, policy, access")
	return cmd
}

// writeFile writes to a file, which appears when it is complete, or to w for "".
func writeFile(path string, w io.Writer, write func(io.Writer) error) error {
	if path == "" {
		out := bufio.NewWriter(w)
		return errors.Join(write(out), out.Flush())
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".export-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	out := bufio.NewWriter(f)
	if err := errors.Join(write(out), out.Flush(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func newAuditReport(s streams) *cobra.Command {
	var r reading
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Say which rules ask how often, and which are always approved",
		Args:  cobra.NoArgs,
	}
	cmd.RunE = r.reader(s, func(ctx context.Context, db *store.DB, _ recorder.Place) error {
		q, err := r.filter()
		if err != nil {
			return err
		}
		sum, err := report.Summarise(ctx, db, q)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(s.out, sum)
		}
		fmt.Fprint(s.out, summaryText(sum))
		return nil
	})
	r.flags(cmd, true)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func newAuditKey(s streams) *cobra.Command {
	var r reading
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Print the public key that checkpoints of this machine are verified with",
		Long: `Prints the key as tools for signed notes read it (c2sp.org/signed-note): its name, a hash,
and the key. It verifies the checkpoints of every chain of the record and what codemode
audit export wrote. Keep it where nobody who can change the record can.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			place, err := r.place()
			if err != nil {
				return err
			}
			key, err := place.Prepare()
			if err != nil {
				return &exitError{code: exitInternal, err: err}
			}
			fmt.Fprintln(s.out, key.Public())
			return nil
		},
	}
	r.flags(cmd, false)
	return cmd
}
