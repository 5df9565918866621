package prompt

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// Masking keeps secrets out of prompts. It must not become a place to hide things in, so what a person has to read to judge a
// call, paths, URLs and shell text, is never masked, whatever its key; and what is masked shows its length, and a digest when
// it is too long to be guessed from one.

// secretKeys are patterns of keys whose values are secrets, compared without case, hyphens and underscores.
var secretKeys = []string{
	"*token*", "*secret*", "*password*", "passwd", "pwd", "passphrase", "*authorization*", "*apikey*", "*accesskey*",
	"*privatekey*", "*credential*", "cookie", "setcookie", "bearer",
}

// phraseKeys are those of them whose values may be several words.
var phraseKeys = []string{"*password*", "passwd", "pwd", "passphrase"}

// secrecy says how much of a value its key lets us mask.
type secrecy int

const (
	open   secrecy = iota // only what looks like a secret by itself
	token                 // a value without spaces, or one behind "Bearer"
	phrase                // several plain words too
)

// A masker finds what must not be shown.
type masker struct {
	keys     []string
	pointers [][]string // tokens; * is any
	detect   bool
	reveal   bool
	known    map[masked][]span // of texts in the JSON, which is laid out several times
}

func newMasker(d Display, reveal bool) *masker {
	m := &masker{keys: slices.Clone(secretKeys), detect: !d.NoDetect, reveal: reveal, known: map[masked][]span{}}
	for _, k := range d.Keys {
		m.keys = append(m.keys, fold(k))
	}
	for _, p := range d.Pointers {
		if path, err := strictjson.Tokens(p); err == nil {
			m.pointers = append(m.pointers, path)
		}
	}
	return m
}

// pointer returns the secrecy of the value at path.
func (m *masker) pointer(path []string) secrecy {
	if slices.ContainsFunc(m.pointers, func(p []string) bool { return matches(p, path) }) {
		return phrase
	}
	return open
}

// key returns the secrecy of the values of key.
func (m *masker) key(key string) secrecy {
	key = fold(key)
	switch matches := func(p string) bool { return glob(p, key) }; {
	case slices.ContainsFunc(phraseKeys, matches):
		return phrase
	case slices.ContainsFunc(m.keys, matches):
		return token
	}
	return open
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

func fold(key string) string {
	return strings.ToLower(separators.Replace(key))
}

// glob matches * with any characters.
func glob(pattern, s string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return s == pattern
	}
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], more
	}
}

// A span of characters that is not shown.
type span struct {
	from, to int
	what     string // "" when only its key tells
}

var (
	scheme  = regexp.MustCompile(`^(?i:bearer|basic|digest|negotiate|token|apikey) +([^\s]+)$`)
	cookies = regexp.MustCompile(`^[^=;\s]+=[^;\s]*(?:; *[^=;\s]+(?:=[^;\s]*)?)*;?$`)
	address = regexp.MustCompile(`^(?:/|\./|\.\./|~/|\\\\|[A-Za-z]:[\\/]|[A-Za-z][A-Za-z0-9+.-]*://|(?:data|file|mailto|javascript):)|^(?:[\w.-]+[/\\])+[\w-]*\.\w+$`)
	shell   = regexp.MustCompile("[$][({]|`|&&|[|][|]")
	// A phrase is plain words; an option, a path or an assignment among them makes it a command.
	phrases = sync.OnceValue(func() *regexp.Regexp { // takes long to compile
		return regexp.MustCompile(`^[\pL\pN][\pL\pN'.,!?-]*(?: [\pL\pN][\pL\pN'.,!?-]*)*$`)
	})
)

const maxPhrase = 128

// hostGoesOn matches what follows when a would-be secret is the beginning of a host name or a path.
var hostGoesOn = regexp.MustCompile(`^(?:\.[A-Za-z0-9]|[/\\:@])`)

// masked is a text under a key of that secrecy.
type masked struct {
	text string
	s    secrecy
}

// in returns the spans of a text.
func (m *masker) in(text string, s secrecy) []span {
	found, ok := m.known[masked{text, s}]
	if !ok {
		found = m.spans(text, s)
		m.known[masked{text, s}] = found
	}
	return found
}

