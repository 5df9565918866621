package audit

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/codemode-project/codemode/internal/store"
)

// A pruning says that the entries 2 to seq of a chain were exported and are removed from the database. It has all that
// verification of the rest begins with. It is a signed note, as checkpoints are.
type pruning struct {
	database    string
	chain, seq  int64
	time        time.Time
	first, hash [32]byte // of entry 1, and of entry seq
	tree        tree     // over the entries to seq
	note        string   // as signed
}

// pruningName begins the signed text. It cannot be the origin of a checkpoint, because the next line is not a number.
const pruningName = keyName + " pruning"

func (p *pruning) text() string {
	return fmt.Sprintf("%s\n%s/%d\n%d\n%s\n%s\n%s\n%s\n", pruningName, p.database, p.chain, p.seq,
		p.time.Format(timeFormat), hashText(p.first), hashText(p.hash), base64.StdEncoding.EncodeToString(p.tree.bytes()))
}

// parsePruning reads a note and ignores its signatures.
func parsePruning(signed string) (*pruning, error) {
	text, _, _ := strings.Cut(signed, "\n\n")
	lines := strings.Split(text, "\n")
	if len(lines) != 7 {
		return nil, errors.New("it does not say which entries were removed")
	}
	database, chain, _ := strings.Cut(lines[1], "/")
	p := &pruning{database: database, note: signed}
	var errs [5]error
	p.chain, errs[0] = strconv.ParseInt(chain, 10, 64)
	p.seq, errs[1] = strconv.ParseInt(lines[2], 10, 64)
	p.time, errs[2] = time.Parse(timeFormat, lines[3])
	p.first, _ = parseHash(lines[4])
	p.hash, _ = parseHash(lines[5])
	raw, err := base64.StdEncoding.DecodeString(lines[6])
	errs[3] = err
	p.tree, errs[4] = treeOf(p.seq, raw)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	if p.chain < 1 || p.seq < 2 || p.text() != text+"\n" {
		return nil, errors.New("it does not have the form of what says which entries were removed")
	}
	return p, nil
}

