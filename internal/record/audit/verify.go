package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/codemode-project/codemode/internal/store"
)

// A Problem is a place where the record differs from what was written.
type Problem struct {
	Source  string `json:"source"`         // the database or a file
	Line    int    `json:"line,omitempty"` // of a file
	Chain   int64  `json:"chain,omitempty"`
	Seq     int64  `json:"seq,omitempty"`     // the first entry that is, or may be, wrong
	Through int64  `json:"through,omitempty"` // the last one that may be the first wrong entry, if that may not be Seq
	What    string `json:"what"`
	// Restored says that nobody changed the record here: a backup was restored that did not have these entries.
	Restored bool `json:"restored,omitempty"`
	// Undecided says that nothing shows whether somebody changed the file: it is signed with a key that is not here, or
	// is no export of a record.
	Undecided bool `json:"undecided,omitempty"`
}

func (p Problem) String() string {
	at := p.Source
	if p.Line > 0 {
		at = fmt.Sprintf("%s, line %d", at, p.Line)
	}
	switch {
	case p.Through > p.Seq:
		at += fmt.Sprintf(": chain %d, entries %d to %d", p.Chain, p.Seq, p.Through)
	case p.Seq > 0:
		at += fmt.Sprintf(": chain %d, entry %d", p.Chain, p.Seq)
	}
	return at + ": " + p.What
}

// A Verdict is the result of [Verifier.Finish]. Without problems the record is what was written: a checkpoint signed
// with one of the keys covers every entry. A Verdict cannot detect that somebody restored an older record with its
// checkpoints, or that a holder of the key signed another record. Checkpoints kept elsewhere detect that.
type Verdict struct {
	Entries     int       `json:"entries"`
	Chains      []Span    `json:"chains"`
	Checkpoints int       `json:"checkpoints"`
	Problems    []Problem `json:"problems"` // the first of each chain first; at most maxProblems
	More        int       `json:"more,omitempty"`
	// Restored is the latest restoration of a backup; nil if there was none.
	Restored *Restoration `json:"restored,omitempty"`
}

// A Span is the part of a chain that was found.
type Span struct {
	Chain   int64  `json:"chain"`
	First   int64  `json:"first"`
	Last    int64  `json:"last"`
	Hash    string `json:"hash"`    // of the last entry
	Covered int64  `json:"covered"` // the last entry that a checkpoint covers
	// Pruned says that the entries 2 to Pruned were exported and removed from the database, as somebody with the key
	// signed. First is after 1 then, unless an exported file has them.
	Pruned int64 `json:"pruned,omitempty"`
}

// maxProblems bounds the report. One change may make every later entry wrong.
const maxProblems = 50

// A Verifier compares databases and files with each other and with checkpoints.
type Verifier struct {
	// Keys are the keys of valid signatures. Files are undecided without the one that signed them; a database without it
	// has been changed.
	Keys []note.Verifier
	// Own is the key of the record, if known: it shows whether the writer wrote the entries after the last checkpoint.
	// Nil accepts them unchecked.
	Own *Key
	// Each, if it is not nil, gets every entry of the files in their order, whether it fits or not.
	Each func(*Entry)

	verdict     Verdict
	runs        []*run
	checkpoints []named
	prunings    []foundPruning
	exports     []signedNote
	ids         map[string]string // where each database name was seen
	databases   []string          // those that were read: each entry in them must be covered
	files       []string          // those that were read
	found       []foundRestoration
	restored    *foundRestoration // the latest that a checkpoint covers; set by Finish
	beside      string            // where the checkpoints are that are written with a record; "" if that is not known
}

// A named checkpoint has the place where it was found.
type named struct {
	source string
	Checkpoint
}

// A signedNote is the note at the end of a file.
type signedNote struct{ source, note string }

// A run is a part of a chain without gaps.
type run struct {
	source string
	line   int
	chain  int64
	first  int64
	prev   [32]byte // of the first entry
	hashes [][32]byte
	times  []int64 // in a database: the times of the entries, in microseconds since 1970
}

