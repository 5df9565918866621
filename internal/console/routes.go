package console

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/codemode-project/codemode/internal/console/signin"
)

// sessionPrefix precedes the key of a session in a path.
const sessionPrefix = "/s/"

// sessionPath is the prefix of all paths of a session.
func (c *Console) sessionPath(key string) string { return c.options.Path + sessionPrefix + key }

// split separates a path of the page into the key of a session, "" if there is none, and the path within the session.
func (c *Console) split(p string) (key, rest string) {
	rest = strings.TrimPrefix(p, c.options.Path)
	if inside, ok := strings.CutPrefix(rest, sessionPrefix); ok {
		key, rest, _ = strings.Cut(inside, "/")
		return key, "/" + rest
	}
	return "", rest
}

// keyValue is the name of the path value that holds the key of the session.
const keyValue = "session"

func keyOf(r *http.Request) string { return r.PathValue(keyValue) }

// base is the prefix of the page's paths for the client of a request.
func (c *Console) base(r *http.Request) string {
	if key := keyOf(r); key != "" {
		return c.sessionPath(key)
	}
	return c.options.Path
}

// A power says what a request can do for the holder of a session.
type power int

const (
	// widens is the zero value: a request may write rules or start something, and wants a fresh proof of the person.
	widens power = iota
	// answers is a person's answer to a program's question.
	answers
	// narrows revokes something.
	narrows
	// arranges changes what programs have left for later ones, as clients may do themselves. It permits nothing.
	arranges
	// reads changes nothing.
	reads
)

// A route is a path of a session, with the power of a request to it, and the roles that it is for. Sessions of login
// links have every role: [Options.Admin] says who of them may change the rules.
type route struct {
	method, path string
	power        power
	roles        signin.Roles // a signed-in person needs one of them; without any the route serves nobody
	token        bool         // an answering token may use it too, without a session
	page         page         // nil where it widens
	prepare      prepare      // where it widens
}

// asJSON is the page that writes what load returns.
func asJSON[T any](load func(*http.Request, *session) (T, error)) page {
	return func(w http.ResponseWriter, r *http.Request, s *session) error {
		v, err := load(r, s)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, v)
	}
}

