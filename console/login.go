package console

import (
	"net/http"
	"strings"
	"time"

	"github.com/codemode-project/codemode/audit"
)

type loginView struct {
	frame
	Problem string
}

func (c *Console) showLogin(w http.ResponseWriter, r *http.Request) {
	c.render(w, "login", &loginView{frame: frame{Title: "Log in", Base: c.options.Path}})
}

// login exchanges a secret for a session.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	var secret string
	switch mediaType(r) {
	case "application/json":
		var said struct {
			Secret string `json:"secret"`
		}
		if err := readJSON(r, &said); err != nil {
			c.fail(w, r, http.StatusBadRequest, err.Error())
			return
		}
		secret = said.Secret
	case "application/x-www-form-urlencoded":
		if err := r.ParseForm(); err != nil {
			c.fail(w, r, http.StatusBadRequest, "the form cannot be read")
			return
		}
		secret = r.PostForm.Get("secret")
	default:
		c.fail(w, r, http.StatusUnsupportedMediaType, "send a form or JSON")
		return
	}
	secret = strings.TrimSpace(secret)
	if at := strings.LastIndexByte(secret, '#'); at >= 0 { // somebody pasted the whole link
		secret = secret[at+1:]
	}
	person, ok, busy := c.links.take(secret, time.Now())
	if !ok {
		code, why := http.StatusForbidden, "this link was used before, is older than ten minutes, or is none"
		if busy {
			code, why = http.StatusTooManyRequests, "there were too many wrong codes; wait a few seconds"
			w.Header().Set("Retry-After", "20")
		} else if err := c.note(r.Context(), audit.Entry{Kind: audit.Access, State: "refused", Client: "console", Detail: "a login to the page with a wrong or used link"}); err != nil {
			c.log.Debug("a refused login was not recorded", "error", err)
		}
		if c.wantsJSON(r) {
			c.fail(w, r, code, why)
			return
		}
		w.WriteHeader(code)
		c.render(w, "login", &loginView{frame{Title: "Log in", Base: c.options.Path}, why})
		return
	}
	if err := c.note(r.Context(), audit.Entry{Kind: audit.Access, State: "admitted", Client: "console", Principal: person, Detail: "a login to the page"}); err != nil {
		c.fail(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	if old := c.session(r); old != nil {
		c.rooms.end(old)
	}
	id, s := c.rooms.enter(person)
	c.rooms.read(s)
	c.setCookie(w, r, id, c.options.Life)
	if c.wantsJSON(r) {
		writeJSON(w, http.StatusOK, s.tell(c))
		return
	}
	http.Redirect(w, r, c.options.Path+"/", http.StatusSeeOther)
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request, s *session) {
	c.rooms.end(s)
	c.setCookie(w, r, "", 0)
	if c.wantsJSON(r) {
		writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
		return
	}
	http.Redirect(w, r, c.options.Path+"/login", http.StatusSeeOther)
}

// A Session is what GET /api/session gives.
type Session struct {
	Person  string    `json:"person"`
	CSRF    string    `json:"csrf"`
	Expires time.Time `json:"expires"` // at the latest
}

func (s *session) tell(c *Console) Session {
	return Session{Person: s.person, CSRF: s.csrf, Expires: s.born.Add(c.options.Life)}
}

func (c *Console) apiSession(w http.ResponseWriter, _ *http.Request, s *session) {
	writeJSON(w, http.StatusOK, s.tell(c))
}
