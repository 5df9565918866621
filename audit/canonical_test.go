package audit

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/store"
)

func TestCanonical(t *testing.T) {
	for _, row := range []struct{ in, want string }{
		{` { "b" : 1 , "a" : [ true , null , "x" ] } `, `{"a":[true,null,"x"],"b":1}`},
		{`"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/"`, `"€$\u000f\nA'B\"\\\\\"/"`},
		{`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`, "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
		{`[1e30,4.50,6,2e-3,0.000000000000000000000000001,-0,-0.0,1E0]`, `[1e+30,4.5,6,0.002,1e-27,0,0,1]`},
		{`[1e21,999999999999999900000,1e-7,0.000001,123456789012345]`, `[1e+21,999999999999999900000,1e-7,0.000001,123456789012345]`},
		{`9007199254740993`, `"9007199254740993"`},           // a double would make it ...992
		{`9007199254740992`, `9007199254740992`},             //
		{`0.1000000000000000055`, `"0.1000000000000000055"`}, // nor does it hold this
		{`1e400`, `"1e400"`},                                                         //
		{`{"a":{"b":[]},"":{}}`, `{"":{},"a":{"b":[]}}`},                             //
		{`"\ud800"`, "\"\ufffd\""},                                                   // half a character
		{`{"a":1,"a":2}`, `error: the key "a" occurs twice`},                         //
		{`{"a":1} x`, `error: `},                                                     //
		{strings.Repeat("[", 300) + strings.Repeat("]", 300), `error: it is nested`}, //
		{`{"a":01}`, `error: `},                                                      //
		{`"` + "\u2028<>&\x7f" + `"`, `"` + "\u2028<>&\x7f" + `"`},                   //
	} {
		got, err := Canonical([]byte(row.in))
		if err != nil {
			got = []byte("error: " + err.Error())
		}
		if wrong, isError := strings.CutPrefix(row.want, "error: "); isError && (err == nil || !strings.Contains(err.Error(), wrong)) || !isError && string(got) != row.want {
			t.Errorf("%s: got %s, want %s", row.in, got, row.want)
		}
	}
}

// The numbers that RFC 8785 lists in its appendix B, by their bits.
func TestNumbers(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0", 0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0x4340000000000000: "9007199254740992", 0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22", 0x44b52d02c7e14af6: "1e+23", 0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001", 0x41b3de4355555553: "333333333.3333332",
		0xbecbf647612f3696: "-0.0000033333333333333333", 0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		if got := string(appendFloat(nil, math.Float64frombits(bits))); got != want {
			t.Errorf("%x: got %s, want %s", bits, got, want)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":[1,2.5e3,"x"],"a":null}`, `"\ud83d\ude00"`, `[1e400]`, `{"":""}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := Canonical(raw)
		if err != nil {
			return
		}
		if !json.Valid(once) {
			t.Fatalf("%q became %q, which is no JSON", raw, once)
		}
		twice, err := Canonical(once)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%q became %q, and that %q (%v)", raw, once, twice, err)
		}
	})
}

// An entry is written by hand, in the order that is canonical; this keeps the two together.
func TestEntriesAreCanonical(t *testing.T) {
	text := "ä\"\\\n\x01\U0001f600 \xff"
	e := Entry{
		V: 1, Kind: Call, State: Running, Run: text, Call: 3, Principal: text, Client: text, Session: text, Role: text, Script: text,
		Profile: text, ProfileDigest: "x", Server: text, Tool: text, ToolDefinition: "y", Verdict: "ask", Risk: "low",
		Rules:     []Rule{{ID: text, At: "f:1", Layer: "l", Result: "true"}, {ID: "b"}},
		DecidedBy: &DecidedBy{How: "person", Channel: "web", Principal: text, LatencyMS: 12, Scope: "run", Grant: "g"},
		Args:      &Args{Proposed: "a", Shown: "b", Authorised: "c", Executed: "d", Redacted: json.RawMessage(`{"a":1}`), Bytes: 9},
		Result:    &Result{Digest: "e", Bytes: 5, Redacted: json.RawMessage(`[1]`)},
		Program:   &Program{Name: "p", Digest: "f", Bytes: 4, Text: text},
		Reason:    text, Detail: text, MS: 1.25, Count: 2, Tools: map[string]int{"b": 1, "a": 2, "\U0001f600": 3, "\ufb33": 4}, Data: json.RawMessage(`{"x":null}`),
	}
	for name, e := range map[string]Entry{"full": e, "sparse": {V: 1, Kind: Notice, State: "x"}, "with a call": {V: 1, Kind: Call, Call: 1}} {
		body, _ := e.draft().place(store.Head{Chain: 2, Seq: 40, Hash: [32]byte{7}})
		canonical, err := Canonical([]byte(body))
		if err != nil || string(canonical) != body {
			t.Errorf("%s: %v\n%s\n%s", name, err, body, canonical)
		}
		back, err := decodeBody([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := back.draft().place(store.Head{Chain: 2, Seq: 40, Hash: [32]byte{7}}); again != body {
			t.Errorf("%s: read and written again it is\n%s\nand was\n%s", name, again, body)
		}
	}
}
