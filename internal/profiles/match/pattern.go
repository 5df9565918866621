package match

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// A Pattern is a pattern over names, or over text in the operator "glob". The package doublestar decides what it
// matches:
//
//   - any characters, none too
//     ?        one character
//     [a-z_]   one of these characters; [^...] and [!...] one of the others
//     {a,b}    one of these patterns
//     \c       the character c itself
//
// Case matters and a glob must match the whole text. "/" is a character like any other and ** is *: a deny rule on
// "rm*-rf*" must match "rm /data -rf".
type Pattern struct {
	pattern  string   // for doublestar
	folded   string   // for doublestar and folded text; only operators have it
	literals []string // the texts outside braces; every match contains them
	Words    string   // all literal text, also that in braces
	Head     string   // the literal text at the start
	Plain    bool     // the glob matches only head
	braces   bool
}

// Patterns are several of them.
type Patterns []*Pattern

// Match reports whether one of them matches one of the names.
func (all Patterns) Match(names ...string) bool {
	return slices.ContainsFunc(all, func(g *Pattern) bool { return slices.ContainsFunc(names, g.Match) })
}

// MayBegin reports whether one of them may match a text that begins with prefix.
func (all Patterns) MayBegin(prefix string) bool {
	return slices.ContainsFunc(all, func(g *Pattern) bool { return g.MayBegin(prefix) })
}

// To doublestar "/" separates names, and the end of a text hides an empty alternative: "a*{b,}" does not match "a".
// Two noncharacters avoid both: one stands for "/", the other marks the end where the pattern has braces.
const (
	slash   = "\ufdd0"
	textEnd = "\ufdd1"
)

var withoutSlash = strings.NewReplacer("/", slash, slash, "\ufffd", textEnd, "\ufffd")

// Match reports whether the pattern matches the whole text.
func (g *Pattern) Match(s string) bool {
	if g.Plain {
		return s == g.Head
	}
	// Most patterns differ from the name in literal text, and comparing that is faster.
	if !strings.HasPrefix(s, g.Head) {
		return false
	}
	for _, text := range g.literals {
		if !strings.Contains(s, text) {
			return false
		}
	}
	return g.matchPattern(g.pattern, s)
}

// MatchFolded is Match for folded text. It ignores case.
func (g *Pattern) MatchFolded(s string) bool { return g.matchPattern(g.folded, s) }

func (g *Pattern) matchPattern(pattern, s string) bool {
	if strings.IndexByte(s, '/') >= 0 || strings.IndexByte(s, slash[0]) >= 0 {
		s = withoutSlash.Replace(s)
	}
	if g.braces {
		s += textEnd
	}
	return doublestar.MatchUnvalidated(pattern, s)
}

// CoversPrefix reports whether g certainly matches every text that begins with prefix.
func (g *Pattern) CoversPrefix(prefix string) bool {
	return strings.HasSuffix(g.pattern, "*") && !strings.HasSuffix(g.pattern, `\*`) && g.Match(prefix)
}

// MayBegin reports whether g may match a text that begins with prefix, a server's name and "__". It reports true in
// difficult cases. It does not consider that a ? or a class of the pattern may match "_".
func (g *Pattern) MayBegin(prefix string) bool {
	server, _, found := strings.Cut(g.pattern, "__")
	if !found || strings.Contains(server, "*") || strings.Count(server, "{") != strings.Count(server, "}") {
		n := min(len(g.Head), len(prefix))
		return g.Head[:n] == prefix[:n] && (n == len(prefix) || !g.Plain)
	}
	return doublestar.MatchUnvalidated(server+"__", prefix) || doublestar.MatchUnvalidated(server+"__*", prefix)
}

// Covers reports whether g certainly matches everything that other matches; sample is a name that other matches. If
// other has a variable part there, only * and the same pattern certainly match it.
func (g *Pattern) Covers(other *Pattern, sample string) bool {
	return g.pattern == other.pattern || (other.Plain || !strings.ContainsAny(g.pattern, "?[")) && g.Match(sample)
}

// Sample is the text of a glob with a noncharacter for each variable part.
func (g *Pattern) Sample() string {
	const variable = "\ufdd2"
	var b strings.Builder
	for i := 0; i < len(g.pattern); i++ {
		switch c := g.pattern[i]; c {
		case '*', '?':
			b.WriteString(variable)
		case '[':
			i += closing(g.pattern[i:])
			b.WriteString(variable)
		case '{':
			i += closing(g.pattern[i:])
			b.WriteString(variable)
		case '\\':
			i++
			b.WriteByte(g.pattern[i])
		default:
			b.WriteByte(c)
		}
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), textEnd), slash, "/")
}

// closing returns the end of the class or the braces at the beginning of s.
func closing(s string) int {
	depth, class := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
		if !class && depth == 0 {
			return i
		}
	}
	return len(s) - 1
}

// Grams returns the longest grams of the literals: only those of three bytes if there is one of that length.
func (g *Pattern) Grams() []Gram {
	longest := 0
	for _, text := range g.literals {
		longest = max(longest, len(text))
	}
	size := min(longest, GramLength)
	if size == 0 {
		return nil
	}
	var grams []Gram
	for _, text := range g.literals {
		for i := 0; i+size <= len(text); i++ {
			grams = append(grams, NewGram(text[i:i+size]))
		}
	}
	return slices.Compact(grams)
}

// A Gram is up to three bytes, with their number in the lowest byte.
type Gram uint32

// GramLength is the length of the longest gram in bytes.
const GramLength = 3

// NewGram is the gram of up to three bytes.
func NewGram(s string) Gram {
	g := Gram(len(s))
	for i := range len(s) {
		g |= Gram(s[i]) << (8 * (i + 1))
	}
	return g
}

// Fold returns text as a lenient upstream might read it: compatibility characters replaced (NFKC) and case folded. Two
// texts that look alike to such an upstream fold to the same.
func Fold(s string) string {
	if IsASCII(s) {
		return strings.ToLower(s)
	}
	// Folding can undo the normal form (U+0345 is one case), so normalize again.
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

// IsASCII reports whether a text is ASCII.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i]&0x80 != 0 {
			return false
		}
	}
	return true
}