func (v *Verifier) report(p Problem) {
	if len(v.verdict.Problems) >= maxProblems {
		v.verdict.More++
		return
	}
	v.verdict.Problems = append(v.verdict.Problems, p)
}

// Database reads all chains of a database.
func (v *Verifier) Database(ctx context.Context, name string, db *store.DB) error {
	v.saw(name, db.ID())
	// An error of reading is a problem of the record, unless ctx ended.
	failed := func(p Problem, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.Source, p.What = name, "it cannot be read: "+err.Error()
		v.report(p)
		return nil
	}
	problems, err := db.Entries.Inspect(ctx)
	for _, p := range problems {
		v.report(Problem{Source: name, What: p})
	}
	if err != nil {
		if err := failed(Problem{}, err); err != nil {
			return err
		}
	}
	left, err := db.Entries.Ends(ctx) // both at one moment: a writer may be running
	if err != nil {
		return failed(Problem{}, err)
	}
	signed, pruned := map[int64]store.Signed{}, map[int64]string{}
	for _, h := range left {
		signed[h.Chain], pruned[h.Chain] = h.Signed, h.Pruning
	}
	v.databases = append(v.databases, name)
	chains, err := db.Entries.Chains(ctx)
	if err != nil {
		return failed(Problem{}, err)
	}
	for _, h := range left {
		if h.Seq > 0 && !slices.Contains(chains, h.Chain) {
			chains = append(chains, h.Chain)
		}
	}
	// A new chain may exist by now.
	now, err := db.Entries.Ends(ctx)
	if err != nil {
		return failed(Problem{}, err)
	}
	chains = slices.DeleteFunc(chains, func(n int64) bool {
		of := func(e store.End) bool { return e.Chain == n && e.Seq > 0 }
		return slices.ContainsFunc(now, of) &&
			!slices.ContainsFunc(left, func(e store.End) bool { return of(e) || e.Chain == n && e.Note != "" })
	})
	slices.Sort(chains)
	v.gaps(name, signed)
	for _, chain := range chains {
		v.end(name, chain, signed[chain].Note)
		v.pruning(name, pruned[chain])
		at := slices.IndexFunc(left, func(h store.End) bool { return h.Chain == chain })
		w := walker{v: v, source: name, chain: chain}
		behind := int64(0) // the last entry after the end; a running writer may have put it there meanwhile
		err := db.Entries.Rows(ctx, store.Query{Chain: chain, After: minSeq, Sealed: true}, func(r *store.Row) error {
			if at >= 0 && r.Seq > left[at].Seq {
				behind = r.Seq
				return ctx.Err()
			}
			w.time = r.Time
			w.row(r)
			return ctx.Err()
		})
		w.flush()
		if err != nil {
			if err := failed(Problem{Chain: chain, Seq: w.seq + 1}, err); err != nil {
				return err
			}
		}
		if at < 0 {
			continue
		}
		h := left[at]
		v.tail(name, db.ID(), h, &w)
		if h.Seq > w.seq {
			v.report(Problem{Source: name, Chain: chain, Seq: w.seq + 1,
				What: fmt.Sprintf("it is missing: the writer left the chain at entry %d", h.Seq)})
		}
		if behind == 0 {
			continue
		}
		now, err := db.Entries.Ends(ctx)
		if err != nil {
			return failed(Problem{}, err)
		}
		if !slices.ContainsFunc(now, func(e store.End) bool { return e.Chain == chain && e.Seq >= behind }) {
			v.report(Problem{Source: name, Chain: chain, Seq: h.Seq + 1,
				What: "somebody added it behind the end at which the writer left the chain"})
		}
	}
	return nil
}

// gaps reports chains that are missing before a later one.
func (v *Verifier) gaps(name string, signed map[int64]store.Signed) {
	for n := int64(1); n <= slices.Max(append([]int64{0}, sortedKeys(signed)...)); n++ {
		if _, there := signed[n]; !there {
			v.report(Problem{Source: name, Chain: n, Seq: 1,
				What: "the whole chain is missing: a later chain is there, and chains begin in their order"})
			if n > maxGap {
				break
			}
		}
	}
}

