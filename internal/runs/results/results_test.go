package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/checktest"
)

var rules = config.Results{Keep: time.Hour, Largest: 64 << 20, Bytes: 256 << 20, Number: 1000}

const most = 8 << 20

func keep(t testing.TB, k *Keeper, value any) *Kept {
	t.Helper()
	raw, err := json.Marshal(value)
	checktest.OK(t, err)
	kept, err := k.Keep(t.Context(), &Value{Run: "r_1", Principal: "anna", Owner: "anna", JSON: raw}, rules)
	checktest.OK(t, err)
	return kept
}

func part(pointer string, span ...int64) *hostfns.Part {
	p := &hostfns.Part{Pointer: pointer}
	if len(span) > 0 {
		p.From = &span[0]
	}
	if len(span) > 1 {
		p.Count = &span[1]
	}
	return p
}

func lines(pointer string, span ...int64) *hostfns.Part {
	p := part(pointer, span...)
	p.Lines = true
	return p
}

func TestParts(t *testing.T) {
	k := &Keeper{}
	value := map[string]any{
		"items": []any{map[string]any{"a": 1, "b/c": "x"}, "two", 3.5, nil, true, []any{}, map[string]any{}},
		"text":  "añ😀b\ncd\n\u2028\"q\"\\", "": map[string]any{"~": "tilde", "01": []int{7}}, "empty": "",
		"n": []any{[]any{[]any{9}}},
	}
	h := keep(t, k, value).Handle
	for _, test := range []struct {
		part *hostfns.Part
		want string // JSON, or a part of the error
	}{
		{part("/items/0"), `{"a":1,"b/c":"x"}`},
		{part("/items/0/b~1c"), `"x"`},
		{part("/items/6"), `{}`},
		{part("/items/5", 0), `[]`},
		{part("/items", 1, 2), `["two",3.5]`},
		{part("/items", 5), `[[],{}]`},
		{part("/items", 7), `[]`},
		{part("/items", 9_007_199_254_740_991, 9_007_199_254_740_991), `[]`},
		{part("/items", 0, 0), `[]`},
		{part("/items", 3, 1), `[null]`},
		{part("//~0"), `"tilde"`},
		{part("//01/0"), `7`},
		{part("/n/0/0/0"), `9`},
		{part("/text", 0, 4), `"añ😀b"`},
		{part("/text", 2, 1), `"😀"`},
		{part("/text", 8, 6), `"\u2028\"q\"\\"`},
		{part("/text", 100), `""`},
		{part("/empty", 0, 5), `""`},
		{lines("/text", 1, 1), `"cd\n"`},
		{lines("/text", 2), `"\u2028\"q\"\\"`},
		{lines("/text", 0, 2), `"añ😀b\ncd\n"`},
		{lines("/text", 9), `""`},
		{part("", 0, 1), `{"":{"01":[7],"~":"tilde"}}`},
		{part("", 1, 1), `{"empty":""}`},

		{part("/items/7"), "the member items has 7 elements, got number 7"},
		{part("/items/-1"), "is an array, so a number from 0"},
		{part("/items/01"), "is an array, so a number from 0"},
		{part("/items/-"), "is an array, so a number from 0"},
		{part("/items/99999999999999999999"), "is an array, so a number from 0"},
		{part("/nothing"), `the value has the keys "", empty, items, n, text, got nothing`},
		{part("/text/0"), "is a text, which has no members"},
		{part("items"), "expected a JSON Pointer"},
		{part("/items/~2"), "expected a JSON Pointer"},
		{part("/~"), "expected a JSON Pointer"},
		{part(strings.Repeat("/0", 5000)), "expected a JSON Pointer"},
		{part("/items/2", 0, 1), "expected an array, an object or a text"},
		{lines("/items", 0, 1), "/lines: expected a text"},
		{part("/__proto__"), "got __proto__"},
		{part("/\x00\x1b[31m"), `got "\x00\x1b[31m"`},
	} {
		got, err := k.Load(t.Context(), "anna", h, test.part, most)
		if wrong, ok := errors.AsType[*hostfns.ArgumentError](err); ok {
			if !strings.Contains(wrong.Error(), test.want) {
				t.Errorf("%+v: got the error %v, want %s", test.part, wrong, test.want)
			}
			continue
		}
		var is, want any
		if err != nil || json.Unmarshal(got.JSON, &is) != nil || json.Unmarshal([]byte(test.want), &want) != nil ||
			fmt.Sprint(is) != fmt.Sprint(want) {
			t.Errorf("%s: got %+v (%v), want %s", test.part, got, err, test.want)
		}
	}
}

