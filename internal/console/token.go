package console

import (
	"crypto/sha256"
	"net/http"
	"strings"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/console/signin"
)

// A program that answers for its principal has a bearer token and no login: no path and no cookie. It needs no
// X-CSRF-Token either, because no browser sends a token by itself. It may use the routes marked for tokens, all of them
// JSON.

// bearer is the bearer token of a request, "" if there is none.
func bearer(r *http.Request) string {
	if len(r.Header.Values("Authorization")) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// byToken serves a request with an answering token. x is the route without the key of a session.
func (c *Console) byToken(w http.ResponseWriter, r *http.Request, x *route) error {
	person, status, why := c.options.Bearer(r, bearer(r))
	switch {
	case status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="codemode"`)
		return refuse(status, why)
	case status != 0:
		return refuse(status, why)
	case !x.token:
		return refuse(http.StatusForbidden,
			"a token answers questions and no more: log in, with the link that codemode console prints")
	case x.method == http.MethodPost && mediaType(r) != "application/json":
		return errNotJSON
	}
	s := c.logins.ofToken(person, bearer(r))
	c.logins.read(s)
	return x.page(w, r, s)
}

// still reports whether the token of a long request is still valid; a session ends by itself.
func (c *Console) still(r *http.Request, s *session) bool {
	if !s.token {
		return true
	}
	person, status, _ := c.options.Bearer(r, bearer(r))
	return status == 0 && person == s.person
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
	s.seat = ss.c.sit(s)
	s.seat.Leave()
	ss.tokens[id] = s
	return s
}

// sit makes a seat for the person of a session. Who may not answer sits aside.
func (c *Console) sit(s *session) *approvals.Seat {
	switch {
	case !s.token && s.roles.Has(signin.Approver):
		return c.queue.Sit(s.person)
	case !s.token:
		return c.queue.Aside(s.person)
	}
	return c.queue.SitByToken(s.person, func(principal string) bool {
		return c.options.Vouched != nil && c.options.Vouched(s.person, principal)
	})
}
