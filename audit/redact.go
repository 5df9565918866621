package audit

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/encoded"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Redaction says what is secret beside what looks so by itself.
type Redaction struct {
	Keys     []string // patterns of keys whose values are masked; * is any characters
	Pointers []string // JSON Pointers of values that are masked; a segment * is any key or index
	NoDetect bool     // leave in clear what looks like a token unless its key says so
}

// Mask stands in the record for what is secret.
const Mask = "[redacted]"

// The sizes beyond which the record keeps less than the whole. The digests are of the whole, always.
const (
	maxString   = 2_000   // characters of one string
	maxItems    = 200     // members of one list or object
	maxRedacted = 16_000  // bytes of one redacted value
	maxProgram  = 65_536  // bytes of a program's text
	maxDetail   = 2_000   // characters of a sentence
	maxKept     = 1 << 20 // bytes of a value that is looked at at all
)

// secretKeys are patterns of keys whose values are secrets, compared without case, hyphens and underscores. Unlike a
// prompt, the record may leave out more than it has to: it is not what a person decides by.
var secretKeys = []string{
	"*token*", "*secret*", "*password*", "passwd", "pwd", "*passphrase*", "*authorization*", "*apikey*", "*accesskey*",
	"*privatekey*", "*credential*", "*cookie*", "bearer", "sessionid", "*signature*", "pin", "otp", "cvv", "cvc",
}

// A shape is a form of text that secrets have. hints are lower case; one of them has to be in a text before the expression is tried.
type shape struct {
	hints []string
	re    *regexp.Regexp
	with  string
}

