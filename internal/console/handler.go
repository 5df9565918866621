package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/console/signin"
)

// New makes a page. It starts nothing.
func New(o Options) (*Console, error) {
	if o.Queue == nil || len(o.Origins) == 0 {
		return nil, errors.New("a console needs a queue and at least one origin")
	}
	for _, origin := range o.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Path+u.RawQuery+u.Fragment != "" ||
			u.User != nil {
			return nil, fmt.Errorf("the origin %q is not like http://127.0.0.1:7391", origin)
		}
	}
	if o.Path != "" && (!strings.HasPrefix(o.Path, "/") || strings.HasSuffix(o.Path, "/") ||
		strings.ContainsAny(o.Path, "{}%?# ")) {
		return nil, fmt.Errorf("the path %q is not like /console", o.Path)
	}
	if o.Idle < 0 || o.Life < 0 {
		return nil, errors.New("the idle time and the life of a session cannot be negative")
	}
	o.Idle = cmp.Or(o.Idle, defaultIdle)
	o.Life = cmp.Or(o.Life, defaultLife)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Origins = slices.Clone(o.Origins)
	c := &Console{options: o, queue: o.Queue, log: o.Log, cookie: cookieName(o.Origins[0] + o.Path),
		done: make(chan struct{}), patient: writeWait, roles: map[string]signin.Roles{}}
	c.logins = logins{queue: o.Queue, vouched: o.Vouched, idle: o.Idle, life: o.Life, now: time.Now,
		all: map[[sha256.Size]byte]*session{}, seats: map[*approvals.Seat]*time.Timer{},
		tokens: map[[sha256.Size]byte]*session{}}
	if o.Record != nil {
		c.ends.Entries = o.Record.Entries
	}
	c.accounts.Upstreams = o.Accounts
	c.handler = c.guard(c.routes())
	return c, nil
}

// Handler serves the page. Middleware before it must not change Host, Origin and Sec-Fetch-Site.
func (c *Console) Handler() http.Handler { return c.handler }

// Close ends every session and every stream of events. Callers may call it twice.
func (c *Console) Close() {
	c.close.Do(func() {
		close(c.done)
		c.logins.close()
	})
}

// routes are all paths. The paths of a session exist without its key as well, and ask for a login there.
func (c *Console) routes() http.Handler {
	before, after := http.NewServeMux(), http.NewServeMux()
	before.HandleFunc("GET /static/{file}", static)
	before.HandleFunc("GET /login", door{c}.showLogin)
	if c.options.SignIn != nil {
		before.HandleFunc("GET "+signInPath, func(w http.ResponseWriter, r *http.Request) {
			c.answer(w, r, door{c}.beginSignIn(w, r))
		})
		before.HandleFunc("GET "+callbackPath, func(w http.ResponseWriter, r *http.Request) {
			c.answer(w, r, door{c}.finishSignIn(w, r))
		})
	}
	before.HandleFunc("GET "+ConnectedPath, func(w http.ResponseWriter, r *http.Request) {
		c.answer(w, r, accountPages{c}.accountConnected(w, r))
	})
	if c.options.ClientMetadata != nil {
		before.HandleFunc("GET "+ClientMetadataPath, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(c.options.ClientMetadata) // whoever has gone needs none
		})
	}
	before.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) { c.answer(w, r, door{c}.login(w, r)) })
	for _, x := range c.inside() {
		page := x.page
		if x.method == http.MethodGet {
			c.roles[x.path] = x.roles
		}
		if x.power == widens {
			page = replies{c}.proved(x.prepare)
		}
		if x.method == http.MethodPost {
			page = checked(page)
		}
		after.HandleFunc(x.method+" "+x.path, func(w http.ResponseWriter, r *http.Request) {
			if keyOf(r) == "" && isAPI(r) && bearer(r) != "" && c.options.Bearer != nil {
				c.answer(w, r, c.byToken(w, r, &x))
				return
			}
			c.answer(w, r, c.bySession(w, r, &x, page))
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		below, ok := strings.CutPrefix(r.URL.Path, c.options.Path)
		key, rest := c.split(r.URL.Path)
		mux := after
		if rest == "/login" || strings.HasPrefix(rest, "/static/") || rest == signInPath || rest == callbackPath ||
			rest == ConnectedPath || rest == ClientMetadataPath {
			mux = before
		}
		switch {
		case !ok || below != "" && below[0] != '/' || mux == before && key != "":
			http.NotFound(w, r)
		case below == "":
			http.Redirect(w, r, c.options.Path+"/", http.StatusSeeOther)
		default:
			inner, u := *r, *r.URL
			u.Path, inner.URL = rest, &u
			inner.SetPathValue(keyValue, key)
			mux.ServeHTTP(w, &inner)
		}
	})
}

// answer responds to a request that ended with an error; nil means that the handler has responded.
func (c *Console) answer(w http.ResponseWriter, r *http.Request, err error) {
	refused, ok := errors.AsType[*refusal](err)
	switch {
	case err == nil || errors.Is(err, context.Canceled):
	case ok:
		c.fail(w, r, refused.status, refused.why)
	default:
		c.log.Error("serving a page failed", "error", err)
		c.fail(w, r, http.StatusInternalServerError, "the record cannot be read; codemode audit verify says more")
	}
}

// bySession serves a request that has a session, if the route is for a role of the session.
func (c *Console) bySession(w http.ResponseWriter, r *http.Request, x *route, next page) error {
	s := c.session(r)
	switch {
	case s != nil && !x.roles.Has(s.roles):
		return door{c}.withoutRole(w, r, x, s)
	case s != nil:
		c.logins.read(s) // any request counts as presence
		return next(w, r, s)
	case r.Method == http.MethodGet && !isAPI(r):
		w.WriteHeader(http.StatusUnauthorized)
		return door{c}.renderLogin(w, r.URL.RequestURI(), "")
	}
	return refuse(http.StatusUnauthorized, "log in first, with the link that codemode console prints")
}

// checked serves a change, a form or JSON, if it has the session's CSRF token.
func checked(next page) page {
	return func(w http.ResponseWriter, r *http.Request, s *session) error {
		token := r.Header.Get("X-CSRF-Token")
		switch mediaType(r) {
		case "application/json":
		case "application/x-www-form-urlencoded":
			if err := readForm(r); err != nil {
				return err
			}
			if token == "" {
				token = r.PostForm.Get("csrf")
			}
			if err := repeated(r.PostForm); err != nil {
				return errForm
			}
			for _, values := range r.PostForm {
				for i := range values {
					values[i] = lineEnds.Replace(values[i])
				}
			}
		default:
			return errMediaType
		}
		if !s.mayChange(token) {
			return refuse(http.StatusForbidden, "the request does not come from an open page: load the page again")
		}
		return next(w, r, s)
	}
}
