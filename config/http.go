package config

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/config/issuers"
	"github.com/codemode-project/codemode/internal/config/variables"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/typos"
)

// HTTP is the key "http": who may connect over HTTP.
//
//	"http": {
//	  "tokens": [
//	    { "token": "${ANNA_TOKEN}", "principal": "anna", "profiles": ["supervised"] },
//	    { "token": "sha256:9f86d081...", "principal": "ci", "profiles": ["readonly"] },
//	    { "token": "${ANNA_ANSWERS}", "principal": "anna", "answers": true }
//	  ],
//	  "oauth": { "resource": "https://codemode.example.com/mcp", "issuers": {...} },
//	  "hosts": ["codemode.example.com"],
//	  "origins": ["https://codemode.example.com"],
//	  "grace": "30s",
//	  "shutdownDelay": "5s"
//	}
type HTTP struct {
	Tokens  []Token
	OAuth   *issuers.Settings // nil accepts no access tokens
	Hosts   []string          // accepted host names, besides those of this machine; in lower case
	Origins []string          // of pages that may send requests, besides our own; in lower case
	Grace   *time.Duration    // how long programs have to finish; nil if the file does not say
	// ShutdownDelay is how long a process that was told to stop says that it is not ready, and goes on as before.
	ShutdownDelay time.Duration
	TLS           *TLS        // nil serves without TLS; counts from the start of a process
	SocketMode    fs.FileMode // of --http unix:/path; 0 is for the user of the process alone
}

// TLS is the key "tls" in "http": files in PEM, which are read again when they change.
type TLS struct{ Certificate, Key string }

// A Token describes the holder of a token.
type Token struct {
	Fingerprint string // of the token, see [Fingerprint]; "" if its variable has no usable token
	Principal   string
	Profiles    []string // nil = all of them
	Answers     bool     // the token answers questions on the page and runs nothing

	at variables.Text
}

const (
	// maxTokens bounds the comparisons for each request.
	maxTokens = 10_000
	// longestPrincipal is the maximum length of a principal's name.
	longestPrincipal = 128
	// leastToken is the length of the shortest token that nobody can guess.
	leastToken = 16
)

