package codemode_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/report"
	"github.com/codemode-project/codemode/internal/store"
)

// Whoever opens the record in a spreadsheet finds a row for each call, with who decided, when it began and when it
// ended.
func TestTheTableOfCallsHasARowForEachCall(t *testing.T) {
	dir := t.TempDir()
	e := open(t, original, recorded(dir))
	person := &person{answer: func(context.Context, *prompt.Request) (call.Answer, error) { return yes, nil }}
	r, err := eval(t, e, "supervised", `
		await codemode.time__now({});
		await codemode.filesystem__read_text_file({path: "a.md"});
		try { await codemode.filesystem__delete_file({path: "a.md"}) } catch {}
		try { await codemode.filesystem__read_text_file({path: "missing.md"}) } catch {}`, person)
	if err != nil {
		t.Fatal(r.Text(err))
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "codemode.db"), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b bytes.Buffer
	n, err := report.Calls(t.Context(), &b, db, store.Query{})
	if err != nil || n != 4 {
		t.Fatalf("%d calls, %v", n, err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	var got [][]string
	for _, row := range rows[1:] {
		at := func(name string) time.Time {
			when, err := time.Parse(time.RFC3339Nano, row[column[name]])
			if err != nil && row[column[name]] != "" {
				t.Error(err)
			}
			return when
		}
		got = append(got, []string{row[column["call"]], row[column["tool"]], row[column["decided by"]], row[column["state"]]})
		asked, started, completed := at("asked"), at("started"), at("completed")
		if person := row[column["decided by"]] == "person"; person == asked.IsZero() || person && started.Before(asked) {
			t.Errorf("call %s was asked about at %v and started at %v", row[column["call"]], asked, started)
		}
		if completed.IsZero() || started.IsZero() != (row[column["state"]] == audit.Refused) || completed.Before(started) {
			t.Errorf("call %s started at %v and completed at %v", row[column["call"]], started, completed)
		}
		if row[column["arguments"]] == "" {
			t.Errorf("call %s has no arguments", row[column["call"]])
		}
	}
	want := [][]string{
		{"1", "time__now", "default", "ok"}, {"2", "filesystem__read_text_file", "person", "ok"},
		{"3", "filesystem__delete_file", "rule", "refused"}, {"4", "filesystem__read_text_file", "person", "error"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
