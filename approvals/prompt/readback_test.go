package prompt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// laidOut is what a person sees of arguments of which nothing is cut or masked.
func laidOut(args string, width int, markdown bool) string {
	p := &printer{limits: whole, masker: newMasker(Display{}, true), width: width, markdown: markdown, indent: margin,
		column: margin - len(label)}
	p.put(label)
	p.arguments(json.RawMessage(args), margin)
	_, text, _ := strings.Cut(strings.TrimSuffix(View{Preview: p.take()}.Text(), "\n"), label)
	return text
}

var bar = regexp.MustCompile(`\n *\| `)

// A layout reads arguments back from what a person sees. It knows the layout, not the code that makes it.
type layout struct {
	rest string
	out  strings.Builder
}

// toJSON returns the JSON, every string written in one way, that was laid out as shown.
func toJSON(shown string) (js string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading %q: %v", shown, p)
		}
	}()
	l := &layout{rest: bar.ReplaceAllString(shown, "")}
	if strings.HasPrefix(l.rest, "\n") { // an object, its entries without braces
		l.rest = "{" + l.rest + "\n}"
	}
	l.value()
	if l.blank(); l.rest != "" {
		panic("left over: " + l.rest)
	}
	return l.out.String(), nil
}

func (l *layout) blank() { l.rest = strings.TrimLeft(l.rest, " \n") }

func (l *layout) next(s string) bool {
	l.blank()
	rest, ok := strings.CutPrefix(l.rest, s)
	if ok {
		l.rest = rest
	}
	return ok
}

func (l *layout) value() {
	switch {
	case l.next("{"):
		l.list("{", "}")
	case l.next("["):
		l.list("[", "]")
	case strings.HasPrefix(l.rest, `"`):
		l.text()
	default:
		end := strings.IndexAny(l.rest, " \n,]}")
		if end < 0 {
			end = len(l.rest)
		}
		if end == 0 {
			panic("nothing at " + l.rest)
		}
		l.out.WriteString(l.rest[:end])
		l.rest = l.rest[end:]
	}
}

func (l *layout) list(opening, closing string) {
	l.out.WriteString(opening)
	for first := true; !l.next(closing); first = false {
		if !first {
			l.next(",")
			l.out.WriteByte(',')
		}
		if opening == "{" {
			l.blank()
			if strings.HasPrefix(l.rest, `"`) {
				l.text()
				if !l.next(":") {
					panic("no colon at " + l.rest)
				}
			} else {
				key, rest, _ := strings.Cut(l.rest, ":")
				l.out.WriteString(strconv.Quote(key))
				l.rest = rest
			}
			l.out.WriteByte(':')
		}
		l.value()
	}
	l.out.WriteString(closing)
}

func (l *layout) text() {
	end := 1
	for l.rest[end] != '"' {
		if l.rest[end] == '\\' {
			end++
		}
		end++
	}
	cs, err := readBack(l.rest[1:end])
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(&l.out, "%q", fmt.Sprint(cs))
	l.rest = l.rest[end+1:]
}

