package secrets

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A shape is a form of secret texts. The group of the expression is the secret; without a group it is the whole match.
type shape struct {
	what         string
	hints        []string // in lower case; every match contains one of them, and the search for it is much cheaper
	strict, mild expression
}

// An expression is compiled at its first use; nil matches nothing.
type expression func() *regexp.Regexp

func pattern(text string) expression {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// shapes are the secrets that have a form of their own. A mild expression matches no character with a meaning for a
// shell, and a private key only if it is nothing but base64.
var shapes = []shape{
	{"private key", []string{"private key"},
		pattern(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`),
		pattern(`-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s]*-----END [A-Z ]*PRIVATE KEY-----`)},
	{"JWT", []string{"eyj"},
		pattern(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*`),
		pattern(`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})?`)},
	{"header", []string{"authorization", "cookie", "x-api-key"},
		pattern(`(?i)\b(?:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key)["']?\s*[:=]\s*["']?([^\r\n"'\\]+)`), nil},
	{"credentials", []string{"bearer", "basic"}, pattern(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{6,})`), nil},
	{"assignment", []string{"password", "passwd", "secret", "token", "key", "pwd", "passphrase", "credential"},
		pattern(`(?i)(?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key|credentials?)["']?\s*[:=]\s*["']?` +
			`([^\s"'&;,\\]{3,})`), nil},
	{"address", []string{"://"}, pattern(`[A-Za-z][A-Za-z0-9+.-]*://([^/@\s"']+)@`), nil},
	{"AWS key", []string{"akia", "asia"}, pattern(`\bA(?:KIA|SIA)[0-9A-Z]{16}`), pattern(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)},
	{"GitHub token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"},
		pattern(`\b(?:gh[pousr]_|github_pat_)[A-Za-z0-9_-]{10,}`),
		pattern(`\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}`)},
	{"GitLab token", []string{"glpat-"}, pattern(`\bglpat-[A-Za-z0-9_-]{10,}`), pattern(`\bglpat-[A-Za-z0-9_-]{16,}`)},
	{"Slack token", []string{"xox"}, pattern(`\bxox[abeoprs]-[A-Za-z0-9_-]{10,}`),
		pattern(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`)},
	{"API key", []string{"sk-", "k_live_", "k_test_", "whsec_"},
		pattern(`\b(?:sk-|[sr]k_(?:live|test)_|pk_live_|whsec_)[A-Za-z0-9_+/=-]{10,}`),
		pattern(`\bsk-[A-Za-z0-9_-]{20,}|\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{20,}`)},
	{"Google key", []string{"aiza", "ya29."}, pattern(`\b(?:AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{10,})`),
		pattern(`\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}`)},
	{"registry token", []string{"npm_", "pypi-", "hf_"}, pattern(`\b(?:npm_|pypi-|hf_)[A-Za-z0-9_-]{10,}`),
		pattern(`\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{30,}|\bhf_[A-Za-z0-9]{30,}`)},
	{"API key", []string{"sg.", "_v1_", "shpat_", "sq0"},
		pattern(`\b(?:SG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}|(?:do[opr]_v1_|shpat_|sq0[a-z]{3}-)[A-Za-z0-9_-]{10,})`),
		pattern(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bdo[opr]_v1_[a-f0-9]{32,}`)},
}

// A hint is a text that a shape requires.
type hint struct {
	text  string
	shape int
}

// hints are the hints of all shapes, by their first byte.
var hints = func() (by [256][]hint) {
	for i, s := range shapes {
		for _, h := range s.hints {
			by[h[0]] = append(by[h[0]], hint{h, i})
		}
	}
	return by
}()

// hintsIn returns the set of shapes with a hint in a text.
func hintsIn(lower string) (set uint32) {
	for i := range len(lower) {
		for _, h := range hints[lower[i]] {
			if strings.HasPrefix(lower[i:], h.text) {
				set |= 1 << h.shape
			}
		}
	}
	return set
}