// inside lists all paths of a session. Their handlers are in page_<subject>.go, answer.go, fresh.go and events.go. One
// that shows a page names its template to render.
func (c *Console) inside() []route {
	const (
		answering = signin.Approver
		reading   = signin.Auditor
		ruling    = signin.Admin
		either    = answering | reading
		anybody   = signin.All
	)
	get := func(path string, of signin.Roles, p page) route {
		return route{method: "GET", path: path, power: reads, roles: of, page: p}
	}
	post := func(path string, w power, of signin.Roles, p page) route {
		return route{method: "POST", path: path, power: w, roles: of, page: p}
	}
	wide := func(path string, p prepare) route {
		return route{method: "POST", path: path, roles: ruling, prepare: p}
	}
	token := func(x route) route { x.token = true; return x }
	book := rulePages{c}.rulePages()
	return []route{
		get("/{$}", answering, questions{c}.showPending),
		get("/ask/{id}", answering, questions{c}.showAsk),
		get(provePath+"{id}", answering, door{c}.prove),
		get("/running", reading, runPages{c}.showRunning),
		get("/sessions", reading, sessionPages{c}.showSessions),
		get("/sessions/{id}", reading, sessionPages{c}.showSession),
		get("/sessions/{id}/{action}", ruling, sessionPages{c}.askSession),
		get("/servers", reading, serverPages{c}.showServers),
		get("/records/{kind}", reading, recordPages{c}.showRecords),
		get("/history", reading, recordPages{c}.showHistory),
		get("/run/{run}", reading, recordPages{c}.showRun),
		get("/grants", either, recordPages{c}.showGrants),
		get(accountsPath, anybody, accountPages{c}.showAccounts),
		get("/rules", ruling, rulePages{c}.showRules),
		post("/answer", answers, answering, replies{c}.answerForm),
		wide("/answer/propose", replies{c}.answerAndPropose),
		post("/grants/revoke", narrows, answering, recordPages{c}.revoke),
		post("/sessions/{id}/{action}", arranges, ruling, sessionPages{c}.changeSession),
		post("/rules/validate", reads, ruling, rulePages{c}.validateRules),
		wide("/rules/save", rulePages{c}.saveRules),
		wide("/rules/propose", rulePages{c}.proposeRule),
		wide("/rules/session", rulePages{c}.makeSession),
		post("/rules/session/end", narrows, ruling, rulePages{c}.endRoleSession),
		get("/rules/profile/{name}", ruling, rulePages{c}.ofBook(book.ShowProfile)),
		get("/rules/overlays", ruling, rulePages{c}.ofBook(book.ShowOverlays)),
		post("/rules/explain", reads, ruling, rulePages{c}.ofBook(book.ShowAnswer)),
		post("/rules/preview", reads, ruling, rulePages{c}.ofBook(book.ShowPreview)),
		post("/servers/reconnect", narrows, ruling, serverPages{c}.reconnect),
		wide("/servers/accept", serverPages{c}.acceptTool),
		post(accountsPath+"/connect", arranges, anybody, accountPages{c}.connectAccount),
		post(accountsPath+"/disconnect", narrows, anybody, accountPages{c}.disconnectAccount),
		post("/logout", narrows, anybody, door{c}.logout),

		get("/api/session", anybody, door{c}.apiSession),
		get("/api/openapi.json", anybody, apiDescription),
		token(get("/api/pending", answering, questions{c}.apiPending)),
		token(get("/api/pending/{id}", answering, questions{c}.apiAsk)),
		token(get("/api/events", either, c.apiEvents)),
		token(get("/api/entries", reading, recordPages{c}.apiEntries)),
		token(get("/api/entries/events", reading, recordPages{c}.apiEntryEvents)),
		token(get("/api/grants", either, recordPages{c}.apiGrants)),
		token(post("/api/answer", answers, answering, replies{c}.apiAnswer)),
		token(post("/api/grants/revoke", narrows, answering, recordPages{c}.revoke)),
		post("/api/logout", narrows, anybody, door{c}.logout),
		get("/api/running", reading, asJSON(runPages{c}.running)),
		get("/api/sessions", reading, asJSON(sessionPages{c}.listSessions)),
		get("/api/sessions/{id}", reading, asJSON(sessionPages{c}.describeSession)),
		post("/api/sessions/{id}/{action}", arranges, ruling, sessionPages{c}.changeSession),
		get("/api"+accountsPath, anybody, accountPages{c}.apiAccounts),
		post("/api"+accountsPath+"/connect", arranges, anybody, accountPages{c}.connectAccount),
		post("/api"+accountsPath+"/disconnect", narrows, anybody, accountPages{c}.disconnectAccount),
		get("/api/servers", reading, serverPages{c}.apiServers),
		post("/api/servers/reconnect", narrows, ruling, serverPages{c}.reconnect),
		wide("/api/servers/accept", serverPages{c}.acceptTool),
		wide("/api/answer/propose", replies{c}.apiAnswerAndPropose),

		get("/api/rules", ruling, rulePages{c}.bookAPI(book.AnswerRules)),
		get("/api/rules/profiles/{name}", ruling, rulePages{c}.bookAPI(book.AnswerProfile)),
		get("/api/rules/overlays", ruling, rulePages{c}.bookAPI(book.AnswerOverlays)),
		post("/api/rules/explain", reads, ruling, rulePages{c}.bookAPI(book.AnswerQuestion)),
		post("/api/rules/preview", reads, ruling, rulePages{c}.bookAPI(book.AnswerPreview)),
		wide("/api/rules/save", rulePages{c}.apiSave),
		wide("/api/rules/propose", rulePages{c}.proposeRule),
		wide("/api/rules/session", rulePages{c}.makeSession),
		get("/api/rules/sessions", ruling, rulePages{c}.apiRoleSessions),
		post("/api/rules/session/end", narrows, ruling, rulePages{c}.endRoleSession),
	}
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
	before.HandleFunc("GET "+connectedPath, func(w http.ResponseWriter, r *http.Request) {
		c.answer(w, r, accountPages{c}.accountConnected(w, r))
	})
	before.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) { c.answer(w, r, door{c}.login(w, r)) })
	for _, x := range c.inside() {
		page := x.page
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
			rest == connectedPath {
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

// A page is a handler for a logged-in person. Its error says why it did not answer; see [Console.answer].
type page func(w http.ResponseWriter, r *http.Request, s *session) error

// A refusal is an error for the client of a request.
type refusal struct {
	status int
	why    string
}

func (e *refusal) Error() string { return e.why }

func refuse(status int, why string) error { return &refusal{status, why} }

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

var (
	errForm      = refuse(http.StatusBadRequest, "the form cannot be read")
	errMediaType = refuse(http.StatusUnsupportedMediaType, "send a form or JSON")
	errNotJSON   = refuse(http.StatusUnsupportedMediaType, "send JSON")
	// errOtherMedia is for the changes that are a page for people who send a form.
	errOtherMedia = refuse(http.StatusUnsupportedMediaType,
		"send JSON to the paths below /api, and forms to the others")
)

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

func readForm(r *http.Request) error {
	if r.ParseForm() != nil {
		return errForm
	}
	return nil
}

// lineEnds gives lines one kind of end: browsers send CR and LF for each.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func mediaType(r *http.Request) string {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// wantsJSON reports whether the client reads JSON: a front end, or the script of a page.
func wantsJSON(r *http.Request) bool {
	return isAPI(r) || r.Header.Get("Accept") == "application/json" || mediaType(r) == "application/json"
}