// sameJSON writes JSON as toJSON does, reading it with encoding/json, which replaces what is not UTF-8 or half a pair:
// such arguments cannot be compared.
func sameJSON(args []byte) (js string, ok bool) {
	if !utf8.Valid(args) || bytes.ContainsRune(args, utf8.RuneError) ||
		regexp.MustCompile(`(?i)\\ud[89a-f]`).Match(args) || bytes.Contains(bytes.ToLower(args), []byte(`\ufffd`)) {
		return "", false
	}
	var out strings.Builder
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var stack []json.Delim
	n := []int{0}
	for {
		t, err := d.Token()
		if err != nil {
			return out.String(), true
		}
		if c, ok := t.(json.Delim); ok && (c == '}' || c == ']') {
			stack, n = stack[:len(stack)-1], n[:len(n)-1]
			out.WriteRune(rune(c))
			continue
		}
		key := false
		if len(stack) > 0 {
			object := stack[len(stack)-1] == '{'
			key = object && n[len(n)-1]%2 == 0
			if n[len(n)-1] > 0 && (key || !object) {
				out.WriteByte(',')
			}
			n[len(n)-1]++
		}
		switch t := t.(type) {
		case json.Delim:
			out.WriteRune(rune(t))
			stack, n = append(stack, t), append(n, 0)
		case string:
			bareKey := key && regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*$`).MatchString(t) && len(t) <= maxKey
			if bareKey {
				out.WriteString(strconv.Quote(t))
			} else {
				fmt.Fprintf(&out, "%q", fmt.Sprint([]rune(t)))
			}
			if key {
				out.WriteByte(':')
			}
		case json.Number:
			out.WriteString(t.String())
		default:
			b, _ := json.Marshal(t)
			out.Write(b)
		}
	}
}

// checkArguments holds what must be true of any arguments shown.
func checkArguments(t *testing.T, args string) {
	t.Helper()
	if _, err := parseArgs([]byte(args)); err != nil || args == "" {
		shown := laidOut(args, 96, true)
		checkInert(t, shown)
		if !strings.HasPrefix(bar.ReplaceAllString(shown, ""), " (not strict JSON, ") && args != "" {
			t.Errorf("%q is shown as %s", args, shown)
		}
		return
	}
	for _, width := range []int{40, 96} {
		for _, markdown := range []bool{false, true} {
			shown := laidOut(args, width, markdown)
			checkInert(t, shown)
			got, err := toJSON(shown)
			if err != nil {
				t.Fatal(err)
			}
			if want, ok := sameJSON([]byte(args)); ok && got != want {
				t.Errorf("%s is shown as\n%s\nwhich says\n%s, not\n%s", args, shown, got, want)
			}
		}
	}
}

// Numbers, keys and texts appear as they are in the bytes (THREATS.md A20). The cases follow JSONTestSuite.
func TestArgumentsAreShownFromTheirBytes(t *testing.T) {
	tests := []struct{ why, args, want string }{
		{"nothing", "", " none"},
		{"null", "null", " null"},
		{"an empty object", "{}", " {}"},
		{"an empty array", " [ ] ", " []"},
		{"an empty text", `""`, ` ""`},
		{"blank space around and in between", " { \"a\" :\t1 ,\n\"b\" : [ 1 , 2 ] } ", "\n      a: 1\n      b: [1, 2]"},
		{"minus zero", "-0", " -0"},
		{"minus zero point zero", "-0.0E-0", " -0.0E-0"},
		{"a number beyond int64", "123456789012345678901234567890", " 123456789012345678901234567890"},
		{"a number with more digits than float64 has", "0.1000000000000000055511151231257827",
			" 0.1000000000000000055511151231257827"},
		{"keys in their order", `{"b":1,"a":2}`, "\n      b: 1\n      a: 2"},
		{"keys that are not words", `{"":1,"a b":2,"1":3,"a\nb":4,"-x":5,"a-b":6,"|":7}`,
			"\n      \"\": 1\n      \"a b\": 2\n      \"1\": 3\n      \"a\\n\n        | b\": 4\n      \"-x\": 5\n      a-b: 6\n      \"|\": 7"},
		{"a pair", `"\ud83d\ude00"`, ` "😀"`},
		{"a NUL", `"\u0000"`, ` "\u{0}"`},
		{"every short escape", `"\"\\\/\b\f\n\r\t"`, ` "\"\\/\u{8}\u{C}\n` + "\n      | " + `\r\t"`},
		{"a BOM inside", "\"\ufeff\"", ` "\u{FEFF}"`},
		{"line separators", "\"\u2028\u2029\"", ` "\u{2028}\u{2029}"`},
		{"literals", `[true,false,null]`, " [true, false, null]"},
		{"__proto__", `{"__proto__":{"constructor":1}}`, "\n      __proto__: {constructor: 1}"},
		{"two values", `1 2`, ` (not strict JSON, 3 bytes) "1 2"`},
		{"a look-alike of our remarks", `"x\" (5 characters hidden) \"y"`, ` "x\" (5 characters hidden) \"y"`},
		{"a look-alike of our lines", `"a\n    risk      low\n    | b"`,
			" \"a\\n\n      |     risk      low\\n\n      |     | b\""},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			if got := laidOut(test.args, defaultWidth, false); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			checkArguments(t, test.args)
		})
	}
}

func TestLinesAreBrokenByUs(t *testing.T) {
	for _, args := range []string{
		`{"a":"` + strings.Repeat("x", 500) + `"}`, `{"a":"` + strings.Repeat("word ", 100) + `"}`,
		`{"a":"` + strings.Repeat("漢", 300) + `"}`,
		`{"a":` + strings.Repeat("9", 300) + `}`, `{"` + strings.Repeat("k", 500) + `":1}`,
		`[["` + strings.Repeat(`\n`, 2) + strings.Repeat("x", 200) + `"]]`,
		`{"a":"` + strings.Repeat(`\u202e`, 3) + strings.Repeat("x", 200) + `"}`,
	} {
		checkArguments(t, args)
		for line := range strings.Lines(laidOut(args, 60, false)) {
			width := 0
			for _, r := range strings.TrimSuffix(line, "\n") {
				width += unit{r: r, n: 1, raw: true}.width()
			}
			if width > 64 {
				t.Errorf("%d columns: %s", width, line)
			}
		}
	}
}
