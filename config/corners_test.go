package config

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/profiles"
)

// TestOnlyWhatDecidedIsAReason: rules that came out another way, or that another one outranks, are not named.
func TestOnlyWhatDecidedIsAReason(t *testing.T) {
	for _, row := range []struct{ title, body, args, want string }{
		{"a soft ask beside a hard one",
			`"asklist": [{"id": "hard", "tool": "a__*"}, {"id": "soft", "tool": "a__*", "unlessAllowed": true}]`, `{}`, "hard"},
		{"an allow rule that does not hold beside one that does",
			`"allowlist": [{"id": "yes", "tool": "a__*"}, {"id": "no", "tool": "a__*", "when": {"/x": {"eq": 1}}}]`, `{"x": 2}`,
			"yes"},
		{"an allow rule that cannot be judged",
			`"allowlist": [{"id": "yes", "tool": "a__*"}, {"id": "what", "tool": "a__*", "when": {"/x": {"eq": 1}}}]`, `{}`,
			"yes"},
		{"only soft asks", `"asklist": [{"id": "one", "tool": "a__*", "unlessAllowed": true}, {"id": "two", "tool": "a__b", "unlessAllowed": true}]`, `{}`, "one two"},
	} {
		d := profile(t, row.body).Decide(callOf("a b", row.args))
		var got []string
		for _, r := range d.Reasons {
			got = append(got, r.Rule)
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: got %q, want %q", row.title, got, row.want)
		}
	}
	d := profile(t, `"asklist": [{"tool": "a__*", "when": {"/x": {"eq": 1}}}]`).Decide(callOf("a b", `{}`))
	if d.Verdict != call.Ask || d.Reasons[len(d.Reasons)-1].Text != "the rule cannot be judged: /x is missing" {
		t.Errorf("an ask rule that cannot be judged: %s", described(d))
	}
	d = profile(t, `"asklist": [{"tool": "a__*", "risk": "low"}], "allowlist": ["a__b"]`).Decide(callOf("a b", `{}`))
	if d.Risk != "low" {
		t.Errorf("a rule that asks says how much is at stake: %s", described(d))
	}
}

// TestWhatProgramsMaySee: a tool is seen if some call of it may pass, whatever is known now.
func TestWhatProgramsMaySee(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		body string
		want bool
	}{
		{`"unmatched": "deny"`, false}, {`"unmatched": "ask"`, true}, {``, true},
		{`"denylist": ["a__b"]`, false}, {`"denylist": [{"tool": "a__b", "when": {"/x": {"exists": false}}}]`, true},
		{`"unmatched": "deny", "denylist": [{"tool": "a__b", "when": {"/x": {"exists": true}}}]`, false},
		{`"allowlist": [{"tool": "a__b", "until": "2025-01-01T00:00:00Z", "when": {"/x": {"exists": true}}}]`, false},
		{`"allowlist": [{"tool": "a__b", "until": "2027-01-01T00:00:00Z"}]`, true},
		{`"allowlist": [{"tool": "a__b", "until": "2025-01-01T00:00:00Z"}]`, false},
		{`"unmatched": "deny", "asklist": [{"tool": "a__b", "when": {"/x": {"exists": true}}}]`, true},
		{`"unmatched": "deny", "asklist": [{"tool": "a__b", "annotations": {"readOnlyHint": true}}]`, false},
	} {
		if got := profile(t, row.body).Visible(profiles.Call{Server: "a", Tool: "b", Time: now}); got != row.want {
			t.Errorf("%s: got %t", row.body, got)
		}
	}
	c := parse(t, `{"evaluation": {"profiles": {"p": {}}, "overlays": [{"id": "o", "session": "s", "tool": "my_fs__*", "unmatched": "deny"}]}}`)
	p := c.Narrowed("p", Subject{Session: "s"}, now)
	for tool, want := range map[string]bool{"my-fs w": false, "git log": true} {
		server, name, _ := strings.Cut(tool, " ")
		one := profiles.Call{Server: server, Tool: name, Name: call.Name(server, name)}
		if p.Visible(one) != want || (p.Decide(one).Verdict == call.Allow) != want {
			t.Errorf("under an overlay of some tools, %s: seen %t, %s", tool, p.Visible(one), p.Decide(one).Verdict)
		}
	}
}

