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
