package upstream

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// secretName is what people call variables that hold a secret.
var secretName = regexp.MustCompile(`(?i)token|key|secret|passw|pwd|auth|credential|cookie|dsn`)

// secretMin is how long a value must be to be looked for; shorter ones are in
// every other word.
const secretMin = 6

// secrets returns the values of the configuration that must not be seen in an
// error, because errors are read by programs and by models: headers, variables
// that are called like a secret, and what stands in the address beside host and
// path. The longest come first, so that none is left in part.
func (s *Server) secrets() []string {
	var out []string
	add := func(v string) {
		if len(v) >= secretMin && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	for name, value := range s.Env {
		if secretName.MatchString(name) {
			add(value)
		}
	}
	for _, values := range s.Headers {
		for _, v := range values {
			add(v)
			if _, token, ok := strings.Cut(v, " "); ok { // behind Bearer or Basic
				add(token)
			}
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			add(password)
			add(url.QueryEscape(password))
		}
		for _, values := range u.Query() {
			for _, v := range values {
				add(v)
				add(url.QueryEscape(v))
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return out
}

// masked returns the text with the server's secrets taken out.
func (s *Server) masked(text string) string {
	for _, v := range s.secrets() {
		text = strings.ReplaceAll(text, v, "[secret]")
	}
	return text
}

// A maskedError is an error without the secrets that its text had.
type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }

// mask returns err, or one with another text if its own has a secret in it.
func (s *Server) mask(err error) error {
	if err == nil {
		return nil
	}
	if text := s.masked(err.Error()); text != err.Error() {
		return &maskedError{text, err}
	}
	return err
}
