package audit

import (
	"bufio"
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
	"strings"

	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
)

// maxLine is the longest line of an exported file.
const maxLine = 4 << 20

// File reads an exported file of any format.
func (v *Verifier) File(ctx context.Context, name string, r io.Reader) error {
	f := &exported{v: v, name: name, digest: sha256.New()}
	v.files = append(v.files, name)
	before, more := len(v.verdict.Problems), v.verdict.More
	buffered := bufio.NewReaderSize(r, 1<<16)
	first, err := buffered.Peek(1)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case len(first) == 0:
		f.bad("the file is empty: it does not close with a checkpoint")
		return nil
	case first[0] == '{', first[0] == '[':
		err = f.lines(ctx, buffered, first[0] == '[')
	default:
		err = f.table(ctx, buffered)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if len(f.order) == 0 && !f.closed { // nothing in it is of a record
		line := f.line
		if len(v.verdict.Problems) > before {
			line = v.verdict.Problems[before].Line // the first that is no entry
		}
		v.verdict.Problems, v.verdict.More = v.verdict.Problems[:before], more
		v.report(Problem{Source: name, Line: line, Undecided: true,
			What: "it is no file of codemode audit export: no line is an entry, and no checkpoint closes it"})
		return nil
	}
	f.finish()
	return nil
}

// exported is a file being verified.
type exported struct {
	v    *Verifier
	name string

	line   int
	digest hash.Hash
	rows   int
	walk   *walker
	end    *exportEnd
	note   string
	closed bool         // the last object was read
	order  []store.Head // of every entry, in the order of the file
	broken bool         // an entry was unreadable, so the file's digest proves nothing
}

func (f *exported) bad(what string) {
	p := Problem{Source: f.name, Line: f.line, What: what}
	if f.walk != nil {
		p.Chain, p.Seq = f.walk.chain, f.walk.seq+1
	}
	f.v.report(p)
}

