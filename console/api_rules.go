package console

import (
	"errors"
	"net/http"

	"github.com/codemode-project/codemode/console/rules"
)

// unprocessable is the refusal of a request with an error about its content.
func unprocessable(err error) error {
	if refused := (*refusal)(nil); err == nil || errors.As(err, &refused) {
		return err
	}
	return refuse(http.StatusUnprocessableEntity, err.Error())
}

func (c *Console) apiRules(w http.ResponseWriter, _ *http.Request, _ *session) error {
	files, stale := c.options.Rules.Files()
	if files == nil {
		files = []RuleFile{}
	}
	return writeJSON(w, http.StatusOK, map[string]any{"profiles": c.options.Book.Profiles(), "files": files, "stale": stale})
}

func (c *Console) apiProfile(w http.ResponseWriter, r *http.Request, _ *session) error {
	t := c.options.Book.Profile(r.Context(), r.PathValue("name"))
	if t == nil {
		return refuse(http.StatusNotFound, "there is no such profile")
	}
	return writeJSON(w, http.StatusOK, t)
}

func (c *Console) apiOverlays(w http.ResponseWriter, r *http.Request, _ *session) error {
	return writeJSON(w, http.StatusOK, map[string]any{"overlays": c.options.Book.Overlays(r.Context())})
}

func (c *Console) apiExplain(w http.ResponseWriter, r *http.Request, _ *session) error {
	var q rules.Question
	if err := readJSON(r, &q); err != nil {
		return err
	}
	a, err := c.explained(q)
	if err != nil {
		return unprocessable(err)
	}
	return writeJSON(w, http.StatusOK, a)
}

// apiEdit gives the text that an edit would make, and what it would change.
func (c *Console) apiEdit(w http.ResponseWriter, r *http.Request, _ *session) error {
	var e edit
	if err := readJSON(r, &e); err != nil {
		return err
	}
	f, text, err := c.edited(&e)
	if err != nil {
		return unprocessable(err)
	}
	p, err := c.previewed(r.Context(), f.Path, text)
	if err != nil {
		return unprocessable(err)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"path": f.Path, "digest": f.Digest, "text": text, "preview": p})
}

func (c *Console) apiPreview(w http.ResponseWriter, r *http.Request, _ *session) error {
	var x saving
	if err := readJSON(r, &x); err != nil {
		return err
	}
	p, err := c.previewed(r.Context(), x.Path, x.Text)
	if err != nil {
		return unprocessable(err)
	}
	return writeJSON(w, http.StatusOK, p)
}

func (c *Console) apiSave(_ http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	var x saving
	if err := readJSON(r, &x); err != nil {
		return nil, err
	}
	ch, err := c.saves(s, &x)
	return ch, unprocessable(err)
}

func (c *Console) apiChanges(w http.ResponseWriter, r *http.Request, _ *session) error {
	all, err := c.options.Book.Changes(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"changes": all})
}

func (c *Console) apiChange(w http.ResponseWriter, r *http.Request, _ *session) error {
	x, err := c.changeAt(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	problem := ""
	if _, err := c.undo(x); err != nil {
		problem = err.Error()
	}
	return writeJSON(w, http.StatusOK, map[string]any{"change": x, "lines": x.Lines(), "before": x.Before, "after": x.After,
		"undo": problem == "", "problem": problem})
}

func (c *Console) apiUndo(_ http.ResponseWriter, r *http.Request, s *session) (*change, error) {
	var x struct {
		Change string `json:"change"`
		Why    string `json:"why"`
	}
	if err := readJSON(r, &x); err != nil {
		return nil, err
	}
	ch, err := c.undoing(r.Context(), s, x.Change, x.Why)
	return ch, unprocessable(err)
}
