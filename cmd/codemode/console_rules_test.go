package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/console/rules"
	"github.com/codemode-project/codemode/internal/testwait"
)

// S4.5, S4.7: with a real process, its record and its store. A call that was made is in the table of its profile, a
// change of the rule is compared with it, saved with a code, recorded and in force.
func TestConsoleRules(t *testing.T) {
	h := newHouse(t, `{"allowlist": ["filesystem__*"]}`, "--console", "127.0.0.1:0")
	real := filepath.Join(h.home, "real.json") // the file is a link, as managers of such files make them
	if err := errors.Join(os.Rename(h.config, real), os.Symlink(real, h.config)); err != nil {
		t.Fatal(err)
	}
	client := h.connect()
	p := atThePage(t, h.environment)
	var before rules.Table
	if p.send("GET", "/api/rules/profiles/p", nil, &before); len(before.Sections) != 1 ||
		len(before.Sections[0].Rows[0].Tools) < 5 {
		t.Errorf("before the first program the rule matches nothing: %+v", before)
	}
	if got := <-runs(t, client, writesAFile); !strings.Contains(got, "done") && strings.Contains(got, "rror") {
		t.Fatalf("the program: %s", got)
	}
	var table rules.Table
	if !testwait.Holds(func() bool {
		table = rules.Table{}
		p.send("GET", "/api/rules/profiles/p", nil, &table)
		return len(table.Sections) == 1 && table.Sections[0].Rows[0].Use == (rules.Use{Calls: 1})
	}) {
		t.Fatalf("the table: %+v", table)
	}
	row := table.Sections[0].Rows[0]
	if row.List != "allowlist" || row.File != h.config || len(row.Tools) < 5 {
		t.Errorf("the rule: %+v", row)
	}
	var answer struct {
		Verdict string
		Known   bool
	}
	question := rules.Question{Profile: "p", Tool: "filesystem__write_file"}
	p.send("POST", "/api/rules/explain", question, &answer)
	if answer.Verdict != "allow" || !answer.Known {
		t.Errorf("before: %+v", answer)
	}

	type object = map[string]any
	var files struct {
		Files []struct{ Path, Digest, Text string }
	}
	p.send("GET", "/api/rules", nil, &files)
	text := strings.Replace(files.Files[0].Text, `"allowlist"`, `"asklist"`, 1)
	save := object{"path": h.config, "digest": files.Files[0].Digest, "text": text, "why": "people shall decide"}
	var x rules.Preview
	if p.send("POST", "/api/rules/preview", save, &x); x.Compared != 1 || x.Changed != 1 || len(x.Shifts) != 1 || x.Shifts[0].Was != "allow" ||
		x.Shifts[0].Is != "ask" || len(x.Shifts[0].Runs) != 1 {
		t.Errorf("the preview: %+v", x)
	}
	var saved struct{ OK bool }
	p.send("POST", "/api/rules/save", save, &saved)
	if saved.OK {
		t.Error("saved without a code")
	}
	p.send("POST", "/api/rules/save", save, &saved, "X-Proof: "+p.code(h.environment, "because people shall decide"))
	if now, err := os.ReadFile(h.config); err != nil || string(now) != text || !saved.OK {
		t.Fatalf("saved %t: %s", saved.OK, now)
	}
	if info, err := os.Lstat(h.config); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is a file now: %v, %v", info, err)
	}
	var after rules.Table // at once: what was saved is in force
	p.send("GET", "/api/rules/profiles/p", nil, &after)
	if rows := after.Sections[0].Rows; len(rows) != 1 || rows[0].List != "asklist" {
		t.Errorf("right after it was saved the table is %+v", after)
	}
	if p.send("POST", "/api/rules/explain", question, &answer); answer.Verdict != "ask" {
		t.Errorf("after: %+v", answer)
	}

	entries, err := h.command("audit", "list", "--kind", "policy")
	if err != nil || !strings.Contains(entries, "is written on the page, after a proof, because people shall decide") {
		t.Errorf("the record: %v\n%s", err, entries)
	}
}
