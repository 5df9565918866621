package runs

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/hostile"
)

func TestValueText(t *testing.T) {
	long := strings.Repeat("x", 5000)
	numbers := strings.Trim(strings.Repeat("1,", 3000), ",")
	tests := []struct{ name, value, want string }{
		{name: "no value", value: "", want: "undefined"},
		{name: "a small value is pretty", value: `{"a":[1,2]}`, want: "{\n  \"a\": [\n    1,\n    2\n  ]\n}"},
		{name: "text stays JSON", value: `"a\nb"`, want: `"a\nb"`},
		{name: "a long list of short things is not a line for each", value: "[" + strings.Repeat("1,", 60) + "1]",
			want: "[\n " + strings.Repeat("1,", 60) + "1\n]"},
		{name: "a long list has one element a line", value: `[{"id":1,"x":"` + long[:2100] + `"},{"id":2},{"id":3}]`,
			want: "[\n {\n  \"id\":1,\n  \"x\":\"" + long[:2100] + "\"\n },\n {\"id\":2},\n {\"id\":3}\n]"},
		{name: "equal objects are a table", value: `{"rows":[` + strings.Repeat(`{"id":1,"name":"`+long[:40]+`"},`, 60) +
			`{"id":2,"name":null}],"next":2}`, want: tableNote + "{\n \"rows\":{\n  \"keys\":[\"id\",\"name\"],\n  \"rows\":[" +
			strings.Repeat("\n   [1,\""+long[:40]+"\"],", 60) + "\n   [2,null]\n  ]\n },\n \"next\":2\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var value json.RawMessage
			if tt.value != "" {
				value = json.RawMessage(tt.value)
			}
			if got := valueText(value, 4000, nil); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}

	cuts := []struct {
		name, value string
		holds       []string
	}{
		{name: "a long text loses its end", value: `"` + long + `"`, holds: []string{`more characters)`}},
		{name: "a long array loses its end", value: `[` + numbers + `]`, holds: []string{`more items"`}},
		{name: "the large member gives way to the small ones", value: `{"a":"` + long + `","summary":"short","z":true}`,
			holds: []string{`"summary":"short"`, `"z":true`, `more characters)`}},
		{name: "a large part deep inside is cut there", value: `{"list":[{"id":1,"body":"` + long +
			`"},{"id":2,"body":"ok"}]}`,
			holds: []string{`"id":1,`, `"body":"xxx`, `{"id":2,"body":"ok"}`}},
		{name: "many members", value: manyMembers(1000), holds: []string{`"k0":0`, `more members"`}},
		{name: "characters of several bytes are not split", value: `"` + strings.Repeat("😀é", 2000) + `"`,
			holds: []string{"😀é"}},
	}
	for _, tt := range cuts {
		t.Run(tt.name, func(t *testing.T) {
			got := valueText(json.RawMessage(tt.value), 1000, nil)
			note, value, ok := strings.Cut(got, "\n")
			if !ok || !json.Valid([]byte(value)) || len(value) > 1000 {
				t.Errorf("%d bytes, valid %v: %.200s", len(value), json.Valid([]byte(value)), got)
			}
			if want := fmt.Sprintf("(cut: the value has %d bytes as JSON and %d are shown", len(tt.value),
				len(value)); !strings.HasPrefix(note, want) {
				t.Errorf("the note is %q, want %q", note, want)
			}
			for _, part := range tt.holds {
				if !strings.Contains(value, part) {
					t.Errorf("%q is missing from %s", part, value)
				}
			}
			if len(value) < 500 {
				t.Errorf("only %d of 1000 bytes were used: %s", len(value), value)
			}
		})
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

// Whatever the value and the room, what is shown is JSON and fits.
func TestFitAlwaysFits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var random func(depth int) any
	random = func(depth int) any {
		switch n := r.IntN(7); {
		case n == 0:
			return r.IntN(1000)
		case n == 1:
			return nil
		case n <= 3 || depth > 3:
			return strings.Repeat("aé\n\"😀\u2028", r.IntN(60))
		case n == 4:
			list := []any{}
			for range r.IntN(9) {
				list = append(list, random(depth+1))
			}
			return list
		}
		object := map[string]any{}
		for i := range r.IntN(7) {
			object[fmt.Sprintf("%s%d", strings.Repeat("k", r.IntN(30)), i)] = random(depth + 1)
		}
		return object
	}
	cut := 0
	for range 600 {
		raw, err := json.Marshal(random(0))
		if err != nil {
			t.Fatal(err)
		}
		room := 200 + r.IntN(2000)
		got := new(fitter).fit(raw, room, fitDeep)
		if !json.Valid(got) || len(got) > room {
			t.Fatalf("fit(%d bytes, %d) gave %d bytes, valid %v:\n%s", len(raw), room, len(got), json.Valid(got), got)
		}
		if len(raw) > room {
			cut++
		}
	}
	if cut < 150 {
		t.Errorf("only %d values were too long: the test tests little", cut)
	}
}

// TestADeepLargeValueIsShortenedSoon shortens a value that is large and nested a thousand times: to read it once for
// each level took a minute after the program's end.
func TestADeepLargeValueIsShortenedSoon(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	for _, pair := range []string{"[]", `{"a":}`} {
		at := len(pair) - 1
		value := json.RawMessage(strings.Repeat(pair[:at], 3000) + `"` + strings.Repeat("x", 4<<20) + `"` +
			strings.Repeat(pair[at:], 3000))
		began := time.Now()
		text := valueText(value, DefaultTextBytes, nil)
		if len(text) > DefaultTextBytes+cutNote {
			t.Errorf("%d bytes", len(text))
		}
		if took := time.Since(began); took > 50*time.Second {
			t.Errorf("%s: it took %v", pair, took)
		}
	}
}

// TestAFlatLargeValueTakesLittleMemory: of what cannot be shown nothing is copied, whatever it is made of.
func TestAFlatLargeValueTakesLittleMemory(t *testing.T) {
	const size = 32 << 20
	for _, test := range []struct{ want, value string }{
		{"more items", "[" + strings.Repeat("0,", size/2) + "0]"},
		{"more members", `{"a":0` + strings.Repeat(`,"b":1`, size/6) + "}"},
		{"more characters", `["` + strings.Repeat("x", size) + `"]`},
		{"more items", "[" + strings.Repeat(" [ ] ,", size/6) + "{}]"},
	} {
		raw := json.RawMessage(test.value)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text := valueText(raw, DefaultTextBytes, nil)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 2*size {
			t.Errorf("%s: %d MiB are allocated for a text of %d bytes", test.want, took>>20, len(text))
		}
		if !strings.Contains(text, test.want) {
			t.Errorf("%s: %s", test.want, text[len(text)-300:])
		}
	}
}

// TestSplit compares what split finds with what the standard library does.
func TestSplit(t *testing.T) {
	for _, raw := range []string{`[]`, ` [ ] `, `{}`, `[1]`, `[ 1 , "a,]" , {"b":[1,2]} , [[]] , null,true,-1.5e3 ]`,
		`{"a":1,"\u0062\"}":{"c":"}"} , "d" : [ "\\" , "" ] }`} {
		keys, parts, total := split([]byte(raw), 1000)
		var list []json.RawMessage
		var object map[string]json.RawMessage
		if keys == nil {
			_ = json.Unmarshal([]byte(raw), &list)
		} else {
			_ = json.Unmarshal([]byte(raw), &object)
			for _, key := range keys {
				var name string
				_ = json.Unmarshal(key, &name)
				list = append(list, object[name])
			}
		}
		if total != len(list) || len(parts) != total {
			t.Fatalf("%s: %d parts of %d, want %d", raw, len(parts), total, len(list))
		}
		for i := range parts {
			if string(parts[i]) != string(list[i]) {
				t.Errorf("%s: part %d is %s, want %s", raw, i, parts[i], list[i])
			}
		}
		if _, few, all := split([]byte(raw), 2); all != total || len(few) != min(total, 2) {
			t.Errorf("%s: %d parts of %d fit into little room", raw, len(few), all)
		}
	}
}
