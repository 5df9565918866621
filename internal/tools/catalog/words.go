package catalog

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// wordsOf splits a text into lower-case stems: at each character that is not a letter or digit, at a change to or from
// a script without spaces, and inside names such as like_this, like-this or likeThis. Accents do not count. Scripts
// without spaces give each pair of neighbouring characters, and each character.
func wordsOf(s string, known map[string]string) []string {
	var out []string
	rs := []rune(fold(s))
	for i := 0; i < len(rs); {
		if !inWord(rs[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(rs) && inWord(rs[j]) && dense(rs[j]) == dense(rs[i]) {
			if unicode.IsUpper(rs[j]) && (unicode.IsLower(rs[j-1]) || unicode.IsDigit(rs[j-1]) ||
				j+1 < len(rs) && unicode.IsUpper(rs[j-1]) && unicode.IsLower(rs[j+1])) {
				break // fileName, HTTPServer
			}
			j++
		}
		if dense(rs[i]) {
			for k := i; k < j; k++ {
				out = append(out, string(rs[k]))
				if k+1 < j {
					out = append(out, string(rs[k:k+2]))
				}
			}
		} else if w := strings.ToLower(string(rs[i:j])); !stopWords[w] {
			out = append(out, stemOf(w, known))
		}
		i = j
	}
	return out
}

// asked are the words of a query. A single character of a script without spaces counts only if it stands alone.
func asked(query string) []string {
	all := wordsOf(query, nil)
	pair := func(w string) bool { return utf8.RuneCountInString(w) == 2 && dense([]rune(w)[0]) }
	return slices.DeleteFunc(slices.Clone(all), func(w string) bool {
		single := utf8.RuneCountInString(w) == 1 && dense([]rune(w)[0])
		return single && slices.ContainsFunc(all, func(p string) bool { return pair(p) && strings.Contains(p, w) })
	})
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// dense reports whether r is of a script that separates no words, or joins them with others.
func dense(r rune) bool {
	return r > 0x7f && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai,
		unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// spelled are letters that people write in another way, and that Unicode does not decompose.
var spelled = strings.NewReplacer("ß", "ss", "ø", "o", "Ø", "O", "ł", "l", "Ł", "L", "đ", "d", "Đ", "D", "æ", "ae",
	"Æ", "Ae", "œ", "oe", "Œ", "Oe", "ı", "i")

// fold replaces compatibility characters, and removes accents.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			bare := strings.Map(func(r rune) rune {
				if r >= 0x300 && r <= 0x36f {
					return -1
				}
				return r
			}, norm.NFKD.String(s))
			return spelled.Replace(norm.NFC.String(bare))
		}
	}
	return s
}

// stopWords do not help to choose a tool.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`a about an and any are as at be but by can do does each for from has have how i if in
		into is it its me my of on or our please should so some such than that the their them then there these they this those
		to tool tools us use used using want was we what when where which will with would you your`) {
		m[w] = true
	}
	return m
}()

// stemOf is stem with the stems that are known already; nil knows none.
func stemOf(w string, known map[string]string) string {
	s, ok := known[w]
	if !ok {
		if s = stem(w); known != nil {
			known[w] = s
		}
	}
	return s
}

// stem removes English endings, so that a query matches a tool's name: files and file, entries and entry, deletion and
// delete. A wrong stem does little harm: it is the same in the query and in the index.
func stem(w string) string {
	if len(w) < 3 || w[0] >= 0x80 {
		return w
	}
	return english.Stem(w, true)
}
