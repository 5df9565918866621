package approvals

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// The forms of RFC 8785, and of what it leaves open.
func TestCanonical(t *testing.T) {
	tests := []struct{ why, json, want string }{
		{"blank space", " { \"b\" : [ 1 , 2 ] , \"a\" : { } } ", `{"a":{},"b":[1,2]}`},
		{"blank space around a text", "\t\"a b\" \n", `"a b"`},
		{"a text that needs no escapes", "\"é\u2028\U0001f600/\"", "\"é\u2028\U0001f600/\""},
		{"keys by UTF-16", `{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`, "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
		{"texts", `"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/"`, `"€$\u000f\nA'B\"\\\\\"/"`},
		{"numbers", `[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]`, `[0.33333333333333329e9,1e+30,4.5,0.002,1e-27]`},
		{"more numbers", `[0,-0,-0.0,1.0,10,1e21,1e20,1e-6,1e-7,123456789012345680000,1.5e300,-1.5]`, `[0,0,0,1,10,1e+21,100000000000000000000,0.000001,1e-7,123456789012345680000,1.5e+300,-1.5]`},
		{"a number beyond a double", `1e400`, `0.1e401`},
		{"an integer beyond a double", `9007199254740993`, `0.9007199254740993e16`},
		{"its neighbour", `9007199254740992`, `9007199254740992`},
		{"an exponent beyond counting", `1E99999999999999999999`, `1e99999999999999999999`},
		{"half a pair", `"\uD800x"`, `"\ud800x"`},
		{"literals", `[true,false,null]`, `[true,false,null]`},
	}
	for _, test := range tests {
		got, err := Canonical([]byte(test.json))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: got %s, %v, want %s", test.why, got, err, test.want)
		}
	}
	for _, wrong := range []string{"", "{", `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, "\"\xff\"", "1 2"} {
		if got, err := Canonical([]byte(wrong)); err == nil {
			t.Errorf("%q has the form %s", wrong, got)
		}
	}
}

// A canonical form is one of itself, and says what the JSON said.
func TestCanonicalFormsAreStable(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for range 2000 {
		js := randomJSON(rng, 5)
		once, err := Canonical([]byte(js))
		if err != nil {
			if !strings.Contains(err.Error(), "twice") {
				t.Fatalf("%s: %v", js, err)
			}
			continue
		}
		twice, err := Canonical(once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("%s becomes %s and then %s (%v)", js, once, twice, err)
		}
		var a, b any
		if strings.Contains(js, "1e400") {
			continue // no double
		}
		if json.Unmarshal([]byte(js), &a) != nil || json.Unmarshal(once, &b) != nil {
			t.Fatal(js)
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if strings.ReplaceAll(string(x), "-0", "0") != strings.ReplaceAll(string(y), "-0", "0") {
			t.Fatalf("%s says something else than %s", once, js)
		}
	}
}
