package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/store"
)

// E4: what was allowed for a time is listed with the words it was given for, and is gone once it is revoked.
func TestE4GrantsAreListedAndRevoked(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("CODEMODE_CONFIG", "")
	state := t.TempDir()
	run := func(args ...string) (string, int) {
		t.Helper()
		var out, errs screen
		code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs},
			append([]string{"approvals"}, append(args, "--state", state)...)...)
		return out.String() + errs.String(), code
	}
	if text, code := run("revoke", "g_none"); code != cli.ExitUsage || !strings.Contains(text,
		"there are no grants here") {
		t.Errorf("before anything ran: %d %s", code, text)
	}
	place, err := recorder.PlaceOf(state, nil, func(string) (string, bool) { return "", false })
	checktest.OK(t, err)
	if _, err := place.Prepare(); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), place.Store)
	checktest.OK(t, err)
	g, err := (&prompt.Request{
		Name: "fs__write", Principal: "local:anna", Risk: call.Medium, Args: json.RawMessage(`{"path":"/a"}`),
		Terms: prompt.Terms{Scopes: []call.Scope{call.ForTime}, Pointers: []string{"/path"}},
	}).Draft(call.Answer{Scope: call.ForTime}, time.Now())
	checktest.OK(t, err)
	checktest.OK(t, asking.GrantsIn(db).Give(t.Context(), g))
	checktest.OK(t, db.Close())
	if text, code := run("grants"); code != cli.ExitOK || !strings.Contains(text, g.ID) || !strings.Contains(text,
		`fs.write with /path "/a", other arguments as they come`) {
		t.Errorf("listed: %d %s", code, text)
	}
	if text, code := run("grants", "--json"); code != cli.ExitOK || !strings.Contains(text, `"scope":"time"`) {
		t.Errorf("as JSON: %d %s", code, text)
	}
	if text, code := run("revoke", g.ID); code != cli.ExitOK {
		t.Errorf("revoked: %d %s", code, text)
	}
	if text, code := run("revoke", g.ID); code != cli.ExitUsage || !strings.Contains(text, "revoked before") {
		t.Errorf("revoked twice: %d %s", code, text)
	}
	entries := screen{}
	if code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &entries, Err: &entries}, "audit", "list", "--kind",
		"grant", "--json", "--state", state); code != cli.ExitOK ||
		strings.Count(entries.String(), `"state":"revoked"`) != 1 || !strings.Contains(entries.String(), g.ID) ||
		!strings.Contains(entries.String(), launch.Owner()) {
		t.Errorf("the record of it: %d %s", code, entries.String())
	}
	if text, code := run("grants"); code != cli.ExitOK || strings.Contains(text, g.ID) {
		t.Errorf("listed after it was revoked: %d %s", code, text)
	}
}
