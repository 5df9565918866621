package console

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/console/editor"
	"github.com/codemode-project/codemode/internal/console/records"
	"github.com/codemode-project/codemode/internal/console/rules"
	"github.com/codemode-project/codemode/internal/console/servers"
	"github.com/codemode-project/codemode/internal/console/text"
)

//go:embed static
var assets embed.FS

//go:embed templates
var sources embed.FS

// templates parses the templates at the first page, so that other commands do not wait for it.
var templates = sync.OnceValue(parse)

func parse() map[string]*template.Template {
	functions := template.FuncMap{
		"age": text.Age, "clock": text.Clock, "until": text.Until, "zone": text.Zone, "decider": records.Decider,
		"iso":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"word": word, "lines": text.Lines, "short": text.Short,
		"json":    func(raw json.RawMessage) []prompt.Span { return text.Lines(text.Editable(raw)) },
		"heading": func(name string) string { return prompt.Heading(&prompt.Request{Name: name}) },
		"one":     func(v any, a *asked) askIn { return askIn{Page: v, Ask: a} },
		"row":     func(v any, a *asked, atOnce bool) askIn { return askIn{Page: v, Ask: a, AtOnce: atOnce} },
		"whole":   func(v any, a *asked) askIn { return askIn{Page: v, Ask: a, Whole: true} },
		"in":      func(v any, one *answeredView) givenIn { return givenIn{v, one} },
		"table":   func(v any, rows []records.Row) rowsIn { return rowsIn{v, rows} },
		"size":    text.Size, "ends": ends,
		"tableIn":    func(page any, t *rules.Table) tableIn { return tableIn{page, t} },
		"short_path": filepath.Base, "inText": text.InText,
		"sessionIn": func(base string, record bool, v any) sessionIn { return sessionIn{base, record, v} },
		"since":     func() []records.Ago { return records.Since },
		"brief":     brieflyOf,
		"runIn":     func(v any, run string) runIn { return runIn{v, run} },
	}
	all := map[string]*template.Template{}
	pages, _ := fs.Glob(sources, "templates/*.html") // the pattern is valid
	for _, file := range pages {
		switch name := strings.TrimSuffix(path.Base(file), ".html"); name {
		case "frame", "parts", "rule_parts":
		default:
			all[name] = template.Must(template.New("frame.html").Funcs(functions).ParseFS(sources, "templates/frame.html",
				"templates/parts.html", "templates/rule_parts.html", file))
		}
	}
	return all
}

// rowsIn are entries inside of a page.
type rowsIn struct {
	Page any
	Rows []records.Row
}

// tableIn is a table of rules inside of a page.
type tableIn struct {
	Page  any
	Table *rules.Table
}

// runIn is the name of a run inside of a page.
type runIn struct {
	Page any
	Run  string
}

// brieflyOf is the beginning of a change, for a list.
func brieflyOf(diff []string) (of struct {
	Lines []string
	Whole bool
}) {
	of.Lines, of.Whole = servers.Brief(diff)
	return of
}

// sessionIn is the program of a session inside of a page; Row has a sessionRow.
type sessionIn struct {
	Base   string
	Record bool
	Row    any
}

// givenIn is an answer inside of a page.
type givenIn struct {
	Page any
	One  *answeredView
}

// askIn is a question inside of a page.
type askIn struct {
	Page   any
	Ask    *asked
	Whole  bool // it is the page of this question
	AtOnce bool // its group shows for whom and until when
}

// render writes a whole page or nothing. Like the other functions that answer, it returns nil, for handlers to return.
func (c *Console) render(w http.ResponseWriter, name string, data any) error {
	var page bytes.Buffer
	if err := templates()[name].Execute(&page, data); err != nil {
		c.log.Error("writing a page failed", "page", name, "error", err)
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return nil
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = page.WriteTo(w) // the client is gone
	return nil
}

// static serves the scripts, the style and the picture.
func static(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	data := editor.File(name)
	if data == nil {
		data, _ = assets.ReadFile("static/" + name)
	}
	if data == nil {
		http.Error(w, "there is nothing under that path", http.StatusNotFound)
		return
	}
	kinds := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
		".svg": "image/svg+xml", ".json": "application/json"}
	w.Header().Set("Content-Type", kinds[path.Ext(name)])
	w.Header().Set("Cache-Control", "private, max-age=60")
	_, _ = w.Write(data)
}

// A frame surrounds the content of every page.
type frame struct {
	Title    string
	Home     string // path of the page before the login
	Base     string // prefix of paths: Home before the login, then the path of the session
	Person   string // "" before the login
	Confirm  string // the command that prints codes for the person's changes
	CSRF     string
	Here     string // which part of the page
	Notices  []notice
	Waiting  int
	Answers  bool // the person may answer
	Admin    bool
	Record   bool
	Running  bool
	Sessions bool
	Servers  bool
	Grants   bool
	Accounts bool
}

// bareFrame begins a page for a client without a session.
func (c *Console) bareFrame(title string) frame {
	return frame{Title: title, Home: c.options.Path, Base: c.options.Path}
}

// frame begins a page.
func (c *Console) frame(r *http.Request, s *session, here, title string) frame {
	return frame{
		Title: title, Home: c.options.Path, Base: c.base(r), Person: s.person, CSRF: s.csrf, Here: here, Notices: s.said(r),
		Confirm: c.confirmCommand(s.person),
		Waiting: len(questions{c}.pending(s)),
		Answers: c.opens(s, "/{$}"), Admin: c.changesRules(s), Record: c.options.Record != nil && c.opens(s, "/history"),
		Grants: c.options.Grants != nil && c.opens(s, "/grants"), Running: c.options.Runs != nil && c.opens(s, "/running"),
		Sessions: c.options.Sessions != nil && c.opens(s, "/sessions"), Servers: c.seesServers(s) && c.opens(s, "/servers"),
		Accounts: c.options.Accounts != nil && c.options.Accounts.Any(),
	}
}

// opens reports whether a session may open the page of a path.
func (c *Console) opens(s *session, path string) bool { return c.roles[path].Has(s.roles) }

type problemView struct {
	frame
	Code    int
	Problem string
}

// fail reports a failed request, as JSON or as a page.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, code int, why string) {
	if wantsJSON(r) {
		_ = writeJSON(w, code, map[string]any{"ok": false, "error": why})
		return
	}
	v := &problemView{frame: c.bareFrame("Not done"), Code: code, Problem: why}
	if s := c.session(r); s != nil {
		v.frame = c.frame(r, s, "", "Not done")
	}
	w.WriteHeader(code)
	_ = c.render(w, "problem", v)
}

// redirect sends the client to a page of the session. The page reports what happened.
func (c *Console) redirect(w http.ResponseWriter, r *http.Request, s *session, path string, bad bool,
	said string) error {
	http.Redirect(w, r, c.base(r)+path+s.say(bad, said), http.StatusSeeOther)
	return nil
}

// acknowledge says that something was done, as JSON or on a page.
func (c *Console) acknowledge(w http.ResponseWriter, r *http.Request, s *session, path, said string) error {
	if wantsJSON(r) {
		return writeJSON(w, http.StatusOK, map[string]any{"ok": true, "said": said})
	}
	return c.redirect(w, r, s, path, false, said)
}
