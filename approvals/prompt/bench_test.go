package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
)

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
