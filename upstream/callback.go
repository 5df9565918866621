package upstream

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// A callback is the address on this machine to which the browser is sent when
// the person has logged in.
type callback struct {
	address string
	server  *http.Server
	state   string // set before anybody knows the address
	got     chan url.Values
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
	c := &callback{
		address: fmt.Sprintf("http://%s:%d/callback", host, l.Addr().(*net.TCPAddr).Port),
		got:     make(chan url.Values, 1),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		fmt.Fprintln(w, "codemode has the answer. Close this page and look at the terminal.")
		c.take(r.URL.Query())
	})
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { _ = c.server.Serve(l) }() // ends with close
	return c, nil
}

func (c *callback) expect(state string) { c.state = state }

// take keeps the first answer.
func (c *callback) take(q url.Values) {
	select {
	case c.got <- q:
	default:
	}
}

// wait returns the answer, whichever way it comes.
func (c *callback) wait(ctx context.Context, pasted <-chan string) (*auth.AuthorizationResult, error) {
	var q url.Values
	select {
	case q = <-c.got:
	case line := <-pasted:
		u, err := url.Parse(strings.TrimSpace(line))
		if err != nil || len(u.Query()) == 0 {
			return nil, errors.New("that is not the address that the browser was sent to")
		}
		q = u.Query()
	case <-ctx.Done():
		return nil, fmt.Errorf("nobody has logged in: %w", context.Cause(ctx))
	}
	if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1 {
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
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // for the page to reach the browser
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close()
	}
}