func TestUnrestricted(t *testing.T) {
	for body, want := range map[string]bool{
		``: true, `"unmatched": "allow"`: true, `"unmatched": "ask"`: false, `"denylist": ["a__b"]`: false,
		`"raise": {"tainted": "ask"}`: false, `"limits": {"calls": 5}`: false, `"redact": {"keys": ["x"]}`: true,
	} {
		if got := profile(t, body).Unrestricted(); got != want {
			t.Errorf("%s: got %t", body, got)
		}
	}
	c := parse(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"denylist": ["a__b"]}, "p": {}}}}`)
	if c.Profile("p").Unrestricted() {
		t.Error("a profile under a floor is unrestricted")
	}
}

// TestSettingsArriveWhereTheyBelong: what the file says is what the configuration has.
func TestSettingsArriveWhereTheyBelong(t *testing.T) {
	c := parse(t, `{"outputValidation": "strict", "servers": {"a": {"command": "x", "outputValidation": "warn"}}, "store": "s.db", "http": {"hosts": ["h"]}, "console": {"idle": "1m"}}`)
	if c.OutputValidation != "strict" || c.Servers[0].OutputValidation != "warn" || storeOf(t, c).Path != "s.db" ||
		c.Keys.HTTP.Hosts[0] != "h" || c.Console.Idle != time.Minute {
		t.Errorf("got %+v", c)
	}
	both, err := ranked(t, `{"builtin": false}`,
		`{"store": "mine.db", "evaluation": {"adminURL": "https://x", "profiles": {"p": {}}, "defaultProfile": "p"}, "scripts": {"root": "s", "allow": []}}`, ``)
	must(t, err)
	if storeOf(t, both).Path != "mine.db" || both.AdminURL != "https://x" || both.Scripts == nil ||
		len(both.Warnings) != 0 {
		t.Errorf("what the managed file leaves open: %v %q %v %v", both.Keys.Store, both.AdminURL, both.Scripts,
			settings.Problems(both.Warnings))
	}
	if c := parse(t, `{"a": {"command": "x"}, "http": {"command": "y"}}`); len(c.Servers) != 2 || c.Keys.HTTP != nil {
		t.Errorf("a bare map whose last server is called http: %+v", c)
	}
	if c := parse(t, `{"http": {"hosts": ["x"]}}`); len(c.Servers) != 0 || c.Keys.HTTP == nil {
		t.Errorf("an address alone is no server: %+v", c)
	}
	_, err = ParseAll(nil, Source{File: "u", Standing: User, Data: []byte(`{}`)},
		Source{File: "o", Standing: Narrowing, Data: []byte(`{"$schema": 5}`)})
	if err == nil {
		t.Error("a schema of overlays that is no text passes")
	}
	for _, row := range []struct {
		standing Standing
		root     string
		loads    bool
	}{{User, "data", true}, {Managed, "data", false}, {Managed, "/data", true}} {
		_, err := ParseAll(nil, Source{File: "f", Standing: row.standing, Data: []byte(`{"builtin": {"filesystem": {"root": "` +
			row.root + `"}}}`)})
		if (err == nil) != row.loads {
			t.Errorf("the root %q in the %s: %v", row.root, row.standing, err)
		}
	}
}

// TestFilesOfAProject: what an untrusted file repeats or extends is no mistake of it.
func TestFilesOfAProject(t *testing.T) {
	c, err := ranked(t, `{"evaluation": {"profiles": {"p": {"denylist": [{"id": "x", "tool": "a__b"}]}}}}`,
		`{"builtin": false}`, `{"evaluation": {"profiles": {"p": {"denylist": [{"id": "x", "tool": "a__c"}]}, "own": {"extends": ["p"]}}}}`)
	must(t, err)
	if got := warned(c); strings.Count(got, "in no other file") != 1 || !contains(got, `"own"`) {
		t.Errorf("got %s", got)
	}
	_, err = ParseAll(nil, Source{File: "u", Standing: User,
		Data: []byte(inProfile(`"denylist": [{"id": "x", "tool": "a__b"}]`))},
		Source{File: "t", Standing: Trusted, Data: []byte(inProfile(`"denylist": [{"id": "x", "tool": "a__c"}]`))})
	if err == nil || !contains(err.Error(), `have the id "x"`) {
		t.Errorf("a trusted file that repeats an id: %v", err)
	}
	user, managed := `{"evaluation": {"profiles": {"p": {"elicitationFallback": "allow"}}}}`,
		`{"evaluation": {"floor": "f", "profiles": {"f": {"elicitationFallback": "deny"}, "p": {"denylist": ["a__b"]}}}}`
	if c, err = ranked(t, managed, user, ``); err != nil || c.Profile("p").Fallback() {
		t.Errorf("a floor forbids the fallback, and a later layer is silent: %v", err)
	}
	c, err = ranked(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"raise": {"tainted": "ask"}}}}}`,
		inProfile(`"raise": {"tainted": "deny"}`), ``)
	must(t, err)
	if text := c.Profile("p").Text(); !contains(text, `raise: {"tainted":"deny"}`) {
		t.Errorf("the stricter of two:\n%s", text)
	}
	c, err = ranked(t, ``, inProfile(``), inProfile(`"denylist": ["a__b"], "allowlist": ["a__c"]`))
	must(t, err)
	if text := c.Profile("p").Text(); !contains(text, "  denylist\n") ||
		!contains(text, "  allowlist (it allows nothing") {
		t.Errorf("only the allowlist counts for nothing:\n%s", text)
	}
	a, err := ranked(t, ``, inProfile(`"denylist": ["a__b"]`), ``)
	must(t, err)
	b := parse(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"denylist": ["a__b"]}, "p": {}}}}`)
	if got := len(ruleChanges(a.Profile("p"), b.Profile("p"))); got != 2 {
		t.Errorf("a rule moves to the floor: %d differences", got)
	}
	c, err = ranked(t, `{"evaluation": {"profiles": {"p": {"shadow": "q"}, "q": {"shadow": "p"}}}}`, `{}`, ``)
	must(t, err)
	for _, name := range []string{"p", "q"} {
		if s := c.Profile(name).Shadow(); s == nil || s.Shadow() != nil {
			t.Errorf("%s: the shadow of its shadow is tried", name)
		}
	}
}

