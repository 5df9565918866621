package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// A Restoration says that a record came back from a backup. It is the first entry of a new chain, of the kind [Notice]
// and the state restored. No process writes to the chains before that one again, so that the numbers of entries that
// were written after the backup, and are missing now, are never used for others.
type Restoration struct {
	Backup time.Time `json:"backup"` // when the backup was made
	// Chains are the chains as they came back: the Hash of the Last entry, and as Covered the last entry that a checkpoint
	// says was written. Those behind Last are missing. Last is 0 for a chain that began after the backup.
	Chains []Span `json:"chains"`
}

const restored = "restored" // the state of the entry

// restoredData is Entry.Data of a restoration.
type restoredData struct {
	Restoration
	// Proof shows that somebody with the key of the record wrote it: a process that starts reads it before anything else.
	Proof string `json:"proof"`
}

// proof authenticates a restoration of a database that begins a chain.
func (r *Restoration) proof(key *Key, database string, chain int64) string {
	text := fmt.Sprintf("restored\n%s\n%d\n%s\n", database, chain, r.Backup.UTC().Format(timeFormat))
	for _, c := range r.Chains {
		text += fmt.Sprintf("%d %d %s %d\n", c.Chain, c.Last, c.Hash, c.Covered)
	}
	return key.Digest([]byte(text))
}

// complete adds the chains of a database that was filled from a backup, and those that only checkpoints name.
func (r *Restoration) complete(ctx context.Context, db *store.DB, checkpoints []Checkpoint) error {
	ends, err := db.Entries.Ends(ctx)
	if err != nil {
		return err
	}
	of := map[int64]Span{}
	for _, e := range ends {
		of[e.Chain] = Span{Chain: e.Chain, First: 1, Last: e.Seq, Hash: hashText(e.Hash), Covered: e.Seq}
	}
	for _, c := range checkpoints {
		s, ok := of[c.Chain]
		if !ok {
			s = Span{Chain: c.Chain, First: 1, Hash: hashText([32]byte{})}
		}
		s.Covered = max(s.Covered, c.Size)
		of[c.Chain] = s
	}
	r.Chains = nil
	for _, n := range sortedKeys(of) {
		r.Chains = append(r.Chains, of[n])
	}
	return nil
}

// last is the highest number of a chain that the restoration closes.
func (r *Restoration) last() (n int64) {
	for _, c := range r.Chains {
		n = max(n, c.Chain)
	}
	return n
}

// entry makes the first entry of a chain.
func (r *Restoration) entry(key *Key, database string, chain int64, by *call.DecidedBy) call.Entry {
	data := restoredData{Restoration: *r, Proof: r.proof(key, database, chain)}
	gone := int64(0)
	for _, c := range r.Chains {
		gone += c.Covered - c.Last
	}
	raw, _ := json.Marshal(data) // texts and numbers always encode
	what := "none of which checkpoints say is missing"
	if gone > 0 {
		what = fmt.Sprintf("without %d entries that were written after it", gone)
	}
	return call.Entry{Kind: Notice, State: restored, DecidedBy: by, Data: raw,
		Detail: "the record came back from a backup of " + r.Backup.UTC().Format(time.RFC3339) + ", " + what}
}

// restoration reads an entry; nil if it is none.
func restoration(e *Entry) (r *Restoration, proof string) {
	var data restoredData
	if e.Kind != Notice || e.State != restored || e.Seq != 1 || json.Unmarshal(e.Data, &data) != nil {
		return nil, ""
	}
	if slices.ContainsFunc(data.Chains, func(c Span) bool { return c.Chain >= e.Chain }) {
		return nil, "" // it closes chains before its own
	}
	return &data.Restoration, data.Proof
}