// tail checks that the writer wrote the entries after the checkpoint in the database, if the writer had our key.
func (v *Verifier) tail(name, database string, h store.End, w *walker) {
	c, err := parseCheckpoint(h.Note)
	if v.Own == nil || err != nil || c.Size >= h.Seq {
		return
	}
	own, err := ParsePublic(v.Own.Public())
	if err != nil || c.Check(own) != nil {
		return // of another machine, or already reported
	}
	if h.Seq != w.seq || h.Hash != w.hash || !v.Own.wrote(database, h.Head, h.Tail) {
		v.report(Problem{Source: name, Chain: h.Chain, Seq: c.Size + 1, Through: h.Seq,
			What: "no checkpoint covers these entries, and nobody with the key of the record wrote their end: " +
				"somebody changed, added or cut them"})
	}
}

// end adds the database's checkpoint of the end of a chain.
func (v *Verifier) end(name string, chain int64, signed string) {
	if signed == "" {
		v.report(Problem{Source: name, Chain: chain, Seq: 1,
			What: "no checkpoint covers the chain: the one in the database is gone, or an earlier codemode wrote it"})
		return
	}
	c, err := parseCheckpoint(signed)
	if err == nil && c.Chain != chain {
		err = fmt.Errorf("it is of chain %d", c.Chain)
	}
	if err != nil {
		v.report(Problem{Source: name, Chain: chain, Seq: 1, What: "the checkpoint in the database cannot be used: " +
			err.Error()})
		return
	}
	v.checkpoints = append(v.checkpoints, named{name, c})
}

// minSeq is below every entry, even forged ones.
const minSeq = -1 << 62

// Published adds checkpoints that were published.
func (v *Verifier) Published(source string, checkpoints []Checkpoint) {
	for _, c := range checkpoints {
		v.checkpoints = append(v.checkpoints, named{source, c})
	}
}

// Beside adds the checkpoints that were published next to the database, none if the file is gone. They must cover
// nearly all of the record.
func (v *Verifier) Beside(source string, checkpoints []Checkpoint) {
	v.beside = source
	v.Published(source, checkpoints)
}

// saw records the database that a source names.
func (v *Verifier) saw(source, id string) {
	if v.ids == nil {
		v.ids = map[string]string{}
	}
	v.ids[id] = cmp.Or(v.ids[id], source)
}

// A walker follows one chain through one source.
type walker struct {
	v      *Verifier
	source string
	line   int
	chain  int64
	seq    int64 // of the last entry
	hash   [32]byte
	cur    *run
	time   int64 // of the added entry, in a database
}

// row checks a row of a database.
func (w *walker) row(r *store.Row) {
	if e, what := readRow(r); e != nil {
		w.next(e, r.Seq, r.Hash, what)
	} else {
		w.bad(r.Seq, what, r.Hash)
	}
}

// readRow reads a row with its sealed values, and says what is wrong with it; the entry is nil if it cannot be read.
func readRow(r *store.Row) (e *Entry, what string) {
	e, err := decodeBody([]byte(r.Body))
	if err != nil {
		return nil, "it cannot be read: " + err.Error()
	}
	repeated := e.row()
	repeated.Hash, repeated.Body, repeated.Sealed = r.Hash, r.Body, r.Sealed
	switch {
	case sha256.Sum256([]byte(r.Body)) != r.Hash:
		what = "its text is not what its hash was made of"
	case repeated != *r:
		what = "the columns beside its text were changed"
	case sealedDigest(r.Sealed) != e.Sealed:
		what = "its sealed values were changed or removed"
	}
	return e, what
}

