package backup

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
)

// A table is one of the tables of the store.
type table struct {
	name    string
	columns []string
	// key orders the rows: the columns of texts, and then the column of numbers, which may be "".
	texts  []string
	number string
	bools  []string // columns that PostgreSQL has as booleans, and SQLite as 0 and 1
	blobs  []string // columns of bytes, which are never NULL
}

// tables are all that is copied, in the order of restoring: what decides about later rows comes first. A test compares
// them with the schemas. The others are not copied: seats are processes, meta is the identity, which [Contents] has,
// and run_blocks of SQLite follow from the entries.
// logins are tokens of people, and old ones may be worse than none: an authorization server that sees a refresh token
// again revokes all that came of it.
var tables = []table{
	{name: "chains", columns: columns("number seq hash open_from checkpoint tree tail pruned pruning"), number: "number",
		blobs: columns("hash tree tail")},
	{name: "entries", columns: columns("chain seq time kind state run call principal profile tool hash body sealed"),
		number: "chain, seq", blobs: columns("hash sealed")},
	{name: "parked", columns: columns("run principal profile guest state image created expires claim phase round beats " +
		"session bytes"),
		texts: columns("run"), blobs: columns("image")},
	{name: "approvals", columns: columns("id run call principal digest question created expires validated answer " +
		"answered_by answered_at used_at withdrawn"), texts: columns("id"), bools: columns("validated")},
	{name: "grants", columns: columns("id principal profile run key body created expires uses_left revoked_at"),
		texts: columns("id")},
	{name: "outcomes", columns: columns("run principal state body created expires"), texts: columns("run"),
		blobs: columns("body")},
	{name: "overlays", columns: columns("id holder body created expires"), texts: columns("id")},
	{name: "keys", columns: columns("key request run expires"), texts: columns("key")},
	{name: "results", columns: columns("handle principal owner run profile untrusted bytes mime about created expires"),
		texts: columns("handle"), bools: columns("untrusted"), blobs: columns("about")},
	{name: "result_chunks", columns: columns("handle number body expires"), texts: columns("handle"), number: "number",
		blobs: columns("body")},
	{name: "sessions", columns: columns("id principal name owner profile created used expires"), texts: columns("id")},
	{name: "session_versions", columns: columns("session number run guest bytes about created image"),
		texts: columns("session"), number: "number", blobs: columns("about image")},
	{name: "budgets", columns: columns("name began used expires"), texts: columns("name")},
}

func columns(names string) []string { return strings.Fields(names) }

// at returns the place of a column in a row.
func (t *table) at(column string) int {
	i := slices.Index(t.columns, column)
	if i < 0 {
		panic("backup: " + t.name + " has no column " + column)
	}
	return i
}

// selection is the query for all rows. Both databases compare texts byte by byte, so that one order serves one digest.
func (t *table) selection(postgres bool) string {
	var order []string
	for _, column := range t.texts {
		if postgres {
			column += ` COLLATE "C"`
		}
		order = append(order, column)
	}
	if t.number != "" {
		order = append(order, t.number)
	}
	return "SELECT " + strings.Join(t.columns, ", ") + " FROM " + t.name + " ORDER BY " + strings.Join(order, ", ")
}

// insertion is the statement that adds one row.
func (t *table) insertion() string {
	places := make([]string, len(t.columns))
	for i := range places {
		places[i] = "$" + strconv.Itoa(i+1)
	}
	return "INSERT INTO " + t.name + " (" + strings.Join(t.columns, ", ") + ") VALUES (" + strings.Join(places, ", ") + ")"
}

// A row has an int64, a string, a []byte or nil for each column of its table.
type row []any

// read calls f for each row of a table, in its order. The row is valid until f returns.
func (t *table) read(ctx context.Context, tx *sql.Tx, postgres bool, f func(row) error) error {
	rows, err := tx.QueryContext(ctx, t.selection(postgres))
	if err != nil {
		return err
	}
	defer rows.Close()
	values, into := make(row, len(t.columns)), make([]any, len(t.columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range values {
			switch v := v.(type) {
			case int64, string, nil:
			case []byte:
				if v == nil { // as the driver of SQLite reads an empty one
					values[i] = []byte{}
				}
			case int32:
				values[i] = int64(v)
			case bool:
				values[i] = int64(0)
				if v {
					values[i] = int64(1)
				}
			default:
				return fmt.Errorf("%s.%s is a %T", t.name, t.columns[i], v)
			}
		}
		if err := f(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// forPostgres returns a row with booleans.
func (t *table) forPostgres(r row) row {
	out := slices.Clone(r)
	for _, column := range t.bools {
		if n, ok := out[t.at(column)].(int64); ok {
			out[t.at(column)] = n != 0
		}
	}
	return out
}

// A digest covers rows: their tables, their order, and every value with its type.
type digest struct{ hash.Hash }

func newDigest() digest { return digest{sha256.New()} }

func (d digest) begin(t *table) { d.value('t', []byte(t.name)) }

func (d digest) row(r row) {
	for _, v := range r {
		switch v := v.(type) {
		case int64:
			d.value('i', binary.BigEndian.AppendUint64(nil, uint64(v)))
		case string:
			d.value('s', []byte(v))
		case []byte:
			d.value('b', v)
		default:
			d.value('n', nil)
		}
	}
}

func (d digest) value(kind byte, bytes []byte) {
	d.Write(binary.BigEndian.AppendUint64([]byte{kind}, uint64(len(bytes))))
	d.Write(bytes)
}
