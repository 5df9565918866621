package openapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// The length of a name: a longer one keeps its beginning and its end, with a digest between.
const (
	nameMax  = 100
	nameHead = 60
	nameTail = 31
)

// nameOperations sets the names of all operations. Each has four candidates, from the most readable one to the one that
// says the most. All operations with the same candidate take their next one, so that the order of the text does not
// matter; what is left in the end is numbered by path.
func nameOperations(all []*Operation) {
	candidates := make([][4]string, len(all))
	for i, o := range all {
		candidates[i] = candidatesOf(o)
	}
	step := make([]int, len(all))
	for again := true; again; {
		again = false
		owners := map[string]int{} // how many have the name
		for i := range all {
			owners[candidates[i][step[i]]]++
		}
		for i := range all {
			if owners[candidates[i][step[i]]] > 1 && step[i] < 3 {
				step[i]++
				again = true
			}
		}
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[a].Path, all[b].Path), cmp.Compare(all[a].Method, all[b].Method))
	})
	taken := map[string]int{}
	for _, i := range order {
		name := candidates[i][step[i]]
		taken[name]++
		if n := taken[name]; n > 1 {
			name += "_" + strconv.Itoa(n)
		}
		all[i].Name = name
	}
}

// noise is what generators add to an id: UsingGET_1, and the digest of Graph.
var noise = regexp.MustCompile(`(Using(GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS)(_\d+)?|-[0-9a-f]{4})$`)

// opaque is an id without words.
var opaque = regexp.MustCompile(`^[0-9a-fA-F-]*[0-9][0-9a-fA-F-]*$|^[0-9]+$`)

func candidatesOf(o *Operation) [4]string {
	method := strings.ToLower(o.Method)
	whole := snake(o.Path)
	byPath := whole + "_" + method
	if o.ID == "" || opaque.MatchString(o.ID) || snake(o.ID) == "" {
		short := pathName(o.Path, method)
		return [4]string{fit(short, o), fit(short+"_"+method, o), fit(byPath, o), fit(byPath, o)}
	}
	bare := snake(noise.ReplaceAllString(o.ID, ""))
	if bare == "" {
		bare = snake(o.ID)
	}
	return [4]string{fit(bare, o), fit(snake(o.ID), o), fit(bare+"_"+method, o), fit(byPath, o)}
}

// pathName is the name of an operation without an id: the words of its path, and what its method does there.
func pathName(path, method string) string {
	var words []string
	for _, s := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '#' || r == '?' }) {
		if s = snake(s); !strings.Contains(s, "by_") && !isNoise(s) {
			words = append(words, s)
		}
	}
	verb := map[string]string{"get": "list", "post": "create", "put": "replace", "patch": "update"}[method]
	if method == "get" && strings.HasSuffix(strings.TrimRight(path, "/"), "}") {
		verb = "get"
	}
	if verb == "" {
		verb = method
	}
	return strings.Join(append(words, verb), "_")
}

func isNoise(segment string) bool {
	switch segment {
	case "api", "rest", "":
		return true
	}
	return segment[0] == 'v' && len(segment) <= 3 && strings.Trim(segment[1:], "0123456789") == ""
}

// snake is a text in snake_case, of ASCII. {id} becomes by_id.
func snake(text string) string {
	var b strings.Builder
	word := func(s string) {
		if s != "" && b.Len() > 0 && !strings.HasSuffix(b.String(), "_") {
			b.WriteByte('_')
		}
		b.WriteString(s)
	}
	rs := []rune(norm.NFKD.String(text))
	start := -1
	flush := func(end int) {
		if start >= 0 {
			word(strings.ToLower(string(rs[start:end])))
		}
		start = -1
	}
	for i, r := range rs {
		switch {
		case unicode.IsMark(r):
			flush(i)
			continue
		case r == '{':
			flush(i)
			word("by")
			continue
		case r >= 0x80 || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush(i)
			continue
		}
		if start >= 0 && unicode.IsUpper(r) && (!unicode.IsUpper(rs[i-1]) ||
			i+1 < len(rs) && unicode.IsLower(rs[i+1])) { // fileName, HTTPServer
			flush(i)
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(rs))
	return b.String()
}

// reserved are names that JavaScript has another meaning for, as a word or as a member of every object.
const reserved = ` await break case catch class const constructor continue debugger default delete do else enum eval
	export extends false finally for function if implements import in instanceof interface let new null package private
	protected prototype public return static super switch then this throw true try typeof valueof var void while with
	yield arguments async hasownproperty isprototypeof tojson tolocalestring tostring propertyisenumerable `

// fit makes a name of a candidate: an identifier of limited length.
func fit(name string, o *Operation) string {
	switch {
	case name == "":
		name = "operation"
	case name[0] >= '0' && name[0] <= '9':
		name = "_" + name
	case slices.Contains(strings.Fields(reserved), name):
		name += "_"
	}
	if len(name) > nameMax {
		sum := sha256.Sum256([]byte(cmp.Or(o.ID, o.Method+" "+o.Path)))
		head, tail := strings.TrimRight(name[:nameHead], "_"), strings.TrimLeft(name[len(name)-nameTail:], "_")
		name = head + "_" + tail + "_" + hex.EncodeToString(sum[:4])
	}
	return name
}
