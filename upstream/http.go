package upstream

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/codemode-project/codemode/internal/address"
)

// An httpWire is everything that goes over HTTP to one server. It sends the
// operator's headers to the configured origin and to no other, keeps what it
// reads in bounds, and hands the bytes of answers to the requests' captures.
type httpWire struct {
	server  *Server
	account *account // nil: nobody can log in there
	origin  string
	base    *http.Transport
	untaken chan struct{} // one for each message that is no call and that the server has not taken yet

	mu     sync.Mutex
	status int // of the last answer to a POST that was an error, 0 if none was
}

func newHTTPWire(s *Server, a *account) (*httpWire, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("its url cannot be read")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("its url has to begin with http:// or https:// and a host")
	}
	w := &httpWire{server: s, account: a, origin: originOf(u), untaken: make(chan struct{}, requestsMax)}
	w.base = &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    16,
		MaxResponseHeaderBytes: 1 << 20,
		ForceAttemptHTTP2:      true,
	}
	return w, nil
}

func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port)
}

// client has no cookies and follows redirects only where nothing changes but the path.
func (w *httpWire) client() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if originOf(r.URL) != w.origin {
			return fmt.Errorf("it redirects to another origin, %s; if that is meant, configure that address", originOf(r.URL))
		}
		if r.Method != via[0].Method {
			return fmt.Errorf("it redirects to another address at %s; configure that", address.Origin(r.URL.String()))
		}
		if len(via) >= 5 {
			return errors.New("it redirects in circles")
		}
		return nil
	}}
}

// RoundTrip implements [http.RoundTripper].
func (w *httpWire) RoundTrip(r *http.Request) (*http.Response, error) {
	if originOf(r.URL) != w.origin { // an SSE server may name any address as its endpoint
		return nil, fmt.Errorf("it names another origin, %s, as its endpoint", originOf(r.URL))
	}
	c := captureOf(r.Context())
	switch {
	case r.Method != http.MethodPost:
	case c != nil:
		c.begin()
		trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { c.noteSent() }}
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
	default: // most likely an answer to a request of the server
		select {
		case w.untaken <- struct{}{}:
			defer func() { <-w.untaken }()
		default:
			return nil, fmt.Errorf("the server has not taken %d messages", requestsMax)
		}
	}
	r = r.Clone(r.Context())
	for name, values := range w.server.Headers {
		if name = textproto.CanonicalMIMEHeaderKey(name); r.Header.Values(name) == nil { // the protocol's own headers stand
			r.Header[name] = values
		}
	}
	resp, err := w.authorized(r)
	if resp != nil && r.Method == http.MethodPost {
		c.noteStatus(resp.StatusCode)
		w.noteStatus(resp.StatusCode)
	}
	if err != nil {
		return nil, err
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // an odd one is no media type we know
	switch {
	case media == "text/event-stream":
		resp.Body = newEventFilter(resp.Body, frameMax, c)
	case media == "application/json" && r.Method == http.MethodPost:
		resp.Body = &jsonBody{body: resp.Body, capture: c}
	default:
		resp.Body = &shortBody{resp.Body, errorBodyMax}
	}
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	return resp, nil
}

