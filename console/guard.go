package console

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// maxBody bounds what a request brings, but for an answer, which may bring arguments.
	maxBody, maxAnswer = 64 << 10, 4 << 20
	// bodyWait is how long a request may take to arrive, answerWait an answer to be taken in.
	bodyWait, answerWait = 30 * time.Second, 30 * time.Second
)

// policy lets pages load what comes with this package and nothing else, and run no text of theirs as a script, whatever they hold.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"worker-src 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var headers = map[string]string{
	"Content-Security-Policy": policy,
	"X-Content-Type-Options":  "nosniff",
	"X-Frame-Options":         "DENY",
	// Another origin gets no path, which is half of a session; with no-referrer browsers would send "Origin: null" with our own forms.
	"Referrer-Policy":              "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
	"Cache-Control":                "no-store",
}

// guard turns away what does not come from a page of ours, before anything of it is read.
func (c *Console) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		if to := c.properHost(r); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		if code, why := c.foreign(r); code != 0 {
			c.log.Debug("a request to the console was turned away", "because", why, "status", code)
			http.Error(w, why, code)
			return
		}
		limit := int64(maxBody)
		_, rest := c.split(r.URL.Path)
		for _, large := range []string{"/answer", "/api/answer", "/rules"} {
			if rest == large || strings.HasPrefix(rest, large+"/") {
				limit = maxAnswer
			}
		}
		if r.ContentLength > limit {
			http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		deadlines := http.NewResponseController(w) // some servers in tests have none
		_ = deadlines.SetReadDeadline(time.Now().Add(bodyWait))
		_ = deadlines.SetWriteDeadline(time.Now().Add(bodyWait + answerWait))
		next.ServeHTTP(w, r)
		_ = deadlines.SetWriteDeadline(time.Time{}) // the connection may be used for something else that takes longer
	})
}

// properHost is where somebody has to go who came to the page by the name localhost, "" for all others. That name is of several
// addresses, and the same port of another one may be somebody else's, who would get the cookie and the path: there is no session
// under it.
func (c *Console) properHost(r *http.Request) string {
	name, port, err := net.SplitHostPort(r.Host)
	if err != nil || !strings.EqualFold(name, "localhost") || !navigates(r) || r.Method != http.MethodGet || !plainPath(r.URL.Path) {
		return ""
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		if origin := "http://" + net.JoinHostPort(host, port); slices.Contains(c.options.Origins, origin) {
			return origin + r.URL.RequestURI()
		}
	}
	return ""
}

// origin is that of ours which a request is sent to, "" if there is none.
func (c *Console) origin(r *http.Request) string {
	if at := slices.IndexFunc(c.options.Origins, func(origin string) bool { return hasHost(origin, r) }); at >= 0 {
		return c.options.Origins[at]
	}
	return ""
}

