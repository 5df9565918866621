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
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An httpWire is everything that goes over HTTP to one server. It sends the
// operator's headers to the configured origin and to no other, keeps what it
// reads in bounds, and hands the bytes of answers to the requests' captures.
type httpWire struct {
	server *Server
	origin string
	base   *http.Transport

	mu     sync.Mutex
	status int // of the last answer to a POST that was an error, 0 if none was
}

func newHTTPWire(s *Server) (*httpWire, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, fmt.Errorf("its url: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("its url %q is not an http or https address", s.URL)
	}
	return &httpWire{server: s, origin: originOf(u), base: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    16,
		MaxResponseHeaderBytes: 1 << 20,
		ForceAttemptHTTP2:      true,
	}}, nil
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
			return fmt.Errorf("it redirects to %s; configure that address", r.URL.Redacted())
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
	if r.Method == http.MethodPost && c != nil {
		trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { c.noteSent() }}
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
	}
	r = r.Clone(r.Context())
	for name, values := range w.server.Headers {
		if name = textproto.CanonicalMIMEHeaderKey(name); r.Header.Values(name) == nil { // the protocol's own headers stand
			r.Header[name] = values
		}
	}
	resp, err := w.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if r.Method == http.MethodPost {
		c.noteStatus(resp.StatusCode)
		w.noteStatus(resp.StatusCode)
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
	switch w.refused() {
	case http.StatusUnauthorized:
		return fmt.Errorf("it wants a login (HTTP 401): give it an Authorization header: %w", err)
	case http.StatusForbidden:
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
