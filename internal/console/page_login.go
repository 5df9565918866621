package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// Link makes a login link for a person: it opens the page once, within ten minutes. Show it to that person alone, and
// store it nowhere.
func (c *Console) Link(person string) string {
	return c.options.Origins[0] + c.options.Path + "/login#" + c.links.Add(person, time.Now())
}

type loginView struct {
	frame
	Problem string
	SignIn  string // the name of the identity provider; "" is none
	To      string // the page to open after the login, such as "/rules?profile=p"; "" is the list of questions
}

func (c door) showLogin(w http.ResponseWriter, _ *http.Request) { _ = c.renderLogin(w, "", "") }

func (c door) renderLogin(w http.ResponseWriter, to, problem string) error {
	return c.render(w, "login", &loginView{frame: c.bareFrame("Log in"), SignIn: c.provider(), To: to, Problem: problem})
}

// longestTo bounds loginView.To, in bytes.
const longestTo = 4 << 10

// onward is the page to open after a login. It is always below the session's path, never on another site.
func onward(to string) string {
	u, err := url.Parse(to)
	if err != nil || len(to) > longestTo || !strings.HasPrefix(to, "/") || u.Host != "" || u.RawPath != "" ||
		!plainPath(u.Path) {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

// login exchanges a secret for a session.
func (c door) login(w http.ResponseWriter, r *http.Request) error {
	var secret, to string
	switch mediaType(r) {
	case "application/json":
		var said struct {
			Secret string `json:"secret"`
		}
		if err := readJSON(r, &said); err != nil {
			return err
		}
		secret = said.Secret
	case "application/x-www-form-urlencoded":
		if err := readForm(r); err != nil {
			return err
		}
		secret, to = r.PostForm.Get("secret"), r.PostForm.Get("to")
	default:
		return errMediaType
	}
	secret = strings.TrimSpace(secret)
	secret = secret[strings.LastIndexByte(secret, '#')+1:] // the person pasted the whole link
	person, ok := c.links.Use(secret, time.Now())
	if !ok {
		const why = "this link was used before, is older than ten minutes, or is not a login link"
		if c.links.Records(time.Now()) {
			c.noteRefused(r.Context(), call.Entry{Detail: "a login to the page with a wrong or used link"})
		}
		if wantsJSON(r) {
			return refuse(http.StatusForbidden, why)
		}
		w.WriteHeader(http.StatusForbidden)
		return c.renderLogin(w, to, why)
	}
	err := c.note(r.Context(), call.Entry{
		Kind: audit.Access, State: "admitted", Client: "console", Principal: person, Detail: "a login to the page",
	})
	if err != nil {
		return refuse(http.StatusInternalServerError, err.Error())
	}
	key, id, s := c.logins.open(person)
	c.logins.read(s)
	base := c.sessionPath(key)
	c.setCookie(w, r, base, id, c.options.Life)
	if wantsJSON(r) {
		return writeJSON(w, http.StatusOK, s.tell(c.Console, base))
	}
	http.Redirect(w, r, base+onward(to), http.StatusSeeOther)
	return nil
}

func (c door) logout(w http.ResponseWriter, r *http.Request, s *session) error {
	c.logins.end(s)
	c.setCookie(w, r, c.base(r), "", 0)
	if wantsJSON(r) {
		return writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
	}
	http.Redirect(w, r, c.options.Path+"/login", http.StatusSeeOther)
	return nil
}

// A Session is the response to GET /api/session.
type Session struct {
	Person  string    `json:"person"`
	Path    string    `json:"path"` // prefix of all paths of the session; as secret as its cookie
	CSRF    string    `json:"csrf"`
	Expires time.Time `json:"expires"` // at the latest
	// Roles are those of a person who has signed in; absent after a login link.
	Roles []string `json:"roles,omitempty"`
}

func (s *session) tell(c *Console, base string) Session {
	told := Session{Person: s.person, Path: base, CSRF: s.csrf, Expires: s.born.Add(c.options.Life)}
	if s.signedIn {
		told.Roles = s.roles.Names()
	}
	return told
}

func (c door) apiSession(w http.ResponseWriter, r *http.Request, s *session) error {
	return writeJSON(w, http.StatusOK, s.tell(c.Console, c.base(r)))
}
