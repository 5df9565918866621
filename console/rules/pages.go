package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// A File is one of the configuration files.
type File struct {
	Path     string `json:"path"`
	Standing string `json:"standing"` // its place among the files, in words
	Digest   string `json:"digest"`
	Text     string `json:"text"`
	Editable bool   `json:"editable"`
	New      bool   `json:"new,omitempty"` // it does not exist yet
}

// BOM is a byte order mark, which some editors write.
const BOM = "\ufeff"

// Likewise gives a text that comes from a form the line ends and the byte order mark of the file.
func (f *File) Likewise(text string) string {
	text = strings.TrimPrefix(text, BOM)
	if strings.Contains(f.Text, "\r\n") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	}
	if strings.HasPrefix(f.Text, BOM) {
		text = BOM + text
	}
	return text
}

// Pages are the pages about the rules, without what surrounds them: they read requests, and say what to show. Only
// Write changes something. Whoever serves them lets only administrators in.
type Pages struct {
	*Book
	Disk Disk
}

// A NotFound is the error of a request for something that is not there.
type NotFound string

func (e NotFound) Error() string { return string(e) }

// ErrChanged is the error of an edit of a file that is not as the person saw it.
var ErrChanged = errors.New("the file was changed meanwhile; load the page again, and look at what is there now")

// A View is what a page shows.
type View struct {
	Template string
	Heading  string
	Problem  string // "" is none

	Tables   []*Table
	Name     string            // of the profile; "" for overlays
	Editable map[string]bool   // files that may be changed here
	Digests  map[string]string // of the files
	Lists    []string
	Ask      Question // the form beside the table
	Answer   *Answer
	Decides  string // the place of the rule that decides the question, file:line:column

	Path, Digest string // of the file that is changed
	At, Line     string // of the rule
	Rule, List   string // as they are
	Owner        string // profile or overlay
	Text, Why    string
	Preview      *Preview

	Changes []*Change
	One     *Change
	Lines   []Line
	Stays   string // why the change cannot be undone, "" if it can
}

// Args are the arguments of the question.
func (v *View) Args() string { return string(v.Ask.Args) }

// linked is the form of the names of profiles and tools that a link may bring.
var linked = regexp.MustCompile(`^[A-Za-z0-9_$]+$`)

// longest is how long a name may be, in bytes.
const longest = 256

// MayLink reports whether a link may bring a name of a profile or tool. Anybody may have written the link.
func MayLink(name string) bool { return len(name) <= longest && linked.MatchString(name) }

func (p *Pages) tables(template, heading string, tables ...*Table) *View {
	v := &View{Template: template, Heading: heading, Tables: tables, Editable: map[string]bool{},
		Digests: map[string]string{}, Lists: []string{"denylist", "asklist", "allowlist"}}
	files, _ := p.Disk.Files()
	for _, f := range files {
		v.Editable[f.Path], v.Digests[f.Path] = f.Editable, f.Digest
	}
	return v
}

func (p *Pages) profile(ctx context.Context, name string) (*View, error) {
	t := p.Book.Profile(ctx, name)
	if t == nil {
		return nil, NotFound("there is no such profile; it may have been removed")
	}
	v := p.tables("profile", "Profile "+t.Name, t)
	v.Name, v.Ask.Profile = t.Name, t.Name
	return v, nil
}

// ShowProfile is the table of a profile.
func (p *Pages) ShowProfile(r *http.Request) (*View, error) {
	v, err := p.profile(r.Context(), r.PathValue("name"))
	if tool := r.URL.Query().Get("tool"); err == nil && MayLink(tool) {
		v.Ask.Tool = tool
	}
	return v, err
}

// ShowOverlays has the tables of all overlays.
func (p *Pages) ShowOverlays(r *http.Request) (*View, error) {
	return p.tables("overlays", "Overlays", p.Overlays(r.Context())...), nil
}

// ShowAnswer says what would happen to a call, beside the table of its profile.
func (p *Pages) ShowAnswer(r *http.Request) (*View, error) {
	get := func(key string) string { return strings.TrimSpace(r.PostForm.Get(key)) }
	v, err := p.profile(r.Context(), get("profile"))
	if err != nil {
		return nil, err
	}
	v.Ask.Tool, v.Ask.Principal, v.Ask.Session, v.Ask.Role = get("tool"), get("principal"), get("of"), get("role")
	if args := get("args"); args != "" {
		v.Ask.Args = json.RawMessage(args)
	}
	if v.Answer, err = p.answer(v.Ask); err != nil {
		v.Problem = err.Error()
	} else {
		v.Decides = v.Answer.Decides()
	}
	return v, nil
}

func (p *Pages) answer(q Question) (*Answer, error) {
	if q.Tool == "" || len(q.Tool) > longest {
		return nil, fmt.Errorf("name a tool, such as server__tool, in %d bytes at most", longest)
	}
	return p.Explain(q)
}

// file returns one of the files that may be changed.
func (p *Pages) file(path string) (*File, error) {
	files, _ := p.Disk.Files()
	for _, f := range files {
		if f.Path == path && f.Editable {
			return &f, nil
		}
	}
	return nil, NotFound("this file cannot be changed here")
}