// spans returns what of a text must not be shown, in order, in characters.
func (m *masker) spans(text string, s secrecy) []span {
	if m.reveal || text == "" {
		return nil
	}
	length := utf8.RuneCountInString(text)
	if s != open && !address.MatchString(text) && !shell.MatchString(text) {
		at := scheme.FindStringSubmatchIndex(text)
		switch {
		case at != nil:
			return []span{{from: utf8.RuneCountInString(text[:at[2]]), to: length}}
		case !strings.ContainsFunc(text, unicode.IsSpace), cookies.MatchString(text):
			return []span{{to: length}}
		case s == phrase && len(text) <= maxPhrase && phrases().MatchString(text):
			return []span{{to: length}}
		}
	}
	if !m.detect || !slices.ContainsFunc(hints, func(h string) bool { return strings.Contains(text, h) }) {
		return nil
	}
	var found []span
	last, chars := 0, 0
	for _, at := range known().FindAllStringSubmatchIndex(text, -1) {
		if part := text[at[0]:at[1]]; at[0] < last || inAddress(text, at[0], at[1]) {
			continue
		} else if i := slices.IndexFunc(at[2:], func(n int) bool { return n >= 0 }); i >= 0 {
			chars += len([]rune(text[last:at[0]]))
			n := len([]rune(part))
			found = append(found, span{from: chars, to: chars + n, what: knownNames[i/2]})
			chars, last = chars+n, at[1]
		}
	}
	return found
}

// inAddress reports whether the secret is a part of a path or of a URL before its query: where a request goes must stay
// visible.
func inAddress(text string, from, to int) bool {
	nearby := text[max(0, from-maxAddress):from]
	start := strings.LastIndexFunc(nearby, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'<>`, r) }) + 1
	before := nearby[start:]
	return hostGoesOn.MatchString(text[to:]) || strings.ContainsAny(before, `/\`) && !strings.ContainsAny(before, "?#")
}

// maxAddress is how far back a path or URL is looked for, in bytes, so that a text full of would-be secrets is read only once.
const maxAddress = 2048

// hints are in every text that known matches. Looking for them is much cheaper.
var hints = []string{
	"eyJ", "PRIVATE KEY", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "sk-", "k_live_", "k_test_",
	"whsec_", "AIza", "ya29.", "npm_", "pypi-", "hf_", "SG.", "_v1_",
}

// known are the shapes of secrets that give themselves away, one group each. They match no character that means anything to a
// shell, and a private key only as long as it is nothing but base64.
var known = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(strings.Join(shapes, "|")) })

var shapes = []string{
	`(\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})?)`,
	`(-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s]*-----END [A-Z ]*PRIVATE KEY-----)`,
	`(\b(?:AKIA|ASIA)[A-Z0-9]{16}\b)`,
	`(\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,})`,
	`(\bglpat-[A-Za-z0-9_-]{16,})`,
	`(\bxox[abeoprs]-[A-Za-z0-9-]{10,})`,
	`(\bsk-[A-Za-z0-9_-]{20,}|\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{20,})`,
	`(\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,})`,
	`(\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{30,}|\bhf_[A-Za-z0-9]{30,})`,
	`(\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bdo[opr]_v1_[a-f0-9]{32,})`,
}

var knownNames = []string{
	"JWT", "private key", "AWS key", "GitHub token", "GitLab token", "Slack token", "API key", "Google key", "registry token", "API key",
}

// guessable is the length up to which the digest of a secret would give it away.
const guessable = 16

// mark is what stands in the place of a secret.
func mark(secret []rune, what string) string {
	if what != "" {
		what += ", "
	}
	s := fmt.Sprintf("(hidden: %s%d characters", what, len(secret))
	if len(secret) >= guessable {
		s += fmt.Sprintf(", sha256 %x", digest([]byte(plain(secret)))[:4])
	}
	return s + ")"
}

func digest(b []byte) []byte {
	d := sha256.Sum256(b)
	return d[:]
}
