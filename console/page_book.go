package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/console/rules"
)

// ruled serves a page to people who look after the rules, if there is a book of them.
func (c *Console) ruled(next page) page {
	return func(w http.ResponseWriter, r *http.Request, s *session) error {
		if err := c.mayChangeRules(s); err != nil {
			return err
		}
		if c.options.Book == nil {
			return errNoBook
		}
		return next(w, r, s)
	}
}

// proposed is ruled for a change.
func (c *Console) proposed(next prepare) prepare {
	return func(w http.ResponseWriter, r *http.Request, s *session) (ch *change, err error) {
		err = c.ruled(func(w http.ResponseWriter, r *http.Request, s *session) (err error) {
			ch, err = next(w, r, s)
			return err
		})(w, r, s)
		return ch, err
	}
}

var errNoBook = refuse(http.StatusNotFound, "the rules are not shown here")

// A bookView shows tables of rules.
type bookView struct {
	frame
	Tables   []*rules.Table
	Name     string            // of the profile; "" for overlays
	Editable map[string]bool   // files that may be changed here
	Digests  map[string]string // of the files
	Ask      rules.Question    // the form beside the table
	Args     string
	Answer   *rules.Answer
	Decides  string // the place of the rule that decides the question, file:line:column
	Problem  string
	Lists    []string
}

// lists are the lists of rules, in the order in which they decide.
var lists = []string{"denylist", "asklist", "allowlist"}

func (c *Console) bookView(r *http.Request, s *session, title string, tables ...*rules.Table) *bookView {
	v := &bookView{frame: c.frame(r, s, "rules", title), Tables: tables, Editable: map[string]bool{},
		Digests: map[string]string{}, Lists: lists}
	files, _ := c.options.Rules.Files()
	for _, f := range files {
		v.Editable[f.Path], v.Digests[f.Path] = f.Editable, f.Digest
	}
	return v
}

func (c *Console) showProfile(w http.ResponseWriter, r *http.Request, s *session) error {
	profile := r.PathValue("name")
	t := c.options.Book.Profile(r.Context(), profile)
	if t == nil {
		return refuse(http.StatusNotFound, "there is no such profile; it may have been removed")
	}
	v := c.bookView(r, s, "Profile "+t.Name, t)
	v.Name, v.Ask.Profile = t.Name, t.Name
	if tool := r.URL.Query().Get("tool"); len(tool) <= longestName && name.MatchString(tool) { // anybody may have written the link
		v.Ask.Tool = tool
	}
	return c.render(w, "profile", v)
}

func (c *Console) showOverlays(w http.ResponseWriter, r *http.Request, s *session) error {
	return c.render(w, "overlays", c.bookView(r, s, "Overlays", c.options.Book.Overlays(r.Context())...))
}

// explainCall says what would happen to a call, beside the table of its profile.
func (c *Console) explainCall(w http.ResponseWriter, r *http.Request, s *session) error {
	get := func(key string) string { return strings.TrimSpace(r.PostForm.Get(key)) }
	q := rules.Question{Profile: get("profile"), Tool: get("tool"), Principal: get("principal"), Session: get("of"),
		Role: get("role")}
	if args := get("args"); args != "" {
		q.Args = json.RawMessage(args)
	}
	t := c.options.Book.Profile(r.Context(), q.Profile)
	if t == nil {
		return refuse(http.StatusNotFound, "there is no such profile; it may have been removed")
	}
	v := c.bookView(r, s, "Profile "+t.Name, t)
	v.Name, v.Ask, v.Args = t.Name, q, inText(string(q.Args))
	answer, err := c.explained(q)
	if err != nil {
		v.Problem = err.Error()
		w.WriteHeader(http.StatusUnprocessableEntity)
	} else {
		v.Answer, v.Decides = answer, answer.Decides()
	}
	return c.render(w, "profile", v)
}

func (c *Console) explained(q rules.Question) (*rules.Answer, error) {
	if q.Tool == "" || len(q.Tool) > longestName {
		return nil, fmt.Errorf("name a tool, such as server__tool, in %d bytes at most", longestName)
	}
	return c.options.Book.Explain(q)
}

// An editView is the form of one rule.
type editView struct {
	frame
	Path, At, Digest string
	Line             string
	Rule, List       string
	Owner            string // profile or overlay
	Lists            []string
	Problem          string
}

// file returns one of the files that may be changed here.
func (c *Console) file(path string) (*RuleFile, error) {
	files, _ := c.options.Rules.Files()
	for i := range files {
		if files[i].Path == path && files[i].Editable {
			return &files[i], nil
		}
	}
	return nil, refuse(http.StatusNotFound, "this file cannot be changed here")
}