// authorized sends the request with our login, if there is one. A token that
// the server no longer takes is renewed, and the request sent once more: a
// server that answers 401 has done nothing. With an error there may be the
// response that it is about, whose body is closed.
func (w *httpWire) authorized(r *http.Request) (*http.Response, error) {
	if w.account == nil {
		return w.base.RoundTrip(r)
	}
	token, err := w.account.token(r.Context())
	if err != nil {
		return nil, err
	}
	if token == "" {
		return w.base.RoundTrip(r)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := w.base.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusForbidden {
		if scopes := moreScopes(resp.Header); len(scopes) > 0 {
			_ = resp.Body.Close()
			w.account.want(r.Context(), scopes)
			return resp, &loginError{w.server.Name, fmt.Sprintf("its login does not cover this (HTTP 403, it wants %.200q)", strings.Join(scopes, " "))}
		}
	}
	if err != nil || resp.StatusCode != http.StatusUnauthorized || r.Body != nil && r.GetBody == nil {
		return resp, err
	}
	_ = resp.Body.Close()
	if token, err = w.account.renew(r.Context(), token); err != nil {
		return resp, err
	}
	r = r.Clone(r.Context())
	if r.GetBody != nil {
		if r.Body, err = r.GetBody(); err != nil {
			return resp, err
		}
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return w.base.RoundTrip(r)
}

// moreScopes are those that a server wants beyond what the login has.
func moreScopes(h http.Header) []string {
	challenges, err := oauthex.ParseWWWAuthenticate(h["Www-Authenticate"])
	if err != nil {
		return nil
	}
	for _, c := range challenges {
		if c.Scheme == "bearer" && c.Params["error"] == "insufficient_scope" {
			return strings.Fields(c.Params["scope"])
		}
	}
	return nil
}

func (w *httpWire) noteStatus(code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code >= 400 {
		w.status = code
	}
}

// refused returns the HTTP status with which the server refused a request, 0 if it refused none.
func (w *httpWire) refused() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// attempts lists the ways to talk to the server, the likeliest first.
func (s *Server) attempts() []attempt {
	streamable := func(sess *session) (mcp.Transport, error) {
		return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: sess.http.client(), MaxEventSize: -1}, nil
	}
	sse := attempt{version: pinned, open: func(sess *session) (mcp.Transport, error) {
		return &sseTransport{mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: sess.http.client(), MaxEventSize: -1}, sess}, nil
	}}
	switch {
	case s.Transport == SSE:
		return []attempt{sse}
	case s.SSEFirst:
		return []attempt{sse, {open: streamable}}
	}
	// A server that never answers a question it does not know leaves the first attempt waiting.
	return []attempt{{open: streamable, limit: probeTime}, {version: pinned, open: streamable}, sse}
}

// again reports whether the next of [Server.attempts] is worth trying
// after the error of one. A refusal of who we are is the same on every transport.
func (w *httpWire) again(err error) bool {
	switch code := w.refused(); {
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusProxyAuthRequired, code == http.StatusTooManyRequests:
		return false
	case code >= 400 && code < 500:
		return true
	}
	return errors.Is(err, errProbe) || w.server.SSEFirst
}

// explain turns the error of a connection into one a person can act on.
func (w *httpWire) explain(err error) error {
	if login, ok := errors.AsType[*loginError](err); ok {
		return login
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		if _, ok := errors.AsType[net.Error](failed.Err); ok {
			return fmt.Errorf("it cannot be reached: %w", address.Hide(failed.Err))
		}
		return address.Hide(failed.Err)
	}
	switch w.refused() {
	case http.StatusUnauthorized:
		switch {
		case w.server.Headers.Get("Authorization") != "":
			return fmt.Errorf("it does not take the Authorization header that the configuration gives it (HTTP 401): %w", err)
		case w.account != nil:
			return fmt.Errorf("it wants a login (HTTP 401): run %s, or give it an Authorization header", loginCommand(w.server.Name))
		}
		return fmt.Errorf("it wants a login (HTTP 401): give it an Authorization header: %w", err)
	case http.StatusForbidden:
		if w.account != nil {
			return fmt.Errorf("it refuses us (HTTP 403): its login may have to be another one, or for more (%s): %w", loginCommand(w.server.Name), err)
		}
		return fmt.Errorf("it refuses us (HTTP 403): check the address and the Authorization header: %w", err)
	}
	return err
}

func (w *httpWire) close() { w.base.CloseIdleConnections() }

// errorBodyMax is how much is read of an answer that is no message.
const errorBodyMax = 1 << 20

// A shortBody ends where it is long enough.
type shortBody struct {
	io.ReadCloser
	left int
}

func (b *shortBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
