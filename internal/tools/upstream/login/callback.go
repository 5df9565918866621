package login

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// A Browser is how one login reaches the person.
type Browser struct {
	// Open receives the address at which the person logs in. It must not block.
	Open func(address string)

	// Pasted is for people with a browser that cannot reach this machine: it receives the address that the browser was
	// redirected to at the end. May be nil.
	Pasted <-chan string

	// Redirect is the address of ours to which the authorization server redirects the browser, and Answer receives the
	// query with which the browser came there. Without it, that is an address on this machine which LogIn serves.
	Redirect string
	Answer   <-chan url.Values

	// Served is the address of the client metadata document that this process serves and that lists Redirect: LogIn does
	// not fetch that one, which a service behind a proxy may be unable to. "" is none.
	Served string
}

// A callback is the address on this machine to which the authorization server
// redirects the browser after the login. Every program on this machine can
// reach it, and every page in the browser can link to it: only a request with
// the state of this login, which we gave to the authorization server, is an
// answer. Other requests change nothing, and the login continues to wait.
type callback struct {
	address string
	port    int
	server  *http.Server // nil: somebody else serves the address
	got     chan url.Values

	mu    sync.Mutex
	state string // "" before anybody has been sent anywhere
	stray bool   // a request that does not belong to this login arrived
}

// The limits of a request to the callback.
const (
	callbackTime   = 5 * time.Second
	callbackHeader = 32 << 10
)

// callback returns the address to which the browser comes back. port is that of a registered client on this machine.
func (o *Browser) callback(port int) (*callback, error) {
	if o.Redirect != "" {
		return &callback{address: o.Redirect}, nil
	}
	return newCallback(port)
}

func newCallback(port int) (*callback, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("waiting for the browser: %w", err)
	}
	host := "127.0.0.1"
	if port != 0 {
		host = "localhost" // as other clients register it
	}
	c := &callback{port: l.Addr().(*net.TCPAddr).Port, got: make(chan url.Values, 1)}
	c.address = fmt.Sprintf("http://%s:%d/callback", host, c.port)
	c.server = &http.Server{
		Handler: http.HandlerFunc(c.serve), MaxHeaderBytes: callbackHeader,
		ReadHeaderTimeout: callbackTime, ReadTimeout: callbackTime, WriteTimeout: callbackTime,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // do not log requests of strangers
	}
	c.server.SetKeepAlivesEnabled(false)
	go func() { _ = c.server.Serve(l) }() // ends with close
	return c, nil
}

func (c *callback) expect(state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = state
}

// isOurs reports whether an answer belongs to this login.
func (c *callback) isOurs(q url.Values) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ours := c.state != "" && len(q["state"]) == 1 &&
		subtle.ConstantTimeCompare([]byte(q["state"][0]), []byte(c.state)) == 1
	c.stray = c.stray || !ours
	return ours
}

func (c *callback) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	ours := r.Host == fmt.Sprintf("127.0.0.1:%d", c.port) || r.Host == fmt.Sprintf("localhost:%d", c.port)
	q, err := url.ParseQuery(r.URL.RawQuery)
	switch {
	case !ours:
		http.Error(w, "This is not the address of a login.", http.StatusForbidden)
	case r.URL.Path != "/callback":
		http.NotFound(w, r)
	case r.Method != http.MethodGet:
		http.Error(w, "A login is answered by GET.", http.StatusMethodNotAllowed)
	case err != nil, len(q["code"]) > 1, len(q["error"]) > 1, len(q["iss"]) > 1, !c.isOurs(q):
		http.Error(w, "This is not the answer to the login that codemode waits for. It still waits.", http.StatusBadRequest)
	default:
		fmt.Fprintln(w, "codemode has the answer. Close this page and look at the terminal.")
		select {
		case c.got <- q: // the first answer counts
		default:
		}
	}
}

// wait returns the answer that comes first, from the browser or pasted.
func (c *callback) wait(ctx context.Context, o Browser) (*auth.AuthorizationResult, error) {
	var q url.Values
	select {
	case q = <-c.got:
	case q = <-o.Answer:
	case line := <-o.Pasted:
		u, err := url.Parse(strings.TrimSpace(line))
		if err != nil || len(u.Query()) == 0 {
			return nil, errors.New("that is not the address that the browser was sent to")
		}
		q = u.Query()
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.stray {
			return nil, fmt.Errorf("nobody has logged in, and what was sent to the address for the answer "+
				"does not belong to this login: %w", context.Cause(ctx))
		}
		return nil, fmt.Errorf("nobody has logged in: %w", context.Cause(ctx))
	}
	if !c.isOurs(q) { // serve has checked what came to it
		return nil, errors.New("the answer does not belong to this login (its state is another one); nothing was kept")
	}
	if code := q.Get("error"); code != "" {
		return nil, fmt.Errorf("the authorization server refused: %.60q %.200q", code, q.Get("error_description"))
	}
	if q.Get("code") == "" {
		return nil, errors.New("the answer has no code")
	}
	return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
}

func (c *callback) close() {
	if c.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // lets the page reach the browser
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close()
	}
}
