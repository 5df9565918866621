package console

import (
	"errors"
	"net/http"

	"github.com/codemode-project/codemode/internal/console/rules"
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
