package console

import (
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
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
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
		if code, why := c.foreign(r); code != 0 {
			c.log.Debug("a request to the console was turned away", "because", why, "status", code)
			http.Error(w, why, code)
			return
		}
		limit := int64(maxBody)
		if name := strings.TrimPrefix(r.URL.Path, c.options.Path); name == "/answer" || name == "/api/answer" || name == "/rules" {
			limit = maxAnswer
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

// foreign says why a request is not from a page of ours; 0 is that it may be.
func (c *Console) foreign(r *http.Request) (code int, why string) {
	here := slices.IndexFunc(c.options.Origins, func(origin string) bool {
		u, err := url.Parse(origin)
		return err == nil && strings.EqualFold(u.Host, r.Host)
	})
	change := r.Method != http.MethodGet && r.Method != http.MethodHead
	site, origin := r.Header.Values("Sec-Fetch-Site"), r.Header.Values("Origin")
	sameOrigin := len(site) == 1 && site[0] == "same-origin"
	switch {
	case here < 0:
		return http.StatusForbidden, "this page is not served under that host"
	case len(site) > 1 || len(origin) > 1:
		return http.StatusForbidden, "the request says twice where it comes from"
	case change && r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "only GET and POST are known here"
	case len(site) == 1 && !sameOrigin && !(site[0] == "none" && !change) && !(navigates(r) && !change):
		return http.StatusForbidden, "the request comes from another site"
	case len(origin) == 1 && origin[0] == "null" && sameOrigin && change:
		// What browsers say of a form on a page that sends no referrer.
	case len(origin) == 1 && !slices.Contains(c.options.Origins, strings.ToLower(origin[0])):
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

// routes are all paths there are.
func (c *Console) routes() http.Handler {
	mux := http.NewServeMux()
	get := func(path string, h http.HandlerFunc) { mux.HandleFunc("GET "+c.options.Path+path, h) }
	person := func(path string, h page) { get(path, c.forPerson(h)) }
	post := func(path string, h page) { mux.HandleFunc("POST "+c.options.Path+path, c.forPerson(c.change(h))) }
	get("/static/{file}", static)
	get("/login", c.showLogin)
	mux.HandleFunc("POST "+c.options.Path+"/login", c.login)

	person("/{$}", c.showPending)
	person("/ask/{id}", c.showAsk)
	person("/history", c.showHistory)
	person("/run/{run}", c.showRun)
	person("/grants", c.showGrants)
	person("/rules", c.showRules)
	post("/answer", c.answerForm)
	post("/grants/revoke", c.revoke)
	post("/rules", c.changeRules)
	post("/logout", c.logout)

	person("/api/session", c.apiSession)
	person("/api/pending", c.apiPending)
	person("/api/pending/{id}", c.apiAsk)
	person("/api/events", c.apiEvents)
	person("/api/entries", c.apiEntries)
	person("/api/grants", c.apiGrants)
	post("/api/answer", c.apiAnswer)
	if c.options.Path != "" {
		get("", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, c.options.Path+"/", http.StatusSeeOther)
		})
	}
	return mux
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
		case r.Method == http.MethodGet && !c.isAPI(r):
			w.WriteHeader(http.StatusUnauthorized)
			c.render(w, "login", &loginView{frame: frame{Title: "Log in", Base: c.options.Path}})
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

func mediaType(r *http.Request) string {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func (c *Console) isAPI(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, c.options.Path+"/api/")
}

// wantsJSON reports whether whoever asks reads JSON: a front end, or the script of a page.
func (c *Console) wantsJSON(r *http.Request) bool {
	return c.isAPI(r) || r.Header.Get("Accept") == "application/json" || mediaType(r) == "application/json"
}