// A Span is a secret part of a text.
type Span struct {
	From, To int    // bytes
	What     string // the kind of secret; "" if only its place makes it one
}

var (
	scheme  = pattern(`^(?i:bearer|basic|digest|negotiate|token|apikey) +([^\s]+)$`)
	cookies = pattern(`^[^=;\s]+=[^;\s]*(?:; *[^=;\s]+(?:=[^;\s]*)?)*;?$`)
	address = pattern(`^(?:/|\./|\.\./|~/|\\\\|[A-Za-z]:[\\/]|[A-Za-z][A-Za-z0-9+.-]*://|(?:data|file|mailto|javascript):)|` +
		`^(?:[\w.-]+[/\\])+[\w-]*\.\w+$`)
	shell = pattern("[$][({]|`|&&|[|][|]")
	// A phrase is plain words. An option, a path or an assignment among them makes it a command.
	phrase = pattern(`^[\pL\pN][\pL\pN'.,!?-]*(?: [\pL\pN][\pL\pN'.,!?-]*)*$`)
	// hostContinues matches the rest of a host name or a path behind a supposed secret.
	hostContinues = pattern(`^(?:\.[A-Za-z0-9]|[/\\:@])`)
)

const (
	maxPhrase = 128
	// maxAddress is how many bytes in front of a supposed secret are searched for a path or URL. The limit keeps the
	// time for a text full of supposed secrets linear.
	maxAddress = 2048
	// shortestText is the length below which a text has no secrets.
	shortestText = 8
)

// Spans returns the secret parts of a text at a place of that level, in order and without overlaps.
func (f *Finder) Spans(text string, level Level) []Span {
	switch {
	case text == "":
		return nil
	case level == Open:
	case f.strictness == Strict:
		return []Span{{To: len(text)}}
	default:
		if found := placed(text, level); found != nil {
			return found
		}
	}
	if !f.detect || len(text) < shortestText {
		return nil
	}
	hinted := hintsIn(strings.ToLower(text))
	if hinted == 0 {
		return nil
	}
	var found []Span
	for i, s := range shapes {
		find := s.mild
		if f.strictness == Strict {
			find = s.strict
		}
		if find == nil || hinted&(1<<i) == 0 {
			continue
		}
		for _, at := range find().FindAllStringSubmatchIndex(text, -1) {
			from, to := at[len(at)-2], at[len(at)-1] // the group, or all
			if f.strictness == Strict || !inAddress(text, from, to) {
				found = append(found, Span{from, to, s.what})
			}
		}
	}
	return apart(found)
}

// placed returns the parts of a text that are secret for their place alone.
func placed(text string, level Level) []Span {
	if address().MatchString(text) || shell().MatchString(text) {
		return nil
	}
	at := scheme().FindStringSubmatchIndex(text)
	switch {
	case at != nil:
		return []Span{{From: at[2], To: len(text)}}
	case !strings.ContainsFunc(text, unicode.IsSpace), cookies().MatchString(text),
		level == Phrase && len(text) <= maxPhrase && phrase().MatchString(text):
		return []Span{{To: len(text)}}
	}
	return nil
}

// apart sorts spans and merges those that overlap.
func apart(spans []Span) []Span {
	slices.SortStableFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To))
	})
	kept := spans[:0]
	for _, s := range spans {
		if n := len(kept); n > 0 && s.From < kept[n-1].To {
			kept[n-1].To = max(kept[n-1].To, s.To)
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

// inAddress reports whether a span is part of a path, or of a URL before its query: the destination of a request must
// stay visible.
func inAddress(text string, from, to int) bool {
	nearby := text[max(0, from-maxAddress):from]
	start := strings.LastIndexFunc(nearby, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`"'<>`, r)
	}) + 1
	before := nearby[start:]
	return hostContinues().MatchString(text[to:]) || strings.ContainsAny(before, `/\`) && !strings.ContainsAny(before,
		"?#")
}
