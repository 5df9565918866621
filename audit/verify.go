package audit

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/store"
)

// A Problem is a place where the record is not what was written.
type Problem struct {
	Source  string `json:"source"`         // the database or a file
	Line    int    `json:"line,omitempty"` // of a file
	Chain   int64  `json:"chain,omitempty"`
	Seq     int64  `json:"seq,omitempty"`     // the first entry that is wrong, or may be
	Through int64  `json:"through,omitempty"` // the last that may be the first wrong one, if it is not known to be Seq
	What    string `json:"what"`
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

// A Verdict is what [Verifier.Finish] found. Without problems the record is what was written, as far as
// the checkpoints reach: entries behind the last checkpoint of a chain could be missing unnoticed.
type Verdict struct {
	Entries     int       `json:"entries"`
	Chains      []Span    `json:"chains"`
	Checkpoints int       `json:"checkpoints"`
	Problems    []Problem `json:"problems"` // the first of each chain first; at most maxProblems
	More        int       `json:"more,omitempty"`
}

// A Span is what was there of a chain.
type Span struct {
	Chain   int64  `json:"chain"`
	First   int64  `json:"first"`
	Last    int64  `json:"last"`
	Hash    string `json:"hash"`    // of the last entry
	Covered int64  `json:"covered"` // the last entry that a checkpoint covers
}

// maxProblems bounds what is reported. One change may make every later entry wrong.
const maxProblems = 50

// A Verifier compares databases and files with each other and with checkpoints.
type Verifier struct {
	// Keys are those that checkpoints may be signed with; none takes the key that the first checkpoint
	// names, which shows less.
	Keys []ed25519.PublicKey

	verdict     Verdict
	runs        []*run
	checkpoints []named
	ids         map[string]string // where each database name was seen
	trailers    []named
}

// A named checkpoint says where it was found. partial is that of a file that holds not all entries, which
// says nothing about chains.
type named struct {
	source string
	Checkpoint
	partial bool
}

// A run is a part of a chain without gaps.
type run struct {
	source string
	line   int
	chain  int64
	first  int64
	prev   [32]byte // of the first entry
	hashes [][32]byte
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
	// What stands in the way of reading is a problem of the record, unless the reader was told to stop.
	failed := func(p Problem, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.Source, p.What = name, "it cannot be read: "+err.Error()
		v.report(p)
		return nil
	}
	problems, err := db.Inspect(ctx)
	for _, p := range problems {
		v.report(Problem{Source: name, What: p})
	}
	if err != nil {
		if err := failed(Problem{}, err); err != nil {
			return err
		}
	}
	left, err := db.Left(ctx)
	if err != nil {
		return failed(Problem{}, err)
	}
	chains, err := db.Chains(ctx)
	if err != nil {
		return failed(Problem{}, err)
	}
	for _, h := range left {
		if h.Seq > 0 && !slices.Contains(chains, h.Chain) {
			chains = append(chains, h.Chain)
		}
	}
	slices.Sort(chains)
	for _, chain := range chains {
		w := walker{v: v, source: name, chain: chain}
		err := db.Rows(ctx, store.Query{Chain: chain, After: minSeq}, func(r *store.Row) error {
			w.row(r)
			return ctx.Err()
		})
		w.flush()
		if err != nil {
			if err := failed(Problem{Chain: chain, Seq: w.seq + 1}, err); err != nil {
				return err
			}
		}
		for _, h := range left {
			if h.Chain != chain || h.Seq == w.seq {
				continue
			}
			if h.Seq > w.seq {
				v.report(Problem{Source: name, Chain: chain, Seq: w.seq + 1, What: fmt.Sprintf("it is missing: the writer left the chain at entry %d", h.Seq)})
			} else {
				v.report(Problem{Source: name, Chain: chain, Seq: h.Seq + 1, What: "it was added behind the end at which the writer left the chain"})
			}
		}
	}
	return nil
}

// minSeq is below every entry, also of those that somebody made up.
const minSeq = -1 << 62

// Published adds checkpoints that were published.
func (v *Verifier) Published(source string, checkpoints []Checkpoint) {
	for _, c := range checkpoints {
		v.checkpoints = append(v.checkpoints, named{source: source, Checkpoint: c})
	}
}

// saw notes which database a source speaks of.
func (v *Verifier) saw(source, id string) {
	if v.ids == nil {
		v.ids = map[string]string{}
	}
	if v.ids[id] == "" {
		v.ids[id] = source
	}
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
}

// row checks a row of a database.
func (w *walker) row(r *store.Row) {
	e, err := decodeBody([]byte(r.Body))
	if err != nil {
		w.bad(r.Seq, "it cannot be read: "+err.Error(), r.Hash)
		return
	}
	repeated := e.row()
	repeated.Hash, repeated.Body = r.Hash, r.Body
	var what string
	switch {
	case sha256.Sum256([]byte(r.Body)) != r.Hash:
		what = "its text is not what its hash was made of"
	case repeated != *r:
		what = "the columns beside its text were changed"
	}
	w.next(e, r.Seq, r.Hash, what)
}

// next adds an entry that claims to be seq; what says what is known to be wrong with it.
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
		// The later one holds the hash of what was there.
		w.v.report(Problem{Source: w.source, Line: max(0, w.line-1), Chain: w.chain, Seq: w.seq,
			What: fmt.Sprintf("it is not the entry that entry %d was written behind: it was changed, or replaced with its hash", seq)})
		w.flush()
	}
	if what != "" {
		w.bad(seq, what, hash)
		return
	}
	w.place(seq, prev, hash)
}

