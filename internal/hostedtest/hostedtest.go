// Package hostedtest is an MCP server with a login for tests, like people's hosted servers: a resource server over
// streamable HTTP, and an OAuth 2.1 authorization server on a separate origin, both on loopback. It rejects whatever a
// strict server would reject, and records the mistakes.
package hostedtest

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options change the behaviour of the server. The zero value gives tokens for an hour.
type Options struct {
	ExpiresIn int                             // lifetime of access tokens in seconds; 0 is an hour
	Tamper    func(answer url.Values)         // changes the answer that the browser carries back; nil changes nothing
	NoPKCE    bool                            // does not announce support for PKCE
	Anonymous bool                            // reveals its identity, and no more, to clients without a login
	More      bool                            // calls want the scope \"write\" too, which it says only then
	Client    *Client                         // the only one; nil lets clients register themselves
	Serve     func(*http.Request) *mcp.Server // what clients with a login get
	Sessions  bool                            // has sessions, each of one user alone
	Documents *http.Client                    // fetches client metadata documents; nil knows no such clients
	Closed    bool                            // refuses registrations
}

// A Client is one that was registered in advance.
type Client struct{ ID, Secret, Redirect string }

// A Server is both servers.
type Server struct {
	URL string // of the MCP endpoint

	o      Options
	rs, as *httptest.Server

	mu       sync.Mutex
	clients  map[string]string     // redirect address by client
	last     string                // the client of the last login
	codes    map[string]url.Values // the request, by code
	access   map[string]string     // the scopes of valid tokens
	users    map[string]string     // who has a token, or had one
	sessions map[string]string     // whose each session of the protocol is
	refresh  map[string]string     // the client of each valid refresh token
	secrets  []string
	renewed  int
	refused  int
	mistakes []string
}

// New starts the servers.
func New(o Options) *Server {
	h := &Server{o: o, clients: map[string]string{}, codes: map[string]url.Values{}, access: map[string]string{},
		users: map[string]string{}, sessions: map[string]string{},
		refresh: map[string]string{}}
	if o.Client != nil {
		h.clients[o.Client.ID] = o.Client.Redirect
	}
	inner := mcp.NewStreamableHTTPHandler(o.Serve, &mcp.StreamableHTTPOptions{Stateless: !o.Sessions})
	rs := http.NewServeMux()
	rs.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		body, _ := io.ReadAll(r.Body) // an unreadable body is not a request
		r.Body = io.NopCloser(bytes.NewReader(body))
		opening := bytes.Contains(body, []byte(`"initialize"`)) || bytes.Contains(body, []byte(`"notifications/initialized"`))
		scope, ok := h.scope(token)
		if ok && o.More && bytes.Contains(body, []byte(`"tools/call"`)) && !strings.Contains(scope, "write") {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="write"`)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if !ok && !(o.Anonymous && opening) {
			w.Header().Set("WWW-Authenticate",
				fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp", scope="read"`, h.rs.URL))
			http.Error(w, "no good: "+token, http.StatusUnauthorized) // careless servers repeat the token
			return
		}
		h.inSession(w, r, inner)
	})
	rs.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"resource": h.URL, "authorization_servers": []string{h.as.URL}})
	})
	h.rs = httptest.NewServer(rs)
	h.URL = h.rs.URL + "/mcp"
	as := http.NewServeMux()
	as.HandleFunc("GET /.well-known/oauth-authorization-server", h.metadata)
	as.HandleFunc("POST /register", h.register)
	as.HandleFunc("GET /authorize", h.authorize)
	as.HandleFunc("POST /token", h.token)
	h.as = httptest.NewServer(as)
	return h
}

// inSession serves a request, and notes whose session it begins or is in.
func (h *Server) inSession(w http.ResponseWriter, r *http.Request, inner http.Handler) {
	const header = "Mcp-Session-Id"
	user := h.User(r)
	if id := r.Header.Get(header); id != "" {
		h.mu.Lock()
		if owner, ok := h.sessions[id]; ok && owner != user {
			h.mistake("a request of %q in the session of %q", user, owner)
		}
		h.mu.Unlock()
	}
	inner.ServeHTTP(noting{w, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if id := w.Header().Get(header); id != "" && h.sessions[id] == "" {
			h.sessions[id] = user
		}
	}}, r)
}

// noting calls note before it sends the header.
type noting struct {
	http.ResponseWriter
	note func()
}

func (n noting) WriteHeader(code int) { n.note(); n.ResponseWriter.WriteHeader(code) }
func (n noting) Write(b []byte) (int, error) {
	n.note()
	return n.ResponseWriter.Write(b)
}
func (n noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }
func (n noting) Flush()                      { _ = http.NewResponseController(n.ResponseWriter).Flush() }

// User is who sends a request, by its token: the "user" in the query of the address at which they logged in.
func (h *Server) User(r *http.Request) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.users[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
}

// Users counts the users that have called, by their sessions.
func (h *Server) Users() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := map[string]bool{}
	for _, user := range h.sessions {
		seen[user] = true
	}
	return len(seen)
}

// Close stops the servers.
func (h *Server) Close() {
	h.rs.CloseClientConnections()
	h.rs.Close()
	h.as.Close()
}

// Revoke invalidates the access tokens, and if all is true the refresh tokens too.
func (h *Server) Revoke(all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.access)
	if all {
		clear(h.refresh)
	}
}

// Secrets returns all codes and tokens that the server ever issued.
func (h *Server) Secrets() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.secrets)
}

// Renewed counts the accepted refresh tokens. Refused counts the others.
func (h *Server) Renewed() int { h.mu.Lock(); defer h.mu.Unlock(); return h.renewed }

// Refused counts the invalid refresh tokens.
func (h *Server) Refused() int { h.mu.Lock(); defer h.mu.Unlock(); return h.refused }

