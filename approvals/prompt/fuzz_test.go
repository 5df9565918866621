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
		for _, o := range []RenderOptions{{Markdown: markdown}, {Width: 40, Markdown: markdown}, {Full: true, Reveal: true}} {
			shown := Render(r, o)
			checkInert(t, shown.Text)
			o.Color = true
			if colour.ReplaceAllString(Text(r, o), "") != shown.Text {
				t.Error("with colours it says something else")
			}
			first, rest, _ := strings.Cut(shown.Text, "\n\n")
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
