package launch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	_ "github.com/codemode-project/codemode/store/sqlite"
)

// Calls with many arguments do not fill the memory of whoever looks at the rules: only the latest are read.
func TestPastCallsAreBoundedByTheirBytes(t *testing.T) {
	place, err := recorder.PlaceOf(t.TempDir(), nil, func(string) (string, bool) { return "", false })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	key, err := place.Prepare()
	must(err)
	r := audit.New(audit.Options{Open: place.Open, Key: key})
	write := func(from, to int, texts ...string) {
		args, err := json.Marshal(texts)
		must(err)
		for i := from; i < to; i++ {
			must(r.Add(t.Context(), call.Entry{Kind: audit.Call, State: audit.Refused, Run: fmt.Sprint("r_", i), Call: 1,
				Profile: "p", Server: "fs", Tool: "fs__read", Verdict: "deny",
				Args: &call.EntryArgs{RawProposed: call.Unread(args)}}))
		}
	}
	past := func() (calls int, cut bool) {
		t.Helper()
		must(r.Flush(t.Context()))
		db, err := r.DB(t.Context())
		must(err)
		got, err := PastCalls(t.Context(), db)
		must(err)
		return len(got.Calls), got.Cut
	}
	defer func() { must(r.Close(t.Context())) }()
	write(0, 3)
	if calls, cut := past(); calls != 3 || cut {
		t.Errorf("%d small calls, cut %t", calls, cut)
	}
	const many = 2500
	write(3, many, slices.Repeat([]string{strings.Repeat("x", 900)}, 15)...)
	if calls, cut := past(); calls < pastBytes/17_000 || calls > pastBytes/13_000 || !cut {
		t.Errorf("%d of %d large calls, cut %t", calls, many, cut)
	}
}
