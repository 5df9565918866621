package server

import (
	"cmp"
	"net"
	"net/http"
	"strings"

	"github.com/codemode-project/codemode/inforce"
)

// authenticate finds out who sends a request, or refuses it.
func (h *HTTP) authenticate(w http.ResponseWriter, r *http.Request, c *httpConfig) (*httpRequest, bool) {
	refuse := func(principal string, status int, state, detail string) (*httpRequest, bool) {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="codemode"`)
		}
		h.refuse(w, r, principal, status, state, detail)
		return nil, false
	}
	in := &httpRequest{sessions: h.sessions, address: clientAddress(r), endTurn: func() {}}
	token := bearerToken(r.Header)
	if token != "" {
		in.fingerprint = inforce.Fingerprint(token)
	}
	switch needs, _ := h.NeedsToken(); {
	case needs && token == "":
		return refuse("", http.StatusUnauthorized, "no_token",
			"a bearer token is needed; http.tokens in the configuration says which")
	case needs: // compare digests, so that the duration reveals nothing about a token
		known := c.tokens[in.fingerprint]
		if known == nil {
			return refuse("", http.StatusUnauthorized, "unknown_token", "this token is not known")
		}
		if known.answers {
			return refuse(known.principal, http.StatusForbidden, "answers_only", answersOnly)
		}
		in.caller = *known
		in.owner = in.principal
	default: // admit every program on this machine
		in.caller = caller{principal: in.fingerprint, reach: everyProfile}
	}
	if inforce.IsMadeSession(r.Header.Get(sessionHeader)) {
		http.Error(w, "this session was made for a role; send its id as "+roleHeader+", and leave "+sessionHeader+
			" to the protocol", http.StatusNotFound)
		return nil, false
	}
	if in.role = cmp.Or(r.Header.Get(roleHeader), h.server.madeSession()); in.role != "" {
		if len(r.Header.Values(roleHeader)) > 1 || !inforce.IsMadeSession(in.role) {
			return refuse(in.principal, http.StatusBadRequest, "wrong_session", roleHeader+
				" takes one id of a session that was made for a role, as the page for people gives it: cms_...")
		}
		if _, err := h.server.evaluator.Rules().Session(r.Context(), in.role); err != nil {
			return refuse(in.principal, http.StatusForbidden, "wrong_session", err.Error())
		}
	}
	if profile, ok := strings.CutPrefix(r.URL.Path, Path+"/"); ok && profile != "" {
		if !h.server.mayUse(in.reach, profile) {
			return refuse(in.principal, http.StatusNotFound, "unknown_profile", "there is no such profile here")
		}
		in.reach.bound = profile
	}
	return in, true
}

func bearerToken(h http.Header) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(h.Get("Authorization")), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return token
}

func clientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// refuse answers a request that is not admitted, and records it.
func (h *HTTP) refuse(w http.ResponseWriter, r *http.Request, principal string, status int, state, detail string) {
	h.server.access.Refused(r.Context(), principal, clientAddress(r), state)
	http.Error(w, detail, status)
}