func hasHost(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// foreign says why a request is not from a page of ours; 0 is that it may be.
func (c *Console) foreign(r *http.Request) (code int, why string) {
	key, _ := c.split(r.URL.Path)
	change := r.Method != http.MethodGet && r.Method != http.MethodHead
	site, origin := r.Header.Values("Sec-Fetch-Site"), r.Header.Values("Origin")
	sameOrigin := len(site) == 1 && site[0] == "same-origin"
	switch {
	case c.origin(r) == "":
		return http.StatusForbidden, "this page is not served under that host"
	case len(site) > 1 || len(origin) > 1:
		return http.StatusForbidden, "the request says twice where it comes from"
	case change && r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "only GET and POST are known here"
	case r.Header.Get("Service-Worker") != "":
		return http.StatusForbidden, "this page has no service worker"
	case len(site) == 1 && !sameOrigin && !(site[0] == "none" && !change) && !(navigates(r) && !change && key == ""):
		return http.StatusForbidden, "the request comes from another site" // which cannot know the path of a session
	case len(origin) == 1 && !(slices.Contains(c.options.Origins, strings.ToLower(origin[0])) && hasHost(origin[0], r)):
		return http.StatusForbidden, "the request comes from another origin"
	case r.URL.RawPath != "" || !plainPath(r.URL.Path):
		return http.StatusNotFound, "there is nothing under that path"
	}
	return 0, ""
}

// plainPath reports whether there is no other way of writing a path.
func plainPath(p string) bool {
	clean := path.Clean("/" + p)
	return p == clean || p == clean+"/" && clean != "/"
}

// navigates reports whether a request is for a page that is to be shown by itself: somebody follows a link.
func navigates(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// sessions is what stands in a path before the key of a session.
const sessions = "/s/"

// sessionPath is what all paths of a session begin with.
func (c *Console) sessionPath(key string) string { return c.options.Path + sessions + key }

// split takes a path of the page apart: the key of a session, "" if there is none, and the path within it.
func (c *Console) split(p string) (key, rest string) {
	rest = strings.TrimPrefix(p, c.options.Path)
	if inside, ok := strings.CutPrefix(rest, sessions); ok {
		key, rest, _ = strings.Cut(inside, "/")
		return key, "/" + rest
	}
	return "", rest
}

// keyed is under which the context of a request has the key of its path.
type keyed struct{}

func keyOf(r *http.Request) string {
	key, _ := r.Context().Value(keyed{}).(string)
	return key
}

// base is what the paths of the page begin with for whoever sends a request.
func (c *Console) base(r *http.Request) string {
	if key := keyOf(r); key != "" {
		return c.sessionPath(key)
	}
	return c.options.Path
}

// A power is what a request can do for whoever has a session.
type power int

const (
	// widens is the zero value: a request may write rules or start something, and wants a fresh proof of the person.
	widens power = iota
	// answers is a person's answer to a question that a program asked.
	answers
	// narrows takes something away.
	narrows
	// reads changes nothing.
	reads
)

// A route is a path of a session, and what a request to it can do.
type route struct {
	method, path string
	power        power
	token        bool    // a token that answers reaches it too, without a session
	page         page    // nil where it widens
	prepare      prepare // where it widens
}

// inside are all paths that a session has.
func (c *Console) inside() []route {
	get := func(path string, p page) route { return route{"GET", path, reads, false, p, nil} }
	post := func(path string, w power, p page) route { return route{"POST", path, w, false, p, nil} }
	wide := func(path string, p prepare) route { return route{"POST", path, widens, false, nil, p} }
	token := func(x route) route { x.token = true; return x }
	return []route{
		get("/{$}", c.showPending),
		get("/ask/{id}", c.showAsk),
		get("/history", c.showHistory),
		get("/run/{run}", c.showRun),
		get("/grants", c.showGrants),
		get("/rules", c.showRules),
		post("/answer", answers, c.answerForm),
		wide("/answer/propose", c.answerAndPropose),
		post("/grants/revoke", narrows, c.revoke),
		post("/rules/validate", reads, c.validateRules),
		wide("/rules/save", c.saveRules),
		wide("/rules/propose", c.proposeRule),
		wide("/rules/session", c.makeSession),
		post("/logout", narrows, c.logout),

		get("/api/session", c.apiSession),
		token(get("/api/pending", c.apiPending)),
		token(get("/api/pending/{id}", c.apiAsk)),
		token(get("/api/events", c.apiEvents)),
		token(get("/api/entries", c.apiEntries)),
		token(get("/api/grants", c.apiGrants)),
		token(post("/api/answer", answers, c.apiAnswer)),
		token(post("/api/grants/revoke", narrows, c.revoke)),
		wide("/api/answer/propose", c.apiAnswerAndPropose),
	}
}

// routes are all paths there are. Those of a session are there without its key as well, where they ask for a login.
func (c *Console) routes() http.Handler {
	before, after := http.NewServeMux(), http.NewServeMux()
	before.HandleFunc("GET /static/{file}", static)
	before.HandleFunc("GET /login", c.showLogin)
	before.HandleFunc("POST /login", c.login)
	for _, x := range c.inside() {
		page := x.page
		if x.power == widens {
			page = c.proved(x.prepare)
		}
		if x.method == http.MethodPost {
			page = c.change(page)
		}
		person := c.forPerson(page)
		after.HandleFunc(x.method+" "+x.path, func(w http.ResponseWriter, r *http.Request) {
			if keyOf(r) == "" && isAPI(r) && bearer(r) != "" && c.options.Bearer != nil {
				c.byToken(w, r, &x)
				return
			}
			person(w, r)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		below, ok := strings.CutPrefix(r.URL.Path, c.options.Path)
		switch {
		case !ok || below != "" && below[0] != '/':
			http.NotFound(w, r)
			return
		case below == "":
			http.Redirect(w, r, c.options.Path+"/", http.StatusSeeOther)
			return
		}
		key, rest := c.split(r.URL.Path)
		inner := r.WithContext(context.WithValue(r.Context(), keyed{}, key))
		u := *r.URL
		u.Path = rest
		inner.URL = &u
		mux := after
		if rest == "/login" || strings.HasPrefix(rest, "/static/") {
			mux = before
		}
		if mux == before && key != "" {
			http.NotFound(w, r)
			return
		}
		mux.ServeHTTP(w, inner)
	})
}

// A page is a handler for somebody who has logged in.
type page func(w http.ResponseWriter, r *http.Request, s *session)

// forPerson lets those in who have a session.
func (c *Console) forPerson(next page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := c.session(r)
		switch {
		case s != nil:
			c.rooms.read(s) // who asks for anything is there
			next(w, r, s)
		case r.Method == http.MethodGet && !isAPI(r):
			w.WriteHeader(http.StatusUnauthorized)
			c.renderLogin(w, r.URL.RequestURI(), "")
		default:
			c.fail(w, r, http.StatusUnauthorized, "log in first, with the link that codemode console prints")
		}
	}
}

// change lets through what comes with the token of the session, as a form or as JSON.
func (c *Console) change(next page) page {
	return func(w http.ResponseWriter, r *http.Request, s *session) {
		token := r.Header.Get("X-CSRF-Token")
		switch kind := mediaType(r); {
		case kind == "application/json":
		case kind == "application/x-www-form-urlencoded":
			if err := r.ParseForm(); err != nil {
				c.fail(w, r, http.StatusBadRequest, "the form cannot be read")
				return
			}
			if token == "" {
				token = r.PostForm.Get("csrf")
			}
			if err := repeated(r.PostForm); err != nil {
				c.fail(w, r, http.StatusBadRequest, "the form cannot be read")
				return
			}
			for _, values := range r.PostForm {
				for i := range values {
					values[i] = lineEnds.Replace(values[i])
				}
			}
		default:
			c.fail(w, r, http.StatusUnsupportedMediaType, "send a form or JSON")
			return
		}
		if !s.mayChange(token) {
			c.fail(w, r, http.StatusForbidden, "the request does not come from an open page: load the page again")
			return
		}
		next(w, r, s)
	}
}

// lineEnds gives lines one kind of end: browsers send CR and LF for each.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func mediaType(r *http.Request) string {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// wantsJSON reports whether whoever asks reads JSON: a front end, or the script of a page.
func wantsJSON(r *http.Request) bool {
	return isAPI(r) || r.Header.Get("Accept") == "application/json" || mediaType(r) == "application/json"
}