// place adds an entry to the run, or begins another run. Gaps are found when the runs of all sources are put together.
func (w *walker) place(seq int64, prev, hash [32]byte) {
	if w.cur != nil && seq != w.seq+1 {
		if seq <= w.seq {
			w.v.report(Problem{Source: w.source, Line: w.line, Chain: w.chain, Seq: seq, What: fmt.Sprintf("it stands behind entry %d", w.seq)})
		}
		w.flush()
	}
	if w.cur == nil {
		w.cur = &run{source: w.source, line: w.line, chain: w.chain, first: seq, prev: prev}
	}
	w.cur.hashes = append(w.cur.hashes, hash)
	w.seq, w.hash = seq, hash
	w.v.verdict.Entries++
}

// bad reports an entry and goes on behind it as if it had been right, which finds the next one.
func (w *walker) bad(seq int64, what string, hash [32]byte) {
	w.v.report(Problem{Source: w.source, Line: w.line, Chain: w.chain, Seq: seq, What: what})
	if w.cur != nil && seq == w.seq+1 {
		w.place(seq, w.hash, hash)
	} else {
		w.flush()
		w.cur = &run{source: w.source, line: w.line, chain: w.chain, first: seq, hashes: [][32]byte{hash}}
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

// Finish puts together what was read and compares it with the checkpoints.
func (v *Verifier) Finish() Verdict {
	slices.SortStableFunc(v.runs, func(a, b *run) int {
		return cmp.Or(cmp.Compare(a.chain, b.chain), cmp.Compare(a.first, b.first))
	})
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
				v.report(Problem{Source: r.source, Line: r.line, Chain: r.chain, Seq: 1, What: "it is the first of its chain and says that one was before it"})
			}
		}
		c.join(r)
	}
	v.compare(chains)
	slices.Sort(order)
	for _, n := range order {
		c := chains[n]
		v.verdict.Chains = append(v.verdict.Chains, Span{Chain: n, First: c.first, Last: c.next - 1, Hash: hashText(c.hashes[len(c.hashes)-1]), Covered: c.covered})
	}
	slices.SortStableFunc(v.verdict.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Chain, b.Chain), cmp.Compare(a.Seq, b.Seq))
	})
	return v.verdict
}

// A chain is what all sources together have of it.
type chain struct {
	v       *Verifier
	first   int64
	next    int64
	hashes  [][32]byte // from first on; zero where entries are missing
	source  string
	covered int64
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
	if r.first > c.next {
		from := c.next
		problem(from, missing(from, r.first-1))
		if r.first-from > 1<<24 {
			return // somebody made a number up
		}
		c.hashes = append(c.hashes, make([][32]byte, r.first-from)...)
		c.next = r.first
	}
	for i, h := range r.hashes {
		seq := r.first + int64(i)
		if seq >= c.next {
			c.hashes = append(c.hashes, h)
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

func missing(from, to int64) string {
	if from == to {
		return "it is missing"
	}
	return fmt.Sprintf("entries %d to %d are missing", from, to)
}

// compare holds the chains against the checkpoints.
func (v *Verifier) compare(chains map[int64]*chain) {
	v.checkpoints = append(v.checkpoints, v.trailers...)
	good := map[int64]int64{} // the last entry of each chain that is as it was published
	type wrong struct {
		head   Head
		source string
	}
	bad := map[int64]wrong{}
	for _, c := range v.checkpoints {
		key, err := ParsePublic(c.Key)
		if err == nil && len(v.Keys) == 0 {
			v.Keys = []ed25519.PublicKey{key}
		}
		if err == nil && !slices.ContainsFunc(v.Keys, func(k ed25519.PublicKey) bool { return k.Equal(key) }) {
			err = errors.New("it is signed with another key")
		}
		if err == nil {
			err = c.Check(key)
		}
		if err != nil {
			v.report(Problem{Source: c.source, What: fmt.Sprintf("checkpoint of %s: %v", c.Time.Format(timeFormat), err)})
			continue
		}
		if len(v.ids) > 0 && v.ids[c.Database] == "" {
			v.report(Problem{Source: c.source, What: fmt.Sprintf("checkpoint of %s: it is of another database, %s", c.Time.Format(timeFormat), c.Database)})
			continue
		}
		v.verdict.Checkpoints++
		if c.partial {
			continue
		}
		for _, h := range c.Heads {
			is := chains[h.Chain]
			if is == nil {
				if b, known := bad[h.Chain]; !known || h.Seq < b.head.Seq {
					bad[h.Chain] = wrong{h, c.source}
				}
				continue
			}
			if h.Seq < is.first {
				continue // reported as missing already
			}
			hash, there := is.hash(h.Seq)
			switch {
			case there && hashText(hash) == h.Hash:
				good[h.Chain] = max(good[h.Chain], h.Seq)
				is.covered = max(is.covered, h.Seq)
			default:
				if b, known := bad[h.Chain]; !known || h.Seq < b.head.Seq {
					bad[h.Chain] = wrong{h, c.source}
				}
			}
		}
	}
	for _, n := range sortedKeys(bad) {
		b := bad[n]
		is := chains[n]
		switch {
		case is == nil:
			v.report(Problem{Source: b.source, Chain: n, Seq: 1, What: fmt.Sprintf("the whole chain is missing, which was published up to entry %d", b.head.Seq)})
		case b.head.Seq >= is.next:
			v.report(Problem{Source: b.source, Chain: n, Seq: is.next, What: missing(is.next, b.head.Seq) + ", as was published"})
		default:
			v.report(Problem{Source: b.source, Chain: n, Seq: max(good[n], is.first-1) + 1, Through: b.head.Seq,
				What: fmt.Sprintf("the chain was rewritten: entry %d is not the one that was published, and the first that was changed is among these", b.head.Seq)})
		}
	}
}

func sortedKeys[V any](m map[int64]V) []int64 {
	keys := make([]int64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
