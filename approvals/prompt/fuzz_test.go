package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
)

func FuzzRender(f *testing.F) {
	f.Add(`{"path":"a"}`, "fs__write", "server", "tool", "words", true)
	f.Add("{\"a\":\"\u202e\\ud800\xff\\n  \"}", "p\u0430ypal", "\x1b[2J", "](x)", "```\n@you", false)
	f.Add(`{"password":"a b c","token":"`+"gh"+"p_"+strings.Repeat("a", 36)+`","x":[[[[[[[1]]]]]]]}`, "", "", "", "", true)
	f.Add(`[{"name":"authorization","value":"Bearer x"},1e999,"a\"b\\c"]`, "__", "a__b", strings.Repeat("x", 300),
		strings.Repeat("\n", 500), false)
	f.Fuzz(func(t *testing.T, args, name, server, tool, words string, markdown bool) {
		r := &Request{
			Server: server, Tool: tool, Name: name, Profile: words, Risk: call.Risk(words), Rule: words,
			Reasons: []string{words, args}, Args: json.RawMessage(args),
			Title: words, Description: args, Code: tool,
			Preview: Preview{Calls: []PreviewCall{{Name: words, Line: 1, Column: 2}}, Dynamic: markdown},
		}
		for _, o := range []RenderOptions{{Markdown: markdown}, {Width: 40, Markdown: markdown}, {Whole: true}} {
			shown := Render(r, o)
			checkInert(t, shown.Text())
			first, rest, _ := strings.Cut(shown.Text(), "\n\n")
			if strings.Contains(first, "\n") || len(first) > 80 {
				t.Errorf("the first line is %q", first)
			}
			for line := range strings.Lines(rest) {
				if !strings.HasPrefix(line, "    ") {
					t.Errorf("a line that is no code block: %q", line)
				}
			}
			if o.Markdown && (strings.Contains(rest, "](") || strings.Contains(rest, "```")) {
				t.Errorf("Markdown in %q", rest)
			}
		}
		checkInert(t, Summary(r))
		checkInert(t, Words(words))
		if strings.Contains(Summary(r)+Words(words)+Heading(r), "\n") {
			t.Error("a line end where there is one line")
		}
		checkArguments(t, args)
	})
}

// The largest arguments that reach a person are 1 MiB.
func BenchmarkRender(b *testing.B) {
	for _, bench := range []struct{ name, args string }{
		{"small", `{"path":"notes/today.md","content":"hello"}`},
		{"text", `{"a":"` + strings.Repeat("lorem ipsum ", 1<<20/12) + `"}`},
		{"nearSecrets", `{"a":"` + strings.Repeat("eyJhbGciOiJIUzI1NiJ9.sk-", 1<<20/24) + `"}`},
		{"numbers", `[` + strings.Repeat("0,", 1<<19) + `0]`},
		{"deep", strings.Repeat("[", 9000) + strings.Repeat("]", 9000)},
		{"keys", `{` + strings.Repeat(`"a":1,`, 1<<17) + `"b":2}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := request(call.Medium)
			r.Args = json.RawMessage(bench.args)
			for b.Loop() {
				Render(r, RenderOptions{})
			}
		})
	}
}
