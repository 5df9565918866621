package main

import (
	"bytes"
	"crypto/subtle"
	_ "embed"
	"errors"
	"html/template"
	"log"
	"net/http"
	"strconv"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

//go:embed page.html
var pageText string

// pages escape whatever is put into them, by its place in the HTML.
var pages = template.Must(template.New("").Parse(pageText))

// longestForm is how large a form may be, in bytes.
const longestForm = 300 << 10

// handler serves the pages. A request that changes something must come from a page of ours: browsers say where a
// request comes from, and http.CrossOriginProtection refuses what another site made them send. The ID and the digest of
// a question, which another site cannot read, protect answers a second time.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.as(home))
	mux.HandleFunc("POST /run", s.as(s.postRun))
	mux.HandleFunc("GET /asks/{id}", s.as(ask))
	mux.HandleFunc("POST /asks/{id}", s.as(answer))
	own := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != s.host { // a name of somebody else's that leads to this machine
			http.Error(w, "this is "+s.host, http.StatusMisdirectedRequest)
			return
		}
		h := w.Header()
		// No script, no frame, nothing of other sites: even a mistake in a page could not become more than text.
		h.Set("Content-Security-Policy",
			"default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, longestForm)
		own.ServeHTTP(w, r)
	})
}

// as finds out who sends a request. A service has its own login in this place.
func (s *service) as(f func(http.ResponseWriter, *http.Request, *user)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		u := s.users[name]
		if u == nil || subtle.ConstantTimeCompare([]byte(u.password), []byte(password)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="webasks"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		f(w, r, u)
	}
}

// home shows the questions and the runs of a user.
func home(w http.ResponseWriter, _ *http.Request, u *user) {
	type line struct{ ID, Summary string }
	var view struct {
		User, Program string
		Asks          []line
		Runs          []run
		Wait          bool // something runs, and nobody is asked: look again soon
	}
	view.User, view.Program = u.name, program
	for _, open := range u.seat.Pending() {
		l := line{open.Request.ID, prompt.Summary(open.Request)}
		if q := open.Request.Inquiry; q != nil {
			l.Summary = q.Rendered().Question
		}
		view.Asks = append(view.Asks, l)
	}
	u.mu.Lock()
	for _, r := range u.runs {
		view.Runs = append(view.Runs, *r)
		view.Wait = view.Wait || r.Text == "" && len(view.Asks) == 0
	}
	u.mu.Unlock()
	render(w, "home", view)
}

func (s *service) postRun(w http.ResponseWriter, r *http.Request, u *user) {
	code := r.PostFormValue("code")
	switch {
	case code == "":
		http.Error(w, "there is no program", http.StatusBadRequest)
	case !s.start(u, code):
		http.Error(w, "too many of your programs run already", http.StatusTooManyRequests)
	default:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

// ask shows one question. Seat.Show gives all of it: nothing is cut or masked, and whatever the program put into the
// arguments is visible characters.
func ask(w http.ResponseWriter, r *http.Request, u *user) {
	q, err := u.seat.Request(r.PathValue("id"))
	if err != nil {
		gone(w, err)
		return
	}
	view, err := u.seat.Show(prompt.RenderOptions{Width: 100}, q.ID)
	if err != nil {
		gone(w, err)
		return
	}
	var inquiry *prompt.Inquiry // a question in the program's own words: its answer allows nothing
	if q.Inquiry != nil {
		inquiry = q.Inquiry.Rendered()
	}
	render(w, "ask", map[string]any{"User": u.name, "Text": view.Text(), "ID": q.ID, "Digest": q.Digest,
		"Inquiry": inquiry, "NeedsCode": q.Risk.Grave()})
}

// answer passes on what the person decided. The digest says which question they saw.
func answer(w http.ResponseWriter, r *http.Request, u *user) {
	var a call.Answer
	switch r.PostFormValue("answer") {
	case "yes":
		a.Allowed, a.Text = true, r.PostFormValue("text")
	case "no":
		a.Reason = r.PostFormValue("reason")
	default:
		http.Error(w, "that is neither yes nor no", http.StatusBadRequest)
		return
	}
	for _, option := range r.PostForm["option"] {
		n, err := strconv.Atoi(option)
		if err != nil {
			http.Error(w, "an option is a number", http.StatusBadRequest)
			return
		}
		a.Selected = append(a.Selected, n)
	}
	err := u.seat.Answer(r.PathValue("id"), r.PostFormValue("digest"), r.PostFormValue("code"), a)
	switch {
	case errors.Is(err, approvals.ErrTaken):
		gone(w, err)
	case err != nil: // such as a wrong code; the question stays open
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

func gone(w http.ResponseWriter, err error) { http.Error(w, err.Error(), http.StatusNotFound) }

func render(w http.ResponseWriter, name string, view any) {
	var page bytes.Buffer
	if err := pages.ExecuteTemplate(&page, name, view); err != nil {
		log.Print(err)
		http.Error(w, "the page cannot be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = page.WriteTo(w)
}
