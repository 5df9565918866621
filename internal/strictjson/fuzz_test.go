package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"github.com/codemode-project/codemode/internal/hostile"
)

var seeds = []string{
	`{"a":[1,2.5e3,"\u00e9",null]}`, `{"a":"\ud83d\ude00"}`, `{"a":1,"a":2}`, `[[[[]]]]`, `{"a":"\ud800"}`,
	` [ true , false ] `, "\"\xff\"", `1e400`,
	`{"\u0061":0,"a":0}`, `-0.0e-0`, `1e9999999999999999`, `20e999999999999999`, `[1,]`, "// c\n{/**/}", `{"a":1,/*`,
	manyMembers(14) + "}", strings.Repeat("[", 70) + strings.Repeat("]", 70), `"abcdefgh\n12345678é"`,
}

// FuzzParse compares with the standard library and with jsontext. What we accept, both accept with the same meaning,
// and what we refuse of the JSON that both accept, we refuse for a reason of our own.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	all := Options{MaxDepth: 10_000, AllowHugeNumbers: true}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Parse(text, Options{})
		checkProblem(t, text, err)
		wide, wideErr := Parse(text, all)
		checkProblem(t, text, wideErr)

		if valid := jsontext.Value(text).IsValid(); valid != (wideErr == nil) &&
			!(valid && strings.Contains(wideErr.Error(), "an exponent of more")) {
			t.Fatalf("%q: jsontext says valid %t, we %v", text, valid, wideErr)
		}
		if wideErr != nil {
			if json.Valid([]byte(text)) && !containsAny(wideErr.Error(), "surrogate", "UTF-8", "twice", "deeper",
				"an exponent of more") {
				t.Fatalf("%q is JSON and refused: %v", text, wideErr)
			}
			if err == nil {
				t.Fatalf("%q is accepted, with more options it is not: %v", text, wideErr)
			}
			return
		}
		checkTokens(t, text, wide)
		if !reflect.DeepEqual(plain(wide), decoded(t, text)) {
			t.Fatalf("%q means %v, got %v", text, decoded(t, text), plain(wide))
		}
		if got := wide.Compact(); got != compacted(t, text) {
			t.Fatalf("%q: compact is %s", text, got)
		}

		var doubles any
		if fits := json.Unmarshal([]byte(text), &doubles) == nil && depth(wide) <= 64; fits != (err == nil) {
			t.Fatalf("%q: every number fits into a double and it is not too deep: %t, we say %v", text, fits, err)
		}
		if err == nil && !reflect.DeepEqual(plain(v), plain(wide)) {
			t.Fatalf("%q means %v or %v", text, plain(v), plain(wide))
		}
	})
}

func checkProblem(t *testing.T, text string, err error) {
	var e *SyntaxError
	if err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Length < 0 || e.Offset+e.Length > len(text) ||
		e.Message == "") {
		t.Fatalf("%q: a problem without a place: %#v", text, err)
	}
}

// checkTokens compares every token, its text and its place with jsontext.
func checkTokens(t *testing.T, text string, v Value) {
	d := jsontext.NewDecoder(strings.NewReader(text))
	next := func(want string, end int) {
		token, err := d.ReadToken()
		if err != nil || token.String() != want || d.InputOffset() != int64(end) {
			t.Fatalf("%q: at %d: jsontext reads %v (%v), want %s until %d", text, d.InputOffset(), token, err, want, end)
		}
	}
	var walk func(Value)
	walk = func(v Value) {
		switch v.Kind() {
		case Object:
			next("{", v.Offset()+1)
			for name, m := range v.Members() {
				next(name, m.KeyEnd())
				walk(m)
			}
			next("}", v.End())
		case Array:
			next("[", v.Offset()+1)
			for _, e := range v.Elements() {
				walk(e)
			}
			next("]", v.End())
		case Null, False, True:
			next(v.Kind().String(), v.End())
		default:
			next(v.Text(), v.End())
		}
	}
	walk(v)
	if _, err := d.ReadToken(); err != io.EOF {
		t.Fatalf("%q: jsontext reads on: %v", text, err)
	}
}

func compacted(t *testing.T, text string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func depth(v Value) int {
	deepest := 0
	for _, e := range v.Elements() {
		deepest = max(deepest, depth(e))
	}
	for _, m := range v.Members() {
		deepest = max(deepest, depth(m))
	}
	if v.Kind() >= Array {
		deepest++
	}
	return deepest
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// FuzzComments compares with hujson: without comments and trailing commas, a text means the same at the same places.
func FuzzComments(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Parse(text, Options{Comments: true, AllowHugeNumbers: true})
		checkProblem(t, text, err)
		if err != nil && containsAny(text, "\r") { // hujson accepts it in comments
			return
		}
		// hujson wants an end of line after //, and refuses two others in comments
		if !containsAny(text, "\n", "\u2028", "\u2029") {
			text += "\n"
		}
		standard, wrong := hujson.Standardize([]byte(text))
		if wrong != nil {
			if err == nil && !containsAny(text, "//") {
				t.Fatalf("%q: hujson says %v, we accept it", text, wrong)
			}
			return
		}
		without, wrong := Parse(standard, Options{AllowHugeNumbers: true})
		if (wrong == nil) != (err == nil) {
			t.Fatalf("%q: we say %v, of %q %v", text, err, standard, wrong)
		}
		if err == nil && places(v) != places(without) {
			t.Fatalf("%q: got\n%s\nof %q\n%s", text, places(v), standard, places(without))
		}
	})
}

