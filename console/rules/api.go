package rules

import "net/http"

// An Answerer answers a request as JSON. read reads the body of the request.
type Answerer func(r *http.Request, read func(any) error) (any, error)

// AnswerRules lists the profiles and the files.
func (p *Pages) AnswerRules(*http.Request, func(any) error) (any, error) {
	files, stale := p.Disk.Files()
	return map[string]any{"profiles": p.Profiles(), "files": append([]File{}, files...), "stale": stale}, nil
}

// AnswerProfile is the table of a profile.
func (p *Pages) AnswerProfile(r *http.Request, _ func(any) error) (any, error) {
	t := p.Book.Profile(r.Context(), r.PathValue("name"))
	if t == nil {
		return nil, NotFound("there is no such profile")
	}
	return t, nil
}

// AnswerOverlays has the tables of all overlays.
func (p *Pages) AnswerOverlays(r *http.Request, _ func(any) error) (any, error) {
	return map[string]any{"overlays": p.Overlays(r.Context())}, nil
}

// AnswerQuestion decides a call.
func (p *Pages) AnswerQuestion(_ *http.Request, read func(any) error) (any, error) {
	var q Question
	if err := read(&q); err != nil {
		return nil, err
	}
	return p.answer(q)
}

// AnswerEdit has the text that an edit would make, as it is to be saved, and what it would change.
func (p *Pages) AnswerEdit(r *http.Request, read func(any) error) (any, error) {
	var e editing
	if err := read(&e); err != nil {
		return nil, err
	}
	f, text, err := p.edited(&e)
	if err == nil {
		err = checkWhy(&e.Why)
	}
	if err != nil {
		return nil, err
	}
	preview, err := p.preview(r.Context(), f.Path, text)
	return map[string]any{"path": e.Path, "digest": e.Digest, "text": text, "why": e.Why, "preview": preview}, err
}

// AnswerPreview says what a text would change.
func (p *Pages) AnswerPreview(r *http.Request, read func(any) error) (any, error) {
	var x Saving
	if err := read(&x); err != nil {
		return nil, err
	}
	f, err := p.file(x.Path)
	if err == nil && x.Digest != "" && x.Digest != f.Digest {
		err = ErrChanged
	}
	if err != nil {
		return nil, err
	}
	return p.preview(r.Context(), x.Path, f.Likewise(x.Text))
}

// AnswerChanges lists the history.
func (p *Pages) AnswerChanges(r *http.Request, _ func(any) error) (any, error) {
	all, err := p.Changes(r.Context())
	return map[string]any{"changes": all}, err
}

// AnswerChange is one change with both texts.
func (p *Pages) AnswerChange(r *http.Request, _ func(any) error) (any, error) {
	c, err := p.change(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	problem := p.whyNot(c)
	return map[string]any{"change": c, "lines": c.Lines(), "before": c.Before, "after": c.After, "undo": problem == "",
		"problem": problem}, nil
}
