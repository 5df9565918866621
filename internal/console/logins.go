package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
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
	// maxNotices is how many notices a session keeps.
	maxNotices = 20
)

// A session is a login. A request belongs to it if it has both halves that the login made: the key in its path and the
// id in its cookie. Browsers send a cookie to every port of a host, but only below the cookie's path, and no other port
// knows that path. The session's own seat at the queue is for answers. Each open page has another seat, which makes the
// person present.
type session struct {
	person   string
	roles    signin.Roles      // every one after a login link
	signedIn bool              // at the identity provider
	subject  string            // there
	token    bool              // represents a token, see ofToken, without id and csrf
	id       [sha256.Size]byte // digest of the cookie's value
	csrf     string
	born     time.Time
	seat     *approvals.Seat
	reader   *approvals.Seat // present after a request; nil before the first. Guarded by the mutex of sessions

	mu       sync.Mutex
	changes  []*waiting  // changes that wait for a proof
	proof    *freshProof // of a new sign-in; nil is none
	last     time.Time   // time of the last request or open page
	streams  int
	notices  []notice
	answered []*answered                // recent ones, oldest first
	listed   map[string]*prompt.Request // open questions that its pages showed, by ID, and that it has not answered
	ended    chan struct{}              // closed at the end
}

// A notice is a text only for the page that a redirect leads to: browsers load pages for other reasons too.
type notice struct {
	id   string
	Bad  bool
	Text string
}

// say stores a notice, and returns the query of the page that shows it.
func (s *session) say(bad bool, text string) (query string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := notice{rand.Text(), bad, text}
	if s.notices = append(s.notices, n); len(s.notices) > maxNotices {
		s.notices = s.notices[1:]
	}
	return "?said=" + n.id
}

// said returns the notices that a request names. It keeps them, because the browser may load the page again.
func (s *session) said(r *http.Request) (all []notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.notices {
		if n.id == r.URL.Query().Get("said") {
			all = append(all, n)
		}
	}
	return all
}

// logins holds all sessions of people, with the seats of present people.
type logins struct {
	c   *Console
	now func() time.Time

	mu     sync.Mutex
	closed bool
	all    map[[sha256.Size]byte]*session  // by the digest of the key in their path
	seats  map[*approvals.Seat]*time.Timer // with each seat's timer; nil while a stream holds the seat
	tokens map[[sha256.Size]byte]*session  // of tokens; see ofToken
}

func (ss *logins) init(c *Console) {
	ss.c, ss.now, ss.seats = c, time.Now, map[*approvals.Seat]*time.Timer{}
	ss.all, ss.tokens = map[[sha256.Size]byte]*session{}, map[[sha256.Size]byte]*session{}
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
	s.seat, s.ended = ss.c.sit(s), make(chan struct{})
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

func (s *session) touch(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = now
}

func (s *session) lastSeen() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// over reports whether a session has expired.
func (ss *logins) over(s *session, now time.Time) bool {
	return now.Sub(s.born) >= ss.c.options.Life || now.Sub(s.lastSeen()) >= ss.c.options.Idle
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
	seat = ss.c.sit(s)
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
		s.reader = ss.c.sit(s)
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

// cookieName differs between the pages of several processes, for people who inspect their cookies.
func cookieName(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return "codemode-" + hex.EncodeToString(sum[:4])
}

// securePrefix makes browsers refuse a cookie of a page without TLS. All except Safari treat this host like one with
// TLS. The prefix __Host- demands the path /, under which browsers send a cookie to every other port of this host.
const securePrefix = "__Secure-"

// setCookie sets the cookie of a session. An empty id removes it.
func (c *Console) setCookie(w http.ResponseWriter, r *http.Request, base, id string, life time.Duration) {
	c.addCookie(w, r, http.Cookie{Name: c.cookie, Value: id, Path: base, SameSite: http.SameSiteStrictMode}, life)
}

func (c *Console) addCookie(w http.ResponseWriter, r *http.Request, cookie http.Cookie, life time.Duration) {
	name := cookie.Name
	cookie.Name, cookie.MaxAge, cookie.HttpOnly, cookie.Secure = securePrefix+name, int(life.Seconds()), true, true
	if agent := r.UserAgent(); r.TLS == nil && strings.HasPrefix(c.origin(r), "http:") &&
		strings.Contains(agent, "Safari/") && !strings.Contains(agent, "Chrom") {
		cookie.Name, cookie.Secure = name, false
	}
	if cookie.Value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, &cookie)
}

// cookies returns the values of the cookies of a name. Other ports of this host can set some too.
func cookies(r *http.Request, name string) (all []string) {
	for _, name := range []string{securePrefix + name, name} {
		for _, cookie := range r.CookiesNamed(name) {
			all = append(all, cookie.Value)
		}
	}
	return all
}

// session returns the session of a request, nil if it has none. Other ports of this host can set cookies of the same
// name for shorter paths. Browsers send those too, but they neither open nor close a session.
func (c *Console) session(r *http.Request) *session {
	key := keyOf(r)
	if key == "" {
		return nil
	}
	return c.logins.of(key, cookies(r, c.cookie))
}

// mayChange reports whether a token is the CSRF token of the session, which no other site knows.
func (s *session) mayChange(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.csrf)) == 1
}