// places is a value with all its places.
func places(v Value) string {
	s := fmt.Sprintf("%d %q %s %q %d-%d\n", v.KeyOffset(), v.Key(), v.Kind(), v.Text(), v.Offset(), v.End())
	for _, e := range v.Elements() {
		s += places(e)
	}
	for _, m := range v.Members() {
		s += places(m)
	}
	return s
}

// FuzzCanonical: a form is its own form, and says what the text says. jsontext gives the same one where JCS can
// express the numbers.
func FuzzCanonical(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		form, err := Canonical(text)
		checkProblem(t, text, err)
		if err != nil {
			return
		}
		again, err := Canonical(form)
		if err != nil || !bytes.Equal(form, again) {
			t.Fatalf("%q has the form %s, and that %s (%v)", text, form, again, err)
		}
		// Without our rule for numbers, the form is that of JCS.
		want, got := jsontext.Value(text), jsontext.Value(form)
		if err := errors.Join(want.Canonicalize(), got.Canonicalize()); err != nil || !bytes.Equal(want, got) {
			t.Fatalf("%q has the form %s, JCS gives it %s and the form %s (%v)", text, form, want, got, err)
		}
	})
}

// FuzzPointer: a pointer that is taken apart and put together again is the same.
func FuzzPointer(f *testing.F) {
	f.Add("/a~1b/c~0d", `{"a/b":{"c~d":1}}`)
	f.Add("/0", `[1]`)
	f.Fuzz(func(t *testing.T, pointer, text string) {
		tokens, err := Tokens(pointer)
		again := ""
		for _, token := range tokens {
			again = AppendToken(again, token)
		}
		if err == nil && again != pointer {
			t.Fatalf("%q becomes %q", pointer, again)
		}
		v, wrong := Parse(text, Options{})
		if wrong != nil {
			return
		}
		at, ok := v.At(pointer)
		if ok && (err != nil || at.Offset() < v.Offset() || at.End() > v.End()) {
			t.Fatalf("%q leads to %s in %s", pointer, at.Source(), text)
		}
	})
}

// Texts that take long where something is not proportional to their length. They are so large that comparing each key
// with each, or going over all earlier texts for each text, would take many minutes, and run into the test's time
// limit.
func TestHostileTexts(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	const size = 1 << 20
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	keys := manyKeys(8 * size)
	for _, row := range []struct {
		why, text string
		accepted  bool
	}{
		{"different keys", "{" + keys + `"":0}`, true},
		{"different keys and the first once more", "{" + keys + `"aaaaaa":0}`, false},
		{"one key many times", "{" + strings.Repeat(`"a":0,`, size) + `"a":0}`, false},
		{"many texts with escapes", "[" + strings.Repeat(`"\n",`, size) + "0]", true},
		{"many texts that end with a backslash", "[" + strings.Repeat(`"\\",`, size) + "0]", true},
		{"many texts in another alphabet", "[" + strings.Repeat(`"é",`, size) + "0]", true},
		{"small objects", "[" + repeat(`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0},`) + "0]",
			true},
		{"long keys", `{"` + repeat("a") + `1":0,"` + repeat("a") + `2":0}`, true},
		{"brackets", repeat("["), false},
		{"braces", repeat(`{"a":`), false},
		{"one text", `"` + repeat("a") + `"`, true},
		{"one text of escapes", `"` + repeat(`\u00e9`) + `"`, true},
		{"one text that never ends", `"` + repeat(`\n`), false},
		{"one number", repeat("1"), false},
		{"one fraction", "0." + repeat("1"), true},
		{"one exponent", "1e" + repeat("0") + "1", true},
		{"white space", repeat(" ") + "1", true},
		{"zeros", "[" + repeat("0,") + "0]", true},
		{"commas", "[" + repeat(","), false},
		{"comments", repeat("/**/") + "1", true},
		{"comments that never end", repeat("/*"), false},
	} {
		v, err := Parse(row.text, Options{Comments: strings.HasPrefix(row.why, "comments")})
		checkProblem(t, row.text, err)
		if (err == nil) != row.accepted {
			t.Errorf("%s: got %v", row.why, err)
		}
		v.AppendCanonical(v.AppendCompact(nil))
	}
}

// manyKeys is about size bytes of members with the names aaaaaa, aaaaab, aaaaac ..., and a comma at the end.
func manyKeys(size int) string {
	b := make([]byte, 0, size+16)
	for i := 0; len(b) < size; i++ {
		b = append(b, '"')
		for shift := 20; shift >= 0; shift -= 4 {
			b = append(b, 'a'+byte(i>>shift&15))
		}
		b = append(b, `":0,`...)
	}
	return string(b)
}
