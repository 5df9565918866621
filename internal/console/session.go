package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/console/signin"
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

// waiting is a change without a proof yet.
type waiting struct {
	request [sha256.Size]byte // digest of the one request that the code proves
	what    string
	detail  []string
	since   time.Time
	code    [sha256.Size]byte
	expires time.Time // of the code; zero is no code
	wrong   int
}

// A freshProof is the right of a session to allow one question once.
type freshProof struct {
	question, digest string
	until            time.Time
}

// maxNotices is how many notices a session keeps.
const maxNotices = 20

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

// mayChange reports whether a token is the CSRF token of the session, which no other site knows.
func (s *session) mayChange(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.csrf)) == 1
}