// next adds an entry that claims to be seq; what is an already known defect.
func (w *walker) next(e *Entry, seq int64, hash [32]byte, what string) {
	prev, ok := parseHash(e.Prev)
	switch {
	case what != "":
	case !ok:
		what = "it does not say behind which entry it was written"
	case e.Seq != seq || e.Chain != w.chain:
		what = fmt.Sprintf("its text is that of entry %d of chain %d", e.Seq, e.Chain)
	}
	if what == "" && w.cur != nil && seq == w.seq+1 && prev != w.hash {
		// The later entry holds the hash of the original.
		w.v.report(Problem{Source: w.source, Line: max(0, w.line-1), Chain: w.chain, Seq: w.seq,
			What: fmt.Sprintf("it is not the entry that entry %d was written behind: it was changed, or replaced with its hash",
				seq)})
		w.flush()
	}
	if what != "" {
		w.bad(seq, what, hash)
		return
	}
	if r, _ := restoration(e); r != nil && !w.v.begins(e.Chain) {
		w.v.found = append(w.v.found, foundRestoration{*r, e.Chain, w.source})
	}
	w.place(seq, prev, hash)
}

// place adds an entry to the run, or begins another run. Gaps are found later, when the runs of all sources are
// combined.
func (w *walker) place(seq int64, prev, hash [32]byte) {
	if w.cur != nil && seq != w.seq+1 {
		if seq <= w.seq {
			w.v.report(Problem{Source: w.source, Line: w.line, Chain: w.chain, Seq: seq,
				What: fmt.Sprintf("it comes after entry %d", w.seq)})
		}
		w.flush()
	}
	if w.cur == nil {
		w.cur = &run{source: w.source, line: w.line, chain: w.chain, first: seq, prev: prev}
	}
	w.cur.hashes = append(w.cur.hashes, hash)
	w.cur.times = append(w.cur.times, w.time)
	w.seq, w.hash = seq, hash
	w.v.verdict.Entries++
}

// bad reports an entry and continues after it as if it had been correct, to find the next one.
func (w *walker) bad(seq int64, what string, hash [32]byte) {
	w.v.report(Problem{Source: w.source, Line: w.line, Chain: w.chain, Seq: seq, What: what})
	if w.cur != nil && seq == w.seq+1 {
		w.place(seq, w.hash, hash)
	} else {
		w.flush()
		w.cur = &run{source: w.source, line: w.line, chain: w.chain, first: seq, hashes: [][32]byte{hash},
			times: []int64{w.time}}
		w.seq, w.hash = seq, hash
		w.v.verdict.Entries++
	}
}

func (w *walker) flush() {
	if w.cur != nil {
		w.v.runs = append(w.v.runs, w.cur)
		w.cur = nil
	}
}

// Finish combines the entries read and compares them with the checkpoints.
func (v *Verifier) Finish() Verdict {
	slices.SortStableFunc(v.runs, func(a, b *run) int {
		return cmp.Or(cmp.Compare(a.chain, b.chain), cmp.Compare(a.first, b.first))
	})
	v.judgePrunings()
	chains := map[int64]*chain{}
	var order []int64
	for _, r := range v.runs {
		c := chains[r.chain]
		if c == nil {
			c = &chain{v: v, first: r.first, next: r.first}
			chains[r.chain] = c
			order = append(order, r.chain)
			if r.first != 1 {
				v.report(Problem{Source: r.source, Line: r.line, Chain: r.chain, Seq: 1, Through: 1,
					What: fmt.Sprintf("entries 1 to %d are missing; give the older files too", r.first-1)})
			} else if r.prev != [32]byte{} {
				v.report(Problem{Source: r.source, Line: r.line, Chain: r.chain, Seq: 1,
					What: "it is the first of its chain, but names an entry before it"})
			}
		}
		c.join(r)
	}
	v.compare(chains)
	slices.Sort(order)
	for _, n := range order {
		c := chains[n]
		v.verdict.Chains = append(v.verdict.Chains, Span{Chain: n, First: c.first, Last: c.next - 1,
			Hash: hashText(c.hashes[len(c.hashes)-1]), Covered: c.covered, Pruned: c.gone.seq})
	}
	slices.SortStableFunc(v.verdict.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Chain, b.Chain), cmp.Compare(a.Seq, b.Seq))
	})
	return v.verdict
}

// A chain combines the entries of one chain from all sources.
type chain struct {
	v       *Verifier
	first   int64
	next    int64
	hashes  [][32]byte // from first on; zero where entries are missing
	times   []int64    // the same
	source  string
	covered int64
	wrong   bool    // in the part that a checkpoint covers; already reported
	gone    pruning // what is removed before first, apart from entry 1; zero if nothing is
}

