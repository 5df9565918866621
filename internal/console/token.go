package console

import (
	"net/http"
	"strings"
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