func TestLoadWithAnotherContent(t *testing.T) {
	dir := t.TempDir()
	f := Files{User: filepath.Join(dir, "u.json"), Overlays: filepath.Join(dir, "o.json")}
	write(t, f.User, inProfile(``))
	c, err := f.LoadWith(f.User, []byte(`{"evaluation": {"defaultProfile": "q", "profiles": {"q": {}}}}`))
	if err != nil || c.Default != "q" {
		t.Errorf("the user's file: %v", err)
	}
	overlay := []byte(`{"overlays": [{"id": "o", "session": "s", "denylist": ["*"]}]}`)
	if c, err = f.LoadWith(f.Overlays, overlay); err != nil || len(c.Overlays()) != 1 {
		t.Errorf("overlays that are not there yet: %v", err)
	}
	write(t, f.Overlays, `{"overlays": []}`)
	if c, err = f.LoadWith(f.Overlays, overlay); err != nil || len(c.Overlays()) != 1 {
		t.Errorf("overlays that are there: %v", err)
	}
	for _, path := range []string{"", filepath.Join(dir, "other.json")} {
		if _, err := f.LoadWith(path, overlay); err == nil {
			t.Errorf("%q is taken for one of the files", path)
		}
	}
	if _, err := (Files{User: filepath.Join(dir, "gone")}).LoadWith(f.User, overlay); err == nil {
		t.Error("a file that cannot be read is no problem")
	}
}

func TestSmallParts(t *testing.T) {
	for name, want := range map[string]string{"Ł": "Ł", "a-b": "a_b", "ǁa": "ǁa", "¡a": "_a", "plain_9": "plain_9"} {
		if got := call.Part(name); got != want {
			t.Errorf("%q: got %q", name, got)
		}
	}
	if p := refused(t, inProfile(`"denylist": ["fs__{1..3}x"]`)); p.Length != len("{1..3}") {
		t.Errorf("the caret is %d wide: %s", p.Length, p)
	}
	_, err := ParseCalls("t", []byte("maybe x\r\n"))
	if err == nil || err.(settings.Problems)[0].Source != "maybe x" {
		t.Errorf("the source of a row: %q", err)
	}
	long := settings.Problem{Position: settings.Position{File: "f", Line: 1, Column: 120},
		Source: strings.Repeat("a", 120)}
	if contains(long.String(), "...") {
		t.Errorf("a line that fits is cut:\n%s", long)
	}
	c := parse(t, `{"evaluation": {"expose": ["p"], "profiles": {"p": {}}}}`)
	for tool, want := range map[string]bool{baseTool: false, scriptTool: false, toolPrefix + "p": true,
		"codemode_check": true} {
		if c.Exposes(tool) != want {
			t.Errorf("%s is offered: %t", tool, !want)
		}
	}
	d := profile(t, `"denylist": [{"tool": "a__b", "when": {"/n": {"type": "integer"}}}]`).Decide(callOf("a b",
		`{"n": 1e99999999999}`))
	if d.Verdict == call.Deny {
		t.Errorf("a number that nobody can write out is an integer: %s", described(d))
	}
}

func TestASocketIsNoFile(t *testing.T) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("cm-%d.sock", os.Getpid()))
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skipf("no sockets in the file system: %v", err)
	}
	defer l.Close()
	if _, err := Load(path); err == nil || !contains(err.Error(), "is a socket") {
		t.Errorf("got %v", err)
	}
}