// Mistakes returns the requests that a strict server would have rejected.
func (h *Server) Mistakes() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.mistakes)
}

// scope returns the scope of a token.
func (h *Server) scope(token string) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	scope, ok := h.access[token]
	return scope, ok
}

func (h *Server) mistake(format string, args ...any) {
	h.mistakes = append(h.mistakes, fmt.Sprintf(format, args...))
}

func (h *Server) secret() string {
	s := rand.Text()
	h.secrets = append(h.secrets, s)
	return s
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // a disconnected client needs no answer
}

func (h *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	m := map[string]any{
		"issuer": h.as.URL, "authorization_endpoint": h.as.URL + "/authorize", "token_endpoint": h.as.URL + "/token",
		"registration_endpoint": h.as.URL + "/register", "response_types_supported": []string{"code"},
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
	}
	if h.o.NoPKCE {
		delete(m, "code_challenge_methods_supported")
	}
	if h.o.Documents != nil {
		m["client_id_metadata_document_supported"] = true
	}
	if h.o.Closed {
		delete(m, "registration_endpoint")
	}
	if h.o.Client != nil {
		delete(m, "registration_endpoint")
		m["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	}
	answer(w, http.StatusOK, m)
}

func (h *Server) register(w http.ResponseWriter, r *http.Request) {
	var m struct {
		Redirects []string `json:"redirect_uris"`
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.o.Closed {
		h.mistake("a registration that it does not offer")
		answer(w, http.StatusForbidden, map[string]string{"error": "access_denied"})
		return
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || len(m.Redirects) != 1 ||
		!strings.HasPrefix(m.Redirects[0], "http://127.0.0.1:") {
		h.mistake("a registration with %v", m)
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_redirect_uri"})
		return
	}
	id := rand.Text()
	h.clients[id] = m.Redirects[0]
	answer(w, http.StatusCreated, map[string]any{"client_id": id, "redirect_uris": m.Redirects,
		"token_endpoint_auth_method": "none"})
}

func (h *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = q.Get("client_id")
	if h.o.Documents != nil && strings.HasPrefix(h.last, "https://") {
		if err := h.fetch(h.last, q.Get("redirect_uri")); err != nil {
			h.mistake("%v", err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		h.clients[h.last] = q.Get("redirect_uri")
	}
	if h.clients[q.Get("client_id")] != q.Get("redirect_uri") || q.Get("redirect_uri") == "" {
		h.mistake("it is sent back to %q", q.Get("redirect_uri"))
	}
	if q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 {
		h.mistake("the challenge is %q", q.Get("code_challenge"))
	}
	if q.Get("resource") != h.URL || !strings.Contains(q.Get("scope"), "read") || len(q.Get("state")) < 16 {
		h.mistake("asked for %v", q)
	}
	code := h.secret()
	h.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	if h.o.Tamper != nil {
		h.o.Tamper(back)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// fetch checks a client metadata document (draft-ietf-oauth-client-id-metadata-document-02, sections 4 and 5).
func (h *Server) fetch(client, redirect string) error {
	resp, err := h.o.Documents.Get(client)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var d struct {
		ID        string   `json:"client_id"`
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
	}
	err = json.NewDecoder(resp.Body).Decode(&d)
	listed := slices.ContainsFunc(d.Redirects, func(one string) bool { return withoutPort(one) == withoutPort(redirect) })
	if err != nil || resp.StatusCode != http.StatusOK || d.ID != client || d.Method != "none" || !listed {
		return fmt.Errorf("the document %s (%s, %v) is %+v, for a return to %s", client, resp.Status, err, d, redirect)
	}
	return nil
}

// withoutPort is an address on this machine without its port, which may be any (RFC 8252, section 7.3).
func withoutPort(address string) string {
	u, err := url.Parse(address)
	if err == nil && u.Scheme == "http" && u.Hostname() == "127.0.0.1" {
		u.Host = u.Hostname()
		return u.String()
	}
	return address
}

// LastClient is the client_id of the last login.
func (h *Server) LastClient() string { h.mu.Lock(); defer h.mu.Unlock(); return h.last }

func (h *Server) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // an unreadable form is empty
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Form.Get("resource") != h.URL {
		h.mistake("a token for %q", r.Form.Get("resource"))
	}
	client, scope, user := r.Form.Get("client_id"), "read", ""
	if name, _, ok := r.BasicAuth(); ok && h.o.Documents != nil && strings.HasPrefix(name, "https") {
		h.mistake("the client without a secret %q in a header", name)
	}
	if h.o.Client != nil && r.Form.Get("client_secret") != h.o.Client.Secret {
		h.mistake("a client with the secret %q", r.Form.Get("client_secret"))
	}
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		code := r.Form.Get("code")
		q, ok := h.codes[code]
		delete(h.codes, code) // each works once
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") || client != q.Get("client_id") {
			answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
			return
		}
		scope, user = q.Get("scope"), q.Get("user")
	case "refresh_token":
		old := r.Form.Get("refresh_token")
		if owner, ok := h.refresh[old]; !ok || owner != client {
			h.refused++
			answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "you sent " + old})
			return
		}
		delete(h.refresh, old) // likewise
		user = h.users[old]
		h.renewed++
	default:
		h.mistake("a grant of type %q", r.Form.Get("grant_type"))
		answer(w, http.StatusBadRequest, map[string]string{"error": "unsupported_grant_type"})
		return
	}
	access, refresh := h.secret(), h.secret()
	h.access[access], h.refresh[refresh] = scope, client
	h.users[access], h.users[refresh] = user, user
	expires := h.o.ExpiresIn
	if expires == 0 {
		expires = 3600
	}
	answer(w, http.StatusOK, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": expires,
		"refresh_token": refresh})
}