// TestPartsOfRandomValues compares parts of values, which span many chunks, with what the standard library finds.
func TestPartsOfRandomValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		room := 300_000
		value := randomValue(rng, 0, &room)
		raw, _ := json.Marshal(value)
		var decoded any
		_ = json.Unmarshal(raw, &decoded)
		c := cut(t, raw, 8<<10)
		for range 60 {
			pointer, at := walk(rng, decoded)
			p := part(pointer)
			if length(at) >= 0 && rng.IntN(3) > 0 {
				p = part(pointer, rng.Int64N(int64(length(at)+2)), rng.Int64N(int64(length(at)+2)))
			}
			want := at
			if p.From != nil {
				want = slice(at, int(*p.From), int(*p.Count))
			}
			got, err := c.read(p, 64<<20)
			if err != nil {
				t.Fatalf("%s of %.200s: %v", p, raw, err)
			}
			var is any
			if err := json.Unmarshal(got, &is); err != nil {
				t.Fatalf("%s: %v: %.200s", p, err, got)
			}
			a, _ := json.Marshal(is)
			b, _ := json.Marshal(want)
			if string(a) != string(b) {
				t.Fatalf("%s of %.200s (%d bytes): got %.200s, want %.200s", p, raw, len(raw), a, b)
			}
		}
	}
}

// randomValue has members of very different sizes, so that chunks begin everywhere. It uses up room, in bytes.
func randomValue(rng *rand.Rand, depth int, room *int) any {
	*room -= 10
	kind, n := rng.IntN(7), rng.IntN(6)
	switch {
	case *room < 0:
		return nil
	case depth == 0 || kind < 2 && depth < 22:
		list := []any{}
		if rng.IntN(4) == 0 {
			n = 3000
		}
		for range n + 2 {
			list = append(list, randomValue(rng, depth+1, room))
		}
		return list
	case kind < 4 && depth < 22:
		object := map[string]any{}
		for i := range n {
			object[fmt.Sprintf("%c/%d~\"%s", 'a'+i, i, strings.Repeat("k", rng.IntN(9)))] = randomValue(rng, depth+1, room)
		}
		if rng.IntN(20) == 0 && *room > 60_000 {
			object[strings.Repeat("long\n", 10_000)] = "far"
			*room -= 60_000
		}
		return object
	case kind == 4:
		words := []string{"plain text ", "é", "😀", "\n", "\"", "\\", "\u0000"}
		var b strings.Builder
		size := 20
		if rng.IntN(12) == 0 {
			size = 6_000
		}
		for range size {
			b.WriteString(words[rng.IntN(len(words))])
		}
		*room -= b.Len()
		return b.String()
	case kind == 5:
		return rng.Float64()
	}
	return []any{nil, true, false, "", 0}[rng.IntN(5)]
}

func walk(rng *rand.Rand, v any) (pointer string, at any) {
	for rng.IntN(7) > 0 {
		switch of := v.(type) {
		case []any:
			if len(of) == 0 {
				return pointer, v
			}
			i := rng.IntN(len(of))
			pointer, v = pointer+fmt.Sprintf("/%d", i), of[i]
		case map[string]any:
			for key, value := range of {
				if len(key) < 100 {
					key = strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
					pointer, v = pointer+"/"+key, value
					break
				}
			}
			if len(of) == 0 {
				return pointer, v
			}
		default:
			return pointer, v
		}
	}
	return pointer, v
}

func length(v any) int {
	switch v := v.(type) {
	case []any:
		return len(v)
	case string:
		return utf8.RuneCountInString(v)
	}
	return -1
}

