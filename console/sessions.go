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
)

const (
	// maxSessions is how many sessions there are at once; the one that was idle longest makes way.
	maxSessions = 64
	// maxStreams is how many streams of events a session may have open: each tab has one.
	maxStreams = 32
	// lingering is how long somebody counts as being there after their last page was closed: another page may be loading.
	lingering = 10 * time.Second
	// reading is how long somebody counts as being there who has asked for anything: their page may run no script, or they may
	// have a front end that asks now and then.
	reading = 45 * time.Second
	// maxNotices is how much waits to be said on the next page.
	maxNotices = 20
)

// A session is a login. A request belongs to it if it comes with both halves of what the login made: the key in its path and the id
// in its cookie. Browsers send a cookie to every port of a host but only below its path, and no other port knows that. Its seat at
// the queue is the one that answers; whether the person is there is up to other seats, one for each open page.
type session struct {
	person string
	token  bool              // it is no login, see byToken; then it has no id and no csrf
	id     [sha256.Size]byte // digest of the cookie's value
	csrf   string
	born   time.Time
	seat   *approvals.Seat

	mu       sync.Mutex
	changes  []*waiting // that want a proof
	last     time.Time  // when something was asked for, or a page was open
	streams  int
	notices  []notice
	answered []*answered   // lately, oldest first
	ended    chan struct{} // closed at the end
}

// A notice is something to be said on the page that somebody is sent to, and on no other: pages are loaded for other reasons too.
type notice struct {
	id   string
	Bad  bool
	Text string
}

// say keeps a notice, and returns the query of the page that shows it.
func (s *session) say(bad bool, text string) (query string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := notice{rand.Text(), bad, text}
	if s.notices = append(s.notices, n); len(s.notices) > maxNotices {
		s.notices = s.notices[1:]
	}
	return "?said=" + n.id
}

// said are the notices that a page was asked for with. They stay: whoever loads the page again reads them again.
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

// sessions are all of them, with the seats of the people who are present.
type sessions struct {
	c   *Console
	now func() time.Time

	mu      sync.Mutex
	closed  bool
	all     map[[sha256.Size]byte]*session  // by the digest of the key in their path
	seats   map[*approvals.Seat]*time.Timer // those that are left after a while; nil while a stream holds one
	readers map[*session]*approvals.Seat    // of those who have asked for something lately
	tokens  map[[sha256.Size]byte]*session  // of those who bring a token; see ofToken
}

func (r *sessions) init(c *Console) {
	r.c, r.now = c, time.Now
	r.all, r.seats, r.readers = map[[sha256.Size]byte]*session{}, map[*approvals.Seat]*time.Timer{}, map[*session]*approvals.Seat{}
	r.tokens = map[[sha256.Size]byte]*session{}
}

// open makes a session. Its key is part of the path and its id is the value of the cookie; both are kept as digests alone.
func (r *sessions) open(person string) (key, id string, s *session) {
	key, id = rand.Text(), rand.Text()+rand.Text()
	now := r.now()
	s = &session{
		person: person, id: sha256.Sum256([]byte(id)), csrf: rand.Text(), born: now, last: now,
		seat: r.c.queue.Sit(person), ended: make(chan struct{}),
	}
	s.seat.Leave()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(now)
	if len(r.all) >= maxSessions {
		r.dropOldest()
	}
	r.all[sha256.Sum256([]byte(key))] = s
	return key, id, s
}