// TestMoreFindings are those whose place or number matters.
func TestMoreFindings(t *testing.T) {
	c := parse(t, `{"inputs": [], "evaluation": {"defaultProfile": "p", "profiles": {"p": {"extends": ["q"]}, "q": {"denylist": ["a__*"], "allowlist": ["a__b"]}}}}`)
	if got := kinds(c.Lint(nil)); got != "warning, shadowed" {
		t.Errorf("a parent's rule in vain is said once, after what stands before it: %s", got)
	}
	c = parse(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["zz__qqqqqqqq"], "denylist": ["yy__wwwwwwww"]}}}}`)
	var columns []int
	for _, f := range c.Lint(lintTools) {
		if f.Kind == findingDead {
			columns = append(columns, f.Column)
		}
	}
	if len(columns) != 2 || !slices.IsSorted(columns) {
		t.Errorf("findings of one line: columns %v", columns)
	}
	c = parse(t, `{"evaluation": {"defaultProfile": "p", "expose": ["p"], "floor": "f", "profiles": {"f": {"denylist": ["github__get_issue"]}, "p": {"allowlist": ["{fs,mail}__*"]}}}}`)
	if got := kinds(c.Lint(lintTools)); contains(got, findingShadowed) {
		t.Errorf("a floor about another tool: %s", got)
	}
	x := parse(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"unmatched": "allow", "allowlist": [{"id": "floors", "tool": "a__b", "when": {"/x": {"eq": 1}}}]}, "p": {"asklist": [{"tool": "a__*", "unlessAllowed": true}]}}}}`).Profile("p").Explain(callOf("a b", `{}`))
	for _, change := range x.Changes {
		if contains(change, "floors") {
			t.Errorf("an allow rule of the floor does not beat a soft ask: %q", x.Changes)
		}
	}
	for n, suggested := range map[int]bool{30: true, 31: false} { // with the hyphen they are one longer
		p := refused(t, `{"evaluation": {"profiles": {"`+strings.Repeat("a", n)+`-b": {}}}}`)
		if contains(p.Hint, "for example") != suggested {
			t.Errorf("a name of %d characters: %s", n+2, p)
		}
	}
}

// TestOutcomesThatAreRare has the conditions of deciding code that hardly anything makes come out this way.
func TestOutcomesThatAreRare(t *testing.T) {
	odd := profile(t, `"denylist": [{"tool": "a__b", "when": {"/größe": {"eq": 5, "ifMissing": "noMatch"}}}]`)
	for args, want := range map[string]call.Verdict{`{"size": 5}`: call.Allow, `{"größe": 5}`: call.Deny,
		`{"GRÖSSE": 5}`: call.Deny, `{"GRÖßE": 5}`: call.Deny, `{"größe": 1e99999999999}`: call.Allow} {
		if d := odd.Decide(callOf("a b", args)); d.Verdict != want {
			t.Errorf("%s: %s", args, described(d))
		}
	}
	for constant, value := range map[string]string{`{"k": 1e99999999999}`: `{"k": 1}`,
		`{"k": 1}`: `{"k": 1e99999999999}`} {
		p := profile(t, `"denylist": [{"tool": "a__b", "when": {"/x": {"eq": `+constant+`}}}]`)
		if d := p.Decide(callOf("a b", `{"x": `+value+`}`)); d.Verdict != call.Allow {
			t.Errorf("%s is %s: %s", value, constant, described(d))
		}
	}
	c := parse(t, `{"evaluation": {"floor": "f", "profiles": {"f": {"raise": {"tainted": "ask"}}, "p": {"denylist": ["a__b"]}}}}`)
	one := callOf("a b", `{}`)
	one.Tainted = true
	if d := c.Profile("p").Decide(one); d.Verdict != call.Deny || d.Floor {
		t.Errorf("what the profile denies is not raised by the floor: %s", described(d))
	}
}

// TestServersNamedLikeKeysOfAServer: a file is not taken for a bare map of servers because of a name in it.
func TestServersNamedLikeKeysOfAServer(t *testing.T) {
	for _, name := range []string{"url", "command", "httpUrl", "serverUrl"} {
		for _, key := range []string{"mcpServers", "servers"} {
			c, err := Parse("codemode.json", []byte(`{"`+key+`": {"`+name+`": {"command": "x"}, "other": {"command": "y"}}}`))
			if err != nil || len(c.Servers) != 2 || c.Servers[0].Name != name {
				t.Errorf("%s in %s: got %+v, %v", name, key, c, err)
			}
		}
		if c, err := Parse("codemode.json", []byte(`{"evaluation": {"`+name+`": "x"}, "a": {"command": "y"}}`)); err == nil {
			t.Errorf("an evaluation with the key %s is a server: %+v", name, c.Servers)
		}
	}
	c, err := Parse("codemode.json", []byte(`{"responder": {"command": ["x"]}}`))
	if err != nil || len(c.Servers) != 0 || c.Responder == nil {
		t.Errorf("a responder is a server: %+v, %v", c, err)
	}
}
