package catalog

import (
	"slices"
	"strings"
	"unicode"
)

// words splits a text into lower-case stems: at each character that is not a letter or digit, and inside names such as
// like_this, like-this or likeThis.
func words(s string) []string {
	var out []string
	rs := []rune(s)
	for i := 0; i < len(rs); {
		if !unicode.IsLetter(rs[i]) && !unicode.IsDigit(rs[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(rs) && (unicode.IsLetter(rs[j]) || unicode.IsDigit(rs[j])) {
			if unicode.IsUpper(rs[j]) && (unicode.IsLower(rs[j-1]) || unicode.IsDigit(rs[j-1]) ||
				j+1 < len(rs) && unicode.IsUpper(rs[j-1]) && unicode.IsLower(rs[j+1])) {
				break // fileName, HTTPServer
			}
			j++
		}
		if w := strings.ToLower(string(rs[i:j])); !stopWords[w] {
			out = append(out, stem(w))
		}
		i = j
	}
	return out
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