// closedChains returns the highest number of a chain that nobody may write to, because a restoration by a holder of the
// key closed it; 0 is none.
func closedChains(ctx context.Context, db *store.DB, key *Key) (closed int64, err error) {
	ends, err := db.Entries.Ends(ctx)
	if err != nil {
		return 0, err
	}
	for _, end := range slices.Backward(ends) {
		if end.Seq == 0 {
			continue
		}
		err := db.Entries.Rows(ctx, store.Query{Chain: end.Chain, After: 0, Limit: 1}, func(row *store.Row) error {
			e, err := decodeBody([]byte(row.Body))
			if err != nil || e.Seq != 1 || e.Chain != end.Chain {
				return nil // verification reports it, and the chain does not match its signature
			}
			if r, proof := restoration(e); r != nil && proof == r.proof(key, db.ID(), e.Chain) {
				closed = max(closed, e.Chain-1)
			}
			return nil
		})
		if err != nil || closed > 0 {
			return closed, err
		}
	}
	return 0, nil
}

// A found restoration was read by a [Verifier].
type foundRestoration struct {
	Restoration
	chain  int64 // that it begins
	source string
}

func (f *foundRestoration) of(n int64) (s Span, ok bool) {
	i := slices.IndexFunc(f.Chains, func(s Span) bool { return s.Chain == n })
	if i < 0 {
		return s, false
	}
	return f.Chains[i], true
}

// restoredChains compares the chains that begin with a restoration with their checkpoints, the latest first, because
// each closed those before it. It believes the latest whose chain checkpoints cover, and reports what was added to the
// closed chains since, or removed.
func (v *Verifier) restoredChains(chains map[int64]*chain, of map[int64][]named) {
	slices.SortFunc(v.found, func(a, b foundRestoration) int { return cmp.Compare(b.chain, a.chain) })
	v.restored = nil
	for i := range v.found {
		f := &v.found[i]
		is := chains[f.chain]
		if len(of[f.chain]) > 0 {
			v.compareChain(f.chain, is, of[f.chain])
		}
		if is == nil || is.wrong || is.covered < 1 {
			v.report(Problem{Source: f.source, Chain: f.chain, Seq: 1,
				What: "it says that the record came back from a backup, and no checkpoint covers it"})
		} else if v.restored == nil {
			v.restored = f
		}
	}
	f := v.restored
	if f == nil {
		return
	}
	v.verdict.Restored = &f.Restoration
	for n := int64(1); n < f.chain; n++ {
		s, ok := f.of(n)
		last, hash := int64(0), [32]byte{}
		if is := chains[n]; is != nil {
			last = is.next - 1
			hash, _ = is.hash(s.Last)
		}
		switch {
		case !ok && last > 0:
			v.report(Problem{Source: f.source, Chain: n, Seq: 1, Through: last,
				What: "the chain was not there when the record came back from a backup, and nobody begins such a chain later"})
		case last > s.Last:
			v.report(Problem{Source: f.source, Chain: n, Seq: s.Last + 1, Through: last,
				What: "somebody added these entries after the record came back from a backup, which closed the chain"})
		case last < s.Last:
			v.report(Problem{Source: f.source, Chain: n, Seq: last + 1, Through: s.Last,
				What: "they are missing, and were there when the record came back from a backup"})
		case last > 0 && hashText(hash) != s.Hash:
			v.report(Problem{Source: f.source, Chain: n, Seq: s.Last,
				What: "it is not the entry that was the last one when the record came back from a backup"})
		}
	}
}

// afterBackup reports the entries of a chain that checkpoints know, and that a backup did not have; false if another
// cause is more likely.
func (v *Verifier) afterBackup(n, last int64, checkpoints []named) bool {
	f := v.restored
	if f == nil || n >= f.chain {
		return false
	}
	s, _ := f.of(n)
	if last != s.Last {
		return false
	}
	through, source := s.Covered, ""
	for _, c := range checkpoints {
		if c.Size >= through || source == "" {
			through, source = max(through, c.Size), c.source
		}
	}
	what := missing(last+1, through)
	v.report(Problem{Source: source, Chain: n, Seq: last + 1, Through: through, Restored: true,
		What: fmt.Sprintf("restored from a backup of %s: %s, which were written after it",
			f.Backup.UTC().Format(time.RFC3339), strings.Replace(what, "it is missing", fmt.Sprintf("entry %d is missing",
				last+1), 1))})
	return true
}

// begins reports whether chain n begins with a restoration.
func (v *Verifier) begins(n int64) bool {
	return slices.ContainsFunc(v.found, func(f foundRestoration) bool { return f.chain == n })
}
