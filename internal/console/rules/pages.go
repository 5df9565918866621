package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
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

// Pages are the pages about the rules, without what surrounds them: they read requests, and say what to show. They
// change nothing. Whoever serves them lets only administrators in.
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

	Tables  []*Table
	Name    string   // of the profile; "" for overlays
	Ask     Question // the form beside the table
	Answer  *Answer
	Decides string // the place of the rule that decides the question, file:line:column

	Path, Digest string // of the file that is changed
	Text, Why    string
	Preview      *Preview
}

// Args are the arguments of the question.
func (v *View) Args() string { return string(v.Ask.Args) }

// linked is the form of the names of profiles and tools that a link may bring.
var linked = regexp.MustCompile(`^[A-Za-z0-9_$]+$`)

// longest is how long a name may be, in bytes.
const longest = 256

// MayLink reports whether a link may bring a name of a profile or tool. Anybody may have written the link.
func MayLink(name string) bool { return len(name) <= longest && linked.MatchString(name) }

func tables(template, heading string, tables ...*Table) *View {
	return &View{Template: template, Heading: heading, Tables: tables}
}

func (p *Pages) profile(ctx context.Context, name string) (*View, error) {
	t := p.Book.Profile(ctx, name)
	if t == nil {
		return nil, NotFound("there is no such profile; it may have been removed")
	}
	v := tables("profile", "Profile "+t.Name, t)
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
	return tables("overlays", "Overlays", p.Overlays(r.Context())...), nil
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

// A Disk has the configuration files. Many goroutines may call its methods. Pages show their errors.
type Disk interface {
	// Files lists the configuration files. stale says why their current content is not in force, "" if it is.
	Files() (files []File, stale string)
	// Check reports what would be wrong with this text of a file. It changes nothing.
	Check(path string, text []byte) error
	// Save writes a file that passes Check, if the file on disk still has the given digest.
	Save(ctx context.Context, path, digest string, text []byte) error
}

// A Saving is a new text of a file, and why it is written.
type Saving struct {
	Path   string `json:"path"`
	Digest string `json:"digest"` // that the file must still have
	Text   string `json:"text"`
	Why    string `json:"why"`

	Before string `json:"-"` // the text that it replaces
}

// Prepare completes a new text of a file that may be saved. It writes nothing.
func (p *Pages) Prepare(x *Saving) error {
	if err := p.Disk.Check(x.Path, []byte(x.Text)); err != nil {
		return err
	}
	files, _ := p.Disk.Files()
	at := slices.IndexFunc(files, func(f File) bool { return f.Path == x.Path })
	if at >= 0 && files[at].Digest != x.Digest { // the page must make exactly the change that it shows
		return ErrChanged
	}
	if at >= 0 {
		x.Before, x.Text = files[at].Text, files[at].Likewise(x.Text)
	}
	return checkWhy(&x.Why)
}

// mostWhy bounds the reason for a change, in bytes. A field of a page takes 300 characters.
const mostWhy = 1000

// checkWhy takes white space off a person's reason for a change, and refuses a change without one.
func checkWhy(why *string) error {
	*why = strings.TrimSpace(*why)
	switch n := len(*why); {
	case n == 0:
		return errors.New("say why: the record keeps the reason with the change")
	case n > mostWhy:
		return fmt.Errorf("the reason has %d bytes, and %d are the limit: say it in fewer words", n, mostWhy)
	}
	return nil
}