func slice(v any, from, count int) any {
	switch v := v.(type) {
	case []any:
		from = min(from, len(v))
		return v[from:min(from+count, len(v))]
	case string:
		all := []rune(v)
		from = min(from, len(all))
		return string(all[from:min(from+count, len(all))])
	}
	return v
}

func TestShapes(t *testing.T) {
	rows := []any{}
	for i := range 48_211 {
		rows = append(rows, map[string]any{"a": i, "b": "x", "c": []int{i}})
	}
	many := map[string]int{}
	for i := range 20 {
		many[fmt.Sprintf("k%02d", i)] = i
	}
	for want, value := range map[string]any{
		"an array of 48,211 objects with the keys a, b, c": rows,
		"an array of 0 elements":                           []any{},
		"an array of 2 objects with the keys a, b": []any{map[string]any{}, map[string]any{"b": 1,
			"a": "}"}},
		"an array of 1 object with no keys": []any{map[string]any{}},
		"an array of 3 elements":            []any{1, "2", nil},
		"an array of 2 texts":               []any{"[", "]"},
		"an array of 2 elements":            []any{true, false},
		"an object with the keys k00, k01, k02, k03, k04, k05, k06, k07, ...": many,
		"an object with no keys":               map[string]any{},
		"an object with the key \"\\x1b[31m\"": map[string]any{"\x1b[31m": 1},
		"a text of 6 characters and 2 lines":   "aé\n😀\"b",
		"a number":                             12,
		"null":                                 nil,
		"an object with the key " + strings.Repeat("x", longestWord) + "...": map[string]any{strings.Repeat("x", 1<<20): 1},
	} {
		if got := keep(t, &Keeper{}, value).Shape; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWhatIsTooLargeSaysHowToPage(t *testing.T) {
	k := &Keeper{}
	list := []any{}
	for range 1000 {
		list = append(list, strings.Repeat("x", 98))
	}
	h := keep(t, k, map[string]any{"list": list, "text": strings.Repeat("yz", 50_000), "one": []any{strings.Repeat("x",
		20_000)}}).Handle
	for _, test := range []struct {
		part *hostfns.Part
		want string
	}{
		{part("/list"), "read an array in ranges, such as {from: 0, count: 99}"},
		{part("/list", 200), "such as {from: 200, count: 99}"},
		{part("/text"), "read a text in ranges, such as {from: 0, count: 2500}"},
		{part("/one"), "the first member alone is larger: add it to the pointer"},
		{part("/one", 0, 1), "the first member alone is larger: add it to the pointer"},
	} {
		_, err := k.Load(t.Context(), "anna", h, test.part, 10_000)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.part, err, test.want)
		}
	}
	for _, fits := range []*hostfns.Part{part("/list", 0, 99), part("/list", 200, 99), part("/text", 0, 2500),
		part("/one/0", 0, 5000)} {
		if _, err := k.Load(t.Context(), "anna", h, fits, 10_000); err != nil {
			t.Errorf("%s: %v", fits, err)
		}
	}
}

// TestResultsAreTheirPrincipals: whatever is wrong with a handle, the answer is the same.
func TestResultsAreTheirPrincipals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &Keeper{}
		h := keep(t, k, "anna's").Handle
		_, none := k.Load(t.Context(), "anna", "NOSUCHHANDLE", part(""), most)
		for _, of := range [][2]string{{"bert", h}, {"", h}, {"Anna", h}, {"anna", strings.ToLower(h)}, {"anna", h + " "},
			{"anna", ""}} {
			if got, err := k.Load(t.Context(), of[0], of[1], part(""), most); err == nil || err.Error() != none.Error() {
				t.Errorf("%q: got %+v, %v; want %v", of, got, err, none)
			}
		}
		time.Sleep(time.Hour - time.Second)
		if got, err := k.Load(t.Context(), "anna", h, part(""), most); err != nil || string(got.JSON) != `"anna's"` {
			t.Errorf("before its end: %+v, %v", got, err)
		}
		time.Sleep(time.Second)
		if got, err := k.Load(t.Context(), "anna", h, part(""), most); err == nil || err.Error() != none.Error() {
			t.Errorf("at its end: %+v, %v", got, err)
		}
	})
}