// lines reads JSON: one object a line, in a list or not. Every byte counts: even another blank is a change of the file.
func (f *exported) lines(ctx context.Context, r *bufio.Reader, list bool) error {
	closed := !list
	for {
		line, err := readLine(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		ended := errors.Is(err, io.EOF)
		if ended && len(line) == 0 {
			break
		}
		f.line++
		if ctx.Err() != nil {
			return ctx.Err()
		}
		text, newline := bytes.CutSuffix(line, []byte("\n"))
		if !newline {
			f.bad("the line is cut off")
		}
		switch {
		case list && f.line == 1 && string(text) == "[":
			continue
		case list && string(text) == "]" && f.closed:
			closed = true
			continue
		}
		if f.closed {
			f.bad("something follows the checkpoint that closes the file")
			continue
		}
		rest, comma := text, false
		if list {
			rest, comma = bytes.CutSuffix(text, []byte(","))
		}
		f.object(rest)
		if list && comma == (f.closed) {
			f.bad("the brackets and commas of the list were changed")
		}
	}
	if !closed {
		f.line++
		f.bad("the list does not end")
	}
	return nil
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxLine {
			return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
	}
}

// object reads one line: an entry, or the checkpoint at the end.
func (f *exported) object(line []byte) (e *Entry) {
	if bytes.HasPrefix(line, []byte(`{"export":`)) {
		f.trailer(line)
		return nil
	}
	f.rows++
	fail := func(what string) *Entry {
		f.broken = true
		f.bad(what)
		if f.walk != nil { // as if it had been the next one, so that the one after it is not a gap
			f.walk.seq++
			f.walk.flush()
		}
		return nil
	}
	line, values, fits := cutSealed(line)
	const hashAt = len(`,"hash":"sha256:"}`) + 64
	if len(line) < hashAt || !bytes.HasSuffix(line, []byte(`"}`)) ||
		string(line[len(line)-hashAt:len(line)-66]) != `,"hash":"sha256:` {
		return fail("it is no entry: it does not end with a hash")
	}
	hash, ok := parseHash(string(line[len(line)-73 : len(line)-2]))
	if !ok {
		return fail("its hash cannot be read")
	}
	body := append(slices.Clone(line[:len(line)-hashAt]), '}')
	canonical, err := strictjson.Canonical(body)
	if err != nil {
		return fail("it cannot be read: " + err.Error())
	}
	e, err = decodeBody(body)
	if err != nil {
		return fail("it cannot be read: " + err.Error())
	}
	what := ""
	if !bytes.Equal(canonical, body) || sha256.Sum256(body) != hash {
		what = "its text is not what its hash was made of"
	} else if !fits || values != "" && sealedDigest(values) != e.Sealed {
		what = "its sealed values were changed"
	}
	if e.Hash, e.sealed = hashText(hash), values; f.v.Each != nil {
		f.v.Each(e)
	}
	f.digest.Write(hash[:])
	if values != "" {
		io.WriteString(f.digest, sealedDigest(values))
	}
	f.entry(e, hash, what)
	return e
}

// cutSealed takes the sealed values out of a line from entryLine. It fits if their form is that of entryLine.
func cutSealed(line []byte) (rest []byte, values string, fits bool) {
	at := bytes.LastIndex(line, []byte(sealedMember))
	if at < 0 {
		return line, "", true
	}
	encoded, ended := bytes.CutSuffix(line[at+len(sealedMember):], []byte(`"}`))
	if !ended || bytes.IndexByte(encoded, '"') >= 0 {
		return line, "", true // a member of a value in the text of the entry
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(string(encoded))
	return append(line[:at:at], `"}`...), string(raw), err == nil && len(raw) > 0
}

func (f *exported) entry(e *Entry, hash [32]byte, what string) {
	f.order = append(f.order, store.Head{Chain: e.Chain, Seq: e.Seq})
	if f.walk == nil || f.walk.chain != e.Chain {
		if f.walk != nil {
			f.walk.flush()
			if e.Chain < f.walk.chain {
				f.v.report(Problem{Source: f.name, Line: f.line, Chain: e.Chain, Seq: e.Seq,
					What: fmt.Sprintf("it comes after entries of chain %d", f.walk.chain)})
			}
		}
		f.walk = &walker{v: f.v, source: f.name, chain: e.Chain}
	}
	f.walk.line = f.line
	seq := e.Seq
	if what != "" && f.walk.cur != nil && seq <= f.walk.seq {
		seq = f.walk.seq + 1 // its own statement was changed
	}
	f.walk.next(e, seq, hash, what)
}

func (f *exported) trailer(line []byte) {
	f.closed = true
	var t trailer
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err := d.Decode(&t)
	if err == nil {
		f.end, err = parseExportEnd(t.Export)
	}
	if err != nil || string(t.line()) != string(line) {
		f.bad("the object that closes the file was changed, or is of an earlier codemode")
		f.end, f.broken = nil, true
		return
	}
	f.note = t.Export
	for _, signed := range t.Prunings {
		f.v.pruning(f.name, signed)
	}
	for _, signed := range t.Checkpoints {
		c, err := parseCheckpoint(signed)
		if err != nil {
			f.bad("a checkpoint in the object that closes the file: " + err.Error())
			continue
		}
		if f.end.Filter == "" {
			f.v.checkpoints = append(f.v.checkpoints, named{source: f.name, Checkpoint: c})
		} else { // it is about entries that are not in the file
			f.v.exports = append(f.v.exports, signedNote{f.name, signed})
		}
	}
}

// finish compares the file with its closing objects.
func (f *exported) finish() {
	if f.walk != nil {
		f.walk.flush()
	}
	f.line++
	if !f.closed {
		f.bad("the end of the file is missing: it does not close with a checkpoint")
		return
	}
	f.line--
	if f.end == nil {
		return // reported
	}
	if others := len(f.v.ids) > 0 && f.v.ids[f.end.Database] == ""; others {
		f.v.report(Problem{Source: f.name, Undecided: true,
			What: "it is of another database, " + f.end.Database + ", than what is verified with it: verify it alone"})
		f.v.runs = slices.DeleteFunc(f.v.runs, func(r *run) bool { return r.source == f.name })
		f.v.checkpoints = slices.DeleteFunc(f.v.checkpoints, func(c named) bool { return c.source == f.name })
		return
	}
	f.v.saw(f.name, f.end.Database)
	f.v.exports = append(f.v.exports, signedNote{f.name, f.note})
	if f.end.Filter != "" {
		f.selected()
		f.v.found = slices.DeleteFunc(f.v.found, func(r foundRestoration) bool { return r.source == f.name })
	}
	if !f.broken && (f.end.Rows != f.rows || f.end.Digest != "sha256:"+hex.EncodeToString(f.digest.Sum(nil))) {
		f.v.report(Problem{Source: f.name, Line: f.line,
			What: fmt.Sprintf("the entries of the file are not the %d that the checkpoint at its end was made of", f.end.Rows)})
	}
}

// selected compares the entries of a partial file with the list at its end. Gaps between them say nothing about chains,
// so it removes the runs again.
func (f *exported) selected() {
	var there places
	for _, h := range f.order {
		there.add(h.Chain, h.Seq)
	}
	if there.String() == f.end.Places {
		f.v.runs = slices.DeleteFunc(f.v.runs, func(r *run) bool { return r.source == f.name })
		return
	}
	want := map[[2]int64]bool{}
	listed, err := parsePlaces(f.end.Places)
	if err != nil {
		f.bad("the list of entries in the checkpoint at the end cannot be read")
	}
	for _, h := range f.order {
		want[[2]int64{h.Chain, h.Seq}] = true
	}
	for i, h := range listed {
		if !want[[2]int64{h.Chain, h.Seq}] {
			f.v.report(Problem{Source: f.name, Line: f.lineOf(i), Chain: h.Chain, Seq: h.Seq,
				What: "it is missing from the file"})
			break
		}
		if i < len(f.order) && f.order[i] != h {
			f.v.report(Problem{Source: f.name, Line: f.lineOf(i), Chain: h.Chain, Seq: h.Seq,
				What: "it is not in its place in the file"})
			break
		}
	}
	f.v.runs = slices.DeleteFunc(f.v.runs, func(r *run) bool { return r.source == f.name })
}

// lineOf returns the line of entry i in the file.
func (f *exported) lineOf(i int) int { return max(1, f.line-f.rows+i) }

func parsePlaces(s string) (all []store.Head, err error) {
	if s == "" {
		return nil, nil
	}
	for _, chain := range strings.Split(s, ";") {
		var n int64
		number, list, _ := strings.Cut(chain, ":")
		if _, err := fmt.Sscan(number, &n); err != nil {
			return nil, err
		}
		for _, span := range strings.Split(list, ",") {
			first, last, two := strings.Cut(span, "-")
			var from, to int64
			if _, err := fmt.Sscan(first, &from); err != nil {
				return nil, err
			}
			to = from
			if two {
				if _, err := fmt.Sscan(last, &to); err != nil {
					return nil, err
				}
			}
			if to-from > 1<<24 {
				return nil, errors.New("too many")
			}
			for seq := from; seq <= to; seq++ {
				all = append(all, store.Head{Chain: n, Seq: seq})
			}
		}
	}
	return all, nil
}

// table reads CSV. It compares every cell with the entry in the last one.
func (f *exported) table(ctx context.Context, r io.Reader) error {
	var raw bytes.Buffer
	in := csv.NewReader(io.TeeReader(r, &raw))
	in.FieldsPerRecord = -1
	at := int64(0)
	for {
		f.line++
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			f.line--
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			f.broken = true
			f.bad("it cannot be read: " + err.Error())
			return nil
		}
		written := raw.Next(int(in.InputOffset() - at))
		at = in.InputOffset()
		if f.closed {
			f.bad("something follows the checkpoint that closes the file")
			continue
		}
		want := csvHeader
		if f.line > 1 {
			last := visible.ParseJSON(cells[len(cells)-1])
			if e := f.object([]byte(last)); e != nil {
				want = e.cells([]byte(last))
			} else if f.closed {
				want = make([]string, len(csvHeader))
				want[0], want[len(want)-1] = "checkpoint", visible.JSON(last)
			} else {
				continue // reported
			}
		}
		if !bytes.Equal(written, csvLine(want)) {
			p := Problem{Source: f.name, Line: f.line, What: "the cells beside the entry were changed"}
			if f.walk != nil && f.line > 1 && f.end == nil {
				p.Chain, p.Seq = f.walk.chain, f.walk.seq
			}
			f.v.report(p)
		}
	}
}

func csvLine(cells []string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(cells) // into memory
	w.Flush()
	return b.Bytes()
}

// Entries calls f for each entry that matches q, see [store.EntryTable.Rows].
func Entries(ctx context.Context, db *store.DB, q store.Query, f func(*Entry) error) error {
	return db.Entries.Rows(ctx, q, func(r *store.Row) error {
		e, err := decodeBody([]byte(r.Body))
		if err != nil {
			return fmt.Errorf("entry %d of chain %d cannot be read; run codemode audit verify: %w", r.Seq, r.Chain, err)
		}
		e.Hash, e.sealed = hashText(r.Hash), r.Sealed
		return f(e)
	})
}
