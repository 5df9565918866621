package prompt

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/codemode-project/codemode/call"
)

// inert reports whether r may stand in what a person sees. It is stated by what must not appear, shows by what may.
func inert(r rune) bool {
	switch {
	case r == '\n' || ' ' <= r && r <= '~':
		return true
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Cn, unicode.Zl, unicode.Zp, unicode.Zs,
		unicode.Me),
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Bidi_Control,
			unicode.Join_Control, unicode.White_Space):
		return false
	case strings.ContainsRune("\u3164\u115f\u1160\uffa0\u2800\u034f\u17b4\u17b5\u00ad\ufeff\u2028\u2029\u061c\u180e", r):
		return false
	}
	return true
}

// planned is a call with a plan for the rest of its run.
func planned(t *testing.T) *Request {
	t.Helper()
	r := write("/data/a")
	r.Run = "r7"
	line := write("")
	line.Args = json.RawMessage(`{"path":"/data/b","content":null}`)
	var err error
	r.Plan, err = PlanGrants([]PlannedCall{
		{Call: line, Envelope: Envelope{Fixed: []Value{{"/path", `"/data/b"`}}, Free: []string{"/content"}}, Count: 1},
		{Call: line, Envelope: Envelope{Fixed: []Value{{"/path", `"` + strings.Repeat("x\u202e", 20) + `"`}},
			Free: []string{""}}, Count: 50},
	}, "r7", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkInert holds what must be true of any text shown.
func checkInert(t *testing.T, shown string) {
	t.Helper()
	if !utf8.ValidString(shown) {
		t.Errorf("%q is not UTF-8", shown)
	}
	mark := 0
	for i, r := range shown {
		if !inert(r) {
			t.Errorf("U+%04X at byte %d of %q", r, i, shown)
			return
		}
		if mark++; !unicode.Is(unicode.M, r) {
			mark = 0
		} else if mark > 3 {
			t.Errorf("a heap of marks at byte %d of %q", i, shown)
			return
		}
	}
}

func formOfOne(r *Request, style formStyle) (message string, schema json.RawMessage) {
	return formOf([]*Request{r}, style)
}

func readFormOfOne(r *Request, action string, content map[string]any) (call.Answer, error) {
	got := ReadForm([]*Request{r}, action, content)[0]
	err := got.Err
	got.Err = nil
	return got, err
}
