package console

import (
	"errors"
	"github.com/codemode-project/codemode/call"
	"net/http"

	"github.com/codemode-project/codemode/internal/console/rules"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// rulePages are the pages about the rules; without a book only their files are there.
func (c rulePages) rulePages() *rules.Pages {
	return &rules.Pages{Book: c.options.Book, Disk: c.options.Rules}
}

// mayUseBook refuses people who do not look after the rules, and a page without a book.
func (c rulePages) mayUseBook(s *session) error {
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
func (c rulePages) ofBook(show func(r *http.Request) (*rules.View, error)) page {
	return func(w http.ResponseWriter, r *http.Request, s *session) error {
		if err := c.mayUseBook(s); err != nil {
			return err
		}
		v, err := show(r)
		if err != nil {
			return missing(err)
		}
		return c.renderBook(w, r, s, v)
	}
}

func (c rulePages) renderBook(w http.ResponseWriter, r *http.Request, s *session, v *rules.View) error {
	if v.Problem != "" {
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
	return c.render(w, v.Template, &bookView{c.frame(r, s, "rules", v.Heading), v})
}

// bookAPI serves a part of the API about the rules. An error of a request that only reads is not about its content.
func (c rulePages) bookAPI(answer rules.Answerer) page {
	return func(w http.ResponseWriter, r *http.Request, s *session) error {
		if err := c.mayUseBook(s); err != nil {
			return err
		}
		v, err := answer(r, func(to any) error { return readJSON(r, to) })
		switch {
		case err != nil && r.Method == http.MethodGet:
			return missing(err)
		case err != nil:
			return unprocessable(err)
		}
		return writeJSON(w, http.StatusOK, v)
	}
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

// saves is the change that writes a file. Its text may start servers, and so run any command.
func (c rulePages) saves(s *session, x *rules.Saving) (*change, error) {
	if err := c.rulePages().Prepare(x); err != nil {
		return nil, err
	}
	ch := &change{what: "write the file " + word(x.Path) + ", because " + word(x.Why),
		detail: changedLines(x.Before, x.Text)}
	detail := "the file " + x.Path + " is written on the page, after a proof, because " + x.Why
	ch.do = func(w http.ResponseWriter, r *http.Request) error {
		err := c.note(r.Context(), call.Entry{Kind: audit.Policy, State: "edited", Principal: s.person,
			Client: "console", Detail: detail})
		if err == nil {
			err = c.options.Rules.Save(r.Context(), x.Path, x.Digest, []byte(x.Text))
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

func (c rulePages) apiSave(_ http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	var x rules.Saving
	if err := c.mayUseBook(s); err != nil {
		return nil, err
	}
	if err := readJSON(r, &x); err != nil {
		return nil, err
	}
	ch, err := c.saves(s, &x)
	return ch, unprocessable(err)
}