func TestQuotas(t *testing.T) {
	k := &Keeper{}
	rules := config.Results{Keep: time.Hour, Largest: 600, Bytes: 1000, Number: 3}
	add := func(owner string, size int) (*Kept, error) {
		return k.Keep(t.Context(), &Value{Principal: owner, Owner: owner,
			JSON: json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)}, rules)
	}
	there := func(owner string, kept *Kept) bool {
		_, err := k.Load(t.Context(), owner, kept.Handle, part(""), most)
		return err == nil
	}
	must := func(kept *Kept, err error) *Kept {
		t.Helper()
		checktest.OK(t, err)
		return kept
	}
	of := must(add("bert", 500))
	a, b, c := must(add("anna", 100)), must(add("anna", 100)), must(add("anna", 100))
	d := must(add("anna", 100))
	if there("anna", a) || !there("anna", b) || len(d.Removed) != 1 || d.Removed[0] != a.Handle {
		t.Errorf("the fourth of three: %+v", d)
	}
	e, f := must(add("anna", 600)), must(add("anna", 300))
	if there("anna", b) || there("anna", c) || there("anna", d) && len(f.Removed) == 0 || !there("anna", e) ||
		!there("anna", f) {
		t.Errorf("%+v %+v", e, f)
	}
	if !there("bert", of) {
		t.Error("another's result made way")
	}
	if _, err := add("anna", 601); err == nil || !strings.Contains(err.Error(),
		"results.largest in the configuration is 600") {
		t.Errorf("too large: %v", err)
	}
}

func TestWhatIsNoJSONIsNotKept(t *testing.T) {
	for _, bad := range []string{``, `{`, `[1,]`, `"`, `]`, `1 2`, "\"\x01\"", strings.Repeat("[", 100_000)} {
		if kept, err := (&Keeper{}).Keep(t.Context(), &Value{JSON: json.RawMessage(bad)}, rules); err == nil {
			t.Errorf("%.20q is kept: %+v", bad, kept)
		}
	}
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	k := &Keeper{}
	kept, err := k.Keep(t.Context(), &Value{JSON: json.RawMessage(deep)}, rules)
	checktest.OK(t, err)
	if got, err := k.Load(t.Context(), "", kept.Handle, part(strings.Repeat("/0", 2000)), most); err != nil ||
		len(got.JSON) != 6000 {
		t.Errorf("deep in it: %+v, %v", got, err)
	}
}

// TestAPageReadsItsChunksAlone: what a page costs does not depend on where it is.
func TestAPageReadsItsChunksAlone(t *testing.T) {
	rows := []any{}
	for i := range 160_000 {
		rows = append(rows, map[string]any{"number": i, "name": strings.Repeat("x", 90), "tags": []string{"a", "b"}})
	}
	raw, _ := json.Marshal(map[string]any{"first": 1, "rows": rows, "text": strings.Repeat("line of it\n", 400_000)})
	chunks, starts, err := split(raw, chunkSize)
	checktest.OK(t, err)
	t.Logf("%d bytes in %d chunks", len(raw), len(chunks))
	for _, p := range []*hostfns.Part{part("/rows", 0, 100), part("/rows", 80_000, 100), part("/rows", 159_900, 100),
		part("/rows/140000/name"),
		part("/text", 4_000_000, 1000), lines("/text", 399_990, 10), part("/text", 0, 10)} {
		read := map[int]int{}
		c := &cursor{ctx: t.Context(), starts: starts, size: int64(len(raw)), chunk: func(_ context.Context, n int) ([]byte,
			error) {
			read[n]++
			return chunks[n], nil
		}}
		if _, err := c.read(p, most); err != nil {
			t.Errorf("%s: %v", p, err)
		}
		if len(read) > 5 {
			t.Errorf("%s reads %d of %d chunks", p, len(read), len(chunks))
		}
	}
}

