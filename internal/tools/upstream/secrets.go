package upstream

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
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
	if s.API != nil {
		secretsOfAPI(s.API, add)
	}
	if s.OAuth != nil {
		add(s.OAuth.ClientSecret, true)
		if x := s.OAuth.Exchange; x != nil {
			add(x.ClientSecret, true)
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		secretsOfAddress(u, add)
	}
	return all, keys
}

func secretsOfAPI(a *servers.API, add func(v string, key bool)) {
	add(a.Password, true)
	if a.Key != nil {
		add(a.Key.Value, true)
		add(url.QueryEscape(a.Key.Value), true)
	}
	if a.Client != nil {
		add(a.Client.ClientSecret, true)
	}
}

func secretsOfAddress(u *url.URL, add func(v string, key bool)) {
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

// Secrets returns the values of the server's configuration that no text may show.
func (s *Server) Secrets() []string {
	all, _ := s.secrets()
	return all
}

// mask replaces a secret in a text.
const mask = "[secret]"

// hide masks secrets in a text that answers a request with those arguments; nil is none. It masks no secret that the
// arguments contain: a program could guess, and see by the mask which guess is right.
func hide(text string, args json.RawMessage, all ...string) string {
	hidden := secrets.Known(all, mask).Hide(text)
	if hidden == text || len(args) == 0 {
		return hidden
	}
	said := saidIn(args)
	all = slices.DeleteFunc(slices.Clone(all), func(v string) bool { return secrets.Within(v, said) })
	return secrets.Known(all, mask).Hide(text)
}

// saidIn returns the texts and numbers in arguments, one behind the other, as a server may put them together, and their
// keys. It has also what servers make of them: percent signs decoded, and numbers without an exponent.
func saidIn(args json.RawMessage) string {
	var values, keys strings.Builder
	var walk func(v strictjson.Value)
	walk = func(v strictjson.Value) {
		for key, member := range v.Members() {
			keys.WriteString(key)
			walk(member)
		}
		for _, element := range v.Elements() {
			walk(element)
		}
		switch v.Kind() {
		case strictjson.String:
			values.WriteString(v.Text())
		case strictjson.Number:
			values.WriteString(v.Source())
			if f, err := strconv.ParseFloat(v.Source(), 64); err == nil {
				keys.WriteString("\n" + strconv.FormatFloat(f, 'f', -1, 64) + "\n")
			}
		}
	}
	tree, _ := call.Unread(args).Tree()
	walk(tree)
	said := values.String() + "\n" + keys.String() + "\n" + string(args)
	if decoded, err := url.PathUnescape(said); err == nil {
		said += "\n" + decoded
	}
	return said
}

// A masking masks secrets in a text that answers a request with those arguments.
type masking func(text string, args json.RawMessage) string

// maskOf returns a masking of the secrets of a server's configuration, and of our login there.
func maskOf(s *Server, a *login.Account) masking {
	all, _ := s.secrets()
	return func(text string, args json.RawMessage) string {
		return hide(text, args, slices.Concat(all, a.Secrets())...)
	}
}

// A guesses notes which secrets of a server the calls to its process contained. The last words of the process may quote
// any of its calls, and mask none of these secrets, see [hide].
type guesses struct {
	of []secrets.Forms

	mu    sync.Mutex
	found []string
}

func newGuesses(s *Server) *guesses {
	g := &guesses{}
	for _, v := range s.Secrets() {
		g.of = append(g.of, secrets.FormsOf(v))
	}
	return g
}

// note notes the secrets in the arguments of a call.
func (g *guesses) note(args json.RawMessage) {
	if len(g.of) == 0 || len(args) == 0 {
		return
	}
	said := saidIn(args)
	for _, forms := range g.of {
		if forms.Within(said) {
			g.mu.Lock()
			if !slices.Contains(g.found, forms[0]) {
				g.found = append(g.found, forms[0])
			}
			g.mu.Unlock()
		}
	}
}

// right returns the secrets that were noted, as arguments.
func (g *guesses) right() json.RawMessage {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.found) == 0 {
		return nil
	}
	text, _ := json.Marshal(g.found) // texts always encode
	return text
}

// A maskedError is an error without the secrets of its text.
type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }
