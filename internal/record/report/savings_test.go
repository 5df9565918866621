package report

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/tokens"
	_ "github.com/codemode-project/codemode/store/sqlite"
)

func TestSavings(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := audit.NewKey(make([]byte, 32))
	check(err)
	path := filepath.Join(t.TempDir(), "codemode.db")
	r := audit.New(audit.Options{Key: key, Open: func(ctx context.Context) (*store.DB, error) {
		return store.Open(ctx, store.Options{Path: path})
	}})
	const args, result = `{"id":"a-17"}`, `{"id":"a-17","text":"a long text that the program does not return"}`
	const code, value = `return (await codemode.shop__get({ id: "a-17" })).id`, `"a-17"`
	of := func(run string, n int, state string) call.Entry {
		e := call.Entry{Kind: audit.Call, State: state, Run: run, Call: n, Server: "shop", Tool: "shop__get"}
		if state == audit.Running {
			e.Args = &call.EntryArgs{RawExecuted: call.Unread(json.RawMessage(args))}
		} else if state == audit.OK {
			e.Result = &call.EntryResult{Raw: json.RawMessage(result)}
		}
		return e
	}
	end := func(run string) call.Entry {
		return call.Entry{Kind: audit.Run, State: audit.OK, Run: run,
			Result: &call.EntryResult{Raw: json.RawMessage(value)}, Program: &call.EntryProgram{Text: code}}
	}
	for _, e := range []call.Entry{
		of("r_one", 1, audit.Running), of("r_one", 1, audit.OK), of("r_one", 2, audit.Running), of("r_one", 2, audit.OK),
		of("r_one", 3, audit.Refused), of("r_one", 4, audit.Running), of("r_one", 4, audit.NotSent), end("r_one"),
		end("r_without_calls"),
		of("r_without_program", 1, audit.Running), of("r_without_program", 1, audit.OK),
	} {
		check(r.Add(t.Context(), e))
	}
	db, err := r.DB(t.Context())
	check(err)
	check(r.Flush(t.Context()))
	s, err := Summarise(t.Context(), db, store.Query{})
	check(err)
	check(r.Close(t.Context()))
	got := *s.Savings
	if got.Programs != 1 || got.Calls != 2 {
		t.Errorf("%d programs with %d calls, want 1 with 2", got.Programs, got.Calls)
	}
	for _, row := range []struct {
		what      string
		got, want int
	}{
		{"results of calls", got.CallResults, 2 * tokens.Count(result)},
		{"texts of programs", got.ProgramTexts, tokens.Count(code)},
		{"results of programs", got.ProgramResults, tokens.Count(value)},
	} {
		if row.got != row.want {
			t.Errorf("%s: got %d tokens, want %d", row.what, row.got, row.want)
		}
	}
	if got.CallArguments <= 0 {
		t.Errorf("the arguments of calls have %d tokens", got.CallArguments)
	}
	if sum := got.CallArguments + got.CallResults - got.ProgramTexts - got.ProgramResults; got.Saved() != sum {
		t.Errorf("saved %d, want %d", got.Saved(), sum)
	}
}

func TestWhatIsRecordedInPartCountsInWhole(t *testing.T) {
	for _, row := range []struct {
		why, recorded string
		bytes, want   int
	}{
		{"all of it", "four words are here", 19, 4},
		{"a half", "four words are here", 38, 8},
		{"nothing but the size", "", 40, 10},
		{"no size", "four words are here", 0, 4},
	} {
		if got := size(row.recorded, row.bytes); got != row.want {
			t.Errorf("%s: got %d, want %d", row.why, got, row.want)
		}
	}
}
