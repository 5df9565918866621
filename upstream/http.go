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

	"github.com/codemode-project/codemode/config/servers"
	"github.com/codemode-project/codemode/internal/address"
	"github.com/codemode-project/codemode/upstream/login"
)

// An httpWire is the HTTP transport to one server. It sends the operator's
// headers to the configured origin and to no other, limits what it reads, and
// records the exchanges.
type httpWire struct {
	server  *Server
	account *login.Account // nil: the server needs none
	origin  string
	base    *http.Transport
	untaken chan struct{} // one for each message in flight, except calls

	mu     sync.Mutex
	status int // of the last answer to a POST that was an error, 0 if none was
}

func newHTTPWire(s *Server, a *login.Account) (*httpWire, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("its url cannot be read")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("its url has to begin with http:// or https:// and a host")
	}
	w := &httpWire{server: s, account: a, origin: address.SchemeHostPort(u), untaken: make(chan struct{}, requestsMax)}
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

// client has no cookies and follows redirects only if nothing but the path changes.
func (w *httpWire) client() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if address.SchemeHostPort(r.URL) != w.origin {
			return fmt.Errorf("it redirects to another origin, %s; if that is meant, configure that address",
				address.SchemeHostPort(r.URL))
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
	if address.SchemeHostPort(r.URL) != w.origin { // an SSE server may name any address as its endpoint
		return nil, fmt.Errorf("it names another origin, %s, as its endpoint", address.SchemeHostPort(r.URL))
	}
	x := exchangeOf(r.Context())
	switch {
	case r.Method != http.MethodPost:
	case x != nil:
		x.begin()
		trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.noteSent() }}
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
	default: // mostly an answer to a request of the server
		select {
		case w.untaken <- struct{}{}:
			defer func() { <-w.untaken }()
		default:
			return nil, fmt.Errorf("%d messages to the server are still being sent", requestsMax)
		}
	}
	r = r.Clone(r.Context())
	for name, values := range w.server.Headers {
		if name = textproto.CanonicalMIMEHeaderKey(name); r.Header.Values(name) == nil { // the protocol's own headers win
			r.Header[name] = values
		}
	}
	if x != nil && r.Method == http.MethodPost {
		for _, name := range []string{"traceparent", "tracestate"} {
			if value, ok := x.trace[name].(string); ok {
				r.Header.Set(name, value)
			}
		}
	}
	resp, err := w.account.RoundTrip(w.base, r)
	if resp != nil && r.Method == http.MethodPost {
		x.noteStatus(resp.StatusCode)
		w.noteStatus(resp.StatusCode)
	}
	if err != nil {
		return nil, err
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // an invalid one is not a known media type
	switch {
	case media == "text/event-stream":
		resp.Body = newEventFilter(resp.Body, frameMax, x)
	case media == "application/json" && r.Method == http.MethodPost:
		resp.Body = &jsonBody{body: resp.Body, exchange: x}
	default:
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, errorBodyMax), resp.Body}
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

// attempts lists the ways to open a connection, the likeliest first.
func (s *Server) attempts() []attempt {
	streamable := func(sess *session) (mcp.Transport, error) {
		return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: sess.http.client(), MaxEventSize: -1}, nil
	}
	sse := attempt{version: pinned, open: func(sess *session) (mcp.Transport, error) {
		t := mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: sess.http.client(), MaxEventSize: -1}
		return &sseTransport{t, sess}, nil
	}}
	switch {
	case s.Transport == SSE:
		return []attempt{sse}
	case s.SSEFirst:
		return []attempt{sse, {open: streamable}}
	}
	// The first attempt has a limit: some servers never answer a method that they do not know.
	return []attempt{{open: streamable, limit: probeTime}, {version: pinned, open: streamable}, sse}
}

// again reports whether to try the next of [Server.attempts] after an error. A
// refusal of our identity is the same on every transport.
func (w *httpWire) again(err error) bool {
	switch code := w.refused(); {
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusProxyAuthRequired,
		code == http.StatusTooManyRequests:
		return false
	case code >= 400 && code < 500:
		return true
	}
	return errors.Is(err, errProbe) || w.server.SSEFirst
}

var errLogin = errors.New("it wants a login (HTTP 401)")

// wantsLogin reports whether an error says that a person has to log in.
func wantsLogin(err error) bool {
	_, needed := errors.AsType[*login.Error](err)
	return needed || errors.Is(err, errLogin)
}

// explain converts a connection's error into one that a person can act on.
func (w *httpWire) explain(err error) error {
	if needed, ok := errors.AsType[*login.Error](err); ok {
		return needed
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
			return fmt.Errorf("%w: run %s, or give it an Authorization header", errLogin,
				servers.LoginCommand(w.server.Name))
		}
		return fmt.Errorf("%w: give it an Authorization header: %w", errLogin, err)
	case http.StatusForbidden:
		if w.account != nil {
			return fmt.Errorf("it refuses us (HTTP 403): log in as another user, or with more scopes (%s): %w",
				servers.LoginCommand(w.server.Name), err)
		}
		return fmt.Errorf("it refuses us (HTTP 403): check the address and the Authorization header: %w", err)
	}
	return err
}

func (w *httpWire) close() { w.base.CloseIdleConnections() }

// errorBodyMax is how much to read of an answer that is not a message.
const errorBodyMax = 1 << 20