var (
	inVariable    = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)
	principalName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@+%-]*$`)
	hostName      = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
)

// HTTP returns the key "http" with the variables of env. The error is [Problems] and lists the unusable tokens; then
// nobody may connect. The result contains these tokens without their fingerprints.
func (c *Config) HTTP(env func(string) (string, bool)) (HTTP, error) {
	if c == nil || c.http == nil {
		return HTTP{}, nil
	}
	h := *c.http
	h.Tokens = slices.Clone(h.Tokens)
	var wrong settings.Problems
	seen := map[string]bool{}
	for i := range h.Tokens {
		t := &h.Tokens[i]
		fingerprint, message, hint := t.fingerprint(env)
		if message == "" && fingerprint != "" && seen[fingerprint] {
			fingerprint, message, hint = "", "another entry has the same token", "keep one of the two"
		}
		if message != "" {
			wrong = append(wrong, t.at.Wrong(message, hint))
		}
		t.Fingerprint = fingerprint
		seen[fingerprint] = true
	}
	oauth, unset := h.OAuth.Expand(env)
	h.OAuth, wrong = oauth, append(wrong, unset...)
	if len(wrong) > 0 {
		return h, wrong
	}
	return h, nil
}

// fingerprint returns a token's fingerprint; the file has the token as a variable, a command, a file, or as its digest.
func (t *Token) fingerprint(env func(string) (string, bool)) (fingerprint, message, hint string) {
	if strings.HasPrefix(t.at.Written, "sha256:") {
		return strings.ToLower(t.at.Written), "", "" // reading the file checked its form
	}
	name := t.at.Written[len("${") : len(t.at.Written)-len("}")]
	what, token, ok := name, "", false
	if env != nil {
		token, ok = env(name)
	}
	if variables.IsSource(name) {
		what = "${" + name + "}"
		switch {
		case variables.IsUnread(token):
			return "", "", ""
		case !ok && token != "": // the reason
			return "", token, "correct it, or remove this entry"
		case !ok:
			return "", what + " is not read here", "write a variable"
		}
	}
	switch {
	case token == "":
		return "", "the variable " + name + " is not set", "set it to the token, or remove this entry"
	case len(token) < leastToken:
		return "", fmt.Sprintf("the token in %s has %d characters, which can be guessed", what, len(token)),
			fmt.Sprintf("take at least %d characters, such as those of: openssl rand -hex 32", leastToken)
	case strings.ContainsAny(token, " \t\r\n"):
		return "", fmt.Sprintf("the token in %s has a space or a line break in it", what), "set it without"
	}
	return Fingerprint(token), "", ""
}

func (b *builder) http(n strictjson.Value) (h HTTP) {
	if n.Kind() == strictjson.String {
		b.Wrong(n, `the address is that of codemode serve --http; write {"tokens": [...]} to say who may come in`,
			`"http" must be an object, this is a string`)
		return h
	}
	seen := map[string]int{}
	b.Object(n, `"http"`, []settings.Field{
		settings.Key("tokens", func(n strictjson.Value) {
			for child := range b.Elements(n, `"tokens"`, true) {
				if len(h.Tokens) == maxTokens {
					b.Wrong(child, "remove some", `"tokens" has more than %d entries`, maxTokens)
				}
				h.Tokens = append(h.Tokens, b.token(child, seen))
			}
		}),
		settings.Key("oauth", func(n strictjson.Value) {
			var named []strictjson.Value
			h.OAuth, named = issuers.Read(b.Reader, n)
			b.namedProfiles = append(b.namedProfiles, named...)
		}),
		settings.Key("hosts", func(n strictjson.Value) {
			for child := range b.Elements(n, `"hosts"`, true) {
				host, ok := b.Text(child, "a host")
				host = strings.ToLower(host)
				if _, err := netip.ParseAddr(host); ok && err != nil && !hostName.MatchString(host) {
					b.Wrong(child, `write it without scheme and port: "codemode.example.com"`, "%.80q is not the name of a host", host)
				}
				h.Hosts = append(h.Hosts, host)
			}
		}),
		settings.Key("origins", func(n strictjson.Value) {
			for child := range b.Elements(n, `"origins"`, true) {
				h.Origins = append(h.Origins, strings.ToLower(b.origin(child, "an origin")))
			}
		}),
		settings.Key("grace", func(n strictjson.Value) { h.Grace = new(b.DurationFrom(n, `"grace"`, 0)) }),
		settings.Key("shutdownDelay", func(n strictjson.Value) {
			h.ShutdownDelay = b.DurationFrom(n, `"shutdownDelay"`, 0)
		}),
		settings.Key("tls", func(n strictjson.Value) { h.TLS = b.tls(n) }),
		settings.Key("socketMode", func(n strictjson.Value) { h.SocketMode = b.socketMode(n) }),
	})
	return h
}

func (b *builder) tls(n strictjson.Value) *TLS {
	t := &TLS{}
	path := func(name string, to *string) settings.Field {
		return settings.Key(name, func(n strictjson.Value) {
			if *to, _ = b.Text(n, fmt.Sprintf("%q", name)); *to != "" && !filepath.IsAbs(*to) {
				b.Wrong(n, "write the whole path", "%q must be an absolute path", name)
			}
		})
	}
	ok := b.Object(n, `"tls"`, []settings.Field{path("certificate", &t.Certificate), path("key", &t.Key)})
	if ok && (t.Certificate == "" || t.Key == "") && len(b.Problems) == 0 {
		b.Wrong(n, `write {"certificate": "/etc/codemode/tls.crt", "key": "/etc/codemode/tls.key"}`,
			`"tls" needs a certificate and its key`)
	}
	return t
}

// socketMode reads the mode of a socket in octal.
func (b *builder) socketMode(n strictjson.Value) fs.FileMode {
	text, ok := b.Text(n, `"socketMode"`)
	mode, err := strconv.ParseUint(text, 8, 32)
	if ok && (err != nil || len(text) != 4 || mode == 0 || mode&^0o666 != 0) {
		b.Wrong(n, `write it as "0660"`, "%.20q is not the mode of a socket", text)
	}
	return fs.FileMode(mode)
}

func (b *builder) token(n strictjson.Value, seen map[string]int) (t Token) {
	var answersAt, profilesAt strictjson.Value
	ok := b.Object(n, "a token", []settings.Field{
		settings.Key("answers", func(n strictjson.Value) {
			if t.Answers, _ = b.Boolean(n, `"answers"`); t.Answers {
				answersAt = n
			}
		}),
		settings.Key("token", func(n strictjson.Value) {
			t.at = b.tokenText(n)
			written := strings.ToLower(t.at.Written)
			if written == "" {
				return
			}
			if line := seen[written]; line != 0 {
				b.Wrong(n, fmt.Sprintf("it is on line %d already: keep one of the two", line), "the same token is there twice")
			} else {
				seen[written] = t.at.Place.Line
			}
		}),
		settings.Key("principal", func(n strictjson.Value) {
			name, ok := b.Text(n, `"principal"`)
			if ok && !validPrincipal(name) {
				b.Wrong(n, fmt.Sprintf("it has letters, digits and ._:@+%%- and is at most %d bytes long", longestPrincipal),
					"%.40q is not the name of a principal", name)
			}
			t.Principal = name
		}),
		settings.Key("profiles", func(n strictjson.Value) {
			profilesAt = n
			t.Profiles = []string{}
			if n.Kind() == strictjson.Array && n.Len() == 0 {
				b.Wrong(n, `leave "profiles" out to allow all`, "with an empty list of profiles the token allows nothing")
				return
			}
			for child := range b.Elements(n, `"profiles"`, true) {
				if name, named := b.profileNamed(child, "an entry of \"profiles\""); named.Kind() != strictjson.Missing {
					b.namedProfiles = append(b.namedProfiles, named)
					t.Profiles = append(t.Profiles, name)
				}
			}
		}),
	})
	if ok && settings.Member(n, "token").Kind() == strictjson.Missing {
		b.Wrong(n, `add "token": "${VARIABLE}"`, "the entry has no token")
	}
	if t.Answers && profilesAt.Kind() != strictjson.Missing {
		b.WrongKey(profilesAt, "remove it, or add another token for programs",
			`a token with "answers" runs no program, so it has no profiles`)
	}
	if ok && t.Answers && settings.Member(n, "principal").Kind() == strictjson.Missing {
		b.WrongKey(answersAt, `add "principal": whose questions it answers`,
			`a token with "answers" and without a principal answers for nobody`)
	}
	return t
}

// tokenText reads a token: a variable that has it, or its digest.
func (b *builder) tokenText(n strictjson.Value) variables.Text {
	at := b.text(n, `"token"`, nil)
	digest, isDigest := strings.CutPrefix(at.Written, "sha256:")
	switch sum, err := hex.DecodeString(digest); {
	case at.Written == "":
	case isDigest && (err != nil || len(sum) != 32):
		b.Wrong(n, "printf %s \"$TOKEN\" | sha256sum prints them, without a line break in the token",
			`after "sha256:" there must be 64 hexadecimal digits`)
	case !isDigest && !inVariable.MatchString(at.Written) && !variables.OneSource(at.Written):
		b.Wrong(n, `write "${VARIABLE}", "${cmd:...}" or "${file:...}", or "sha256:" and its digest`,
			"a token must not stand in the file itself")
	}
	return at
}

func validPrincipal(name string) bool {
	return len(name) <= longestPrincipal && principalName.MatchString(name)
}

// reachable reports profiles that tokens and destinations name and no file defines. That is no error: another file may
// add them.
func (b *builder) reachable() {
	for _, n := range b.namedProfiles {
		b.unknownProfile(n, "so the token does not allow it")
	}
	for _, n := range b.notifiedProfiles {
		b.unknownProfile(n, "so nobody is notified of its questions")
	}
}

func (b *builder) unknownProfile(n strictjson.Value, effect string) {
	if b.find(n.Text()) != nil {
		return
	}
	hint := "define it, or remove it here"
	if near := typos.Nearest(n.Text(), b.profileNames()); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	b.Warn(b.Position(b.Span(n).Start), len(n.Text())+2, hint, "there is no profile %q, %s", n.Text(), effect)
}

func (b *builder) origin(n strictjson.Value, what string) string {
	text, ok := b.Text(n, what)
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Path+u.RawQuery+u.Fragment != "" ||
		u.User != nil {
		b.Wrong(n, "write it as browsers send it: scheme, host and port, and no path",
			"%.80q is not an origin such as https://codemode.example.com", text)
	}
	return text
}