func (c *Console) showEdit(w http.ResponseWriter, r *http.Request, s *session) error {
	q := r.URL.Query()
	f, err := c.file(q.Get("path"))
	if err != nil {
		return err
	}
	rule, list, owner, err := rules.RuleAt(f.Text, q.Get("at"))
	if err != nil {
		return refuse(http.StatusNotFound, err.Error())
	}
	line, _, _ := strings.Cut(q.Get("at"), ":")
	return c.render(w, "rule_edit", &editView{Line: line, frame: c.frame(r, s, "rules", "Change a rule"), Path: f.Path, At: q.Get("at"),
		Digest: f.Digest, Rule: inText(rule), List: list, Owner: owner, Lists: lists})
}

// A previewView shows a new text of a file before it is saved.
type previewView struct {
	frame
	Path, Digest, Text string
	Why                string
	Preview            *rules.Preview
	Problem            string
}

// An edit is a change of one rule in a request. Either Rule or the parts of a rule are given, or neither.
type edit struct {
	Path   string `json:"path"`
	Digest string `json:"digest"` // that the file must still have
	rules.Edit
	When   string `json:"when"`   // of a new rule: conditions as JSON
	Reason string `json:"reason"` // of a new rule
	Tool   string `json:"tool"`   // of a new rule
}

// edited applies an edit to its file.
func (c *Console) edited(e *edit) (f *RuleFile, text string, err error) {
	if f, err = c.file(e.Path); err != nil {
		return nil, "", err
	}
	if f.Digest != e.Digest {
		return f, f.Text, errChanged
	}
	if e.At == "" && e.Rule == "" && !e.Remove {
		if e.Rule, err = (rules.NewRule{Tool: e.Tool, When: e.When, Reason: e.Reason}).JSON(); err != nil {
			return f, f.Text, err
		}
	}
	text, err = e.Apply(f.Text)
	return f, text, err
}

var errChanged = errors.New("the file was changed meanwhile; load the page again, and look at what is there now")

// editRule shows what an edit of one rule would change.
func (c *Console) editRule(w http.ResponseWriter, r *http.Request, s *session) error {
	form := r.PostForm
	e := edit{Path: form.Get("path"), Digest: form.Get("digest"), When: form.Get("when"), Reason: form.Get("reason"),
		Tool: form.Get("tool"), Edit: rules.Edit{At: form.Get("at"), Rule: form.Get("rule"), List: form.Get("list"),
			Profile: form.Get("profile"), Overlay: form.Get("overlay"), Remove: form.Get("do") == "remove"}}
	f, text, err := c.edited(&e)
	if f == nil {
		return err
	}
	return c.preview(w, r, s, &previewView{Path: e.Path, Digest: e.Digest, Text: text, Why: form.Get("why")}, err)
}

// previewText shows what a new text of a file would change.
func (c *Console) previewText(w http.ResponseWriter, r *http.Request, s *session) error {
	path, text := fileOf(r)
	f, err := c.file(path)
	if err != nil {
		return err
	}
	v := &previewView{Path: path, Digest: r.PostForm.Get("digest"), Text: f.likewise(string(text)), Why: r.PostForm.Get("why")}
	if f.Digest != v.Digest {
		err = errChanged
	}
	return c.preview(w, r, s, v, err)
}