func BenchmarkKeepAndPage(b *testing.B) {
	rows := []any{}
	for i := range 160_000 {
		rows = append(rows, map[string]any{"number": i, "name": strings.Repeat("x", 90), "tags": []string{"a", "b"}})
	}
	raw, _ := json.Marshal(rows)
	k := &Keeper{}
	var kept *Kept
	b.Run("keep", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			kept, _ = k.Keep(b.Context(), &Value{JSON: raw}, rules)
		}
	})
	b.Run("page", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := k.Load(b.Context(), "", kept.Handle, part("", 120_000, 500), most); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// cut reads a value in chunks of a size.
func cut(t testing.TB, value []byte, size int) *cursor {
	chunks, starts, err := split(value, size)
	if err != nil {
		t.Fatalf("%q: %v", value, err)
	}
	if !sound(starts, int64(len(value))) {
		t.Fatalf("%q in chunks of %d: %+v", value, size, starts)
	}
	return &cursor{ctx: t.Context(), starts: starts, size: int64(len(value)),
		chunk: func(_ context.Context, n int) ([]byte, error) { return chunks[n], nil }}
}

// FuzzParts: wherever chunks begin, a part is the same, and it is JSON.
func FuzzParts(f *testing.F) {
	for _, value := range []string{`{"a":[1,{"b":"x\ny"},[]],"c":{}}`, `["a\ud83d\ude00b","\ud83d","\u000a\n"]`,
		` [ 1 , [ 2 ] , "" ] `, `"é😀"`,
		`{"":{"":[[[[[[[[[[[[[[[[[[[0,1],2],3]]]]]]]]]]]]]]]],4]}}`, `[{"k":1},{"k":2},{"k":3}]`, `-1.5e3`} {
		for _, pointer := range []string{"", "/a", "/a/1/b", "/0", "/2/k", "//", "/~1~0"} {
			f.Add([]byte(value), pointer, int64(1), int64(2), uint8(len(value)))
		}
	}
	f.Fuzz(func(t *testing.T, value []byte, pointer string, from, count int64, how uint8) {
		if !json.Valid(value) || from < 0 || count < 0 {
			return
		}
		p := &hostfns.Part{Pointer: pointer, Lines: how&1 != 0}
		if how&2 != 0 {
			p.From = &from
		}
		if how&4 != 0 {
			p.Count = &count
		}
		want, problem := cut(t, value, len(value)+1).read(p, most)
		if problem == nil && !json.Valid(want) {
			t.Fatalf("%s of %q is %q", p, value, want)
		}
		if _, ok := errors.AsType[*hostfns.ArgumentError](problem); problem != nil && !ok {
			t.Fatalf("%s of %q: %v", p, value, problem)
		}
		shape, _ := shapeOf(cut(t, value, len(value)+1))
		for _, size := range []int{1, 2, 7, 30} {
			got, err := cut(t, value, size).read(p, most)
			if string(got) != string(want) || fmt.Sprint(err) != fmt.Sprint(problem) {
				t.Fatalf("%s of %q in chunks of %d is %q (%v), in one %q (%v)", p, value, size, got, err, want, problem)
			}
			if other, err := shapeOf(cut(t, value, size)); err != nil || other != shape {
				t.Fatalf("%q in chunks of %d is %s (%v), in one %s", value, size, other, err, shape)
			}
		}
	})
}

// Values that are being stored are bounded together; one that finds no room is not kept, and nobody waits.
func TestStoringIsBounded(t *testing.T) {
	k := &Keeper{}
	big := &Value{Owner: "anna", Principal: "anna", JSON: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}
	rules := config.Results{Keep: time.Hour, Largest: 2 << 20, Bytes: 1 << 30, Number: 1000}
	if _, err := k.Keep(t.Context(), big, rules); err != nil {
		t.Fatal(err)
	}
	var done []func()
	for {
		d, err := k.room("anna", 1<<20)
		if err != nil {
			break
		}
		done = append(done, d)
	}
	if _, err := k.Keep(t.Context(), big, rules); err == nil || !strings.Contains(err.Error(), "your share of bytes") {
		t.Errorf("anna's values fill her share, and one more is kept: %v", err)
	}
	other := *big
	other.Owner, other.Principal = "bert", "bert"
	if _, err := k.Keep(t.Context(), &other, rules); err != nil {
		t.Errorf("bert has a share of his own: %v", err)
	}
	for _, d := range done {
		d()
	}
	if _, err := k.Keep(t.Context(), big, rules); err != nil {
		t.Errorf("there is room again: %v", err)
	}
}
