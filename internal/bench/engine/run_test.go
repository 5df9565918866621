package engine

import (
	"slices"
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

func TestTwoOfThreeMeasurementsDecide(t *testing.T) {
	late, killed := found{kind: Hang, detail: "late", measured: true}, found{kind: Hang, detail: "killed", measured: true}
	grown := found{kind: Overshoot, detail: "grown", measured: true}
	leak := found{kind: Leak, detail: "it has the secret"}
	for _, test := range []struct {
		name   string
		runs   [3][]found
		want   []string
		detail string
	}{
		{"late in each", [3][]found{{late}, {late}, {late}}, []string{"hang: late"}, ""},
		{"late in two", [3][]found{{late}, {}, {late}}, []string{"hang: in 2 of 3 runs: late, unsteady"}, ""},
		{"late in one", [3][]found{{late}, {}, {}}, nil, "hang in 1 of 3 runs: late"},
		{"late in one, killed in two", [3][]found{{late}, {killed}, {killed}}, []string{"hang: late"}, ""},
		{"late in one, grown in two", [3][]found{{late}, {grown}, {grown}},
			[]string{"overshoot: in 2 of 3 runs: grown, unsteady"}, "hang in 1 of 3 runs: late"},
		{"a leak in one", [3][]found{{late, leak}, {}, {}}, []string{"leak: in 1 of 3 runs: it has the secret, unsteady"},
			"hang in 1 of 3 runs: late"},
	} {
		var runs []CaseResult
		for _, found := range test.runs {
			r := passed("a.js")
			for _, f := range found {
				r.Findings = append(r.Findings, f.of(&r))
			}
			runs = append(runs, r)
		}
		r := decided(runs...)
		var got []string
		for _, f := range r.Findings {
			line := f.Finding + ": " + f.Detail
			if f.Unsteady {
				line += ", unsteady"
			}
			got = append(got, line)
		}
		if !slices.Equal(got, test.want) || r.Detail != test.detail {
			t.Errorf("%s: got %q and %q, want %q and %q", test.name, got, r.Detail, test.want, test.detail)
		}
	}
}
