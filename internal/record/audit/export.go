package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/visible"
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
	return "", fmt.Errorf("there is no format %q; use jsonl, json or csv, or calls for a table of calls", s)
}

// Export writes the entries that match q, each chain in its order, with sealed values if q asks for them. It ends the
// file with a signed note about the content, so that [Verifier.File] detects later changes, gaps and cuts, and with the
// checkpoints of the chains, which their writers signed. It leaves out entries written meanwhile.
func Export(ctx context.Context, w io.Writer, db *store.DB, key *Key, f Format, q store.Query, now time.Time) (n int,
	err error) {
	chains, err := db.Entries.Chains(ctx)
	if err != nil {
		return 0, err
	}
	ends, err := db.Entries.Ends(ctx) // no checkpoint covers more
	if err != nil {
		return 0, err
	}
	x := newExporter(w, f, q)
	for _, chain := range chains {
		of := q
		of.Chain, of.Newest, of.Limit = chain, false, 0
		at := slices.IndexFunc(ends, func(e store.End) bool { return e.Chain == chain })
		err = db.Entries.Rows(ctx, of, func(r *store.Row) error {
			if at >= 0 && r.Seq > ends[at].Seq {
				return nil
			}
			return x.row(r)
		})
		if err != nil {
			return x.n, err
		}
	}
	return x.n, x.close(db.ID(), ends, key, now)
}

// An exporter writes one file.
type exporter struct {
	w      io.Writer
	format Format
	csv    *csv.Writer
	filter string

	n      int
	digest hash.Hash
	places places
}

// An exportEnd is the signed summary of a file: the database, the number of entries in the file, a digest of their
// hashes, and, if the file has only some entries, the filter and the list of those entries.
type exportEnd struct {
	Database       string
	Time           time.Time
	Rows           int
	Digest         string
	Filter, Places string // "" for all
}

// exportName begins the signed text. It cannot be the origin of a checkpoint, because the next line is not a number.
const exportName = keyName + " export"

func (e *exportEnd) text() string {
	return fmt.Sprintf("%s\n%s\n%s\n%d\n%s\nfilter %s\nentries %s\n", exportName, e.Database, e.Time.Format(timeFormat),
		e.Rows, e.Digest, e.Filter, e.Places)
}

func parseExportEnd(signed string) (*exportEnd, error) {
	text, _, _ := strings.Cut(signed, "\n\n")
	lines := strings.Split(text+"\n", "\n")
	if len(lines) != 8 || lines[0] != exportName {
		return nil, errors.New("it is no signature of a file")
	}
	e := &exportEnd{Database: lines[1], Digest: lines[4]}
	var err, err2 error
	e.Time, err = time.Parse(timeFormat, lines[2])
	e.Rows, err2 = strconv.Atoi(lines[3])
	e.Filter, e.Places = strings.TrimPrefix(lines[5], "filter "), strings.TrimPrefix(lines[6], "entries ")
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	if e.text() != text+"\n" {
		return nil, errors.New("it does not have the form of one")
	}
	return e, nil
}

// A trailer is the last object of a file.
type trailer struct {
	Export      string   `json:"export"`      // an exportEnd as a signed note
	Checkpoints []string `json:"checkpoints"` // of the chains, as their writers signed them
	Prunings    []string `json:"prunings,omitempty"`
}

func (t *trailer) line() []byte {
	raw, _ := json.Marshal(t) // texts always encode
	return raw
}

func newExporter(w io.Writer, f Format, q store.Query) *exporter {
	x := &exporter{w: w, format: f, filter: filterText(q), digest: sha256.New()}
	if f == CSV {
		x.csv = csv.NewWriter(w)
	}
	return x
}

// filterText describes the filter of a query; "" selects everything.
func filterText(q store.Query) string {
	q.Newest, q.Limit, q.Chain, q.After, q.Sealed = false, 0, 0, 0, false
	if len(q.Kinds) == 0 {
		q.Kinds = nil
	}
	if len(q.States) == 0 {
		q.States = nil
	}
	raw, _ := json.Marshal(q) // strings and times always encode
	if none, _ := json.Marshal(store.Query{}); bytes.Equal(raw, none) {
		return ""
	}
	return string(raw)
}

// entryLine formats a row as one JSON object: its text, its hash after all other members, and its sealed values, if the
// query read them.
func entryLine(r *store.Row) []byte {
	b := make([]byte, 0, len(r.Body)+90)
	b = append(b, strings.TrimSuffix(r.Body, "}")...)
	b = append(append(b, `,"hash":"`...), hashText(r.Hash)...)
	if r.Sealed != "" {
		b = base64.StdEncoding.AppendEncode(append(b, sealedMember...), []byte(r.Sealed))
	}
	return append(b, '"', '}')
}

// sealedMember begins the member after the hash.
const sealedMember = `","sealedValues":"`

func (x *exporter) row(r *store.Row) error {
	x.digest.Write(r.Hash[:])
	if r.Sealed != "" {
		io.WriteString(x.digest, sealedDigest(r.Sealed))
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
func (x *exporter) close(database string, ends []store.End, key *Key, now time.Time) error {
	end := exportEnd{Database: database, Time: micro(now), Rows: x.n,
		Digest: "sha256:" + hex.EncodeToString(x.digest.Sum(nil)), Filter: x.filter}
	if x.filter != "" {
		end.Places = x.places.String()
	}
	t := trailer{Checkpoints: []string{}}
	var err error
	if t.Export, err = key.signNote(end.text()); err != nil {
		return err
	}
	for _, e := range ends {
		if e.Note != "" {
			t.Checkpoints = append(t.Checkpoints, e.Note)
		}
		if e.Pruning != "" && x.filter == "" {
			t.Prunings = append(t.Prunings, e.Pruning)
		}
	}
	line := t.line()
	n := x.n
	defer func() { x.n = n }() // the checkpoint is not counted
	if x.format == CSV {
		cells := make([]string, len(csvHeader))
		cells[0], cells[len(cells)-1] = "checkpoint", visible.JSON(string(line))
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
	"time", "chain", "seq", "kind", "state", "run", "call", "principal", "client", "profile", "server", "tool", "verdict",
	"risk",
	"rule", "decided by", "channel", "approver", "answered after ms", "reason", "detail", "ms", "count", "arguments",
	"result", "entry",
}

// cells are the columns of an entry; line is the entry itself.
func (e *Entry) cells(line []byte) []string {
	by, rule, args, result := e.DecidedBy, "", "", ""
	if by == nil {
		by = &call.DecidedBy{}
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
		e.Time.Format(timeFormat), number(e.Chain), number(e.Seq), e.Kind, e.State, e.Run, number(int64(e.Call)), e.Principal,
		e.Client,
		e.Profile, e.Server, e.Tool, e.Verdict, e.Risk, rule, by.How, by.Channel, by.Principal, number(by.LatencyMS),
		e.Reason, e.Detail,
		took, number(int64(e.Count)), args, result, string(line),
	}
	for i, c := range cells {
		if i >= len(cells)-jsonCells {
			c = visible.JSON(c)
		}
		cells[i] = visible.Cell(c)
	}
	return cells
}

// jsonCells is how many of the last columns hold JSON.
const jsonCells = 3

// Line formats an entry as in the files of [Export].
func (e *Entry) Line() []byte {
	head, _ := parseHash(e.Prev)
	hash, _ := parseHash(e.Hash)
	body, _ := e.draft().place(store.Head{Chain: e.Chain, Seq: e.Seq - 1, Hash: head})
	return entryLine(&store.Row{Body: body, Hash: hash})
}
