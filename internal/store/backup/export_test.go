package backup

import (
	"slices"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/store"
)

// NotCopied lists the columns of a store that a backup does not have, and should.
func NotCopied(t *testing.T, o store.Options) (missing []string) {
	t.Helper()
	s, err := openStore(t.Context(), o)
	checktest.OK(t, err)
	defer s.close()
	query := `SELECT m.name, p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table'`
	without := []string{"meta", "seats", "logins", "run_blocks", "approvals_changed", "sqlite_sequence"}
	if s.postgres {
		query = `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()`
		without = []string{"meta", "seats", "logins", "approvals_changed", "schema_version", "chains.owner",
			"chains.beat"}
	}
	rows, err := s.tx.QueryContext(t.Context(), query)
	checktest.OK(t, err)
	defer rows.Close()
	n := 0
	for rows.Next() {
		var of, column string
		checktest.OK(t, rows.Scan(&of, &column))
		n++
		copied := slices.ContainsFunc(tables, func(t table) bool {
			return t.name == of && slices.Contains(t.columns, column)
		})
		if !copied && !slices.Contains(without, of) && !slices.Contains(without, of+"."+column) {
			missing = append(missing, of+"."+column)
		}
	}
	if n < 50 {
		t.Errorf("the database has %d columns", n)
	}
	return missing
}