func (c *Console) preview(w http.ResponseWriter, r *http.Request, s *session, v *previewView, err error) error {
	v.frame = c.frame(r, s, "rules", "Before it is saved")
	if err == nil {
		v.Preview, err = c.previewed(r.Context(), v.Path, v.Text)
	}
	if err != nil {
		v.Problem = err.Error()
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
	return c.render(w, "rules_preview", v)
}

func (c *Console) previewed(ctx context.Context, path, text string) (*rules.Preview, error) {
	f, err := c.file(path)
	if err != nil {
		return nil, err
	}
	if err := c.options.Rules.Check(path, []byte(text)); err != nil {
		return nil, err
	}
	return c.options.Book.Preview(ctx, path, f.Text, text)
}

// likewise gives a text that comes from a form the line ends and the byte order mark of the file.
func (f *RuleFile) likewise(text string) string {
	text = strings.TrimPrefix(text, bom)
	if strings.Contains(f.Text, "\r\n") {
		text = strings.ReplaceAll(lineEnds.Replace(text), "\n", "\r\n")
	}
	if strings.HasPrefix(f.Text, bom) {
		text = bom + text
	}
	return text
}

// bom is a byte order mark, which some editors write.
const bom = "\ufeff"

// A saving is a new text of a file, and why it is written.
type saving struct {
	Path   string `json:"path"`
	Digest string `json:"digest"` // that the file must still have
	Text   string `json:"text"`
	Why    string `json:"why"`

	undoes string // the ID of a change
	what   string // "" is to write the file
}

// saves is the change that writes a file. Its text may start servers, and so run any command.
func (c *Console) saves(s *session, x *saving) (*change, error) {
	if err := c.options.Rules.Check(x.Path, []byte(x.Text)); err != nil {
		return nil, err
	}
	files, _ := c.options.Rules.Files()
	at := slices.IndexFunc(files, func(f RuleFile) bool { return f.Path == x.Path })
	if at >= 0 && files[at].Digest != x.Digest { // the page must make exactly the change that it shows
		return nil, errChanged
	}
	before := ""
	if at >= 0 {
		before, x.Text = files[at].Text, files[at].likewise(x.Text)
	}
	ch := &change{what: cmp.Or(x.what, "write the file ") + word(x.Path), detail: changedLines(before, x.Text)}
	detail := "the file " + x.Path + " is written on the page, after a proof"
	if x.undoes != "" {
		detail += ", to undo the change " + x.undoes
	}
	if x.Why != "" {
		ch.what += ", because " + word(x.Why)
		detail += ", because " + x.Why
	}
	ch.do = func(w http.ResponseWriter, r *http.Request) error {
		err := c.note(r.Context(), audit.Entry{Kind: audit.Policy, State: "edited", Principal: s.person,
			Client: "console", Detail: detail})
		if err == nil {
			err = c.keep(r.Context(), s, x, before)
		}
		switch {
		case err != nil && isAPI(r):
			return refuse(http.StatusUnprocessableEntity, err.Error())
		case err != nil:
			return c.againRules(w, r, s, "", err)
		case isAPI(r):
			return writeJSON(w, http.StatusOK, map[string]any{"ok": true, "said": saved})
		}
		return c.redirect(w, r, s, "/rules", false, saved)
	}
	return ch, nil
}

const saved = "Saved. The rules hold from the next call on."

// keep writes a file, and the change into the history if there is one.
func (c *Console) keep(ctx context.Context, s *session, x *saving, before string) error {
	write := func() error { return c.options.Rules.Save(ctx, x.Path, x.Digest, []byte(x.Text)) }
	if c.options.Book == nil {
		return write()
	}
	how := rules.HowPage
	if x.undoes != "" {
		how = rules.HowUndo
	}
	return c.options.Book.Save(ctx, &rules.Change{File: x.Path, How: how, Who: s.person, Why: x.Why, Undoes: x.undoes,
		Before: before, After: x.Text}, write)
}

type changesView struct {
	frame
	Changes []*rules.Change
	One     *rules.Change
	Problem string // why it cannot be undone
	Lines   []rules.Line
}

// showChanges lists the history of the rules.
func (c *Console) showChanges(w http.ResponseWriter, r *http.Request, s *session) (err error) {
	v := &changesView{frame: c.frame(r, s, "rules", "Changes of the rules")}
	if v.Changes, err = c.options.Book.Changes(r.Context()); err != nil {
		return err
	}
	return c.render(w, "rules_history", v)
}

// changeAt returns the change of a path or a request.
func (c *Console) changeAt(ctx context.Context, id string) (*rules.Change, error) {
	x, err := c.options.Book.Change(ctx, id)
	if err == nil && x == nil {
		err = refuse(http.StatusNotFound, "there is no such change; the history keeps the latest ones")
	}
	return x, err
}

func (c *Console) showChange(w http.ResponseWriter, r *http.Request, s *session) error {
	x, err := c.changeAt(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	v := &changesView{frame: c.frame(r, s, "rules", "A change of the rules"), One: x, Lines: x.Lines()}
	if _, err := c.undo(x); err != nil {
		v.Problem = err.Error()
	}
	return c.render(w, "rules_change", v)
}

// undo is the saving that takes a change back, if the file still is as the change left it.
func (c *Console) undo(x *rules.Change) (*saving, error) {
	f, err := c.file(x.File)
	if err != nil {
		return nil, errors.New("this file cannot be changed here: change it with an editor")
	}
	text, err := x.Undo(f.Text)
	return &saving{Path: x.File, Digest: f.Digest, Text: text, undoes: x.ID,
		what: fmt.Sprintf("undo the change %d of the file ", x.Number)}, err
}

// undoing prepares the reverse of a change.
func (c *Console) undoing(ctx context.Context, s *session, id, why string) (*change, error) {
	x, err := c.changeAt(ctx, id)
	if err != nil {
		return nil, err
	}
	saving, err := c.undo(x)
	if err != nil {
		return nil, err
	}
	saving.Why = why
	return c.saves(s, saving)
}

func (c *Console) undoChange(w http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	ch, err := c.undoing(r.Context(), s, r.PostForm.Get("change"), r.PostForm.Get("why"))
	if refused := (*refusal)(nil); err != nil && !errors.As(err, &refused) {
		return nil, c.againRules(w, r, s, "", err)
	}
	return ch, err
}
