package strictjson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestStandardJSON: what RFC 8259 does not allow is refused, and so is what readers are known to differ on.
func TestStandardJSON(t *testing.T) {
	for _, text := range []string{
		`{}`, ` { } `, "\t{\n}\r", `{"a":1}`, `{"":0}`, `{"a":{"a":{"a":[]}}}`, `{"a":[1,"b",true,false,null,{}]}`,
		`{"a":-0}`, `{"a":0.0}`, `{"a":1E+2}`, `{"a":1e-2}`, `{"a":-1.5e10}`, `{"a":123456789012345678901234567890}`,
		`{"a":"\u0000\u001f"}`, `{"a":"\"\\\/\b\f\n\r\t"}`, `{"a":"\ud834\udd1e"}`, `{"a":"é😀"}`,
		"{\"a\":\"\u2028\u2029\x7f\"}",
		`{"a b":1,"a  b":2}`, "{\"\u00e9\":1,\"e\u0301\":2}", `{"__proto__":1,"constructor":2,"then":3}`, `{"\u0061":1}`,
		`[]`, `"x"`, `1`, `null`, `true`, `false`, `{"a":{"a":1}}`, `"\\ud800"`, `"\uDBFF\uDFFF"`, `"é\n😀\u00e9"`,
		`1e0000000000000000000000001`, `1.7976931348623157e308`, `1e-400`, strings.Repeat("1", 308),
		strings.Repeat("0", 1) + "." + strings.Repeat("0", 400),
		strings.Repeat("[", 64) + strings.Repeat("]", 64), `"` + strings.Repeat("\\u00e9é", 100) + `"`,
	} {
		v, err := Parse(text, Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if want := decoded(t, text); !reflect.DeepEqual(want, plain(v)) || !reflect.DeepEqual(want, decoded(t, v.Compact())) {
			t.Errorf("%s is read as %v, compact %s", text, plain(v), v.Compact())
		}
	}
	for _, text := range []string{
		``, ` `, `{`, `}`, `[`, `]`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{a:1}`, `{'a':1}`,
		`{1:1}`, `{null:1}`,
		`{"a":1 "b":2}`, `{"a":1,,"b":2}`, `{"a":1}}`, `{}{}`, `{} x`, `[1,]`, `[,1]`, `[1,,2]`, `[1 2]`, `[1`, `["a"`, `[1}`,
		`{"a":1]`, `{"a"}`, `{"a":}`, `{]`, `[}`,
		`{"a":01}`, `{"a":-01}`, `{"a":+1}`, `{"a":.5}`, `{"a":5.}`, `{"a":1e}`, `{"a":1e+}`, `{"a":-}`, `{"a":--1}`,
		`{"a":0x1}`, `{"a":1_0}`, `{"a":1a}`, `{"a":0.1.2}`,
		`{"a":NaN}`, `{"a":Infinity}`, `{"a":-Infinity}`, `{"a":nul}`, `{"a":nulll}`, `{"a":True}`, `{"a":undefined}`,
		`{"a":tru}`, `{"a":é}`,
		`{"a":"}`, `{"a":"\"}`, `{"a":"\x41"}`, `{"a":"\u12"}`, `{"a":"\u12g4"}`, `{"a":"\a"}`, `{"a":"\`, `{"a":"\u`,
		`{"a":'b'}`,
		"{\"a\":\"\t\"}", "{\"a\":\"\n\"}", "{\"a\":\"\x00\"}", "{\"a\":\"\x1f\"}", "{\"\t\":1}", "{\x00}", "\x00",
		"{\"a\":1}\x00", "\"\\n\n\"",
		`{"a":"\ud800"}`, `{"a":"\udc00"}`, `{"a":"\ud800x"}`, `{"a":"\ud800\u0041"}`, `{"a":"\ud800\ud800"}`, `{"\ud800":1}`,
		`{"a":"\ud800\n"}`,
		"{\"a\":\"\xff\"}", "{\"a\":\"\xc0\x80\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"\xff\":1}", "{\"a\":\"\xe2\x82\"}",
		"{\"a\":\"\\n\xff\"}", "{\"a\":\"\xe2\\n\x82\xac\"}",
		`{"a":1,"a":1}`, `{"a":1,"b":2,"a":3}`, `{"a":1,"\u0061":1}`, `{"\u0000":1,"\u0000":2}`, `{"":1,"":2}`,
		`[{"a":[{"b":1,"b":1}]}]`, manyMembers(20) + `,"m7":0}`,
		"\ufeff{}", "{\u00a0}", "{\u2028}", "{\f}", "{\v}", `{"a":1}//`, `/**/{}`, `{"a":/**/1}`, `{"a":1} #`, `{"a"=1}`,
		`("a")`, `*`, `{"a":*}`,
		`1e400`, `-1e309`, `1.8e308`, `1` + strings.Repeat("0", 309), `1e1000000000000000`, `0e1000000000000000`,
		`1e-1000000000000000`,
		strings.Repeat("[", 65) + strings.Repeat("]", 65), strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65),
	} {
		if v, err := Parse(text, Options{}); err == nil {
			t.Errorf("%q is accepted as %s", text, v.Source())
		}
	}
}

// manyMembers is the beginning of an object with n members m0, m1, m2 ...
func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":0`, i)
	}
	return "{" + b.String()[1:]
}

// Strings are read eight bytes at a time: whatever byte stands wherever in a string, we and the standard library agree,
// except about UTF-8.
func TestEveryByteInEveryPlace(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for c := range 256 {
				text := []byte(`"` + strings.Repeat("a", length) + `"`)
				text[1+at] = byte(c)
				v, err := Parse(text, Options{})
				var want string
				wrong := json.Unmarshal(text, &want)
				if c >= 0x80 {
					wrong = strconv.ErrSyntax
				}
				if (err == nil) != (wrong == nil) || err == nil && v.Text() != want {
					t.Fatalf("%q: got %q, %v, want %q, %v", text, v.Text(), err, want, wrong)
				}
			}
		}
	}
}

