// Package accounts lets people connect their own accounts at upstream servers from the page: the authorization code flow
// of OAuth 2.1, from a button of the page to the browser's return.
//
//	address, binding, err := flows.Begin(ctx, accounts.Person{Name: "acme:anna", Session: s}, "linear", callback)
//	// the browser gets the binding as a cookie, goes to address, and comes back to callback
//	done, err := flows.Finish(ctx, r.URL.Query(), cookies)
//
// A return counts only if a flow waits for its state, in the browser that began it, and once. So nobody can connect an
// account for somebody else: neither by a link to the authorization server, nor by a link back (RFC 9700, section 4.7).
package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// Life is how long a person may take at the authorization server.
	Life = 10 * time.Minute
	// mostFlows and mostOwn bound the flows in progress, of all and of one person. One more ends the oldest.
	mostFlows, mostOwn = 200, 4
	// findWait is how long finding the authorization server may take, and finishWait the exchange of the code.
	findWait, finishWait = time.Minute, time.Minute
)

// A Server is one that each principal reaches with an account of its own.
type Server struct {
	Name      string    `json:"name"`
	Connected time.Time `json:"connected,omitzero"` // zero: it is not
}

// Upstreams are the servers with accounts of principals. Many goroutines may call its methods.
type Upstreams interface {
	Any() bool // reports whether there are such servers
	Servers(ctx context.Context, principal string) ([]Server, error)
	// LogIn calls open with the address at which the person logs in, and waits for the query with which the browser comes
	// back to redirect. It keeps the login, or returns why there is none.
	LogIn(ctx context.Context, server, principal, redirect string, open func(address string), back <-chan url.Values) error
	LogOut(ctx context.Context, server, principal string) (found bool, err error)
	// Connected lets calls continue that wait for a login. It is called when the login is recorded.
	Connected(ctx context.Context, server, principal string)
}

// A Person begins flows, in a session of the page.
type Person struct {
	Name  string
	Ended <-chan struct{} // closed at the end of the session, which ends its flows
	Home  string          // where the person was
}

// Flows are those in progress. The zero value of its fields but Upstreams works. Many goroutines may call its methods.
type Flows struct {
	Upstreams Upstreams

	mu   sync.Mutex
	open []*Flow // the oldest first
}

// A Flow is one login in progress.
type Flow struct {
	Person Person
	Server string

	state   string
	binding [sha256.Size]byte
	back    chan url.Values // capacity 1
	done    chan error      // capacity 1
	cancel  context.CancelFunc
}

// ErrNotBegun is the error of a return that no flow of this browser waits for. The waiting flows go on.
var ErrNotBegun = errors.New("this login was not begun in this browser, or it is over: connect the account again")

// Begin finds the authorization server of a server, and returns the address at which the person logs in there. The
// browser that began the flow keeps the binding.
func (f *Flows) Begin(ctx context.Context, of Person, server, redirect string) (address, binding string, err error) {
	life, cancel := context.WithTimeout(context.WithoutCancel(ctx), Life)
	binding = rand.Text() + rand.Text()
	w := &Flow{Person: of, Server: server, binding: sha256.Sum256([]byte(binding)), cancel: cancel,
		back: make(chan url.Values, 1), done: make(chan error, 1)}
	opened := make(chan string, 1)
	go func() {
		defer cancel()
		err := f.Upstreams.LogIn(life, server, of.Name, redirect, func(address string) { opened <- address }, w.back)
		f.forget(w)
		w.done <- err
	}()
	go func() {
		select {
		case <-of.Ended:
			cancel()
		case <-life.Done():
		}
	}()
	wait := time.NewTimer(findWait)
	defer wait.Stop()
	select {
	case address = <-opened:
	case err := <-w.done:
		return "", "", err
	case <-wait.C:
		cancel()
		return "", "", errors.New("its authorization server was not found in time")
	case <-ctx.Done():
		cancel()
		return "", "", context.Cause(ctx)
	}
	u, err := url.Parse(address)
	if err != nil || u.Query().Get("state") == "" {
		cancel()
		return "", "", errors.New("its authorization server has no usable address")
	}
	w.state = u.Query().Get("state")
	f.add(w)
	return address, binding, nil
}

func (f *Flows) add(w *Flow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	own := func(x *Flow) bool { return x.Person.Name == w.Person.Name }
	n := 0
	for _, x := range f.open {
		if own(x) {
			n++
		}
	}
	at := -1
	switch {
	case n >= mostOwn:
		at = slices.IndexFunc(f.open, own)
	case len(f.open) >= mostFlows:
		at = 0
	}
	if at >= 0 {
		f.open[at].cancel()
		f.open = slices.Delete(f.open, at, at+1)
	}
	f.open = append(f.open, w)
}

func (f *Flows) forget(w *Flow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = slices.DeleteFunc(f.open, func(x *Flow) bool { return x == w })
}

// take returns the flow that a return belongs to, once.
func (f *Flows) take(state string, bindings []string) *Flow {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := slices.IndexFunc(f.open, func(w *Flow) bool {
		return subtle.ConstantTimeCompare([]byte(w.state), []byte(state)) == 1 && w.isOf(bindings)
	})
	if at < 0 {
		return nil
	}
	w := f.open[at]
	f.open = slices.Delete(f.open, at, at+1)
	return w
}

func (w *Flow) isOf(bindings []string) bool {
	found := 0
	for _, b := range bindings { // other ports of this host can set cookies of the same name
		digest := sha256.Sum256([]byte(b))
		found |= subtle.ConstantTimeCompare(digest[:], w.binding[:])
	}
	return found == 1
}

// Finish completes the flow of a browser that comes back with a query. The flow is nil with [ErrNotBegun]; with other
// errors it is over.
func (f *Flows) Finish(ctx context.Context, query url.Values, bindings []string) (*Flow, error) {
	if len(query["state"]) != 1 || len(query["code"]) > 1 || len(query["error"]) > 1 || len(query["iss"]) > 1 {
		return nil, ErrNotBegun
	}
	w := f.take(query.Get("state"), bindings)
	if w == nil {
		return nil, ErrNotBegun
	}
	select {
	case <-w.Person.Ended:
		w.cancel()
		return w, errors.New("the session at the page is over: log in to the page, and connect the account again")
	default:
	}
	w.back <- query
	wait := time.NewTimer(finishWait)
	defer wait.Stop()
	select {
	case err := <-w.done:
		return w, err
	case <-wait.C:
		w.cancel()
		return w, errors.New("the authorization server did not answer in time")
	case <-ctx.Done():
		w.cancel()
		return w, context.Cause(ctx)
	}
}
