package engine

import (
	"strings"
	"testing"
)

func TestValuesThatNestTooDeep(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for _, test := range []struct {
		name, line string
		want       string // the type and the name, or an error
		tooDeep    bool
	}{
		{"a call", `{"type":"call","run":3,"name":"echo","args":[1]}`, "call echo", false},
		{"deep arguments", `{"type":"call","run":3,"name":"echo","args":` + deep + `}`, "call echo", true},
		{"deep arguments first", `{"args":` + deep + `, "type" : "call","run":3,"name":"echo"}`, "call echo", true},
		{"brackets in a text", `{"name":"\"[{` + strings.Repeat("[", 20_000) + `","type":"call","args":` + deep + `}`,
			`call "[{` + strings.Repeat("[", 20_000), true},
		{"deep, and no JSON", `{"type":call,"args":` + deep + `}`, "error", true},
		{"no JSON", `{"type":"call"`, "error", false},
		{"deep, and never closed", `{"type":"call","args":` + deep[:20_000], "error", false},
	} {
		m, err := readMessage([]byte(test.line))
		got := m.Type + " " + m.Name
		if err != nil {
			got = "error"
		}
		if got != test.want || err == nil && m.tooDeep != test.tooDeep {
			t.Errorf("%s: got %.100s, too deep %v", test.name, got, m.tooDeep)
		}
	}
}
