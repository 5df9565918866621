package upstream

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/encoded"
)

// secretName is what people call variables that hold a secret.
var secretName = regexp.MustCompile(`(?i)token|key|secret|passw|pwd|auth|credential|cookie|dsn`)

// bearsSecret reports whether what goes by that name is a secret; an author is none.
func bearsSecret(name string) bool {
	return secretName.MatchString(strings.ReplaceAll(strings.ToLower(name), "author", "")) || strings.EqualFold(name, "Authorization")
}

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
		if bearsSecret(name) {
			add(value, true)
		}
	}
	for name, values := range s.Headers {
		for _, v := range values {
			add(v, bearsSecret(name))
			if _, token, ok := strings.Cut(v, " "); ok { // behind Bearer or Basic
				add(token, bearsSecret(name))
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
				add(v, bearsSecret(name))
				add(url.QueryEscape(v), bearsSecret(name))
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

// without returns the text with the values taken out in whatever form they
// travel, the longest first, so that none is left in part.
func without(text string, values []string) string {
	values = inEveryForm(values)
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for _, v := range values {
		if v != "" {
			text = strings.ReplaceAll(text, v, "[secret]")
		}
	}
	return text
}

func inEveryForm(values []string) (all []string) {
	for _, v := range values {
		all = append(all, encoded.Forms(v)...)
	}
	return all
}

// masked returns the text without the server's secrets and without our login.
func (k *keeper) masked(text string) string {
	return without(text, slices.Concat(k.secrets, k.account.secrets()))
}

// mask returns err, or one with another text if its own has such a secret in it.
func (k *keeper) mask(err error) error {
	return masked(err, slices.Concat(k.secrets, k.account.secrets()))
}

// maskResult takes what gives access to the server out of what it answers: a
// tool that prints its environment, or the request that it got, would hand it to programs.
func (k *keeper) maskResult(r *Result) {
	if r == nil {
		return
	}
	logins := k.account.secrets()
	find := k.keyFinder
	if len(logins) > 0 {
		find = finder(slices.Concat(k.keyForms, inEveryForm(logins)))
	}
	clean := func(raw json.RawMessage) json.RawMessage {
		if text := string(raw); find.Replace(text) != text {
			return json.RawMessage(without(text, slices.Concat(k.keys, logins)))
		}
		return raw
	}
	r.Structured, r.Content, r.Value = clean(r.Structured), clean(r.Content), clean(r.Value)
	for id, block := range r.Blocks {
		r.Blocks[id] = clean(block)
	}
}

// finder looks for all the texts at once: a result can be long, and a secret has a dozen forms.
func finder(forms []string) *strings.Replacer {
	var pairs []string
	for _, v := range forms {
		pairs = append(pairs, v, "\x00")
	}
	return strings.NewReplacer(pairs...)
}

// A maskedError is an error without the secrets that its text had.
type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }

func masked(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	if text := without(err.Error(), secrets); text != err.Error() {
		return &maskedError{text, err}
	}
	return err
}