// ShowEdit is the form of one rule.
func (p *Pages) ShowEdit(r *http.Request) (*View, error) {
	q := r.URL.Query()
	f, err := p.file(q.Get("path"))
	if err != nil {
		return nil, err
	}
	v := p.tables("rule_edit", "Change a rule")
	if v.Rule, v.List, v.Owner, err = ruleAt(f.Text, q.Get("at")); err != nil {
		return nil, NotFound(err.Error())
	}
	v.Path, v.Digest, v.At = f.Path, f.Digest, q.Get("at")
	v.Line, _, _ = strings.Cut(v.At, ":")
	return v, nil
}

// ShowEdited shows what an edit of one rule would change.
func (p *Pages) ShowEdited(r *http.Request) (*View, error) {
	form := r.PostForm
	e := editing{Path: form.Get("path"), Digest: form.Get("digest"), Why: form.Get("why"), NewRule: NewRule{When: form.Get("when"),
		Reason: form.Get("reason"), Tool: form.Get("tool")}, Edit: Edit{At: form.Get("at"), Rule: form.Get("rule"),
		List: form.Get("list"), Profile: form.Get("profile"), Overlay: form.Get("overlay"), Remove: form.Get("do") == "remove"}}
	f, text, err := p.edited(&e)
	if f == nil {
		return nil, err
	}
	v, err := p.before(r, text, err)
	if err == nil && v.Problem == "" { // the page asks for the reason, and keeps the edit
		if err := checkWhy(&e.Why); err != nil {
			v.Problem = err.Error()
		}
	}
	return v, err
}

// ShowPreview shows what a new text of a file would change.
func (p *Pages) ShowPreview(r *http.Request) (*View, error) {
	f, err := p.file(r.PostForm.Get("path"))
	if err != nil {
		return nil, err
	}
	if f.Digest != r.PostForm.Get("digest") {
		err = ErrChanged
	}
	return p.before(r, f.Likewise(r.PostForm.Get("text")), err)
}

// before shows a text before it is saved, or why it cannot be.
func (p *Pages) before(r *http.Request, text string, err error) (*View, error) {
	v := &View{Template: "rules_preview", Heading: "Before it is saved", Path: r.PostForm.Get("path"),
		Digest: r.PostForm.Get("digest"), Text: text, Why: r.PostForm.Get("why")}
	if err == nil {
		v.Preview, err = p.preview(r.Context(), v.Path, text)
	}
	if err != nil {
		v.Problem = err.Error()
	}
	return v, nil
}

func (p *Pages) preview(ctx context.Context, path, text string) (*Preview, error) {
	f, err := p.file(path)
	if err == nil {
		err = p.Disk.Check(path, []byte(text))
	}
	if err != nil {
		return nil, err
	}
	return p.Book.Preview(ctx, path, f.Text, text)
}

// An editing is an edit of a file in a request. A new rule is a Rule, or the parts of one.
type editing struct {
	Path   string `json:"path"`
	Digest string `json:"digest"` // that the file must still have
	Why    string `json:"why"`
	Edit
	NewRule
}

// edited applies an edit to its file.
func (p *Pages) edited(e *editing) (f *File, text string, err error) {
	if f, err = p.file(e.Path); err != nil {
		return nil, "", err
	}
	if f.Digest != e.Digest {
		return f, f.Text, ErrChanged
	}
	if e.At == "" && e.Rule == "" && !e.Remove {
		if e.Rule, err = e.NewRule.JSON(); err != nil {
			return f, f.Text, err
		}
	}
	text, err = e.Apply(f.Text)
	return f, text, err
}

// ShowChanges lists the history.
func (p *Pages) ShowChanges(r *http.Request) (v *View, err error) {
	v = &View{Template: "rules_history", Heading: "Changes of the rules"}
	v.Changes, err = p.Changes(r.Context())
	return v, err
}

// ShowChange is one change, with the reason why it cannot be undone, if there is one.
func (p *Pages) ShowChange(r *http.Request) (*View, error) {
	return p.showChange(r.Context(), r.PathValue("id"))
}

func (p *Pages) showChange(ctx context.Context, id string) (*View, error) {
	c, err := p.change(ctx, id)
	if err != nil {
		return nil, err
	}
	return &View{Template: "rules_change", Heading: "A change of the rules", One: c, Lines: c.Lines(),
		Stays: p.whyNot(c)}, nil
}

// ShowUndo is the page of a change whose form did not undo it, and keeps what the person typed.
func (p *Pages) ShowUndo(r *http.Request, problem error) (*View, error) {
	v, err := p.showChange(r.Context(), r.PostForm.Get("change"))
	if err == nil {
		v.Problem, v.Why = problem.Error(), r.PostForm.Get("why")
	}
	return v, err
}

func (p *Pages) change(ctx context.Context, id string) (*Change, error) {
	c, err := p.Book.Change(ctx, id)
	if err == nil && c == nil {
		err = NotFound("there is no such change; the history keeps the latest ones")
	}
	return c, err
}

// whyNot says why a change cannot be undone, "" if it can.
func (p *Pages) whyNot(c *Change) string {
	if _, _, err := p.back(c); err != nil {
		return err.Error()
	}
	return ""
}

// back returns the file of a change as it is now, and the text that takes the change back.
func (p *Pages) back(c *Change) (f *File, text string, err error) {
	if f, err = p.file(c.File); err != nil {
		return nil, "", errors.New("this file cannot be changed here: change it with an editor")
	}
	text, err = c.Undo(f.Text)
	return f, text, err
}
