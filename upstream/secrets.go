package upstream

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/secrets"
)

// How long a value must be for masking. A value shorter than secretMin occurs in every other word. In a result, which
// is somebody's data, nothing may be masked by chance.
const (
	secretMin = 6
	keyMin    = 16
	pathMin   = 20 // a part of the address's path
)

// secrets returns the values of the configuration that no error may show,
// because programs and models read errors: headers, variables with the name of
// a secret, and the parts of the address beside host and path. Those that give
// access by themselves are the keys.
func (s *Server) secrets() (all, keys []string) {
	add := func(v string, key bool) {
		if len(v) >= secretMin {
			all = append(all, v)
		}
		if len(v) >= keyMin && key {
			keys = append(keys, v)
		}
	}
	for name, value := range s.Env {
		if secrets.IsVariable(name) {
			add(value, true)
		}
	}
	for name, values := range s.Headers {
		for _, v := range values {
			add(v, secrets.IsVariable(name))
			if _, token, ok := strings.Cut(v, " "); ok { // behind Bearer or Basic
				add(token, secrets.IsVariable(name))
			}
		}
	}
	if s.OAuth != nil {
		add(s.OAuth.ClientSecret, true)
		if x := s.OAuth.Exchange; x != nil {
			add(x.ClientSecret, true)
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			add(password, true)
			add(url.QueryEscape(password), true)
		} else { // the user may be a token
			add(u.User.Username(), true)
		}
		for part := range strings.SplitSeq(u.Path, "/") {
			if len(part) >= pathMin { // a token, as in webhooks
				add(part, true)
			}
		}
		for name, values := range u.Query() {
			for _, v := range values {
				add(v, secrets.IsVariable(name))
				add(url.QueryEscape(v), secrets.IsVariable(name))
			}
		}
	}
	return all, keys
}

// Secrets returns the values of the server's configuration that no text may show.
func (s *Server) Secrets() []string {
	all, _ := s.secrets()
	return all
}

// mask replaces a secret in a text.
const mask = "[secret]"

// masked returns the text without the server's secrets and without our login.
func (sup *supervisor) masked(text string) string {
	return secrets.Known(slices.Concat(sup.secrets, sup.account.Secrets()), mask).Hide(text)
}

// mask returns err, or one with a masked text.
func (sup *supervisor) mask(err error) error {
	if err == nil {
		return nil
	}
	text := sup.masked(err.Error())
	if text == err.Error() {
		return err
	}
	return &maskedError{text, err}
}

// A maskedError is an error without the secrets of its text.
type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }

// maskResult masks in a result the values that give access to the server: a tool that prints its environment, or its
// request, would expose them to programs.
func (sup *supervisor) maskResult(r *Result) {
	if r == nil {
		return
	}
	known := sup.known
	if logins := sup.account.Secrets(); len(logins) > 0 {
		known = secrets.Known(slices.Concat(sup.keys, logins), mask)
	}
	clean := func(raw json.RawMessage) json.RawMessage {
		if text := known.Hide(string(raw)); text != string(raw) {
			return json.RawMessage(text)
		}
		return raw
	}
	r.Structured, r.Content, r.Value = clean(r.Structured), clean(r.Content), clean(r.Value)
	for id, block := range r.Blocks {
		r.Blocks[id] = clean(block)
	}
}
