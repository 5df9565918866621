package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/console/signin"
)

const (
	// maxSessions is how many sessions may exist at once; one more replaces the longest idle one.
	maxSessions = 256
	// maxOwn is how many of them one person may have; one more replaces that person's longest idle one. Nobody pushes
	// others out by logging in.
	maxOwn = 16
	// maxStreams is how many streams of events a session may have open: each tab has one.
	maxStreams = 32
	// lingering is how long a person counts as present after closing their last page: another page may be loading.
	lingering = 10 * time.Second
	// reading is how long a person counts as present after a request: their page may run no script, or their front end
	// may poll.
	reading = 45 * time.Second
)

// logins holds all sessions of people, with the seats of present people.
type logins struct {
	queue      *approvals.Queue
	vouched    func(person, principal string) bool // see [Options.Vouched]
	idle, life time.Duration                       // of a session
	now        func() time.Time

	mu     sync.Mutex
	closed bool
	all    map[[sha256.Size]byte]*session  // by the digest of the key in their path
	seats  map[*approvals.Seat]*time.Timer // with each seat's timer; nil while a stream holds the seat
	tokens map[[sha256.Size]byte]*session  // of tokens; see ofToken
}

// open makes a session after a login link, openAs one after a sign-in, which may have proven something. Its key is part
// of the path and its id is the value of the cookie. The process keeps only the digests of both.
func (ss *logins) open(person string) (key, id string, s *session) {
	return ss.add(&session{person: person, roles: signin.All})
}

func (ss *logins) openAs(who *signin.Identity, proof *freshProof) (key, id string, s *session) {
	return ss.add(&session{
		person: who.Principal, subject: who.Subject, roles: who.Roles, signedIn: true, proof: proof,
	})
}

func (ss *logins) add(s *session) (key, id string, _ *session) {
	key, id = rand.Text(), rand.Text()+rand.Text()
	now := ss.now()
	s.id, s.csrf, s.born, s.last = sha256.Sum256([]byte(id)), rand.Text(), now, now
	s.seat, s.ended = ss.seatOf(s), make(chan struct{})
	s.seat.Leave()
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.sweep(now)
	own := func(x *session) bool { return x.person == s.person }
	if ss.count(own) >= maxOwn {
		ss.dropOldest(own)
	}
	if len(ss.all) >= maxSessions {
		ss.dropOldest(func(*session) bool { return true })
	}
	ss.all[sha256.Sum256([]byte(key))] = s
	return key, id, s
}

// of returns the session that belongs to a key and one of several ids, nil if there is none.
func (ss *logins) of(key string, ids []string) *session {
	now := ss.now()
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.sweep(now)
	s := ss.all[sha256.Sum256([]byte(key))]
	if s == nil {
		return nil
	}
	found := 0
	for _, id := range ids { // all of them, for constant time
		digest := sha256.Sum256([]byte(id))
		found |= subtle.ConstantTimeCompare(digest[:], s.id[:])
	}
	if found == 0 {
		return nil
	}
	s.touch(now)
	return s
}

// ofPerson lists the sessions of a person.
func (ss *logins) ofPerson(person string) (list []*session) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.sweep(ss.now())
	for _, s := range ss.all {
		if s.person == person {
			list = append(list, s)
		}
	}
	return list
}

// over reports whether a session has expired.
func (ss *logins) over(s *session, now time.Time) bool {
	return now.Sub(s.born) >= ss.life || now.Sub(s.lastSeen()) >= ss.idle
}

// sweep removes expired sessions. The caller holds ss.mu, also for the next three.
func (ss *logins) sweep(now time.Time) {
	for id, s := range ss.all {
		if ss.over(s, now) {
			ss.drop(id, s)
		}
	}
}

func (ss *logins) count(of func(*session) bool) (n int) {
	for _, s := range ss.all {
		if of(s) {
			n++
		}
	}
	return n
}

// dropOldest ends the longest idle one of some sessions.
func (ss *logins) dropOldest(of func(*session) bool) {
	var oldest [sha256.Size]byte
	var at *session
	for id, s := range ss.all {
		if of(s) && (at == nil || s.lastSeen().Before(at.lastSeen())) {
			oldest, at = id, s
		}
	}
	ss.drop(oldest, at)
}

func (ss *logins) drop(id [sha256.Size]byte, s *session) {
	delete(ss.all, id)
	ss.leave(s.reader)
	close(s.ended)
}

// end ends a session before its time.
func (ss *logins) end(s *session) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for id, x := range ss.all {
		if x == s {
			ss.drop(id, s)
		}
	}
}

// sit gives an open page a seat. left ends the seat after a short time; nil means that the session has too many.
func (ss *logins) sit(s *session) (seat *approvals.Seat, left func()) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if ss.closed || s.streams >= maxStreams {
		return nil, nil
	}
	s.streams++
	seat = ss.seatOf(s)
	ss.seats[seat] = nil
	return seat, func() {
		s.mu.Lock()
		s.streams--
		s.last = ss.now()
		s.mu.Unlock()
		ss.mu.Lock()
		defer ss.mu.Unlock()
		ss.leaveIn(seat, lingering)
	}
}

// read notes a request of a session: its person counts as present for a while.
func (ss *logins) read(s *session) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.closed {
		return
	}
	if _, there := ss.seats[s.reader]; !there {
		s.reader = ss.seatOf(s)
		ss.seats[s.reader] = nil
	}
	ss.leaveIn(s.reader, reading)
}

// leaveIn ends a seat after a while from now. The caller holds ss.mu.
func (ss *logins) leaveIn(seat *approvals.Seat, after time.Duration) {
	timer, there := ss.seats[seat]
	switch {
	case !there:
	case timer != nil:
		timer.Reset(after)
	default:
		ss.seats[seat] = time.AfterFunc(after, func() {
			ss.mu.Lock()
			defer ss.mu.Unlock()
			ss.leave(seat)
		})
	}
}

// leave ends a seat at once. The caller holds ss.mu.
func (ss *logins) leave(seat *approvals.Seat) {
	if timer, there := ss.seats[seat]; there {
		if timer != nil {
			timer.Stop()
		}
		delete(ss.seats, seat)
		seat.Leave()
	}
}

func (ss *logins) close() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.closed = true
	for id, s := range ss.all {
		ss.drop(id, s)
	}
	for seat := range ss.seats {
		ss.leave(seat)
	}
}

// maxTokens bounds how many tokens the page remembers, with the questions that their owners saw whole.
const maxTokens = 256

// ofToken is the session of a token. It is the same for each request, so that it knows which questions its owner saw
// whole.
func (ss *logins) ofToken(person, token string) *session {
	id := sha256.Sum256([]byte(person + "\x00" + token))
	now := ss.now()
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s := ss.tokens[id]; s != nil {
		s.touch(now)
		return s
	}
	if len(ss.tokens) >= maxTokens {
		clear(ss.tokens) // their seats end by themselves
	}
	s := &session{person: person, token: true, born: now, last: now, ended: make(chan struct{})}
	s.seat = ss.seatOf(s)
	s.seat.Leave()
	ss.tokens[id] = s
	return s
}

// seatOf makes a seat for the person of a session. Who may not answer sits aside.
func (ss *logins) seatOf(s *session) *approvals.Seat {
	switch {
	case !s.token && s.roles.Has(signin.Approver):
		return ss.queue.Sit(s.person)
	case !s.token:
		return ss.queue.Aside(s.person)
	}
	return ss.queue.SitByToken(s.person, func(principal string) bool {
		return ss.vouched != nil && ss.vouched(s.person, principal)
	})
}