// of returns the session that a key opens together with one of several ids, nil if there is none.
func (r *sessions) of(key string, ids []string) *session {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(now)
	s := r.all[sha256.Sum256([]byte(key))]
	if s == nil {
		return nil
	}
	found := 0
	for _, id := range ids { // all of them, however soon it is found
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
func (r *sessions) ofPerson(person string) (list []*session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(r.now())
	for _, s := range r.all {
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

// over reports whether a session has ended by itself.
func (r *sessions) over(s *session, now time.Time) bool {
	return now.Sub(s.born) >= r.c.options.Life || now.Sub(s.lastSeen()) >= r.c.options.Idle
}

// sweep ends what has ended. The caller holds r.mu, like those of the next two.
func (r *sessions) sweep(now time.Time) {
	for id, s := range r.all {
		if r.over(s, now) {
			r.drop(id, s)
		}
	}
}

func (r *sessions) dropOldest() {
	var oldest [sha256.Size]byte
	var at *session
	for id, s := range r.all {
		if at == nil || s.lastSeen().Before(at.lastSeen()) {
			oldest, at = id, s
		}
	}
	r.drop(oldest, at)
}

func (r *sessions) drop(id [sha256.Size]byte, s *session) {
	delete(r.all, id)
	if seat := r.readers[s]; seat != nil {
		delete(r.readers, s)
		r.leave(seat)
	}
	close(s.ended)
}

// end ends a session before its time.
func (r *sessions) end(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, x := range r.all {
		if x == s {
			r.drop(id, s)
		}
	}
}

// sit takes a seat for an open page. left gives it up, a little later; nil says that the session has too many.
func (r *sessions) sit(s *session) (seat *approvals.Seat, left func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.closed || s.streams >= maxStreams {
		return nil, nil
	}
	s.streams++
	seat = r.c.sit(s)
	r.seats[seat] = nil
	return seat, func() {
		s.mu.Lock()
		s.streams--
		s.last = r.now()
		s.mu.Unlock()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.leaveIn(seat, lingering)
	}
}

// read notes that somebody has asked for something.
func (r *sessions) read(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	seat := r.readers[s]
	if _, there := r.seats[seat]; !there {
		seat = r.c.sit(s)
		r.readers[s], r.seats[seat] = seat, nil
	}
	r.leaveIn(seat, reading)
}

// leaveIn gives a seat up after a while, counted from now. The caller holds r.mu.
func (r *sessions) leaveIn(seat *approvals.Seat, after time.Duration) {
	timer, there := r.seats[seat]
	switch {
	case !there:
	case timer != nil:
		timer.Reset(after)
	default:
		r.seats[seat] = time.AfterFunc(after, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.leave(seat)
		})
	}
}

// leave gives a seat up at once. The caller holds r.mu.
func (r *sessions) leave(seat *approvals.Seat) {
	if timer, there := r.seats[seat]; there {
		if timer != nil {
			timer.Stop()
		}
		delete(r.seats, seat)
		seat.Leave()
	}
}

func (r *sessions) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for id, s := range r.all {
		r.drop(id, s)
	}
	for seat := range r.seats {
		r.leave(seat)
	}
}

// cookieName tells the pages of several processes apart for people who look at their cookies.
func cookieName(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return "codemode-" + hex.EncodeToString(sum[:4])
}

// securePrefix makes browsers refuse a cookie that a page without TLS sets. They take this host for one with TLS, Safari excepted.
// The prefix __Host- would want the path /, under which browsers send a cookie to every other port of this host.
const securePrefix = "__Secure-"

func (c *Console) setCookie(w http.ResponseWriter, r *http.Request, base, id string, life time.Duration) {
	cookie := &http.Cookie{
		Name: securePrefix + c.cookie, Value: id, Path: base, MaxAge: int(life.Seconds()),
		HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	}
	if agent := r.UserAgent(); r.TLS == nil && strings.HasPrefix(c.origin(r), "http:") && strings.Contains(agent, "Safari/") && !strings.Contains(agent, "Chrom") {
		cookie.Name, cookie.Secure = c.cookie, false
	}
	if id == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// session is the one that a request belongs to, nil if it belongs to none. Other ports of this host can set cookies of the same
// name for shorter paths; browsers send those too, and they neither open a session nor close one.
func (c *Console) session(r *http.Request) *session {
	key := keyOf(r)
	if key == "" {
		return nil
	}
	var ids []string
	for _, name := range []string{securePrefix + c.cookie, c.cookie} {
		for _, cookie := range r.CookiesNamed(name) {
			ids = append(ids, cookie.Value)
		}
	}
	return c.sessions.of(key, ids)
}

// mayChange reports whether a request comes with the token of its session, which no other site knows.
func (s *session) mayChange(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.csrf)) == 1
}
