package server

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/server/oauth"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// authenticate finds out who sends a request, or refuses it.
func (h *HTTP) authenticate(w http.ResponseWriter, r *http.Request, c *httpConfig) (*httpRequest, bool) {
	surface, wrong := surfaceOf(r)
	in := &httpRequest{address: clientAddress(r), surface: surface, endTurn: func() {}}
	in.opened = func(session *mcp.ServerSession) error { return h.sessions.add(session, in) }
	no := h.identify(r, c, in)
	if no == nil {
		no = h.enter(r, in)
	}
	if no == nil && wrong != nil {
		no = refusal(in.principal, http.StatusBadRequest, "wrong_surface", wrong.Error())
	}
	if no != nil {
		h.refuseToken(w, r, c, no)
	}
	return in, no == nil
}

// identify finds the caller by the token.
func (h *HTTP) identify(r *http.Request, c *httpConfig, in *httpRequest) *oauth.Refusal {
	if len(r.Header.Values("Authorization")) > 1 {
		return refusal("", http.StatusBadRequest, "two_tokens", "a request has one Authorization header")
	}
	if r.URL.Query().Has("access_token") {
		return refusal("", http.StatusBadRequest, "token_in_address",
			"addresses are logged: send a token in the header Authorization, and end the one that was in the address")
	}
	token := oauth.Bearer(r.Header)
	if token != "" {
		in.fingerprint = inforce.Fingerprint(token)
	}
	needs, _ := h.NeedsToken()
	known := c.tokens[in.fingerprint] // compare digests, so that the duration reveals nothing about a token
	switch {
	case !needs: // admit every program on this machine
		in.caller = caller{principal: in.fingerprint, reach: everyProfile}
		return nil
	case token == "":
		return refusal("", http.StatusUnauthorized, "no_token",
			"a bearer token is needed; the key http of the configuration says which")
	case known == nil && c.oauth != nil:
		who, err := c.oauth.Verify(r.Context(), token, profileOf(r))
		if no, refused := errors.AsType[*oauth.Refusal](err); refused {
			return no
		}
		if err != nil { // whatever it is, nobody is known by this token
			return refusal("", http.StatusServiceUnavailable, "issuer_unreachable", "the token cannot be checked now")
		}
		in.caller = caller{principal: who.Principal, reach: reach{names: who.Profiles}}
		in.holder, in.token, in.fingerprint = who, login.NewBearer(token), "" // that of the next token of the same holder is another one
	case known == nil:
		return refusal("", http.StatusUnauthorized, "unknown_token", "this token is not known")
	case known.answers:
		return refusal(known.principal, http.StatusForbidden, "answers_only", answersOnly)
	default:
		in.caller = *known
	}
	in.owner = in.principal
	return nil
}

// enter checks that the caller may use what the request names: a session made for a role, and the profile of the path.
func (h *HTTP) enter(r *http.Request, in *httpRequest) *oauth.Refusal {
	if inforce.IsMadeSession(r.Header.Get(sessionHeader)) {
		return refusal(in.principal, http.StatusNotFound, "wrong_session",
			"this session was made for a role; send its id as "+roleHeader+", and leave "+sessionHeader+" to the protocol")
	}
	in.role = r.Header.Get(roleHeader)
	if own := h.server.options.Session; in.role == "" && inforce.IsMadeSession(own) {
		in.role = own
	}
	if in.role != "" {
		if len(r.Header.Values(roleHeader)) > 1 || !inforce.IsMadeSession(in.role) {
			return refusal(in.principal, http.StatusBadRequest, "wrong_session", roleHeader+
				" takes one id of a session that was made for a role, as the page for people gives it: cms_...")
		}
		if _, err := h.server.evaluator.Rules().Session(r.Context(), in.role); err != nil {
			return refusal(in.principal, http.StatusForbidden, "wrong_session", err.Error())
		}
	}
	if profile := profileOf(r); profile != "" {
		if !h.server.exposed.mayUse(in.reach, profile) {
			return refusal(in.principal, http.StatusNotFound, "unknown_profile", "there is no such profile here")
		}
		in.reach.bound = profile
	}
	return nil
}

// needsMore refuses a call for which the holder of an issuer's token needs a token with more scopes.
func (h *HTTP) needsMore(in *httpRequest, body []byte) *oauth.Refusal {
	if in.holder == nil {
		return nil
	}
	exposed := h.server.exposed
	for _, m := range messages(body) {
		profile, runs := evalProfile(m.tool())
		profile = cmp.Or(profile, exposed.byDefault())
		if !runs || profile == "" || exposed.mayUse(in.reach, profile) || !exposed.mayUse(everyProfile, profile) {
			continue
		}
		if no := in.holder.Missing(profile); no != nil {
			return no
		}
	}
	return nil
}

func refusal(principal string, status int, state, why string) *oauth.Refusal {
	return &oauth.Refusal{Principal: principal, Status: status, State: state, Why: why}
}

// refuseToken refuses a request, and says where tokens come from if another one would help.
func (h *HTTP) refuseToken(w http.ResponseWriter, r *http.Request, c *httpConfig, no *oauth.Refusal) {
	if no.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	challenge := ""
	switch {
	case c.oauth != nil:
		challenge = c.oauth.Challenge(profileOf(r), no)
	case no.Status == http.StatusUnauthorized:
		challenge = `Bearer realm="codemode"`
	}
	if challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	h.refuse(w, r, no.Principal, no.Status, no.State, no.Why)
}

// refuse answers a request that is not admitted, and records it.
func (h *HTTP) refuse(w http.ResponseWriter, r *http.Request, principal string, status int, state, detail string) {
	h.server.access.Refused(r.Context(), principal, clientAddress(r), state)
	http.Error(w, detail, status)
}

// retryAfter is how long the server tells a client to wait before it retries, in seconds.
const retryAfter = 2

// refuseFull answers a request when no quota is left, either the caller's own or that of all callers.
func refuseFull(w http.ResponseWriter, full *fair.Full) {
	status := http.StatusServiceUnavailable
	if full.Own {
		status = http.StatusTooManyRequests
	}
	retryLater(w, status, full.Error())
}

// retryLater refuses a request that may succeed later. The connection closes: the server does not wait for the rest of
// the request, and the next one may find another process.
func retryLater(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	w.Header().Set("Connection", "close")
	http.Error(w, why, status)
}