// Prune removes entries from the database that were written before a time, and returns how many. exported are the
// chains of a file from [Export] that has them, as a [Verifier] found them: what the file does not cover stays, and so
// do the first and the last entry of each chain, and those from the first with an open call on. What is removed has to
// be what the writer of the chain signed.
func Prune(ctx context.Context, db *store.DB, key *Key, exported []Span, before, now time.Time) (removed int64,
	err error) {
	ends, err := db.Entries.Ends(ctx)
	if err != nil {
		return 0, err
	}
	for _, end := range ends {
		at := slices.IndexFunc(exported, func(s Span) bool { return s.Chain == end.Chain })
		if at < 0 || end.Note == "" {
			continue
		}
		through := min(exported[at].Covered, end.OpenFrom-1, end.Seq-1)
		if through < 2 {
			continue // such as the chain of a writer with another key, which the file does not prove
		}
		p, err := key.prune(ctx, db, end, through, before, now)
		if err != nil {
			return removed, fmt.Errorf("chain %d: %w; codemode audit verify says more", end.Chain, err)
		}
		if p == nil {
			continue
		}
		n, err := db.Entries.Prune(ctx, p.chain, p.seq, p.note)
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// prune signs that the entries of a chain up to through that were written before a time may be removed; nil if there
// are none.
func (k *Key) prune(ctx context.Context, db *store.DB, end store.End, through int64, before, now time.Time) (*pruning,
	error) {
	own, err := ParsePublic(k.Public())
	if err != nil {
		return nil, err
	}
	checkpoint, err := parseCheckpoint(end.Note)
	if err == nil {
		err = checkpoint.Check(own)
	}
	if err == nil && (checkpoint.Database != db.ID() || checkpoint.Chain != end.Chain) {
		err = errors.New("its checkpoint is of another chain")
	}
	p := &pruning{}
	if err == nil && end.Pruning != "" {
		if p, err = parsePruning(end.Pruning); err == nil {
			err = p.check(db.ID(), end.Chain, own)
		}
	}
	if err != nil {
		return nil, err
	}
	t, from, done := p.tree.clone(), p.seq, false
	q := store.Query{Chain: end.Chain, After: from, Before: checkpoint.Size + 1, Sealed: true}
	err = db.Entries.Rows(ctx, q, func(r *store.Row) error {
		if _, what := readRow(r); r.Seq != t.size+1 || what != "" {
			return fmt.Errorf("entry %d is missing or was changed", t.size+1)
		}
		if done = done || r.Seq > through || r.Time >= before.UnixMicro(); !done {
			p.seq, p.hash = r.Seq, r.Hash
		} else if p.tree.size < p.seq {
			p.tree = t.clone()
		}
		if t.add(r.Hash); r.Seq == 1 {
			p.first = r.Hash
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case t.size != checkpoint.Size || t.root() != checkpoint.Root:
		return nil, errors.New("its entries are not those of its checkpoint")
	case p.tree.size < p.seq:
		p.tree = t
	}
	if p.seq < 2 || p.seq == from && end.Pruning == "" {
		return nil, nil
	}
	if p.seq > from {
		p.database, p.chain, p.time = db.ID(), end.Chain, micro(now)
		p.note, err = k.signNote(p.text())
	}
	return p, err
}

// check reports whether one of the keys signed what a pruning says of a chain.
func (p *pruning) check(database string, chain int64, keys ...note.Verifier) error {
	if p.database != database || p.chain != chain {
		return fmt.Errorf("it is of chain %d of %s", p.chain, p.database)
	}
	_, err := openNote(p.note, keys)
	return err
}

// A foundPruning was read by a [Verifier].
type foundPruning struct {
	source string
	*pruning
}

// pruning adds what a database or a file says of removed entries.
func (v *Verifier) pruning(source, signed string) {
	if signed == "" {
		return
	}
	p, err := parsePruning(signed)
	if err != nil {
		v.report(Problem{Source: source, What: "what it says of removed entries: " + err.Error()})
		return
	}
	v.prunings = append(v.prunings, foundPruning{source, p})
}

// begin lets a chain go on with a run behind entries that were removed, if only entry 1 is there before them. The run
// may begin before their end: a pruning removes some entries at a time.
func (c *chain) begin(r *run) {
	if c.first != 1 || c.next != 2 || r.first < 3 {
		return
	}
	var p *pruning
	for _, found := range c.v.prunings {
		if found.chain == r.chain && (p == nil || found.seq > p.seq) {
			p = found.pruning
		}
	}
	if p == nil {
		return
	}
	wrong := func(seq int64, what string) {
		c.v.report(Problem{Source: r.source, Line: r.line, Chain: r.chain, Seq: seq,
			What: fmt.Sprintf("it is not the entry that was %s when entries 2 to %d were removed", what, p.seq)})
	}
	if c.hashes[0] != p.first {
		wrong(1, "the first")
	}
	if r.first == p.seq+1 && r.prev != p.hash {
		wrong(r.first, "the next")
	}
	if at := p.seq - r.first; at >= 0 && at < int64(len(r.hashes)) && r.hashes[at] != p.hash {
		wrong(p.seq, "the last of them")
	}
	c.gone, c.covered, c.hashes, c.times = *p, p.seq, nil, nil
	c.first = min(p.seq+1, r.first)
	c.next = c.first
}

// judgePrunings reports prunings that nobody with a key signed, and takes them away.
func (v *Verifier) judgePrunings() {
	v.prunings = slices.DeleteFunc(v.prunings, func(p foundPruning) bool {
		err := p.check(p.database, p.chain, v.Keys...)
		if len(v.ids) > 0 && v.ids[p.database] == "" {
			err = fmt.Errorf("it is of another database, %s", p.database)
		}
		if err == nil || v.undecided(p.source, err) {
			return false
		}
		v.report(Problem{Source: p.source, Chain: p.chain, Seq: 2, What: "what it says of removed entries: " + err.Error()})
		return true
	})
}