func TestCommentsAndTrailingCommas(t *testing.T) {
	for text, want := range map[string]string{
		"// a\n{// b\n\"a\"// c\n:// d\n1// e\n,// f\n}// g": `{"a":1}`,
		"/* a */[/**/1/* */,/*\n*/]/***/":                    `[1]`,
		`{"a": "// no /* comment */"}`:                       `{"a":"// no /* comment */"}`,
		`{"a": [1, 2,], "b": {"c": 1,},}`:                    `{"a":[1,2],"b":{"c":1}}`,
		`[1,]`:                                               `[1]`,
		"{}//":                                               `{}`,
		"{}//\r\n":                                           `{}`,
		"// é\r\n{}":                                         `{}`,
		"// \u2028 {}\n1":                                    `1`,
	} {
		v, err := Parse(text, Options{Comments: true})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := v.Compact(); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"/", "/ {}", "{/}", "{} /*", "{} /* *", "/*/", "// \xff\n{}", "/* \xff */{}",
		"{\"a\":1,,}", "[,]", "{,}", "{}/", "//", "1/**/2"} {
		if v, err := Parse(text, Options{Comments: true}); err == nil {
			t.Errorf("%q is accepted as %s", text, v.Source())
		}
	}
}

func TestOptions(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, row := range []struct {
		why, text string
		o         Options
		refused   string
	}{
		{"64 levels are the limit", nested(65), Options{}, "deeper than 64 levels"},
		{"a negative limit is none of a caller's", nested(65), Options{MaxDepth: -1}, "deeper than 64 levels"},
		{"a caller may allow more", nested(65), Options{MaxDepth: 65}, ""},
		{"or less", nested(3), Options{MaxDepth: 2}, "deeper than 2 levels"},
		{"a value beside does not count", `[[1],[2],[3]]`, Options{MaxDepth: 2}, ""},
		{"a key twice", `{"a":1,"a":2}`, Options{}, "the same key twice"},
		{"a key twice may be kept", `{"a":1,"a":2}`, Options{AllowDuplicates: true}, ""},
		{"a number beyond a double", `[1e400]`, Options{}, "out of range"},
		{"a number beyond a double may be kept", `[1e400]`, Options{AllowHugeNumbers: true}, ""},
		{"exponents end at 15 digits also then", `1e1000000000000000`, Options{AllowHugeNumbers: true},
			"more than 15 digits"},
		{"and exponents whose canonical form has 16", `10e999999999999999`, Options{AllowHugeNumbers: true},
			"more than 15 digits"},
		{"in both directions", `0.1e-999999999999999`, Options{AllowHugeNumbers: true}, "more than 15 digits"},
		{"and 15 digits are counted", `1e999999999999999`, Options{AllowHugeNumbers: true}, ""},
		{"no option allows half a pair", `"\ud800"`, Options{true, 100, true, true}, "half a surrogate pair"},
		{"nor what is not UTF-8", "\"\xff\"", Options{true, 100, true, true}, "not UTF-8"},
	} {
		_, err := Parse(row.text, row.o)
		if row.refused == "" && err != nil || row.refused != "" && (err == nil ||
			!strings.Contains(err.Error(), row.refused)) {
			t.Errorf("%s: got %v, want %q", row.why, err, row.refused)
		}
	}
}

// A text of more bytes than offsets can count is refused before any of it is read.
func TestTooLongText(t *testing.T) {
	if _, err := parse(`[1]`, Options{}, 3); err != nil {
		t.Error(err)
	}
	if _, err := parse(`[1}x`, Options{}, 3); err == nil || !strings.Contains(err.Error(), "longer than 1 GiB") {
		t.Errorf("got %v", err)
	}
}

// decoded is a JSON text as the standard library has it, with numbers as they are written.
func decoded(t testing.TB, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: the standard library says %v", text, err)
	}
	return v
}

// plain is a value in the types of the standard library.
func plain(v Value) any {
	switch v.Kind() {
	case Null:
		return nil
	case False, True:
		return v.Kind() == True
	case Number:
		return json.Number(v.Text())
	case String:
		return v.Text()
	case Array:
		list := make([]any, v.Len())
		for i, e := range v.Elements() {
			list[i] = plain(e)
		}
		return list
	case Object:
		object := make(map[string]any, v.Len())
		for name, m := range v.Members() {
			object[name] = plain(m)
		}
		return object
	}
	return v.Kind()
}
