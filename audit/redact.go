package audit

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/encoded"
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
		segments := strings.Split(strings.TrimPrefix(p, "/"), "/")
		for i, s := range segments {
			segments[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
		}
		d.pointers = append(d.pointers, segments)
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

// json gives a value as the record may keep it, in canonical form; nil if it is too large or no JSON.
func (d *redactor) json(raw json.RawMessage) (redacted json.RawMessage, whole bool) {
	if len(raw) == 0 || len(raw) > maxKept {
		return nil, len(raw) == 0
	}
	v, err := decode(raw)
	if err != nil {
		return nil, false
	}
	d.short = false
	out := appendValue(make([]byte, 0, len(raw)+64), d.value(v, nil))
	if len(out) > maxRedacted {
		return nil, false
	}
	return out, !d.short
}

func (d *redactor) value(v any, path []string) any {
	if len(d.pointers) > 0 && slices.ContainsFunc(d.pointers, func(p []string) bool { return fits(p, path) }) {
		return d.masked(v)
	}
	switch v := v.(type) {
	case string:
		return d.cut(d.text(v))
	case []any:
		kept := v[:min(len(v), maxItems)]
		for i, e := range kept {
			kept[i] = d.value(e, d.below(path, i, ""))
		}
		if n := len(v) - len(kept); n > 0 {
			d.short = true
			kept = append(slices.Clone(kept), fmt.Sprintf("… %d more", n))
		}
		return kept
	case *object:
		changed := false
		if n := len(v.keys) - maxItems; n > 0 {
			d.short, changed = true, true
			v.keys = append(slices.Clone(v.keys[:maxItems]), "…")
			v.values = append(slices.Clone(v.values[:maxItems]), fmt.Sprintf("%d more", n))
		}
		for i, k := range v.keys {
			if d.secret(k) {
				v.values[i] = d.masked(v.values[i])
			} else {
				v.values[i] = d.value(v.values[i], d.below(path, -1, k))
			}
			v.keys[i] = d.cut(d.name(k))
			changed = changed || v.keys[i] != k
		}
		if changed {
			unique(v)
		}
		return v
	}
	return v
}

// unique keeps two keys apart that masking has made equal.
func unique(o *object) {
	seen := make(map[string]int, len(o.keys)) // by key, the last number that was tried for it
	for i, k := range o.keys {
		for seen[o.keys[i]] > 0 {
			seen[k]++
			o.keys[i] = fmt.Sprintf("%s %d", k, seen[k])
		}
		seen[o.keys[i]] = 1
	}
}

// masked leaves of a secret that it is there: null and emptiness are none.
func (d *redactor) masked(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		if v == "" || v == Mask {
			return v
		}
		d.find(v)
		for _, word := range strings.Fields(v) { // behind Bearer, or one of several cookies
			if len(word) >= longSecret {
				d.find(strings.TrimRight(word, ";,"))
			}
		}
	case json.Number:
		d.find(string(v))
	case []any:
		for i := range v {
			v[i] = d.masked(v[i])
		}
		return v
	case *object:
		for i := range v.values {
			v.values[i] = d.masked(v.values[i])
			v.keys[i] = d.cut(d.text(v.keys[i]))
		}
		unique(v)
		return v
	}
	return Mask
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
