package discovery

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// knowledge is what a model knows before its first call of a task.
type knowledge struct {
	says  string // what the user says
	small string // in small letters
}

func newKnowledge(t *task) knowledge { return knowledge{t.Says, strings.ToLower(t.Says)} }

// quoted are the values that a text lists in single quotes.
var quoted = regexp.MustCompile(`'([^'\n]*)'`)

// states are names that a model knows in both forms, as those of [airports]. They are those that the domains use.
var states = map[string]string{"AZ": "arizona", "CA": "california", "CO": "colorado", "DC": "washington dc",
	"FL": "florida", "IL": "illinois", "IN": "indiana", "MI": "michigan", "NC": "north carolina", "NY": "new york",
	"OH": "ohio", "OK": "oklahoma", "OR": "oregon", "PA": "pennsylvania", "TN": "tennessee", "TX": "texas",
	"WA": "washington"}

var numerals = []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// has reports whether the model has a value of an argument: the user says it, the tool's declaration lists it, or it is
// the model's own words. argument is its name in the declaration.
func (k knowledge) has(t *tool, argument string, value any) bool {
	switch v := value.(type) {
	case bool:
		return true
	case float64:
		return k.saysNumber(v)
	case string:
		return lists(t, argument, v) || k.saysText(v) || argument == "summary"
	}
	return false
}

// lists reports whether a tool's declaration has a text as one of an enum, or in quotes as more than an example: in the
// description of an argument that names two or more.
func lists(t *tool, argument, text string) bool {
	of := t.input().Properties[argument]
	if of == nil {
		return false
	}
	if slices.Contains(of.Enum, any(text)) {
		return true
	}
	all := quoted.FindAllStringSubmatch(of.Description, -1)
	return len(all) > 1 && slices.ContainsFunc(all, func(m []string) bool { return m[1] == text })
}

func (k knowledge) saysText(text string) bool {
	small := strings.ToLower(text)
	if name := states[text]; name != "" {
		return within(k.says, text) || k.saysWords(name)
	}
	if strings.TrimSpace(small) == "" || k.saysWords(small) || k.saysWords(strings.TrimPrefix(small, "#")) {
		return true
	}
	if slices.ContainsFunc(airports, func(a airport) bool {
		return a.IATA == text && k.saysWords(strings.ToLower(a.City))
	}) {
		return true
	}
	if text == "USA" { // of an address
		for short, name := range states {
			if within(k.says, short) || k.saysWords(name) {
				return true
			}
		}
		return false
	}
	day, err := time.Parse(time.DateOnly, text)
	return err == nil && slices.ContainsFunc([]string{"January 2", "Jan 2", "2 January", "1/2"}, func(form string) bool {
		return k.saysWords(strings.ToLower(day.Format(form)))
	})
}

// saysWords reports whether the user says a text, which is in small letters.
func (k knowledge) saysWords(text string) bool { return within(k.small, text) }

// within reports whether a text has a part that does not belong to a longer word or number.
func within(text, part string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], part)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(part)
		if (i == 0 || !isWord(text[i-1])) && (end == len(text) || !isWord(text[end])) {
			return true
		}
		at = i + 1
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (k knowledge) saysNumber(x float64) bool {
	if x >= 0 && x < float64(len(numerals)) && x == float64(int(x)) && k.saysWords(numerals[int(x)]) {
		return true
	}
	return k.saysWords(strconv.FormatFloat(x, 'f', -1, 64)) || k.saysWords(fmt.Sprintf("%.2f", x))
}
