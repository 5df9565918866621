package prompt

import (
	"encoding/json"
	"strings"
	"testing"
)

// S3.5: what may be logged of arguments has no secret in it, is short, is one line of visible characters, and can be
// narrowed.
func TestDisplaySafeArguments(t *testing.T) {
	deep := `{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}`
	tests := []struct {
		why, args string
		display   Display
		has, not  []string
	}{
		{"a secret", `{"headers":{"Authorization":"Bearer abc.def"},"api_key":"0123456789abcdef","to":"anna"}`, Display{},
			[]string{`"anna"`, "api_key"}, []string{"abc.def", "0123456789abcdef"}},
		{"a key of one's own", `{"pin":"4711","to":"anna"}`, Display{Keys: []string{"pin"}}, []string{`"anna"`},
			[]string{"4711"}},
		{"a pointer", `{"card":{"number":"4111"}}`, Display{Pointers: []string{"/card/number"}}, []string{"card"},
			[]string{"4111"}},
		{"a header", `{"headers":[{"name":"Authorization","value":"hunter2hunter3"}]}`, Display{}, []string{"Authorization"},
			[]string{"hunter2"}},
		{"a path is no secret", `{"token":"/home/x/token/file"}`, Display{}, []string{"/home/x/token/file"}, nil},
		{"a long text", `{"x":"` + strings.Repeat("long ", 1000) + `end"}`, Display{}, []string{"characters hidden", `end"`},
			[]string{strings.Repeat("long ", 50)}},
		{"a long list", `[` + strings.Repeat("1,", 1000) + `2]`, Display{}, []string{"989 entries hidden"},
			[]string{strings.Repeat("1 ", 100)}},
		{"deep", deep, Display{}, []string{"a"}, []string{`f: 1`}},
		{"narrowed", `{"x":"` + strings.Repeat("y", 100) + `"}`, Display{String: 20}, []string{"hidden"},
			[]string{strings.Repeat("y", 40)}},
		{"control characters", "{\"x\":\"a\\u001b[2J\u202eb\\nc\"}", Display{}, []string{`\n`},
			[]string{"\x1b", "\u202e", "\n"}},
		{"none", ``, Display{}, []string{"none"}, nil},
		{"not JSON", `{"x":`, Display{}, []string{"not strict JSON, 5 bytes"}, nil},
		{"a number", ` 7 `, Display{}, []string{"7"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			got := Shown(json.RawMessage(tt.args), tt.display)
			for _, part := range tt.has {
				if !strings.Contains(got, part) {
					t.Errorf("%q is missing in %s", part, got)
				}
			}
			for _, part := range tt.not {
				if strings.Contains(got, part) {
					t.Errorf("%q is in %s", part, got)
				}
			}
			if len(got) > 2000 || strings.Contains(got, "\n") {
				t.Errorf("%d bytes: %s", len(got), got)
			}
		})
	}
}
