package strictjson

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/codemode-project/codemode/internal/hostile"
)

func canonical(t testing.TB, text string) string {
	t.Helper()
	form, err := Canonical(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(form)
}

func TestCanonical(t *testing.T) {
	for _, row := range []struct{ why, text, want string }{
		{"no white space", " { \"b\" : [ 1 , 2 ] , \"a\" : { } } ", `{"a":{},"b":[1,2]}`},
		{"literals", `[true, false, null]`, `[true,false,null]`},
		{"white space in a text", "\t\"a b\" \n", `"a b"`},
		{"a text that needs no escapes", "\"é\u2028\U0001f600/<>&\x7f\"", "\"é\u2028\U0001f600/<>&\x7f\""},
		{"a text with the escapes of RFC 8785, 3.2.2", `"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/"`,
			`"€$\u000f\nA'B\"\\\\\"/"`},
		{"all short escapes", `"\u0008\u0009\u000a\u000c\u000d\u001f\u0000"`, `"\b\t\n\f\r\u001f\u0000"`},
		{"a surrogate pair", `"\ud83d\ude00"`, `"😀"`},
		{"keys sorted as in RFC 8785, 3.2.3", `{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
		{"keys at every level", `{"b":[{"d":1,"c":2}],"a":{"f":{"h":1,"g":2},"e":3}}`,
			`{"a":{"e":3,"f":{"g":2,"h":1}},"b":[{"c":2,"d":1}]}`},
		{"a key that begins another", `{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
		{"numbers of RFC 8785, 3.2.2: the first keeps all its digits, which JCS rounds",
			`[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]`,
			`[333333333.33333329,1e+30,4.5,0.002,1e-27]`},
		{"zeros", `[0,-0,0.0,-0.00,0e5,-0E-5,0e999999999999999,0.000e-999999999999999]`, `[0,0,0,0,0,0,0,0]`},
		{"integers", `[1.0,10,-10,1e2,1.5e1,12e-1,100e-2,1E+0]`, `[1,10,-10,100,15,1.2,1,1]`},
		{"21 digits have no exponent", `[1e20,123456789012345680000,-123456789012345678901,999999999999999900000]`,
			`[100000000000000000000,123456789012345680000,-123456789012345678901,999999999999999900000]`},
		{"22 digits have one", `[1e21,1000000000000000000000,1234567890123456789012,-12e21]`,
			`[1e+21,1e+21,1.234567890123456789012e+21,-1.2e+22]`},
		{"six zeros after the point have none", `[1e-6,0.000001,123e-8,-0.0000012]`,
			`[0.000001,0.000001,0.00000123,-0.0000012]`},
		{"seven have one", `[1e-7,0.0000001,12.3e-8,-0.00000012]`, `[1e-7,1e-7,1.23e-7,-1.2e-7]`},
		{"an integer that no double holds", `[9007199254740993, 9007199254740992, 9007199254740993.0]`,
			`[9007199254740993,9007199254740992,9007199254740993]`},
		{"a double that JavaScript writes shorter", `[295147905179352825856, 295147905179352830000]`,
			`[295147905179352825856,295147905179352830000]`},
		{"a fraction that no double holds", `[0.1000000000000000055, 0.1]`, `[0.1000000000000000055,0.1]`},
		{"numbers beyond doubles",
			`[1e400,-15E399,1e-400,1e999999999999999,1e-999999999999999,0.1e999999999999999,-10e-999999999999999]`,
			`[1e+400,-1.5e+400,1e-400,1e+999999999999999,1e-999999999999999,1e+999999999999998,-1e-999999999999998]`},
		{"nested as deep as encoding/json reads", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
			strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)},
	} {
		if got := canonical(t, row.text); got != row.want {
			t.Errorf("%s: got %s, want %s", row.why, got, row.want)
		}
	}
	for _, wrong := range []string{"", "{", `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, "\"\xff\"", "1 2", `"\ud800"`,
		`1e1234567890123456`, `{"a":01}`, strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)} {
		if form, err := Canonical(wrong); err == nil {
			t.Errorf("%.40q has the form %.40s", wrong, form)
		}
	}
	v := must(mustParse(t, ` {"x": {"b" :1, "a" :[ ]}}`, Options{}).Member("x"))
	if got := string(v.AppendCanonical([]byte("> "))); got != `> {"a":[],"b":1}` {
		t.Errorf("a value in a text: got %s", got)
	}
}

// The numbers of RFC 8785, appendix B, by their bits.
func TestNumbersOfRFC8785(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0", 0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992", 0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22", 0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334", 0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333", 0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		for _, layout := range []byte("efg") {
			if got := canonical(t, strconv.FormatFloat(math.Float64frombits(bits), layout, -1, 64)); got != want {
				t.Errorf("%x: got %s, want %s", bits, got, want)
			}
		}
	}
}

// Every number that a writer of shortest doubles writes has the form that JCS gives it.
func TestShortestDoublesAreAsInJCS(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		f := math.Float64frombits(rng.Uint64())
		switch rng.IntN(3) {
		case 0:
			f = float64(rng.Int64N(1<<53)) / math.Pow(10, float64(rng.IntN(30)))
		case 1:
			f = float64(rng.Int64N(1<<rng.IntN(60) + 1))
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		text := strconv.FormatFloat(f, "efg"[rng.IntN(3)], -1, 64)
		want := jsontext.Value(text)
		if err := want.Canonicalize(); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := canonical(t, text); got != string(want) {
			t.Fatalf("%s: got %s, want %s", text, got, want)
		}
	}
}

// Two numbers have the same form if and only if they are equal; each form is its own form.
func TestFormsOfNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	digits := func(n int) string { // few kinds of digits, so that many numbers are equal
		b := make([]byte, n)
		for i := range b {
			b[i] = "0001159"[rng.IntN(7)]
		}
		return string(b)
	}
	number := func() string {
		s := strings.TrimLeft(digits(1+rng.IntN(4)*rng.IntN(8)), "0")
		if s == "" {
			s = "0"
		}
		if rng.IntN(3) == 0 {
			s = "-" + s
		}
		if rng.IntN(2) == 0 {
			s += "." + digits(1+rng.IntN(4)*rng.IntN(8))
		}
		if rng.IntN(2) == 0 {
			s += []string{"e", "E+", "e-", "e00", "E-0"}[rng.IntN(5)] + strconv.Itoa(rng.IntN(30))
		}
		return s
	}
	value, text := map[string]string{}, map[string]string{} // by form; by value
	for range 30_000 {
		s := number()
		exact, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatal(s)
		}
		form := canonical(t, s)
		if again := canonical(t, form); again != form {
			t.Fatalf("%s has the form %s, and that %s", s, form, again)
		}
		if !json.Valid([]byte(form)) {
			t.Fatalf("%s has the form %s, which is not JSON", s, form)
		}
		if before, ok := value[form]; ok && before != exact.String() {
			t.Fatalf("%s has the form of another number, %s", s, form)
		}
		if before, ok := text[exact.String()]; ok && before != form {
			t.Fatalf("%s has the form %s, an equal number %s", s, form, before)
		}
		value[form], text[exact.String()] = exact.String(), form
	}
	if len(value) > 25_000 {
		t.Errorf("%d of the numbers differ: too few are equal for this to say much", len(value))
	}
}

// A writer writes one value in one of the many ways in which JSON can be written.
type writer struct{ rng *rand.Rand }

// value makes up a value.
func (w writer) value(depth int) any {
	switch n := w.rng.IntN(8); {
	case n < 2 && depth > 0:
		list := make([]any, w.rng.IntN(4))
		for i := range list {
			list[i] = w.value(depth - 1)
		}
		return list
	case n < 5 && depth > 0:
		object := map[string]any{}
		for range w.rng.IntN(20) {
			object[w.text()] = w.value(depth - 1)
		}
		return object
	case n == 5:
		return new(big.Rat).SetFrac64(w.rng.Int64N(40)-20, []int64{1, 2, 5, 1000}[w.rng.IntN(4)])
	case n == 6:
		return w.text()
	}
	return []any{nil, true, false}[w.rng.IntN(3)]
}

func (w writer) text() string {
	var b strings.Builder
	for range w.rng.IntN(4) {
		b.WriteRune([]rune("ab/\"\\\n\x00\x7fé\u2028\ue000\uffff😀\U0010ffff")[w.rng.IntN(14)])
	}
	return b.String()
}

func (w writer) write(v any) string {
	s := w.space()
	switch v := v.(type) {
	case nil:
		s += "null"
	case bool:
		s += strconv.FormatBool(v)
	case *big.Rat:
		s += w.number(v)
	case string:
		s += w.quote(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = w.write(e)
		}
		s += "[" + strings.Join(parts, ",") + w.space() + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for key, value := range v { // in any order
			parts = append(parts, w.space()+w.quote(key)+w.space()+":"+w.write(value))
		}
		s += "{" + strings.Join(parts, ",") + w.space() + "}"
	}
	return s + w.space()
}

func (w writer) space() string { return []string{"", "", " ", "\n\t", "\r"}[w.rng.IntN(5)] }

func (w writer) number(v *big.Rat) string {
	up := w.rng.IntN(5) // in units of ten to the power of minus up
	shifted := new(big.Rat).Mul(v, new(big.Rat).SetInt64(int64(math.Pow10(up))))
	s := shifted.FloatString(4)
	if w.rng.IntN(2) == 0 {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" || s == "" || s == "-" {
		s = "0"
	}
	return fmt.Sprintf("%sE-%02d", s, up)
}

func (w writer) quote(s string) string {
	b := []byte{'"'}
	for _, r := range s {
		units := utf16.Encode([]rune{r})
		switch {
		case w.rng.IntN(3) == 0 || r < ' ' || r == '"' || r == '\\':
			for _, u := range units {
				b = fmt.Appendf(b, []string{`\u%04x`, `\u%04X`}[w.rng.IntN(2)], u)
			}
		case r == '/' && w.rng.IntN(2) == 0:
			b = append(b, `\/`...)
		default:
			b = append(b, string(r)...)
		}
	}
	return string(append(b, '"'))
}

// change gives a value that differs in one place.
func (w writer) change(v any) any {
	switch v := v.(type) {
	case *big.Rat:
		return new(big.Rat).Add(v, big.NewRat(1, 1000))
	case string:
		return v + "a"
	case []any:
		v = slices.Clone(v)
		if len(v) == 0 {
			return []any{nil}
		}
		i := w.rng.IntN(len(v))
		v[i] = w.change(v[i])
		return v
	case map[string]any:
		changed := map[string]any{}
		for key, value := range v {
			changed[key] = value
		}
		for key, value := range v {
			changed[key] = w.change(value)
			return changed
		}
		return map[string]any{"": nil}
	}
	return fmt.Sprint(v)
}

// Two texts have the same form if and only if they say the same.
func TestSameFormSameValue(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	w := writer{rand.New(rand.NewPCG(5, 6))}
	for range 1000 {
		v := w.value(4)
		one, other := w.write(v), w.write(v)
		form := canonical(t, one)
		if got := canonical(t, other); got != form {
			t.Fatalf("%s\nhas the form %s\n%s\nsays the same and has the form %s", one, form, other, got)
		}
		if again := canonical(t, form); again != form {
			t.Fatalf("%s\nhas the form %s\nand that has the form %s", one, form, again)
		}
		if changed := w.write(w.change(v)); canonical(t, changed) == form {
			t.Fatalf("%s\nsays something else than\n%s\nand has the same form %s", one, changed, form)
		}
	}
}

// What JCS can express has the form of JCS.
func TestFormsAreThoseOfJCS(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(7, 8))}
	for range 1000 {
		text := w.write(w.value(4))
		want := jsontext.Value(text)
		if err := want.Canonicalize(); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := canonical(t, text); got != string(want) {
			t.Fatalf("%s\nhas the form   %s\nJCS gives it %s", text, got, want)
		}
	}
}

func TestCompareKeys(t *testing.T) {
	keys := []string{"", "a", "aa", "ab", "b", "\x00", "é", "\ud7ff", "\ue000", "\uffff", "\uf8ff", "\U00010000",
		"\U0010ffff", "a\uffff", "a\U0001f600", "\U0001f600a", "\U0001f600\uffff", "\uffffa"}
	for _, a := range keys {
		for _, b := range keys {
			want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
			if got := CompareKeys(a, b); got < 0 != (want < 0) || got > 0 != (want > 0) {
				t.Errorf("%q and %q: got %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestAppendString(t *testing.T) {
	for s, want := range map[string]string{
		"": `""`, "a/<é\u2028😀\x7f": "\"a/<é\u2028😀\x7f\"", "\"\\\b\t\n\f\r\x00\x1f": `"\"\\\b\t\n\f\r\u0000\u001f"`,
		"a\xffb\xe2\x82": "\"a\ufffdb\ufffd\ufffd\"",
	} {
		if got := string(AppendString([]byte("x"), s)); got != "x"+want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}
