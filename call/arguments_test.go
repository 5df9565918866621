package call

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFreeze(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct{ name, in, want, err string }{
		{name: "no argument is the empty object", in: `null`, want: `{}`},
		{name: "space between tokens goes", in: "{ \"a\" : [ 1 , 2 ] }", want: `{"a":[1,2]}`},
		{name: "space inside text stays", in: `{"a":" b "}`, want: `{"a":" b "}`},
		{name: "key order stays", in: `{"b":1,"a":2}`, want: `{"b":1,"a":2}`},
		{name: "numbers keep their digits", in: `{"n":12345678901234567890.10}`, want: `{"n":12345678901234567890.10}`},
		{name: "a surrogate pair is one character", in: `{"a":"\ud83d\ude00"}`, want: `{"a":"\ud83d\ude00"}`},
		{name: "an escaped backslash before u is text", in: `{"a":"\\ud800"}`, want: `{"a":"\\ud800"}`},
		{name: "same key in different objects", in: `{"a":{"a":1}}`, want: `{"a":{"a":1}}`},
		{name: "64 levels", in: deep(64), want: deep(64)},

		{name: "65 levels", in: deep(65), err: "nested deeper than 64 levels"},
		{name: "a key twice", in: `{"a":1,"a":2}`, err: `the same key twice in one object`},
		{name: "a key twice, once escaped", in: `{"a":1,"\u0061":2}`, err: `the same key twice in one object`},
		{name: "a key twice further down", in: `[{"x":{"b":1,"b":1}}]`, err: `in one object, at byte 13`},
		{name: "half a pair", in: `{"a":"\ud800"}`, err: `half a surrogate pair`},
		{name: "half a pair before a letter", in: `{"a":"\ud800\u0041"}`, err: `half a surrogate pair`},
		{name: "the second half alone", in: `{"a":"x\udc00"}`, err: `half a surrogate pair`},
		{name: "half a pair in a key", in: `{"\udfff":1}`, err: `half a surrogate pair`},
		{name: "invalid UTF-8", in: "{\"a\":\"\xff\"}", err: "UTF-8"},
		{name: "a number that is none in JavaScript", in: `{"n":1e400}`, err: `out of range, at byte 5`},
		{name: "two values", in: `{} {}`, err: "not strict JSON"},
		{name: "nothing", in: ``, err: "there is nothing in it"},
		{name: "a byte order mark", in: "\ufeff{}", err: "byte order mark"},
		{name: "too long", in: `"` + strings.Repeat("a", 1000) + `"`, err: "1002 bytes, the limit is 1000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Freeze(json.RawMessage(tt.in), 1000)
			switch {
			case tt.err == "" && (err != nil || got.String() != tt.want):
				t.Errorf("Freeze(%s) = %s, %v; want %s", tt.in, got, err, tt.want)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("Freeze(%.60q) = %s, %v; want an error with %q", tt.in, got, err, tt.err)
			}
		})
	}
}

// What freeze lets through means the same to every reader: freezing it again
// changes nothing, and a decoder that knows of no duplicates reads it back to
// a value with as many keys.
func FuzzFreeze(f *testing.F) {
	for _, seed := range []string{`null`, `{"a":[1,2.5e3,"x\n\u0000"]}`, `{"a":1,"\u0061":2}`, `"\ud83d\ude00"`,
		`"\\\ud800"`, `[[[[]]]]`, "\"\xff\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		frozen, err := Freeze(in, 1<<16)
		out := frozen.JSON()
		if err != nil {
			return
		}
		if !json.Valid(out) || !utf8.Valid(out) {
			t.Fatalf("Freeze(%q) = %q", in, out)
		}
		again, err := Freeze(out, 1<<16)
		if err != nil || !bytes.Equal(again.JSON(), out) {
			t.Fatalf("Freeze(%q) = %q, %v", out, again, err)
		}
		var v any
		if err := json.Unmarshal(out, &v); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		read, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(out, []byte(`�`)) == 0 && bytes.Contains(read, []byte(`�`)) && !bytes.Contains(in, []byte(`\u`)) {
			t.Fatalf("%q was replaced by %q", out, read)
		}
	})
}
