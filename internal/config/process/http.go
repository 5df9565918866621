package process

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// HTTP is the key "http": who may connect over HTTP.
type HTTP struct {
	// Who has which token. Without any, every program on this machine may come in, and nobody from elsewhere.
	Tokens []Token `key:"tokens" max:"10000"`
	OAuth  *OAuth  `key:"oauth"` // Whose OAuth access tokens callers may bring besides tokens. See oauth.md.
	// Names that a request may be for, beside those of this machine: what a proxy in front of it is reached by. Without
	// scheme and port.
	Hosts []string `key:"hosts" form:"host" each:"a host"`
	// Web pages that may send requests, such as https://codemode.example.com.
	Origins []string `key:"origins" form:"origin" each:"an origin"`
	// How long programs that run have to finish after the signal to stop; 10s if left out.
	Grace *time.Duration `key:"grace" min:"0"`
	// How long after the signal to stop /readyz says no while the process goes on as before, so that a load balancer
	// notices; nothing if left out.
	ShutdownDelay time.Duration `key:"shutdownDelay" min:"0"`
	// codemode serve --http speaks TLS with this certificate. The files are read again when they change. It counts from
	// the start of a process.
	TLS *TLS `key:"tls"`
	// The mode of the socket of --http unix:/path in octal, such as "0660"; "0600" if left out.
	SocketMode fs.FileMode `key:"socketMode" form:"socketMode"`
}

// TLS is the key "tls" in "http".
type TLS struct {
	// The absolute path of a file in PEM, with the certificates between it and its authority.
	Certificate string `key:"certificate" form:"path" need:"add 'certificate': '/etc/codemode/tls.crt'"`
	// The absolute path of its key, in PEM.
	Key string `key:"key" form:"path" need:"add 'key': '/etc/codemode/tls.key'"`
}

// A Token describes the holder of a token.
type Token struct {
	writtenToken
	// Who has it, for overlays, grants and the record; its fingerprint if left out.
	Principal string `key:"principal" form:"principal"`
	// The token answers questions of its principal over the API of the page, runs no programs, and is refused at /mcp.
	// See rest.md.
	Answers  bool     `key:"answers"`
	Profiles []string `key:"profiles" form:"named" min:"1"` // Which profiles it is good for; all if left out.

	Fingerprint string // of the token, see [Fingerprint]; "" if its variable has no usable token
}

type writtenToken struct {
	// "${VARIABLE}", "${cmd:...}" or "${file:...}", which holds it, or "sha256:" and the 64 hexadecimal digits of its
	// SHA-256. It never stands here itself.
	Text tokenText `key:"token" need:"add 'token': '${VARIABLE}'"`
}

// Check lowers the names, and reports a token that is there twice.
func (h *HTTP) Check(r *settings.Reader, _ strictjson.Value, _ string) {
	for i := range h.Hosts {
		h.Hosts[i] = strings.ToLower(h.Hosts[i])
	}
	for i := range h.Origins {
		h.Origins[i] = strings.ToLower(h.Origins[i])
	}
	lines := map[string]int{"": 0}
	for i := range h.Tokens {
		t := &h.Tokens[i].Text
		written := strings.ToLower(t.Written)
		if line := lines[written]; line != 0 {
			r.Add(t.Wrong("the same token is there twice", fmt.Sprintf("it is on line %d already: keep one of the two", line)))
		} else if written != "" {
			lines[written] = t.Place.Line
		}
	}
}

// Check reports what does not belong to a token that answers.
func (t *Token) Check(r *settings.Reader, n strictjson.Value, _ string) {
	if !t.Answers {
		return
	}
	if profiles := settings.Member(n, "profiles"); profiles.Kind() != strictjson.Missing {
		r.WrongKey(profiles, "remove it, or add another token for programs",
			`a token with "answers" runs no program, so it has no profiles`)
	}
	if settings.Member(n, "principal").Kind() == strictjson.Missing {
		r.WrongKey(settings.Member(n, "answers"), `add "principal": whose questions it answers`,
			`a token with "answers" and without a principal answers for nobody`)
	}
}

// leastToken is the length of the shortest token that nobody can guess.
const leastToken = 16

// Expand replaces the variables. The error is [settings.Problems] and lists the unusable tokens; then nobody may
// connect. The result contains these tokens without their fingerprints.
func (h *HTTP) Expand(env settings.Lookup) (HTTP, error) {
	if h == nil {
		return HTTP{}, nil
	}
	full := *h
	full.Tokens = slices.Clone(h.Tokens)
	var wrong settings.Problems
	seen := map[string]bool{}
	for i := range full.Tokens {
		t := &full.Tokens[i]
		fingerprint, message, hint := t.Text.fingerprint(env)
		if message == "" && fingerprint != "" && seen[fingerprint] {
			fingerprint, message, hint = "", "another entry has the same token", "keep one of the two"
		}
		if message != "" {
			wrong = append(wrong, t.Text.Wrong(message, hint))
		}
		t.Fingerprint = fingerprint
		seen[fingerprint] = true
	}
	oauth, unset := h.OAuth.Expand(env)
	full.OAuth = oauth
	return full, append(wrong, unset...).Err()
}

// Fingerprint represents a caller's token in overlays and in the record: it identifies the caller and is useless as a
// token.
func Fingerprint(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// fingerprint returns a token's fingerprint; the file has the token as a variable, a command, a file, or as its digest.
func (t *tokenText) fingerprint(env func(string) (string, bool)) (fingerprint, message, hint string) {
	if t.Written == "" || strings.HasPrefix(t.Written, "sha256:") {
		return strings.ToLower(t.Written), "", "" // reading the file checked its form
	}
	name := t.Written[len("${") : len(t.Written)-len("}")]
	what, token, ok := name, "", false
	if env != nil {
		token, ok = env(name)
	}
	if settings.IsSource(name) {
		what = "${" + name + "}"
		switch {
		case settings.IsUnread(token):
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

// A tokenText is a token: a variable, a command or a file that has it, or its digest.
type tokenText struct{ settings.Text }

// ReadKey reads the value of a key.
func (t *tokenText) ReadKey(r *settings.Reader, n strictjson.Value, what string, s *settings.Spec) {
	t.Text.ReadKey(r, n, what, s)
	digest, isDigest := strings.CutPrefix(t.Written, "sha256:")
	switch sum, err := hex.DecodeString(digest); {
	case t.Written == "":
	case isDigest && (err != nil || len(sum) != 32):
		r.Wrong(n, "printf %s \"$TOKEN\" | sha256sum prints them, without a line break in the token",
			`after "sha256:" there must be 64 hexadecimal digits`)
	case !isDigest && !inVariable.MatchString(t.Written) && !settings.OneSource(t.Written):
		r.Wrong(n, `write "${VARIABLE}", "${cmd:...}" or "${file:...}", or "sha256:" and its digest`,
			"a token must not stand in the file itself")
	}
}

// Schema is its JSON Schema.
func (tokenText) Schema() string {
	return `{"type": "string", "pattern": ` +
		`"^(\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}|\\$\\{(cmd|file):.+\\}|sha256:[0-9A-Fa-f]{64})$"}`
}
