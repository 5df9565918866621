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

func TestAFloodOfFindingsHidesNone(t *testing.T) {
	var r result
	for range 200 {
		r.find(Protocol, "there is no message")
	}
	r.find(Leak, "it has the secret")
	for range 200 {
		r.find(Protocol, "there is no message")
	}
	leaks := 0
	for _, f := range r.found {
		if f.kind == Leak {
			leaks++
		}
	}
	if leaks != 1 || len(r.found) != maxFound+1 {
		t.Errorf("%d findings are left, and %d leaks", len(r.found), leaks)
	}
}

func TestTheMoreCertainFindingStays(t *testing.T) {
	near := found{kind: Hang, detail: "hardly late", measured: true, near: true}
	late, seen := found{kind: Hang, detail: "late", measured: true}, found{kind: Hang, detail: "seen"}
	for _, test := range []struct {
		found []found
		want  string
	}{
		{[]found{near, late}, "late"},
		{[]found{late, near}, "late"},
		{[]found{near, seen}, "seen"},
		{[]found{seen, late, near}, "seen"},
	} {
		var r CaseResult
		for _, f := range test.found {
			r.find(f)
		}
		if len(r.Findings) != 1 || r.Findings[0].Detail != test.want {
			t.Errorf("%v: got %+v, want %s", test.found, r.Findings, test.want)
		}
	}
}

func TestRepeatsDecideWhatCounts(t *testing.T) {
	late := found{kind: Hang, detail: "late", measured: true}
	grown := found{kind: Overshoot, detail: "grown", measured: true}
	near := found{kind: Hang, detail: "hardly late", measured: true, near: true}
	leak := found{kind: Leak, detail: "it has the secret"}
	none, knowsLate := knownNames{}, knownNames{"a.js": {Hang}}
	for _, test := range []struct {
		name   string
		known  knownNames
		runs   [][]found // as many as are made
		want   []string
		detail string
	}{
		{"nothing", nil, [][]found{{}}, nil, ""},
		{"a leak", nil, [][]found{{leak}}, []string{"leak: it has the secret"}, ""},
		{"late in both", nil, [][]found{{late}, {late}}, []string{"hang: late"}, ""},
		{"late in one", nil, [][]found{{late}, {}}, nil, "hang in 1 of 2 runs: late"},
		{"late in one, grown in both", nil, [][]found{{late, grown}, {grown}}, []string{"overshoot: grown"},
			"hang in 1 of 2 runs: late"},
		{"a leak and late in one", nil, [][]found{{late, leak}, {}}, []string{"leak: in 1 of 2 runs: it has the secret"},
			"hang in 1 of 2 runs: late"},
		{"hardly late in both", nil, [][]found{{near}, {near}}, []string{"hang: hardly late"}, ""},
		{"new, hardly late", none, [][]found{{near}}, nil, "hang hardly late"},
		{"new, hardly late in the second", none, [][]found{{late}, {near}}, nil,
			"hang hardly late; hang in 1 of 2 runs: late"},
		{"known, hardly late", knowsLate, [][]found{{near}}, []string{"hang: hardly late"}, ""},
		{"new, late in each", none, [][]found{{late}, {late}, {late}, {late}, {late}, {late}}, []string{"hang: late"}, ""},
		{"new, not late in the third", none, [][]found{{late}, {late}, {}}, nil, "hang in 2 of 3 runs: late"},
		{"a new leak", none, [][]found{{leak}}, []string{"leak: it has the secret"}, ""},
		{"known, late at once", knowsLate, [][]found{{late}}, []string{"hang: late"}, ""},
		{"known, late in the third", knowsLate, [][]found{{}, {}, {late}}, []string{"hang: in 1 of 3 runs: late"}, ""},
		{"known, and gone", knowsLate, [][]found{{}, {}, {}, {}, {}, {}}, nil, ""},
		{"known, and grown once", knowsLate, [][]found{{late, grown}, {}}, []string{"hang: in 1 of 2 runs: late"},
			"overshoot in 1 of 2 runs: grown"},
	} {
		r := repeats{known: test.known}
		for i, found := range test.runs {
			if i > 0 && r.decided() {
				t.Errorf("%s: decided after %d runs", test.name, i)
			}
			run := passed("a.js")
			for _, f := range found {
				run.Findings = append(run.Findings, f.of(&run))
			}
			r.add(run)
		}
		if !r.decided() {
			t.Errorf("%s: not decided after %d runs", test.name, len(test.runs))
		}
		result := r.result()
		var got []string
		for _, f := range result.Findings {
			got = append(got, f.Finding+": "+f.Detail)
		}
		if !slices.Equal(got, test.want) || result.Detail != test.detail {
			t.Errorf("%s: got %q and %q, want %q and %q", test.name, got, result.Detail, test.want, test.detail)
		}
	}
}