var shapes = []shape{
	{[]string{"private key"}, regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`), Mask},
	{[]string{"eyj"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*`), Mask},
	{[]string{"authorization", "cookie", "x-api-key"}, regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-api-key)(["']?\s*[:=]\s*["']?)[^\r\n"'\\]+`), "$1$2" + Mask},
	{[]string{"bearer", "basic "}, regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`), "$1 " + Mask},
	{[]string{"password", "passwd", "secret", "token", "key", "pwd", "passphrase", "credential"},
		regexp.MustCompile(`(?i)((?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key|credentials?)["']?\s*[:=]\s*["']?)[^\s"'&;,\\]{3,}`), "${1}" + Mask},
	{[]string{"://"}, regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/@\s"']+@`), "${1}" + Mask + "@"},
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "npm_", "xox", "sk-", "sk_", "rk_", "pk_live", "hf_", "dop_v1_", "pypi-", "shpat_", "sq0"},
		regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-|npm_|xox[abeprs]-|sk-|[sr]k_(?:live|test)_|pk_live_|hf_|dop_v1_|pypi-|shpat_|sq0[a-z]{3}-)[A-Za-z0-9_-]{10,}`), Mask},
	{[]string{"akia", "asia", "aiza", "ya29."}, regexp.MustCompile(`\b(?:A(?:KIA|SIA)[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{10,})`), Mask},
}

// A redactor masks what is secret for one entry.
type redactor struct {
	keys     []string
	pointers [][]string
	detect   bool
	known    *strings.Replacer // values that are secret wherever they stand; nil if there are none
	run      *strings.Replacer // those that this run has shown to be
	found    []string          // texts that were masked for their keys
	short    bool              // something was left out
	names    *memo[string]     // what became of texts that known and detect had been applied to; nil remembers none
	judged   *memo[bool]       // whether secretKeys say of a key that it is one; nil remembers none
}

func newRedactor(r Redaction, known *strings.Replacer) *redactor {
	d := &redactor{keys: secretKeys, detect: !r.NoDetect, known: known}
	if len(r.Keys) > 0 {
		d.keys = slices.Clone(secretKeys)
		for _, k := range r.Keys {
			d.keys = append(d.keys, fold(k))
		}
	}
	for _, p := range r.Pointers {
		tokens, err := strictjson.Tokens(p)
		if err != nil { // the configuration refuses it; here it masks everything
			tokens = nil
		}
		d.pointers = append(d.pointers, tokens)
	}
	return d
}

var folder = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

func fold(key string) string { return strings.ToLower(folder.Replace(key)) }

// like matches * with any characters.
func like(pattern, s string) bool {
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

// knownSecrets replaces values that are secret wherever they stand, in the forms they usually travel in.
func knownSecrets(values []string) *strings.Replacer {
	var pairs []string
	seen := map[string]bool{}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) }) // of two that overlap the longer
	for _, v := range values {
		if len(v) < shortestSecret {
			continue
		}
		for _, form := range encoded.Forms(v) {
			if !seen[form] {
				seen[form] = true
				pairs = append(pairs, form, Mask)
			}
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	return strings.NewReplacer(pairs...)
}

// shortestSecret is how long a value has to be to be looked for everywhere: shorter ones are in half of all texts.
const shortestSecret = 6

// text masks secrets in a text.
func (d *redactor) text(s string) string {
	if d.known != nil {
		s = d.known.Replace(s)
	}
	if d.run != nil {
		s = d.run.Replace(s)
	}
	if !d.detect || len(s) < 8 {
		return s
	}
	lower := strings.ToLower(s)
	for _, shape := range shapes {
		if slices.ContainsFunc(shape.hints, func(h string) bool { return strings.Contains(lower, h) }) {
			s = shape.re.ReplaceAllString(s, shape.with)
		}
	}
	return s
}

// sentence masks and bounds a text of an entry.
func (d *redactor) sentence(s string) string {
	if s == "" {
		return ""
	}
	return cut(d.name(s), maxDetail)
}

// name is text for what comes again and again.
func (d *redactor) name(s string) string {
	if d.names == nil || d.run != nil || !d.detect || len(s) > longestName {
		return d.text(s)
	}
	return d.names.of(s, d.text)
}

// longestName is the longest text that is remembered: most are the names of the same few tools, profiles and people.
const longestName = 128

// strict reads a value of an entry; it is missing if it is too large, or if readers could differ about it: such a value has
// a digest of its bytes and nothing else.
func strict(raw json.RawMessage) strictjson.Value {
	if len(raw) == 0 || len(raw) > maxKept {
		return strictjson.Value{}
	}
	v, _ := strictjson.Parse(raw, strictjson.Options{MaxDepth: maxDepth, AllowHugeNumbers: true})
	return v
}

// maxDepth bounds the nesting of values that are kept; arguments have a lower limit of their own.
const maxDepth = 200

// json gives a value as the record may keep it, in canonical form; nil if it is missing or too large.
func (d *redactor) json(v strictjson.Value) (redacted json.RawMessage, whole bool) {
	if v.Kind() == strictjson.Missing {
		return nil, false
	}
	d.short = false
	redacted = d.append(make([]byte, 0, v.End()-v.Offset()+64), v, nil, false)
	if len(redacted) > maxRedacted {
		return nil, false
	}
	return redacted, !d.short
}

// append writes a value. A secret value leaves that it is there: null and emptiness are none.
func (d *redactor) append(b []byte, v strictjson.Value, path []string, secret bool) []byte {
	secret = secret || len(d.pointers) > 0 && slices.ContainsFunc(d.pointers, func(p []string) bool { return fits(p, path) })
	switch kind := v.Kind(); {
	case kind == strictjson.Object:
		return d.object(b, v, path, secret)
	case kind == strictjson.Array:
		b = append(b, '[')
		for i, e := range v.Elements() {
			if i > 0 {
				b = append(b, ',')
			}
			if i == maxItems {
				d.short = true
				b = strictjson.AppendString(b, fmt.Sprintf("… %d more", v.Len()-i))
				break
			}
			b = d.append(b, e, d.below(path, i, ""), secret)
		}
		return append(b, ']')
	case kind == strictjson.Null, secret && kind == strictjson.String && v.Text() == "":
	case secret:
		d.findIn(v.Text())
		return strictjson.AppendString(b, Mask)
	case kind == strictjson.String:
		if s := d.cut(d.text(v.Text())); s != v.Text() {
			return strictjson.AppendString(b, s)
		}
	}
	return v.AppendCanonical(b)
}

// A member is one of an object that is kept.
type member struct {
	key   string
	value strictjson.Value // missing if it stands for the members that are left out
	name  string           // the key before it was masked
}

func (d *redactor) object(b []byte, v strictjson.Value, path []string, secret bool) []byte {
	members, changed := make([]member, 0, min(v.Len(), maxItems+1)), false
	for name, value := range v.Members() {
		if len(members) == maxItems {
			d.short, changed = true, true
			members = append(members, member{key: "…"})
			break
		}
		m := member{key: d.cut(d.name(name)), value: value, name: name}
		members, changed = append(members, m), changed || m.key != name
	}
	if changed {
		unique(members)
	}
	slices.SortFunc(members, func(a, b member) int { return strictjson.CompareKeys(a.key, b.key) })
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strictjson.AppendString(b, m.key), ':')
		if m.value.Kind() == strictjson.Missing {
			b = strictjson.AppendString(b, fmt.Sprintf("%d more", v.Len()-maxItems))
			continue
		}
		b = d.append(b, m.value, d.below(path, -1, m.name), secret || d.secret(m.name))
	}
	return append(b, '}')
}

// unique keeps apart the keys that masking has made equal.
func unique(members []member) {
	seen := make(map[string]int, len(members)) // by key, the last number that was tried for it
	for i := range members {
		m := &members[i]
		for key := m.key; seen[m.key] > 0; {
			seen[key]++
			m.key = fmt.Sprintf("%s %d", key, seen[key])
		}
		seen[m.key] = 1
	}
}

// findIn notes a secret, and the parts of it that are secrets by themselves: what is behind Bearer, or one of several cookies.
func (d *redactor) findIn(secret string) {
	if secret == Mask {
		return
	}
	d.find(secret)
	for word := range strings.FieldsSeq(secret) {
		if len(word) >= longSecret {
			d.find(strings.TrimRight(word, ";,"))
		}
	}
}

// longSecret is how long a part of a secret has to be to be one by itself.
const longSecret = 12

func (d *redactor) find(s string) {
	if len(s) >= shortestSecret && len(s) <= learnedLongest && len(d.found) < learnedMost {
		d.found = append(d.found, s)
	}
}

func (d *redactor) secret(key string) bool {
	own := d.keys[len(secretKeys):]
	if d.judged != nil && len(own) == 0 && len(key) <= longestName {
		return d.judged.of(key, func(key string) bool { return matches(secretKeys, key) })
	}
	return matches(d.keys, key)
}

func matches(patterns []string, key string) bool {
	key = fold(key)
	return slices.ContainsFunc(patterns, func(p string) bool { return like(p, key) })
}

func (d *redactor) below(path []string, i int, key string) []string {
	if len(d.pointers) == 0 {
		return nil
	}
	if i >= 0 {
		key = fmt.Sprint(i)
	}
	return append(slices.Clip(path), key)
}

func fits(pattern, path []string) bool {
	if len(pattern) != len(path) {
		return false
	}
	for i, p := range pattern {
		if p != "*" && p != path[i] {
			return false
		}
	}
	return true
}

func (d *redactor) cut(s string) string {
	if short := cut(s, maxString); short != s {
		d.short = true
		return short
	}
	return s
}

// cut keeps the beginning of a text and says how much it left out.
func cut(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	at := 0
	for range most {
		_, n := utf8.DecodeRuneInString(s[at:])
		at += n
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:at], len(s)-at)
}