func (c *chain) hash(seq int64) (h [32]byte, ok bool) {
	if seq < c.first || seq >= c.next {
		return h, false
	}
	h = c.hashes[seq-c.first]
	return h, h != [32]byte{}
}

// join adds a run that begins where the chain ends, overlaps it, or leaves a gap.
func (c *chain) join(r *run) {
	problem := func(seq int64, what string) {
		c.v.report(Problem{Source: r.source, Line: r.line, Chain: r.chain, Seq: seq, What: what})
	}
	if before, ok := c.hash(r.first - 1); ok && r.prev != before && r.prev != [32]byte{} {
		problem(r.first-1, fmt.Sprintf("it is not the entry that entry %d was written behind", r.first))
	}
	c.begin(r)
	if r.first > c.next {
		from := c.next
		problem(from, missing(from, r.first-1))
		if r.first-from > maxGap {
			return // somebody forged a number
		}
		c.hashes = append(c.hashes, make([][32]byte, r.first-from)...)
		c.times = append(c.times, make([]int64, r.first-from)...)
		c.next = r.first
	}
	for i, h := range r.hashes {
		seq := r.first + int64(i)
		if seq >= c.next {
			c.hashes = append(c.hashes, h)
			c.times = append(c.times, r.times[i])
			c.next = seq + 1
			continue
		}
		if known, ok := c.hash(seq); ok && known != h {
			problem(seq, "it differs from the same entry in "+c.source)
			break
		}
	}
	c.source = r.source
}

// maxGap bounds the work for forged numbers.
const maxGap = 1 << 24

func missing(from, to int64) string {
	if from == to {
		return "it is missing"
	}
	return fmt.Sprintf("entries %d to %d are missing", from, to)
}

// compare compares the chains with the checkpoints.
func (v *Verifier) compare(chains map[int64]*chain) {
	for _, x := range v.exports {
		_, err := openNote(x.note, v.Keys)
		if v.undecided(x.source, err) {
			continue
		}
		if err != nil {
			v.report(Problem{Source: x.source, What: "the checkpoint that closes the file: " + err.Error()})
			continue
		}
		v.verdict.Checkpoints++
	}
	of := map[int64][]named{}
	for _, c := range v.checkpoints {
		problem := func(what string) {
			v.report(Problem{Source: c.source, Chain: c.Chain, What: fmt.Sprintf("the checkpoint at entry %d: %s", c.Size,
				what)})
		}
		if len(v.ids) > 0 && v.ids[c.Database] == "" {
			v.report(Problem{Source: c.source, Chain: c.Chain, Undecided: len(v.databases) == 0,
				What: fmt.Sprintf("the checkpoint at entry %d: it is of another database, %s", c.Size, c.Database)})
			continue
		}
		err := c.Check(v.Keys...)
		if v.undecided(c.source, err) {
			continue
		}
		if err != nil {
			problem(err.Error())
			continue
		}
		v.verdict.Checkpoints++
		of[c.Chain] = append(of[c.Chain], c)
	}
	v.restoredChains(chains, of)
	for _, n := range sortedKeys(of) {
		if !v.begins(n) {
			v.compareChain(n, chains[n], of[n])
		}
	}
	for _, n := range sortedKeys(chains) {
		is := chains[n]
		last := is.next - 1
		if len(v.databases) > 0 && !is.wrong && (is.covered == 0 || is.late(is.covered, unsealedRows, unsealedAfter,
			10*sealAfter)) {
			v.report(Problem{Source: v.databases[0], Chain: n, Seq: is.covered + 1, Through: last,
				What: "no checkpoint covers these entries: somebody changed or added them, or took their checkpoints away"})
		}
		published := is.gone.seq
		for _, c := range of[n] {
			if hash, ok := is.hash(c.Size); c.source == v.beside && ok && hash != [32]byte{} {
				published = max(published, c.Size)
			}
		}
		if v.beside != "" && is.late(published, lateRows, lateAfter, 2*publishAfter) {
			v.report(Problem{Source: v.beside, Chain: n, Seq: published + 1, Through: is.next - 1,
				What: "checkpoints of these entries are missing: the file was cut, replaced by an older one or taken away. If it is elsewhere, name it with --checkpoints"})
		}
	}
}

