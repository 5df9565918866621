package strictjson

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

func mustParse(t testing.TB, text string, o Options) Value {
	t.Helper()
	v, err := Parse(text, o)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// A value knows its kind, text, name and place, in the order of the text.
func TestWalk(t *testing.T) {
	const text = `{ "b": [1.50, "x\ty"], /* c */ "\u0061/": {"": null}, "t": true, "f": false, }`
	var got []string
	var walk func(Value)
	walk = func(v Value) {
		got = append(got, fmt.Sprintf("%q is %s %q of %d in %s", v.Key(), v.Kind(), v.Text(), v.Len(), v.Source()))
		if v.Source() != text[v.Offset():v.End()] {
			t.Errorf("%s stands at %d to %d", v.Source(), v.Offset(), v.End())
		}
		for i, e := range v.Elements() {
			got = append(got, fmt.Sprintf("element %d", i))
			walk(e)
		}
		for name, m := range v.Members() {
			if name != m.Key() {
				t.Errorf("the member %q has the key %q", name, m.Key())
			}
			got = append(got, "member "+text[m.KeyOffset():m.KeyEnd()])
			walk(m)
		}
	}
	walk(mustParse(t, text, Options{Comments: true}))
	want := []string{
		`"" is an object "" of 4 in ` + text,
		`member "b"`, `"b" is an array "" of 2 in [1.50, "x\ty"]`,
		`element 0`, `"" is a number "1.50" of 0 in 1.50`,
		`element 1`, `"" is a string "x\ty" of 0 in "x\ty"`,
		`member "\u0061/"`, `"a/" is an object "" of 1 in {"": null}`,
		`member ""`, `"" is null "" of 0 in null`,
		`member "t"`, `"t" is true "" of 0 in true`,
		`member "f"`, `"f" is false "" of 0 in false`,
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

func TestWalksCanEndEarly(t *testing.T) {
	v := mustParse(t, `[[1,2],{"a":1,"b":2}]`, Options{})
	n := 0
	for _, inner := range v.Elements() {
		for range inner.Elements() {
			n++
			break
		}
		for range inner.Members() {
			n++
			break
		}
	}
	if n != 2 {
		t.Errorf("got %d, want one element and one member", n)
	}
}

func TestMember(t *testing.T) {
	v := mustParse(t, `{"a":[{"b":0}],"b":1,"":2,"\u00e9\n":3,"B":4}`, Options{})
	for name, want := range map[string]string{"a": `[{"b":0}]`, "b": "1", "": "2", "é\n": "3", "B": "4", "c": "", "A": "",
		`\u00e9\n`: ""} {
		m, ok := v.Member(name)
		if m.Source() != want || ok != (want != "") {
			t.Errorf("%q: got %q, %t, want %q", name, m.Source(), ok, want)
		}
	}
	if m, _ := mustParse(t, `{"a":1,"a":2}`, Options{AllowDuplicates: true}).Member("a"); m.Source() != "1" {
		t.Errorf("of two members with one name, %s is given", m.Source())
	}
	if _, ok := mustParse(t, `["a"]`, Options{}).Member("a"); ok {
		t.Error("an array has a member")
	}
}

// The zero Value is what a member is that is not there. Nothing that is asked of it fails.
func TestMissing(t *testing.T) {
	var v Value
	for range v.Members() {
		t.Error("it has a member")
	}
	for range v.Elements() {
		t.Error("it has an element")
	}
	_, member := v.Member("")
	_, at := v.At("")
	got := fmt.Sprint(v.Kind(), v.Text(), v.Len(), v.Key(), v.Source(), v.Compact(), string(v.AppendCompact(nil)),
		string(v.AppendCanonical(nil)),
		v.Offset(), v.End(), v.KeyOffset(), v.KeyEnd(), member, at)
	if want := fmt.Sprint(Missing, "", 0, "", "", "", "", "", 0, 0, 0, 0, false, false); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A value does not change with the bytes that it was read from.
func TestBytesAreCopied(t *testing.T) {
	text := []byte(`{"a":"b"}`)
	v, err := Parse(text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		text[i] = 'x'
	}
	if v.Source() != `{"a":"b"}` {
		t.Errorf("it became %s", v.Source())
	}
}

func TestCompact(t *testing.T) {
	for text, want := range map[string]string{
		` { "a" : [ 1 , "b c" , { } ] , "\u0062" : 1.0 } `: `{"a":[1,"b c",{}],"\u0062":1.0}`,
		` 1 `:              `1`,
		`[ ]`:              `[]`,
		`{"a":1/**/,}`:     `{"a":1}`,
		`[[1,],[2]]`:       `[[1],[2]]`,
		`{"b":1,"a":1e2}`:  `{"b":1,"a":1e2}`,
		"// c\n\"// \\t\"": `"// \t"`,
	} {
		v := mustParse(t, text, Options{Comments: true})
		if got, appended := v.Compact(), string(v.AppendCompact([]byte("x"))); got != want || appended != "x"+want {
			t.Errorf("%s: got %s, %s, want %s", text, got, appended, want)
		}
	}
}

// What has nothing to leave out is not copied: it may be megabytes.
func TestCompactTextIsNotCopied(t *testing.T) {
	const text = `{"a":[1,"b c"],"d":{}}`
	v := mustParse(t, text, Options{})
	for _, v := range []Value{v, must(v.Member("a"))} {
		if s := v.Compact(); unsafe.StringData(s) != unsafe.StringData(text[v.Offset():]) {
			t.Errorf("%s is a copy", s)
		}
	}
}

func must(v Value, ok bool) Value {
	if !ok {
		panic("there is no such value")
	}
	return v
}

func TestPointers(t *testing.T) {
	// The text and the pointers of RFC 6901, section 5.
	v := mustParse(t, `{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8,"~1":{"x":[[9]]}}`, Options{})
	for pointer, want := range map[string]string{
		"": v.Source(), "/foo": `["bar","baz"]`, "/foo/0": `"bar"`, "/": "0", "/a~1b": "1", "/c%d": "2", "/e^f": "3",
		"/g|h": "4", `/i\j`: "5", `/k"l`: "6", "/ ": "7", "/m~0n": "8", "/~01/x/0/0": "9", "/foo/1": `"baz"`,
		"/foo/2": "", "/foo/-": "", "/foo/01": "", "/foo/+1": "", "/foo/-1": "", "/foo/": "", "/foo/0/0": "",
		"/foo/length": "",
		"/fo":         "", "foo": "", "/a/b": "", "/m~n": "", "/~2": "", "/a~": "", "/~1": "",
		"/foo/99999999999999999999": "",
		"//":                        "", "/\xff": "",
	} {
		got, ok := v.At(pointer)
		if got.Source() != want || ok != (want != "") {
			t.Errorf("%q: got %q, %t, want %q", pointer, got.Source(), ok, want)
		}
	}
	if foo := must(v.Member("foo")); must(foo.At("/1")).Text() != "baz" {
		t.Error("a pointer does not begin at the value that is asked")
	}
}

func TestPointerTokens(t *testing.T) {
	for pointer, want := range map[string][]string{
		"": nil, "/": {""}, "/a": {"a"}, "/a/b": {"a", "b"}, "//": {"", ""}, "/a/": {"a", ""},
		"/a~1b/c~0d": {"a/b", "c~d"}, "/~01": {"~1"}, "/~10": {"/0"}, "/é": {"é"},
	} {
		got, err := Tokens(pointer)
		if err != nil || strings.Join(got, "|") != strings.Join(want, "|") || len(got) != len(want) {
			t.Errorf("%q: got %q, %v, want %q", pointer, got, err, want)
		}
		again := ""
		for _, token := range got {
			again = AppendToken(again, token)
		}
		if again != pointer {
			t.Errorf("%q becomes %q", pointer, again)
		}
	}
	for _, pointer := range []string{"a", "a/b", "/~", "/~2", "/a~/b", "#/a", "/\xff"} {
		if got, err := Tokens(pointer); err == nil {
			t.Errorf("%q is accepted as %q", pointer, got)
		}
	}
	if got := EscapeToken("a/b~c~1"); got != "a~1b~0c~01" {
		t.Errorf("got %s", got)
	}
}

// A node is at most half a cache line: a text of a megabyte has tens of thousands.
func TestNodesAreSmall(t *testing.T) {
	if got := unsafe.Sizeof(node{}); got != 32 {
		t.Errorf("a node takes %d bytes, want 32", got)
	}
}
