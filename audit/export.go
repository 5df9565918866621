package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/store"
)

// A Format is a form of exported files.
type Format string

const (
	JSONL Format = "jsonl" // an entry a line, and a checkpoint at the end
	JSON  Format = "json"  // one list of the same
	CSV   Format = "csv"   // columns for people, and the entry whole in the last one
)

// ParseFormat reads the name of a format.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case JSONL, JSON, CSV:
		return f, nil
	}
	return "", fmt.Errorf("there is no format %q; there are jsonl, json and csv", s)
}

// Export writes the entries that fit q, each chain in its order, and closes the file with a signed checkpoint,
// so that [Verifier.File] finds what is changed, taken out or cut off later.
func Export(ctx context.Context, w io.Writer, db *store.DB, key *Key, f Format, q store.Query, now time.Time) (n int, err error) {
	chains, err := db.Chains(ctx)
	if err != nil {
		return 0, err
	}
	x := newExporter(w, f, q)
	for _, chain := range chains {
		of := q
		of.Chain, of.Newest, of.Limit = chain, false, 0
		if err := db.Rows(ctx, of, x.row); err != nil {
			return x.n, err
		}
	}
	return x.n, x.close(db.ID(), key, now)
}

// An exporter writes one file.
type exporter struct {
	w      io.Writer
	format Format
	csv    *csv.Writer
	filter string

	n      int
	digest hash.Hash
	heads  []Head
	places places
}

func newExporter(w io.Writer, f Format, q store.Query) *exporter {
	x := &exporter{w: w, format: f, filter: filterText(q), digest: sha256.New()}
	if f == CSV {
		x.csv = csv.NewWriter(w)
	}
	return x
}

// filterText says what a query leaves out; "" is nothing.
func filterText(q store.Query) string {
	q.Newest, q.Limit, q.Chain, q.After = false, 0, 0, 0
	raw, _ := json.Marshal(q) // strings and times always can be
	if none, _ := json.Marshal(store.Query{}); bytes.Equal(raw, none) {
		return ""
	}
	return string(raw)
}

// entryLine is a row as one JSON object: its text, and its hash behind all other members.
func entryLine(r *store.Row) []byte {
	b := make([]byte, 0, len(r.Body)+90)
	b = append(b, strings.TrimSuffix(r.Body, "}")...)
	return append(append(append(b, `,"hash":"`...), hashText(r.Hash)...), '"', '}')
}

func (x *exporter) row(r *store.Row) error {
	x.digest.Write(r.Hash[:])
	if n := len(x.heads); n > 0 && x.heads[n-1].Chain == r.Chain {
		x.heads[n-1] = Head{r.Chain, r.Seq, hashText(r.Hash)}
	} else {
		x.heads = append(x.heads, Head{r.Chain, r.Seq, hashText(r.Hash)})
	}
	x.places.add(r.Chain, r.Seq)
	line := entryLine(r)
	if x.format != CSV {
		return x.line(line)
	}
	e, err := decodeBody([]byte(r.Body))
	if err != nil {
		return fmt.Errorf("entry %d of chain %d cannot be read; run codemode audit verify: %w", r.Seq, r.Chain, err)
	}
	return x.cells(e.cells(line))
}

func (x *exporter) cells(cells []string) error {
	if x.n == 0 {
		if err := x.csv.Write(csvHeader); err != nil {
			return err
		}
	}
	x.n++
	return x.csv.Write(cells)
}

func (x *exporter) line(line []byte) error {
	before, after := "", "\n"
	if x.format == JSON {
		before, after = ",\n", ""
		if x.n == 0 {
			before = "[\n"
		}
	}
	x.n++
	_, err := x.w.Write(append(append([]byte(before), line...), after...))
	return err
}

// close ends the file.
func (x *exporter) close(database string, key *Key, now time.Time) error {
	c := Checkpoint{Time: now, Database: database, Heads: x.heads, Rows: x.n, Digest: "sha256:" + hex.EncodeToString(x.digest.Sum(nil)), Filter: x.filter}
	if c.Heads == nil {
		c.Heads = []Head{}
	}
	if x.filter != "" {
		c.Places = x.places.String()
	}
	c, err := key.Sign(c)
	if err != nil {
		return err
	}
	line, err := c.line()
	if err != nil {
		return err
	}
	line = append(append([]byte(`{"checkpoint":`), line...), '}')
	n := x.n
	defer func() { x.n = n }() // the checkpoint is none
	if x.format == CSV {
		cells := make([]string, len(csvHeader))
		cells[0], cells[len(cells)-1] = "checkpoint", string(line)
		if err := x.cells(cells); err != nil {
			return err
		}
		x.csv.Flush()
		return x.csv.Error()
	}
	if err := x.line(line); err != nil || x.format != JSON {
		return err
	}
	_, err = io.WriteString(x.w, "\n]\n")
	return err
}

