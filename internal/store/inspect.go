package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Ends returns, for each chain that has or had entries, the end where its writer left it, with its signatures. The ends
// are not part of the record; use them to check the record.
func (d EntryTable) Ends(ctx context.Context) ([]End, error) {
	var all []End
	err := d.db.each(ctx, func(scan func(...any) error) error {
		var e End
		var hash []byte
		err := scan(&e.Chain, &e.Seq, &hash, &e.Note, &e.Tree, &e.Tail, &e.OpenFrom, &e.Pruning)
		copy(e.Hash[:], hash)
		all = append(all, e)
		return explain(err)
	}, `SELECT number, seq, hash, checkpoint, tree, tail, open_from, pruning FROM chains ORDER BY number`)
	return all, err
}

// Chains lists the chains that have entries.
func (d EntryTable) Chains(ctx context.Context) ([]int64, error) {
	return column[int64](ctx, d.db, `SELECT DISTINCT chain FROM entries ORDER BY chain`)
}

// guards are the triggers that prevent changes of entries and answers.
var guards = map[bool][]string{
	true: {"approvals_answered_once", "approvals_fixed", "approvals_used_once", "approvals_withdrawn_once",
		"entries_no_delete", "entries_no_update",
		"grants_no_revival", "outcomes_fixed", "parked_once", "result_chunks_fixed", "results_fixed",
		"run_blocks_no_delete", "run_blocks_no_update", "session_versions_fixed"},
	false: {"approvals_guard", "approvals_withdrawn", "entries_append_only", "entries_only_pruned", "grants_guard",
		"outcomes_fixed", "parked_guard", "result_chunks_fixed", "results_fixed",
		"session_versions_fixed"},
}

// Inspect checks that the database is intact and refuses forbidden changes, and returns a sentence for each defect. It
// reads all of an SQLite file.
func (d EntryTable) Inspect(ctx context.Context) (problems []string, err error) {
	query := `SELECT name FROM sqlite_master WHERE type = 'trigger' AND sql IS NOT NULL`
	if d.db.Fleet() {
		query = `SELECT t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
			WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')`
	}
	there, err := column[string](ctx, d.db, query)
	if err != nil {
		return nil, err
	}
	for _, name := range guards[!d.db.Fleet()] {
		if !slices.Contains(there, name) {
			problems = append(problems, fmt.Sprintf("the trigger %s, which refuses changes, is not there or switched off", name))
		}
	}
	if d.db.Fleet() {
		return problems, nil
	}
	texts, err := column[string](ctx, d.db, `PRAGMA integrity_check(10)`)
	for _, text := range texts {
		if text != "ok" {
			problems = append(problems, "the file is damaged: "+strings.ReplaceAll(text, "\n", "; "))
		}
	}
	if err != nil || len(problems) > 0 {
		return problems, err
	}
	missing, err := column[int64](ctx, d.db, `SELECT count(*) FROM entries e WHERE run <> '' AND NOT EXISTS
		(SELECT 1 FROM run_blocks b WHERE b.run = e.run AND b.chain = e.chain AND b.first = e.seq - e.seq % $1)`, runBlock)
	if err == nil && missing[0] > 0 {
		problems = append(problems, fmt.Sprintf("%d entries are not found by their run", missing[0]))
	}
	return problems, err
}
