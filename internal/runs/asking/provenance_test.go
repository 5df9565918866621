package asking

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// D5: each argument says where it comes from, as far as that can be seen.
func TestD5WhereArgumentsComeFrom(t *testing.T) {
	tests := []struct{ why, args, want string }{
		{"a literal beside an answer", `{"to":"anna@example.org","body":"Dear Anna, the code is 4711."}`, `
      to: "anna@example.org" (written in the program)
      body: "Dear Anna, the code is 4711." (from mail.read, call 2)`},
		{"a part of an answer", `{"body":"the code is 4711"}`, `
      body: "the code is 4711" (from mail.read, call 2)`},
		{"an answer inside a text", `{"body":"Fwd: Dear Anna, the code is 4711. Regards"}`, `
      body: "Fwd: Dear Anna, the code is 4711. Regards" (from mail.read, call 2)`},
		{"a number", `{"id":123456}`, `
      id: 123456 (from mail.read, call 2)`},
		{"the later of two answers", `{"x":"said twice"}`, `
      x: "said twice" (from time.now, call 3)`},
		{"what a tool echoes stays written", `{"x":"written and read","l":[123456]}`, `
      x: "written and read" (written in the program)
      l: [123456 (from mail.read, call 2)]`},
		{"nothing is known", `{"x":"made up by computing","n":7}`, `
      x: "made up by computing"
      n: 7`},
		{"short texts say nothing", `{"x":"ok"}`, `
      x: "ok"`},
		{"inside of lists", `{"l":["anna@example.org",{"~/":123456}]}`, `
      l: [
        "anna@example.org" (written in the program)
        {"~/": 123456 (from mail.read, call 2)}
      ]`},
		{"all written", `{"to":"anna@example.org","subject":"Hello there"}`, ` (all written in the program)
      to: "anna@example.org"
      subject: "Hello there"`},
	}
	var trace Provenance
	trace.Written(json.RawMessage(`{"to":"anna@example.org","subject":"Hello there","x":"written and read"}`))
	trace.Written(json.RawMessage(`not JSON`))
	trace.Answered(2, "mail__read",
		json.RawMessage(`{"text":"Dear Anna, the code is 4711.","id":123456,"s":["ok","said twice","written and read"]}`))
	trace.Answered(3, "time__now", json.RawMessage(`"said twice"`))
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			r := &prompt.Request{Name: "fs__write", Args: json.RawMessage(test.args)}
			r.Sources = trace.Sources(r.Args)
			_, got, _ := strings.Cut(prompt.Text(r, prompt.RenderOptions{}), "\n    arguments:")
			if got != test.want+"\n" {
				t.Errorf("got %s\nwant%s", got, test.want)
			}
		})
	}
}

// Arguments on which JSON readers differ come from nowhere.
func TestAProvenanceOfWhatIsNoStrictJSON(t *testing.T) {
	for _, args := range []string{`{"a":"said","a":"twice"}`, `{"a":"\ud800said"}`, "{\"a\":\"said\xff\"}", `{"a":01}`} {
		var trace Provenance
		trace.Written(json.RawMessage(args))
		trace.Answered(1, "s__t", json.RawMessage(args))
		if from := trace.Sources(json.RawMessage(args)); from != nil {
			t.Errorf("%q come from %v", args, from)
		}
	}
}
