package profiles

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// A glob is a pattern over names, or over text in the operator "glob". The package doublestar decides what it matches:
//
//   - any characters, none too
//     ?        one character
//     [a-z_]   one of these characters; [^...] and [!...] one of the others
//     {a,b}    one of these patterns
//     \c       the character c itself
//
// Case matters and a glob has to match the whole text. "/" is a character like any other and ** is *: a deny rule on
// "rm*-rf*" has to match "rm /data -rf".
type glob struct {
	pattern  string   // for doublestar
	folded   string   // for doublestar and folded text; only operators have it
	literals []string // the texts outside braces, which every match contains
	words    string   // all literal text, also that in braces
	head     string   // the literal text at the start
	plain    bool     // the glob matches head and nothing else
	braces   bool
}

// To doublestar "/" separates names, and the end of a text hides an empty alternative: "a*{b,}" does not match "a".
// Two noncharacters avoid both: one stands for "/", the other marks the end where the pattern has braces.
const (
	slash   = "\ufdd0"
	textEnd = "\ufdd1"
)

var withoutSlash = strings.NewReplacer("/", slash, slash, "\ufffd", textEnd, "\ufffd")

func (g *glob) match(s string) bool {
	if g.plain {
		return s == g.head
	}
	// Most patterns that are tried on a name differ from it in literal text, which is seen in less time.
	if !strings.HasPrefix(s, g.head) {
		return false
	}
	for _, text := range g.literals {
		if !strings.Contains(s, text) {
			return false
		}
	}
	return g.matchPattern(g.pattern, s)
}

// matchFolded is match for folded text. It pays no attention to case.
func (g *glob) matchFolded(s string) bool { return g.matchPattern(g.folded, s) }

func (g *glob) matchPattern(pattern, s string) bool {
	if strings.IndexByte(s, '/') >= 0 || strings.IndexByte(s, slash[0]) >= 0 {
		s = withoutSlash.Replace(s)
	}
	if g.braces {
		s += textEnd
	}
	return doublestar.MatchUnvalidated(pattern, s)
}

// covers reports whether g surely matches every text that begins with prefix.
func (g *glob) covers(prefix string) bool {
	return strings.HasSuffix(g.pattern, "*") && !strings.HasSuffix(g.pattern, `\*`) && g.match(prefix)
}

// mayBegin reports whether g may match a text that begins with prefix, which is a server's name and "__". It
// reports true where that is not easy to see. That a ? or a class of the pattern stands for "_" is not looked for.
func (g *glob) mayBegin(prefix string) bool {
	server, _, found := strings.Cut(g.pattern, "__")
	if !found || strings.Contains(server, "*") || strings.Count(server, "{") != strings.Count(server, "}") {
		n := min(len(g.head), len(prefix))
		return g.head[:n] == prefix[:n] && (n == len(prefix) || !g.plain)
	}
	return doublestar.MatchUnvalidated(server+"__", prefix) || doublestar.MatchUnvalidated(server+"__*", prefix)
}

// covers reports whether a pattern of the rule surely matches all that other matches, whose sample is given. If
// something is variable there, only * and the same pattern are sure to.
func (r *rule) covers(other *glob, sample string) bool {
	return slices.ContainsFunc(r.globs, func(g *glob) bool {
		return g.pattern == other.pattern || (other.plain || !strings.ContainsAny(g.pattern, "?[")) && g.match(sample)
	})
}

// sample is the text of a glob with a noncharacter for each part that is variable.
func (g *glob) sample() string {
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

// closing gives where the class or the braces end with which s begins.
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

// grams gives the grams of the longest kind that the literals have: only three bytes long if one of them is that long.
func (g *glob) grams() []gram {
	longest := 0
	for _, text := range g.literals {
		longest = max(longest, len(text))
	}
	size := min(longest, gramLength)
	if size == 0 {
		return nil
	}
	var grams []gram
	for _, text := range g.literals {
		for i := 0; i+size <= len(text); i++ {
			grams = append(grams, newGram(text[i:i+size]))
		}
	}
	return slices.Compact(grams)
}
