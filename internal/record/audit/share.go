package audit

import (
	"cmp"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"maps"
	"slices"
	"sync"
	"time"
)

// DefaultShare is [Options.Share] if that is zero.
const DefaultShare = 96 << 20

const (
	// rowCost is about what an entry takes on the disk beside its text and its sealed bytes.
	rowCost = 512
	// maxOwners bounds the owners with a share of their own. The others use that of callers whom nobody verified.
	maxOwners = 10_000
	// pause is how long the record takes nothing new from an owner that has just used up its share.
	pause = time.Minute
)

// A share bounds what owners make the record write. What an owner has used becomes less with time, by a whole share in
// an hour, so that no moment begins at which it can write two shares.
type share struct {
	most float64 // bytes an hour

	mu     sync.Mutex
	owners map[string]*shareUse
	since  time.Time // when the first of the entries was left out that no entry counts yet
}

type shareUse struct {
	used float64
	at   time.Time      // when it was that much
	full bool           // nothing new fits until enough of the time has passed
	told time.Time      // of the last alarm
	left map[string]int // entries that were left out, by kind and state
}

// A ShareError says that the share of an owner is used up.
type ShareError struct {
	Owner string // "" is everybody whom nobody verified
	Share int64  // bytes an hour
	Until time.Time
}

func (e *ShareError) Error() string {
	return fmt.Sprintf("%s has used up the share of the record: there is room again at %s; "+
		"store.share in the configuration is %d bytes an hour", whose(e.Owner), e.Until.UTC().Format(time.RFC3339), e.Share)
}

func whose(owner string) string { return cmp.Or(owner, "everybody whom nobody verified, together,") }

// of returns what an owner has used at a moment. The caller holds mu.
func (s *share) of(owner string, now time.Time) *shareUse {
	if s.owners[owner] == nil && len(s.owners) >= maxOwners {
		maps.DeleteFunc(s.owners, func(_ string, u *shareUse) bool { s.drain(u, now); return u.used == 0 && u.left == nil })
		if len(s.owners) >= maxOwners {
			owner = ""
		}
	}
	u := s.owners[owner]
	if u == nil {
		u = &shareUse{at: now}
		s.owners[owner] = u
	}
	s.drain(u, now)
	return u
}

// drain subtracts what has become free. The caller holds mu.
func (s *share) drain(u *shareUse, now time.Time) {
	if past := now.Sub(u.at); past > 0 {
		u.used, u.at = max(0, u.used-s.most*past.Hours()), now
	}
	u.full = u.full && u.used > s.most*(1-pause.Hours())
}

// caused reports whether programs and their clients cause entries of that kind.
func caused(kind string) bool {
	return slices.Contains([]string{Run, Call, Approval, Keeping, Session}, kind)
}

// admit reports whether to write an entry, and whether the entry has to be lean, because half of the share is used. The
// error refuses what the entry announces.
func (s *share) admit(e *call.Entry, now time.Time) (fits, lean bool, err error) {
	if !caused(e.Kind) {
		return true, false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.of(e.Owner, now)
	switch {
	case !u.full:
	case e.Kind == Call && e.State == Running, e.Kind == Keeping && e.State == call.Loaded:
		return false, false, s.refusal(e.Owner, u)
	case e.Unbegun && e.Count == 0:
		if u.left == nil {
			u.left = map[string]int{}
		}
		if s.since.IsZero() {
			s.since = now
		}
		u.left[e.Kind+" "+e.State]++
		return false, false, nil
	}
	return true, u.used >= s.most/2, nil
}

// onDisk is about what a row of that many bytes takes: what does not fit into its page begins another one.
func onDisk(row int) int {
	const page = 8 << 10 // of SQLite, see package store; PostgreSQL has the same
	if rows := page / row; rows > 0 {
		return page / rows
	}
	return (row + page - 1) / page * page
}

// spend counts an entry. The result is the alarm about its owner, if it is time for one.
func (s *share) spend(e *Entry, bytes int, now time.Time) *call.Entry {
	if !caused(e.Kind) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.of(e.Owner, now)
	u.used += float64(onDisk(bytes + rowCost))
	u.full = u.full || u.used >= s.most
	if u.used < s.most/2 || now.Sub(u.told) < time.Hour {
		return nil
	}
	u.told = now
	return &call.Entry{Kind: Notice, State: "share", Principal: e.Owner,
		Detail: fmt.Sprintf("%s has used half of the share of "+
			"the record, which is %.0f bytes an hour: of results, programs and masked values the record keeps digests only; "+
			"beyond the share codemode refuses programs and calls: find out what runs, or raise store.share", whose(e.Owner),
			s.most)}
}

// Full returns a [*ShareError] if an owner has used up its share: nothing new of it is recorded, and so nothing begins.
func (r *Record) Full(owner string) error {
	s := &r.share
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.of(owner, r.options.Now()); u.full {
		return s.refusal(owner, u)
	}
	return nil
}

// refusal is the error of an owner without room. The caller holds mu.
func (s *share) refusal(owner string, u *shareUse) error {
	wait := time.Duration((u.used/s.most - 1 + pause.Hours()) * float64(time.Hour))
	return &ShareError{Owner: owner, Share: int64(s.most), Until: u.at.Add(wait).Truncate(time.Second).Add(time.Second)}
}

// rest returns entries that count what was left out, if that began an hour ago, or at the end of the record.
func (s *share) rest(now func() time.Time, end bool) (entries []call.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() || !end && now().Sub(s.since) < time.Hour {
		return nil
	}
	s.since = time.Time{}
	for _, owner := range slices.Sorted(maps.Keys(s.owners)) {
		u, n := s.owners[owner], 0
		for _, k := range u.left {
			n += k
		}
		if n > 0 {
			entries = append(entries, call.Entry{Kind: Notice, State: "left out", Principal: owner, Count: n, Tools: u.left,
				Detail: "these refusals have no entries, because " + whose(owner) + " had used up the share of the record"})
			u.left = nil
		}
	}
	return entries
}
