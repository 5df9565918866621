// Package storecmd is the command "store": it checks the database of codemode, copies it to a file, and makes a
// database of such a file.
package storecmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// New makes the command "store".
func New(s cli.Streams) *cobra.Command {
	return cli.NewGroup("store", "Check, back up and restore the database",
		`The database holds the record and all else that outlives a process: sessions, kept results,
waiting runs, open questions, remembered answers, budgets. It is codemode.db in the state
folder (on Linux ~/.local/state/codemode), or where the key "store" of the configuration says.`,
		newCheck(s), newBackup(s), newRestore(s))
}

// nouns are what people call the rows of the tables, in the order in which they are listed.
var nouns = []struct{ table, noun string }{
	{"entries", "entries of the record"},
	{"chains", "chains of the record"},
	{"sessions", "sessions"},
	{"session_versions", "versions of sessions"},
	{"results", "kept results"},
	{"result_chunks", "parts of kept results"},
	{"outcomes", "results of runs"},
	{"keys", "idempotency keys"},
	{"overlays", "overlays"},
	{"budgets", "counters of budgets"},
	{"grants", "remembered answers"},
	{"parked", "waiting or running runs"},
	{"approvals", "questions to people"},
}

// printRows lists how many rows there are of each kind.
func printRows(w io.Writer, rows map[string]int64, also func(table string) []string) {
	var all [][]string
	for _, n := range nouns {
		if count := rows[n.table]; count > 0 {
			line := []string{fmt.Sprintf("  %d", count), n.noun}
			if also != nil {
				line = append(line, also(n.table)...)
			}
			all = append(all, line)
		}
	}
	if len(all) == 0 {
		all = [][]string{{"  nothing"}}
	}
	for _, line := range cli.Table(all) {
		fmt.Fprintln(w, line)
	}
}

// printEnds lists the last entries of the record.
func printEnds(w io.Writer, chains []audit.Span) {
	for _, c := range chains {
		if c.Last > 0 {
			fmt.Fprintf(w, "  chain %d ends at entry %d, %s\n", c.Chain, c.Last, c.Hash)
		}
	}
}
