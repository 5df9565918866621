package config

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/profiles"

	"github.com/codemode-project/codemode/call"
)

// TestArgumentsAreStandardJSON is THREATS.md G14 for our decoder: what RFC 8259 does not
// allow is refused, and so is what decoders are known to differ on.
func TestArgumentsAreStandardJSON(t *testing.T) {
	for _, text := range []string{
		`{}`, ` { } `, "\t{\n}\r", `{"a":1}`, `{"":0}`, `{"a":{"a":{"a":[]}}}`, `{"a":[1,"b",true,false,null,{}]}`,
		`{"a":-0}`, `{"a":0.0}`, `{"a":1E+2}`, `{"a":1e-2}`, `{"a":-1.5e10}`, `{"a":123456789012345678901234567890}`,
		`{"a":"\u0000\u001f"}`, `{"a":"\"\\\/\b\f\n\r\t"}`, `{"a":"\ud834\udd1e"}`, `{"a":"é😀"}`,
		"{\"a\":\"\u2028\u2029\x7f\"}",
		`{"a b":1,"a  b":2}`, "{\"\u00e9\":1,\"e\u0301\":2}", `{"__proto__":1,"constructor":2,"then":3}`, `{"\u0061":1}`,
		`[]`, `"x"`, `1`, `null`,
	} {
		got, err := settings.ParseArguments(text)
		if err != nil {
			t.Errorf("%s: %s", text, err.Message)
			continue
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("%s: the standard library says this is not JSON", text)
		}
		var want, ours any
		_ = json.Unmarshal([]byte(text), &want)
		if err := json.Unmarshal(settings.Source(got), &ours); err != nil || !reflect.DeepEqual(want, ours) {
			t.Errorf("%s: source gives %s", text, settings.Source(got))
		}
	}
	for _, text := range []string{
		``, ` `, `{`, `}`, `[`, `]`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{a:1}`, `{'a':1}`,
		`{1:1}`, `{null:1}`,
		`{"a":1 "b":2}`, `{"a":1,,"b":2}`, `{"a":1}}`, `{}{}`, `{} x`, `[1,]`, `[,1]`, `[1,,2]`, `[1 2]`, `[1`, `["a"`, `[1}`,
		`{"a":1]`,
		`{"a":01}`, `{"a":-01}`, `{"a":+1}`, `{"a":.5}`, `{"a":5.}`, `{"a":1e}`, `{"a":1e+}`, `{"a":-}`, `{"a":--1}`,
		`{"a":0x1}`, `{"a":1_0}`, `{"a":1a}`, `{"a":0.1.2}`,
		`{"a":NaN}`, `{"a":Infinity}`, `{"a":-Infinity}`, `{"a":nul}`, `{"a":nulll}`, `{"a":True}`, `{"a":undefined}`,
		`{"a":tru}`, `{"a":é}`,
		`{"a":"}`, `{"a":"\"}`, `{"a":"\x41"}`, `{"a":"\u12"}`, `{"a":"\u12g4"}`, `{"a":"\a"}`, `{"a":"\`, `{"a":"\u`,
		`{"a":'b'}`,
		"{\"a\":\"\t\"}", "{\"a\":\"\n\"}", "{\"a\":\"\x00\"}", "{\"a\":\"\x1f\"}", "{\"\t\":1}", "{\x00}", "\x00",
		"{\"a\":1}\x00",
		`{"a":"\ud800"}`, `{"a":"\udc00"}`, `{"a":"\ud800x"}`, `{"a":"\ud800\u0041"}`, `{"a":"\ud800\ud800"}`, `{"\ud800":1}`,
		"{\"a\":\"\xff\"}", "{\"a\":\"\xc0\x80\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"\xff\":1}", "{\"a\":\"\xe2\x82\"}",
		"{\"a\":\"\\n\xff\"}",
		`{"a":1,"a":1}`, `{"a":1,"b":2,"a":3}`, `{"a":1,"\u0061":1}`, `{"\u0000":1,"\u0000":2}`, `{"":1,"":2}`,
		`[{"a":[{"b":1,"b":1}]}]`,
		"\ufeff{}", "{\u00a0}", "{\u2028}", "{\f}", "{\v}", `{"a":1}//`, `/**/{}`, `{"a":/**/1}`, `{"a":1} #`, `{"a"=1}`,
		`("a")`, `*`, `{"a":*}`,
	} {
		if got, err := settings.ParseArguments(text); err == nil {
			t.Errorf("%q is accepted as %s", text, settings.Source(got))
		}
	}
}

// FuzzParse: no file makes the parser fall over, every problem has a place inside the
// file, and a file that loads can be asked.
func FuzzParse(f *testing.F) {
	for _, a := range acceptedFiles {
		f.Add(a.content, "a", "b", `{"p": ["/etc/x"]}`)
	}
	f.Add(`{"evaluation": {"profiles": {"p": {"denylst": [«]}}}}`, "a-b", "c__d", `{`)
	f.Fuzz(func(t *testing.T, content, server, tool, args string) {
		c, err := Parse("f", []byte(content))
		if err != nil {
			lines := strings.Split(strings.TrimPrefix(content, "\ufeff"), "\n")
			for _, p := range err.(settings.Problems) {
				if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len(lines[p.Line-1])+1 || p.Length < 1 ||
					p.Message == "" {
					t.Fatalf("a problem without a place: %+v", p)
				}
				_ = p.String()
			}
			return
		}
		for _, name := range append(c.All(), "") {
			asked := profiles.Call{Server: server, Tool: tool, Args: call.Unread([]byte(args))}
			checkDecision(t, c.Profile(name).Decide(asked))
			c.Profile(name).Explain(asked)
			c.Profile(name).Visible(asked)
		}
	})
}
