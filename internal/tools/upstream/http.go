package upstream

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
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
	masked  masking
	raw     bool // the answers are none to requests of a session, but of a login
	// forgotten is called when the server does not know the session any more; nil is ignored.
	forgotten func(error)
	sse       bool        // the answers come on one stream (SSE), not to the POSTs
	pending   pending     // likewise, the requests that have none yet
	listens   atomic.Bool // the server has opened the stream of its own messages

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
	w := &httpWire{server: s, account: a, origin: secrets.SchemeHostPort(u), untaken: make(chan struct{}, requestsMax),
		masked: maskOf(s, a), forgotten: func(error) {}}
	w.base = &http.Transport{
		DisableCompression:     true, // we ask for it ourselves: see plainBody
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
		if secrets.SchemeHostPort(r.URL) != w.origin {
			return fmt.Errorf("it redirects to another origin, %s; if that is meant, configure that address",
				secrets.SchemeHostPort(r.URL))
		}
		if r.Method != via[0].Method {
			return fmt.Errorf("it redirects to another address at %s; configure that", secrets.Origin(r.URL.String()))
		}
		if len(via) >= 5 {
			return errors.New("it redirects in circles")
		}
		return nil
	}}
}

// addHeaders adds the operator's headers. The protocol's own win.
func (w *httpWire) addHeaders(r *http.Request, x *exchange) {
	for name, values := range w.server.Headers {
		if name = textproto.CanonicalMIMEHeaderKey(name); r.Header.Values(name) == nil {
			r.Header[name] = values
		}
	}
	if r.Header.Get("Accept-Encoding") == "" {
		r.Header.Set("Accept-Encoding", "gzip")
	}
	if x != nil && r.Method == http.MethodPost {
		for _, name := range []string{"traceparent", "tracestate"} {
			if value, ok := x.trace[name].(string); ok {
				r.Header.Set(name, value)
			}
		}
	}
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
			return fmt.Errorf("it cannot be reached: %w", secrets.HideAddress(failed.Err))
		}
		if said, ok := errors.AsType[*statusError](failed.Err); ok {
			return w.explainStatus(failed.Err, said)
		}
		return secrets.HideAddress(failed.Err)
	}
	return err
}

// explainStatus says what a person can do about the status of an answer. A login is the cause only where the server
// says so.
func (w *httpWire) explainStatus(err error, said *statusError) error {
	command := servers.LoginCommand(w.server.Name)
	switch forgotten, _ := errors.AsType[*forgottenError](err); {
	case forgotten != nil:
		return err
	case said.code == http.StatusUnauthorized && w.server.Headers.Get("Authorization") != "":
		return fmt.Errorf("it does not take the Authorization header that the configuration gives it (HTTP 401): %w", err)
	case said.code == http.StatusUnauthorized && w.account != nil:
		return fmt.Errorf("%w: run %s, or give it an Authorization header: %w", errLogin, command, err)
	case said.code == http.StatusUnauthorized:
		return fmt.Errorf("%w: give it an Authorization header: %w", errLogin, err)
	case said.code == http.StatusForbidden && said.challenge && w.account != nil:
		return fmt.Errorf("it refuses us (HTTP 403): log in as another user, or with more scopes (%s): %w", command, err)
	case said.code == http.StatusForbidden:
		return fmt.Errorf("it refuses us (HTTP 403): check the address, and what it lets this user do: %w", err)
	}
	return err
}

func (w *httpWire) close() { w.base.CloseIdleConnections() }
