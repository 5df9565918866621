package upstream

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is split is what encoding/json reads.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		`[]`, `{}`, ` [1, "a,]", [2, {"b": "\"]"}], null , {} ] `, `{"a": 1, "b" : [1,2] , "\u0061": "c:d", "e\\": {"f": "}"}}`,
		`["\\\\", "\\\"", ""]`, `null`, `"text"`, `{"a": {"a": ":"}, "": "é"}`, "[\n\t1\r\n,\n2]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		type list []json.RawMessage
		texts := func(raw ...json.RawMessage) (all []string) {
			for _, r := range raw {
				all = append(all, string(r))
			}
			return all
		}
		var wantList list
		wantErr := json.Unmarshal(raw, &wantList)
		got, more, err := elements(raw, len(raw))
		if diff := cmp.Diff(texts(wantList...), texts(got...)); diff != "" || more || (err == nil) != (wantErr == nil) {
			t.Errorf("elements of %s: %s, %v, %v", raw, diff, more, err)
		}
		if n := len(wantList); n > 0 {
			if got, more, _ := elements(raw, n-1); len(got) != n-1 || !more {
				t.Errorf("%d elements of %s, and more: %v", len(got), raw, more)
			}
		}
		var want map[string]json.RawMessage
		wantErr = json.Unmarshal(raw, &want)
		var names []string
		for name := range want {
			names = append(names, name)
		}
		members, ok := membersOf(raw, names...)
		if ok != (wantErr == nil && want != nil) {
			t.Fatalf("members of %s: %v", raw, ok)
		}
		for _, name := range names {
			if string(members[name]) != string(want[name]) {
				t.Errorf("%q of %s: got %s, want %s", name, raw, members[name], want[name])
			}
		}
	})
}
