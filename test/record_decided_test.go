package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// decided is what the record says of each call: how it went on, and what decided that.
func decided(entries []*audit.Entry) (all []string) {
	for _, e := range entries {
		if e.Kind == audit.Call && (e.State == audit.Running || e.State == audit.Refused) {
			all = append(all, strings.TrimSpace(fmt.Sprint(e.State, " ", e.DecidedBy.How, " ", e.Reason)))
		}
	}
	return all
}

// TestDecidedWithoutARule makes calls that neither a rule nor a person's answer of the moment decides.
func TestDecidedWithoutARule(t *testing.T) {
	s := newStranger(t)
	s.define("read", "reads mail")
	dir := t.TempDir()
	e := open(t, fmt.Sprintf(`{"mcpServers": {"s": {"type": "http", "url": %q}}, "evaluation": {"profiles": {
		"p": {"allowlist": ["s__*"], "asklist": ["filesystem__write_file"], "remember": {"scopes": ["run"]}}}}}`, s.url),
		recorded(dir), func(o *codemode.Options) { o.StateDir = filepath.Join(dir, "state") })
	eval := func(code string, people ...approvals.Channel) {
		t.Helper()
		if r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: code, Channels: people,
			Principal: "local:anna"}); err != nil {
			t.Fatal(r.Text(err))
		}
	}
	eval(attempts(false, "a.md", "b.md"), &desk{answer: remembering(call.ForRun)})
	eval(attempts(false, "a.md"))
	eval(`await codemode.s__read({})`)
	s.define("read", "reads mail and sends it on")
	eventually(t, "the changed tool", func() bool { return len(e.Rules().Pins.Changes()) == 1 })
	eval(`await codemode.s__read({}).catch(() => 0)`)
	eval(`await codemode.s__read({}).catch(() => 0)`, says(yes, nil))
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"running person", "running grant", "refused fallback no_approver", "running rule",
		"refused definition_changed no_approver", "running person"}
	if got := decided(readRecord(t, dir)); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// G5: of a call with arguments that a person changed, the record has what the program proposed, what was shown, what
// was allowed and what was sent.
func TestG5EditedArgumentsAreRecorded(t *testing.T) {
	dir := t.TempDir()
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"], "ask": {"edit": true}}}}}`,
		recorded(dir))
	d := &desk{edits: true, answer: func(*prompt.Request) call.Answer {
		return call.Answer{Allowed: true, Args: json.RawMessage(`{"path":"b.md","content":"edited"}`)}
	}}
	if _, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: attempts(false, "a.md"),
		Channels: []approvals.Channel{d}}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	key, err := audit.LoadKey(filepath.Join(dir, "record.key"))
	if err != nil {
		t.Fatal(err)
	}
	edited := key.Digest([]byte(`{"path":"b.md","content":"edited"}`))
	states := map[string]*audit.Args{}
	for _, entry := range readRecord(t, dir) {
		if entry.Call != 0 && entry.Args != nil {
			states[entry.Kind+" "+entry.State] = entry.Args
		}
	}
	asked, answered, sent := states["call pending"], states["approval allowed"], states["call running"]
	if asked == nil || answered == nil || sent == nil {
		t.Fatalf("recorded are %v", states)
	}
	proposed := asked.Proposed
	if asked.Shown != proposed || asked.Authorised != "" || asked.Executed != "" ||
		!strings.Contains(string(asked.Redacted), "a.md") {
		t.Errorf("asked: %+v", asked)
	}
	if answered.Shown != proposed || answered.Authorised != edited || answered.Executed != "" {
		t.Errorf("answered: %+v", answered)
	}
	if sent.Proposed != proposed || sent.Shown != proposed || sent.Authorised != edited || sent.Executed != edited ||
		!strings.Contains(string(sent.Redacted), "b.md") {
		t.Errorf("sent: %+v", sent)
	}
	if proposed == edited {
		t.Error("the two do not differ")
	}
}

// A call that the rules deny after a person has allowed it is refused by the rules: the record blames nobody for it.
func TestAPersonDidNotRefuseWhatTheRulesDeny(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "codemode.json")
	const rules = `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"], "denylist": ["none__*"]}}}}`
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	put(rules)
	e, err := codemode.New(t.Context(), codemode.Options{ConfigPath: path, Root: t.TempDir(), CacheDir: cachetest.Dir(),
		RecordDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 100)
	defer e.Subscribe(func() { changed <- struct{}{} })()
	person := slow{func(context.Context) (call.Answer, error) {
		before := e.Config().Profile("p").Digest()
		put(strings.Replace(rules, "none__*", "filesystem__*", 1))
		for e.Config().Profile("p").Digest() == before {
			<-changed
		}
		return yes, nil
	}}
	if _, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: attempts(false, "a.md"),
		Channels: []approvals.Channel{person}}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries := readRecord(t, dir)
	if got, want := decided(entries), []string{"refused rule policy_changed"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, entry := range entries {
		if entry.State == audit.Refused && (entry.DecidedBy.Channel != "" || entry.DecidedBy.Principal != "") {
			t.Errorf("the refusal names a person: %+v", entry.DecidedBy)
		}
		if entry.Kind == audit.Approval && entry.DecidedBy.How != call.ByPerson {
			t.Errorf("the answer is not the person's: %+v", entry.DecidedBy)
		}
	}
}
