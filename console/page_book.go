package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/console/rules"
)

// rulePages are the pages about the rules; without a book they are not there.
func (c *Console) rulePages() *rules.Pages {
	return &rules.Pages{Book: c.options.Book, List: func() []rules.File {
		files, _ := c.options.Rules.Files()
		return files
	}, Check: func(path string, text []byte) error { return c.options.Rules.Check(path, text) }}
}

// mayUseBook refuses people who do not look after the rules, and a page without a book.
func (c *Console) mayUseBook(s *session) error {
	if err := c.mayChangeRules(s); err != nil {
		return err
	}
	if c.options.Book == nil {
		return refuse(http.StatusNotFound, "the rules are not shown here")
	}
	return nil
}

type bookView struct {
	frame
	*rules.View
}

// ofBook serves a page about the rules.
func (c *Console) ofBook(show func(r *http.Request) (*rules.View, error)) page {
	return func(w http.ResponseWriter, r *http.Request, s *session) error {
		if err := c.mayUseBook(s); err != nil {
			return err
		}
		v, err := show(r)
		if err != nil {
			return missing(err)
		}
		if v.Problem != "" {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
		return c.render(w, v.Template, &bookView{c.frame(r, s, "rules", v.Heading), v})
	}
}

// bookAPI serves a part of the API about the rules.
func (c *Console) bookAPI(answer rules.Answerer) page {
	return func(w http.ResponseWriter, r *http.Request, s *session) error {
		if err := c.mayUseBook(s); err != nil {
			return err
		}
		v, err := answer(r, func(to any) error { return readJSON(r, to) })
		if err != nil {
			return unprocessable(err)
		}
		return writeJSON(w, http.StatusOK, v)
	}
}

func (c *Console) apiRules(*http.Request, func(any) error) (any, error) {
	files, stale := c.options.Rules.Files()
	return map[string]any{"profiles": c.options.Book.Profiles(), "files": append([]rules.File{}, files...), "stale": stale}, nil
}

// missing is the refusal of a request for something that is not there.
func missing(err error) error {
	if e, ok := errors.AsType[rules.NotFound](err); ok {
		return refuse(http.StatusNotFound, e.Error())
	}
	return err
}

// unprocessable is the refusal of a request with an error about its content.
func unprocessable(err error) error {
	err = missing(err)
	if _, refused := errors.AsType[*refusal](err); refused || err == nil {
		return err
	}
	return refuse(http.StatusUnprocessableEntity, err.Error())
}

// A saving is a new text of a file, and why it is written.
type saving struct {
	Path   string `json:"path"`
	Digest string `json:"digest"` // that the file must still have
	Text   string `json:"text"`
	Why    string `json:"why"`

	undoes *rules.Change
}

// saves is the change that writes a file. Its text may start servers, and so run any command.
func (c *Console) saves(s *session, x *saving) (*change, error) {
	if err := c.options.Rules.Check(x.Path, []byte(x.Text)); err != nil {
		return nil, err
	}
	files, _ := c.options.Rules.Files()
	at := slices.IndexFunc(files, func(f rules.File) bool { return f.Path == x.Path })
	if at >= 0 && files[at].Digest != x.Digest { // the page must make exactly the change that it shows
		return nil, rules.ErrChanged
	}
	before := ""
	if at >= 0 {
		before, x.Text = files[at].Text, files[at].Likewise(x.Text)
	}
	ch := &change{what: "write the file " + word(x.Path), detail: changedLines(before, x.Text)}
	detail := "the file " + x.Path + " is written on the page, after a proof"
	if x.undoes != nil {
		ch.what = fmt.Sprintf("undo the change %d of the file %s", x.undoes.Number, word(x.Path))
		detail += ", to undo the change " + x.undoes.ID
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
		const done = "Saved. The rules hold from the next call on."
		switch {
		case err != nil && isAPI(r):
			return unprocessable(err)
		case err != nil:
			return c.againRules(w, r, s, "", err)
		case isAPI(r):
			return writeJSON(w, http.StatusOK, map[string]any{"ok": true, "said": done})
		}
		return c.redirect(w, r, s, "/rules", false, done)
	}
	return ch, nil
}

// keep writes a file, and the change into the history if there is one.
func (c *Console) keep(ctx context.Context, s *session, x *saving, before string) error {
	write := func() error { return c.options.Rules.Save(ctx, x.Path, x.Digest, []byte(x.Text)) }
	if c.options.Book == nil {
		return write()
	}
	made := &rules.Change{File: x.Path, How: rules.HowPage, Who: s.person, Why: x.Why, Before: before, After: x.Text}
	if x.undoes != nil {
		made.How, made.Undoes = rules.HowUndo, x.undoes.ID
	}
	return c.options.Book.Save(ctx, made, write)
}

// undoing is the change that takes a change of the rules back.
func (c *Console) undoing(ctx context.Context, s *session, id, why string) (*change, error) {
	if err := c.mayUseBook(s); err != nil {
		return nil, err
	}
	undoes, f, text, err := c.rulePages().Back(ctx, id)
	if err != nil {
		return nil, missing(err)
	}
	return c.saves(s, &saving{Path: f.Path, Digest: f.Digest, Text: text, Why: why, undoes: undoes})
}

func (c *Console) undoChange(w http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	ch, err := c.undoing(r.Context(), s, r.PostForm.Get("change"), r.PostForm.Get("why"))
	if _, refused := errors.AsType[*refusal](err); err != nil && !refused {
		return nil, c.againRules(w, r, s, "", err)
	}
	return ch, err
}

func (c *Console) apiSave(_ http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	var x saving
	if err := c.mayUseBook(s); err != nil {
		return nil, err
	}
	if err := readJSON(r, &x); err != nil {
		return nil, err
	}
	ch, err := c.saves(s, &x)
	return ch, unprocessable(err)
}

func (c *Console) apiUndo(_ http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	var x struct{ Change, Why string }
	if err := readJSON(r, &x); err != nil {
		return nil, err
	}
	ch, err := c.undoing(r.Context(), s, x.Change, x.Why)
	return ch, unprocessable(err)
}
