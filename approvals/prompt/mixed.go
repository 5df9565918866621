package prompt

import (
	"slices"
	"strings"
	"unicode"
)

// alike holds the alphabets with easily confused letters. A word that mixes two of them is suspicious. Japanese is not:
// it mixes three scripts, and none of them looks like Latin.
var alike = map[string]*unicode.RangeTable{
	"Armenian": unicode.Armenian, "Cherokee": unicode.Cherokee, "Coptic": unicode.Coptic, "Cyrillic": unicode.Cyrillic,
	"Greek": unicode.Greek, "Latin": unicode.Latin, "Lisu": unicode.Lisu,
}

// mixed returns the first word of cs that mixes letters of several alphabets that look alike, and their names.
func mixed(cs []rune) (word, alphabets string) {
	for start := 0; start < len(cs); {
		end, ascii := start, true
		for end < len(cs) && (unicode.IsLetter(cs[end]) || unicode.Is(unicode.M, cs[end])) {
			ascii = ascii && cs[end] <= unicode.MaxASCII
			end++
		}
		if !ascii {
			if names := scripts(cs[start:end]); len(names) > 1 {
				return string(cs[start:end]), strings.Join(names, " and ")
			}
		}
		start = end + 1
	}
	return "", ""
}

func scripts(cs []rune) []string {
	var names []string
	for name, table := range alike {
		if slices.ContainsFunc(cs, func(c rune) bool { return unicode.Is(table, c) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// foreign reports whether a name has letters beyond a to z. Such a letter may look like another one.
func foreign(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII })
}