// places lists entries: "1:1-40,52;2:7".
type places struct {
	b                 strings.Builder
	chain, from, last int64
}

func (p *places) add(chain, seq int64) {
	if chain == p.chain && seq == p.last+1 {
		p.last = seq
		return
	}
	p.end()
	switch {
	case p.b.Len() == 0:
		fmt.Fprintf(&p.b, "%d:", chain)
	case chain != p.chain:
		fmt.Fprintf(&p.b, ";%d:", chain)
	default:
		p.b.WriteByte(',')
	}
	p.chain, p.from, p.last = chain, seq, seq
}

func (p *places) end() {
	if p.last == 0 {
		return
	}
	p.b.WriteString(strconv.FormatInt(p.from, 10))
	if p.last > p.from {
		p.b.WriteString("-" + strconv.FormatInt(p.last, 10))
	}
}

func (p *places) String() string {
	p.end()
	p.last = 0
	return p.b.String()
}

var csvHeader = []string{
	"time", "chain", "seq", "kind", "state", "run", "call", "principal", "client", "profile", "server", "tool", "verdict", "risk",
	"rule", "decided by", "channel", "approver", "answered after ms", "reason", "detail", "ms", "count", "arguments", "result", "entry",
}

// cells are the columns of an entry; line is the entry itself.
func (e *Entry) cells(line []byte) []string {
	by, rule, args, result := e.DecidedBy, "", "", ""
	if by == nil {
		by = &DecidedBy{}
	}
	if len(e.Rules) > 0 {
		rule = strings.TrimSpace(e.Rules[0].ID + " " + e.Rules[0].At)
	}
	if e.Args != nil {
		args = string(e.Args.Redacted)
	}
	if e.Result != nil {
		result = string(e.Result.Redacted)
	}
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	took := ""
	if e.MS != 0 {
		took = strconv.FormatFloat(e.MS, 'f', -1, 64)
	}
	cells := []string{
		e.Time.Format(timeFormat), number(e.Chain), number(e.Seq), e.Kind, e.State, e.Run, number(int64(e.Call)), e.Principal, e.Client,
		e.Profile, e.Server, e.Tool, e.Verdict, e.Risk, rule, by.How, by.Channel, by.Principal, number(by.LatencyMS), e.Reason, e.Detail,
		took, number(int64(e.Count)), args, result, string(line),
	}
	for i, c := range cells {
		if i >= len(cells)-jsonCells {
			c = visible.JSON(c)
		}
		cells[i] = safeCell(c)
	}
	return cells
}

// jsonCells is how many of the last columns hold JSON.
const jsonCells = 3

// cellJSON gives back the canonical JSON of which [visible.JSON] made a cell.
func cellJSON(cell string) string {
	if !strings.Contains(cell, `\u`) {
		return cell
	}
	var b strings.Builder
	for i := 0; i < len(cell); {
		if cell[i] != '\\' || i+1 == len(cell) {
			b.WriteByte(cell[i])
			i++
			continue
		}
		r, n := escapedRune(cell[i:])
		if utf16.IsSurrogate(r) {
			low, more := escapedRune(cell[i+n:])
			r = utf16.DecodeRune(r, low)
			n += more
		}
		if r < 0x7f || r == utf8.RuneError { // canonical JSON has these escapes itself
			b.WriteString(cell[i : i+2])
			i += 2
			continue
		}
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

// escapedRune reads the \uXXXX at the beginning of s; 0 if there is none.
func escapedRune(s string) (rune, int) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(n), 6
}

// safeCell makes a text visible, see [visible.Line], and keeps spreadsheets from taking it for a formula: those begin with one of a
// few characters, in some programs behind blanks too. They are kept apart by an apostrophe, which such programs do not show.
func safeCell(s string) string {
	s = visible.Line(s)
	if trimmed := strings.TrimLeft(s, " "); trimmed != "" && strings.ContainsAny(firstRune(trimmed), "=+-@＝＋－＠|%") {
		return "'" + s
	}
	return s
}

func firstRune(s string) string {
	for _, r := range s {
		return string(r)
	}
	return ""
}
