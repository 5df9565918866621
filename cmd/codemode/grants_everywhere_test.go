package main

import (
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/console"
)

// What is allowed for a run, for as many calls and as long as a person chose, is listed and revoked from a command
// while the run goes on; its next call asks again. With the run the grant ends.
func TestGrantsForARunAreListedAndRevokedEverywhere(t *testing.T) {
	h := newHouse(t, `{"asklist": ["filesystem__*"], "remember": {"scopes": ["run", "session"], "max": "1h"}}`,
		"--console", "127.0.0.1:0")
	client := h.connect()
	p := atThePage(t, h.environment)
	const three = `for (const path of ["a.md", "b.md"]) await codemode.filesystem__write_file({ path, content: "x" });
await codemode.filesystem__read_text_file({ path: "a.md" });
await codemode.filesystem__write_file({ path: "c.md", content: "x" }); return "written"`
	answer := runs(t, client, three)
	a := p.one()
	var got console.Result
	said := console.Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Scope: call.ForRun, Uses: 51}
	if res := p.send("POST", "/api/answer", said, &got); res.StatusCode != 422 {
		t.Errorf("more than anybody may allow: %s %+v", res.Status, got)
	}
	said.Uses, said.Length = 7, "2h"
	if res := p.send("POST", "/api/answer", said, &got); res.StatusCode != 422 {
		t.Errorf("longer than the profile lets it: %s %+v", res.Status, got)
	}
	said.Length = "30m"
	got = console.Result{}
	if p.send("POST", "/api/answer", said, &got); !got.OK {
		t.Fatalf("allowed: %+v", got)
	}
	read := p.one() // the second file was written without a question
	if read.Tool != "filesystem.read_text_file" {
		t.Fatalf("asked about %s", read.Tool)
	}
	out, err := h.command("approvals", "grants", "--config", h.config)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err != nil || len(lines) != 2 || !strings.Contains(lines[1], "filesystem.write_file") ||
		!strings.Contains(lines[1], " 6 ") || !strings.Contains(lines[1], a.Run) {
		t.Fatalf("listed: %v\n%s", err, out)
	}
	id := strings.Fields(lines[1])[0]
	if out, err := h.command("approvals", "revoke", id, "--config", h.config); err != nil {
		t.Fatalf("revoked: %v %s", err, out)
	}
	if got := p.allow(read, ""); !got.OK {
		t.Errorf("allowed: %+v", got)
	}
	again := p.one()
	for end := time.Now().Add(10 * time.Second); again.Tool == read.Tool && time.Now().Before(end); again = p.one() {
	}
	if again.Tool != "filesystem.write_file" || !strings.Contains(again.Text, "c.md") {
		t.Errorf("after it was revoked it was asked about %s", again.Text)
	}
	if got := p.allow(again, ""); !got.OK {
		t.Errorf("allowed: %+v", got)
	}
	if text := <-answer; !strings.HasPrefix(text, `"written"`) {
		t.Errorf("the program got %s", text)
	}
	if out, err := h.command("audit", "list", "--kind", "grant", "--json", "--config", h.config); err != nil ||
		!strings.Contains(out, `"state":"revoked"`) || !strings.Contains(out, id) {
		t.Errorf("the record: %v %s", err, out)
	}

	answer = runs(t, client, writesAFile)
	a = p.one()
	if p.send("POST", "/api/answer", console.Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Scope: call.ForRun},
		&got); !got.OK {
		t.Fatalf("allowed: %+v", got)
	}
	<-answer
	if out, err := h.command("approvals", "grants", "--config", h.config); err != nil || strings.Contains(out,
		"filesystem") {
		t.Errorf("after the run: %v %s", err, out)
	}
}
