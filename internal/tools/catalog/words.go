package catalog

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// words splits a text into lower-case stems: at each character that is not a letter or digit, at a change to or from a
// script without spaces, and inside names such as like_this, like-this or likeThis. Accents do not count. Scripts
// without spaces give each pair of neighbouring characters, and each character.
func words(s string) []string {
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
			out = append(out, stem(w))
		}
		i = j
	}
	return out
}

// asked are the words of a query. A single character of a script without spaces counts only if it stands alone.
func asked(query string) []string {
	all := words(query)
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

// stem removes English endings, so that a query matches a tool's name: files and file, entries and entry, listing and
// list, deleted and delete. A wrong stem does little harm: it is the same in the query and in the index.
func stem(w string) string {
	if len(w) < 4 {
		return w
	}
	ends := func(endings ...string) bool {
		return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(w, e) })
	}
	switch {
	case ends("ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case ends("sses", "shes", "ches", "xes"):
		w = w[:len(w)-2]
	case ends("s") && !ends("ss", "us", "is"):
		w = w[:len(w)-1]
	}
	for _, end := range []string{"ing", "ed"} {
		base, ok := strings.CutSuffix(w, end)
		if !ok || len(base) < 3 || !strings.ContainsAny(base, "aeiouy") {
			continue
		}
		if n := len(base); base[n-1] == base[n-2] && !strings.ContainsRune("lsz", rune(base[n-1])) {
			base = base[:n-1] // running, stopped
		}
		w = base
		break
	}
	// create, created and creating meet in creat.
	if n := len(w); n > 4 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	return w
}

// alike has synonyms. A query word also searches for the others of its line, at a lower weight.
var alike = lines(
	"delete remove erase drop destroy unlink rm forget clear",
	"create add make new insert",
	"list show enumerate ls display",
	"read get fetch retrieve load cat view",
	"write save store put",
	"search find query lookup grep locate",
	"update edit modify change patch set alter replace",
	"move rename mv",
	"copy duplicate clone cp",
	"run execute exec invoke launch eval evaluate",
	"start begin init initialize launch",
	"stop end close quit exit finish",
	"undo revert reset restore rollback",
	"approve review accept reject",
	"merge combine join",
	"day week weekday date",
	"count number",
	"connect link relate relation associate join",
	"fact observation note",
	"remember store memory memorize know recall",
	"stash shelve aside temporarily",
	"another other",
	"directory folder dir",
	"file document",
	"image picture photo media",
	"screenshot screen capture",
	"sound audio media",
	"message text",
	"comment reply",
	"issue ticket bug",
	"repository repo project",
	"pull pr",
	"user person people member account",
	"time date clock now today",
	"convert transform translate",
	"sum plus total",
	"graph knowledge memory",
	"navigate visit goto browse",
	"url page website site web",
	"click press tap",
	"type enter fill input",
	"choose select pick option",
	"commit revision",
	"history log",
	"difference diff compare",
	"environment env variable",
	"column field schema describe",
	"row record",
	"error exception console",
	"javascript js script code",
	"compress zip gzip archive",
	"send post submit",
	"download fetch pull",
	"info information detail metadata property stat",
	"size big large bytes",
	"several many multiple bulk",
	"dark light theme color scheme media",
	"small resize size",
	"think reason thought",
	"permission allowed access",
	// These are one-way: what "open" means depends on its object.
	"open> create navigate read view visit",
	"post> create",
	"look> search find get",
	"inside> list content",
	"content> read",
	"row> query",
	"record> query",
	"change> status diff",
)

// lines maps each word of a line to all others of it. A word before "> " is mapped to those after it, but not the other
// way round.
func lines(all ...string) map[string][]string {
	m := map[string][]string{}
	for _, line := range all {
		from, others, oneWay := strings.Cut(line, "> ")
		if oneWay {
			for _, w := range strings.Fields(others) {
				m[stem(from)] = append(m[stem(from)], stem(w))
			}
			continue
		}
		ws := strings.Fields(line)
		for i := range ws {
			ws[i] = stem(ws[i])
		}
		for _, w := range ws {
			for _, other := range ws {
				if other != w {
					m[w] = append(m[w], other)
				}
			}
		}
	}
	return m
}
