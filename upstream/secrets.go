package upstream

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/secrets"
)

// How long a value must be to be looked for. Shorter ones than secretMin are in
// every other word; and what is taken out of a result, which is somebody's
// data, must not be there by chance.
const (
	secretMin = 6
	keyMin    = 16
	pathMin   = 20 // a part of the address's path
)

// secrets returns the values of the configuration that must not be seen in an
// error, because errors are read by programs and by models: headers, variables
// that are called like a secret, and what stands in the address beside host and
// path. Of those, keys are what gives access by itself.
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
	}
	if u, err := url.Parse(s.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			add(password, true)
			add(url.QueryEscape(password), true)
		} else { // a token in the place of a user
			add(u.User.Username(), true)
		}
		for part := range strings.SplitSeq(u.Path, "/") {
			if len(part) >= pathMin { // a token, as webhooks have it
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

// Secrets returns the values of the server's configuration that must not be seen anywhere.
func (s *Server) Secrets() []string {
	all, _ := s.secrets()
	return all
}

// mask stands for a secret in a text.
const mask = "[secret]"

// masked returns the text without the server's secrets and without our login.
func (k *keeper) masked(text string) string {
	return secrets.Known(slices.Concat(k.secrets, k.account.Secrets()), mask).Hide(text)
}

// mask returns err, or one with another text if its own has such a secret in it.
func (k *keeper) mask(err error) error {
	return masked(err, slices.Concat(k.secrets, k.account.Secrets()))
}

// maskResult takes what gives access to the server out of what it answers: a
// tool that prints its environment, or the request that it got, would hand it to programs.
func (k *keeper) maskResult(r *Result) {
	if r == nil {
		return
	}
	known := k.known
	if logins := k.account.Secrets(); len(logins) > 0 {
		known = secrets.Known(slices.Concat(k.keys, logins), mask)
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

// A maskedError is an error without the secrets that its text had.
type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }

func masked(err error, values []string) error {
	if err == nil {
		return nil
	}
	if text := secrets.Known(values, mask).Hide(err.Error()); text != err.Error() {
		return &maskedError{text, err}
	}
	return err
}