// undecided reports a file that is signed with a key that is not here, once. A database is no such file: its writer has
// the key beside it, so that another one means that somebody replaced the key or the signatures.
func (v *Verifier) undecided(source string, err error) bool {
	other, ok := errors.AsType[*otherKeyError](err)
	if !ok || len(v.databases) > 0 && !slices.Contains(v.files, source) {
		return false
	}
	known := func(p Problem) bool { return p.Undecided && p.Source == source }
	if slices.ContainsFunc(v.verdict.Problems, known) {
		return true
	}
	signed, here := other.keys()
	what := "it is signed with the key " + signed + ", and no key is here"
	if here != "" {
		what = "it is signed with the key " + signed + ", of another machine, and the key here is " + here
	}
	v.report(Problem{Source: source, Undecided: true, What: what + ": this does not show whether somebody changed it. " +
		"Give the key with --key, as codemode audit key prints it on the machine that wrote the record"})
	return true
}

// compareChain compares a chain with its checkpoints; nil if no entry of it was found.
func (v *Verifier) compareChain(n int64, is *chain, checkpoints []named) {
	slices.SortStableFunc(checkpoints, func(a, b named) int { return cmp.Compare(a.Size, b.Size) })
	if is != nil {
		is.compare(n, checkpoints)
	} else if longest := checkpoints[len(checkpoints)-1]; longest.Size > 0 && !v.afterBackup(n, 0, checkpoints) {
		v.report(Problem{Source: checkpoints[0].source, Chain: n, Seq: 1,
			What: fmt.Sprintf("the whole chain is missing; a published checkpoint covers it up to entry %d", longest.Size)})
	}
}

// compare compares a chain with its checkpoints, the shortest first.
func (c *chain) compare(n int64, checkpoints []named) {
	t := c.gone.tree.clone()
	c.wrong = true // until all are compared
	for _, p := range checkpoints {
		if p.Size < c.gone.seq {
			continue // of entries that are removed
		}
		for t.size < min(p.Size, c.next-1) {
			hash, ok := c.hash(t.size + 1)
			if !ok {
				return // entries are missing, which is already reported
			}
			t.add(hash)
		}
		switch {
		case p.Size >= c.next && c.v.afterBackup(n, c.next-1, checkpoints):
			c.wrong = false
			return
		case p.Size >= c.next:
			c.v.report(Problem{Source: p.source, Chain: n, Seq: c.next, What: missing(c.next, p.Size) + ", as was published"})
			return
		case t.root() != p.Root:
			c.v.report(Problem{Source: p.source, Chain: n, Seq: c.covered + 1, Through: p.Size,
				What: fmt.Sprintf("somebody rewrote the chain: its %d entries are not those of the checkpoint, and the first change is among these", p.Size)})
			return
		}
		c.covered = p.Size
	}
	c.wrong = false
}

const (
	// How far checkpoints may lag behind, in entries and in the writer's running time: those in the database, and the
	// published ones. The limits are several times what the writer needs, because a writer may die just before it
	// signs.
	unsealedRows  = 2*sealRows + 2*maxBatch
	unsealedAfter = 50 * sealAfter
	lateRows      = 3 * publishEvery
	lateAfter     = 24 * publishAfter
)

// late reports whether the writer would have signed an entry after covered by then. Between two entries it may have
// been suspended or dead, so each pause counts for at most most.
func (c *chain) late(covered, rows int64, after, most time.Duration) bool {
	last := c.next - 1
	if last-covered > rows {
		return true
	}
	var ran time.Duration
	for seq := max(covered+2, c.first+1); seq <= last; seq++ {
		pause := time.Duration(c.times[seq-c.first]-c.times[seq-1-c.first]) * time.Microsecond
		ran += min(max(pause, 0), most)
	}
	return ran > after
}

func sortedKeys[V any](m map[int64]V) []int64 {
	keys := make([]int64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
