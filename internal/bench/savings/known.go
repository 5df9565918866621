package savings

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/codemode-project/codemode/internal/bench/tau2"
)

// A source is where a model has a value from before its first call.
type source int

const (
	unknown  source = iota
	said            // the user says it
	declared        // the tool's declaration lists it
	composed        // the model's own words
)

// knowledge is what a model knows before its first call of a task.
type knowledge struct {
	says  string // what the user says
	small string // in small letters
}

func newKnowledge(t *tau2.Task) knowledge { return knowledge{t.Says, strings.ToLower(t.Says)} }

// quoted are the values that a text lists in single quotes.
var quoted = regexp.MustCompile(`'([^'\n]*)'`)

// states and airports are names that a model knows in both forms. They are those that the domains use.
var states = map[string]string{"AZ": "arizona", "CA": "california", "CO": "colorado", "DC": "washington dc",
	"FL": "florida", "IL": "illinois", "IN": "indiana", "MI": "michigan", "NC": "north carolina", "NY": "new york",
	"OH": "ohio", "OK": "oklahoma", "OR": "oregon", "PA": "pennsylvania", "TN": "tennessee", "TX": "texas",
	"WA": "washington"}

var airports = map[string]string{"ATL": "atlanta", "BOS": "boston", "CLT": "charlotte", "DEN": "denver",
	"DFW": "dallas", "DTW": "detroit", "EWR": "newark", "IAH": "houston", "JFK": "new york", "LAS": "las vegas",
	"LAX": "los angeles", "LGA": "laguardia", "MCO": "orlando", "MIA": "miami", "MSP": "minneapolis", "ORD": "chicago",
	"PHL": "philadelphia", "PHX": "phoenix", "SEA": "seattle", "SFO": "san francisco"}

var numerals = []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// of is whether the model knows a value of an argument; argument is its name in the tool's declaration, or "" within a
// list.
func (k knowledge) of(t *tau2.Tool, argument string, value any) source {
	switch v := value.(type) {
	case bool:
		return declared
	case float64:
		if k.saysNumber(v) {
			return said
		}
	case string:
		switch {
		case lists(t, argument, v):
			return declared
		case k.saysText(v):
			return said
		case argument == "summary":
			return composed
		}
	}
	return unknown
}

// lists reports whether a tool's declaration has a text as one of an enum, or in quotes as more than an example: in the
// description of an argument that names two or more.
func lists(t *tau2.Tool, argument, text string) bool {
	schema, _ := t.InputSchema.(*jsonschema.Schema)
	of := schema.Properties[argument]
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
	if states[text] != "" {
		return within(k.says, text) || k.has(states[text])
	}
	if strings.TrimSpace(small) == "" || k.has(small) || k.has(strings.TrimPrefix(small, "#")) {
		return true
	}
	if city := airports[text]; city != "" && k.has(city) {
		return true
	}
	if text == "USA" { // of an address
		for short, name := range states {
			if within(k.says, short) || k.has(name) {
				return true
			}
		}
		return false
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return false
	}
	return slices.ContainsFunc([]string{"January 2", "Jan 2", "2 January", "1/2"}, func(form string) bool {
		return k.has(strings.ToLower(day.Format(form)))
	})
}

// has reports whether the user says a text, which is in small letters.
func (k knowledge) has(text string) bool { return within(k.small, text) }

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
	if x >= 0 && x < float64(len(numerals)) && x == float64(int(x)) && k.has(numerals[int(x)]) {
		return true
	}
	return k.has(strconv.FormatFloat(x, 'f', -1, 64)) || k.has(fmt.Sprintf("%.2f", x))
}
