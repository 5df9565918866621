package config

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/codemode-project/codemode/internal/settings"
)

// acceptedFiles load without a problem; the number is that of warnings.
var acceptedFiles = []struct {
	title    string
	warnings int
	content  string
}{
	{"nothing configured", 0, `{}`},
	{"comments and trailing commas", 0,
		"// one\n{\n /* two */ \"mcpServers\": { \"a\": { \"command\": \"x\", \"args\": [\"y\",], }, }, // three\n}\n// four"},
	{"a mark at the start, as some editors write it", 0, "\ufeff{\"builtin\": false}"},
	{"servers under the name other clients use", 0, `{"servers": {"a": {"url": "http://127.0.0.1/mcp"}}}`},
	{"a bare map of servers", 0,
		`{"a": {"command": "x"}, "b-c": {"type": "http", "url": "http://127.0.0.1"}, "d": {"httpUrl": "https://x"}}`},
	{"a bare map with a server called http", 0, `{"http": {"command": "x"}, "a": {"command": "y"}}`},
	{"unknown keys inside a server", 1,
		`{"mcpServers": {"a": {"command": "x", "alwaysAllow": ["y"], "whatever": {"deep": [1, null]}}}}`},
	{"inputs of another client", 1, `{"servers": {"a": {"command": "x"}}, "inputs": [{"id": "token"}]}`},
	{"a schema for editors", 0, `{"$schema": "./codemode.schema.json"}`},
	{"no built-in servers", 0, `{"builtin": false}`},
	{"built-in servers one by one", 0, `{"builtin": {"time": false, "filesystem": {"root": "/data"}}}`},
	{"built-in servers switched on", 0, `{"builtin": {"time": true, "filesystem": false}}`},
	{"output validation, for all and for one", 0,
		`{"outputValidation": "strict", "mcpServers": {"a": {"command": "x", "outputValidation": "off"}}}`},
	{"a store and an address", 0, `{"store": "${DATABASE:-data/codemode.db}", "http": {"tokens": []}}`},
	{"issuers of access tokens", 0, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {}, "q": {}}},
		"http": {"oauth": {"resource": "https://codemode.example.com/mcp", "issuers": {
		"acme": {"issuer": "https://login.example.com/realms/acme/",
			"claims": {"principal": "email", "roles": "/realm_access/roles"},
			"profiles": {"p": {"scope": "codemode:read"}, "q": {"scope": "codemode:write", "roles": ["a", "b c"]}},
			"introspection": {"client": "codemode", "secret": "${SECRET}", "url": "https://login.example.com/introspect"}},
		"here": {"issuer": "http://[::1]:9998", "profiles": {"p": {"scope": "x"}}}}}}}`},
	{"an issuer for a profile that is not there", 1, `{
		"http": {"oauth": {"resource": "http://localhost:8808/mcp", "issuers": {
		"acme": {"issuer": "http://127.0.0.1:9998", "profiles": {"p": {"scope": "x"}}}}}}}`},
	{"a sign-in to the page, with the issuer of access tokens", 0, `{
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}},
		"console": {"origin": "https://codemode.example", "people": {"acme:ben": {"answersFor": ["ci"]}}, "signIn": {
			"name": "acme", "issuer": "https://login.example.com/realms/acme/", "client": "codemode-page",
			"secret": "${file:/run/secrets/page}", "scopes": ["profile", "groups"],
			"claims": {"principal": "email", "groups": "/realm_access/roles"},
			"roles": {"approver": ["leads", "b c"], "auditor": ["audit"], "admin": ["platform"]}}},
		"http": {"oauth": {"resource": "https://codemode.example/mcp", "issuers": {"acme": {
			"issuer": "https://login.example.com/realms/acme/", "claims": {"principal": "email"},
			"profiles": {"p": {"scope": "x"}}}}}}}`},
	{"a sign-in of a public client", 0, `{"console": {"signIn": {
		"name": "here", "issuer": "http://[::1]:9998", "client": "page", "roles": {"approver": ["leads"]}}}}`},
	{"a page at a name with TLS", 0, `{"console": {"origin": "https://codemode.example.com:8443"}}`},
	{"a page on this machine", 0, `{"console": {"address": "7391", "origin": "http://localhost:7391"}}`},
	{"how people sign in anew", 0, `{"console": {"signIn": {
		"name": "acme", "issuer": "https://a.example", "client": "page",
		"acr": "http://schemas.openid.net/pape/policies/2007/06/multi-factor", "roles": {"approver": ["x"]}}}}`},
	{"a token and a store from commands and files", 0,
		`{"store": {"url": "${cmd:pass show db}"}, "http": {"tokens": [{"token": "${file:/run/secrets/t}"}, {"token": "${cmd:pass show 'a b'}"}]}}`},
	{"notifications", 0, `{"notifications": {"page": "https://codemode.example/console", "destinations": {
		"team": {"slack": "${SLACK}", "risk": "high", "delay": "0s", "seated": true, "perMinute": 1, "arguments": false},
		"phone": {"ntfy": "https://ntfy.sh/topic", "token": "${cmd:pass show ntfy}"},
		"pager": {"webhook": "http://localhost:8080/x?y=z", "secret": "${file:/run/secrets/pager}"},
		"mail": {"smtp": "smtps://mail.example", "user": "u", "password": "${P}", "from": "a@b.c", "to": ["a@b.c", "d@e.f"]},
		"local": {"smtp": "smtp://localhost", "from": "a@b.c", "to": "a@b.c"}}}}`},
	{"confined", 0, `{"confine": {"read": ["~/certs"], "write": ["/srv/rules"], "bestEffort": true}}`},
	{"confined as far as possible", 0, `{"confine": "best-effort"}`},
	{"not confined", 0, `{"confine": false}`},
	{"limits for all", 0, `{"limits": {"cpu": "5s", "wall": "10m", "call": "30s", "memory": "64MiB", "calls": 1000, "inFlight": 16, "argumentBytes": 1048576, "resultBytes": "64KiB", "consoleBytes": "16 KiB", "programBytes": "256KB"}}`},
	{"budgets", 0, `{"budgets": [{"id": "mails", "tool": "mail__send*", "calls": 20, "every": "day"},
		{"id": "changes", "writes": 0, "every": "hour", "each": ["principal", "server"], "profile": "p"},
		{"id": "all", "bytes": "1GiB", "every": "minute", "each": []}],
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}}`},
	{"an empty profile beside the base tool", 1, `{"evaluation": {"profiles": {"p": {}}}}`},
	{"an empty profile as the default", 0, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}}`},
	{"the base tool not listed", 0, `{"evaluation": {"expose": ["p"], "profiles": {"p": {}}}}`},
	{"expose by the name of the tool", 1,
		`{"evaluation": {"expose": ["codemode_eval", "codemode_eval_p", "codemode_check"], "profiles": {"p": {}}}}`},
	{"lists may be empty", 0, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": [], "denylist": [], "asklist": []}}}}`},
	{"every character of a profile name", 0,
		`{"evaluation": {"defaultProfile": "aZ_09", "profiles": {"aZ_09": {}, "_": {}, "01234567890123456789012345678901": {}}}}`},
	{"a fallback that allows is warned about", 1,
		`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["*"], "elicitationFallback": "allow"}}}}`},
	{"a chain of eight", 0, `{"evaluation": {"defaultProfile": "a", "profiles": {"a": {"extends": ["b"]}, "b": {"extends": ["c"]}, "c": {"extends": ["d"]}, "d": {"extends": ["e"]}, "e": {"extends": ["f"]}, "f": {"extends": ["g"]}, "g": {"extends": ["h"]}, "h": {"extends": ["i"]}, "i": {}}}}`},
	{"two ways to one parent", 0,
		`{"evaluation": {"defaultProfile": "a", "profiles": {"a": {"extends": ["b", "c"]}, "b": {"extends": ["d"]}, "c": {"extends": ["d"]}, "d": {"denylist": [{"id": "x", "tool": "a__b"}]}}}}`},
	{"every operator", 0, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"denylist": [{"tool": ["a__b", "a__{c,d}"], "when": {
		"/a": {"eq": null}, "/b": {"in": [1, "x", true, [1], {"k": 1}]}, "/c": {"prefix": "x", "suffix": "y"}, "/d": {"glob": "*.{js,ts}"},
		"/e": {"regex": "[a-z]+(b|c)?"}, "/f": {"under": "/etc"}, "/g": {"under": ["/etc", "C:\\Windows", "notes"]}, "/h": {"host": ["example.com", "*.example.org", "127.0.0.1", "::1"]},
		"/i": {"lt": 5, "lte": "5.0", "gt": -1e3, "gte": "-0.10"}, "/j": {"maxLength": 0, "type": "string"}, "/k/*/l~1m~0n": {"maxItems": 3, "type": ["array", "null"]},
		"/l": {"exists": false}, "/m": {"not": {"eq": 1}, "ifMissing": "match"}, "/n": {"any": [{"eq": 1}, {"not": {"exists": true}}]}, "/": {"exists": true}}}]}}}}`},
	{"every field of a rule", 0, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {
		"denylist": [{"id": "d", "tool": "a__d", "reason": "no", "annotations": {"destructiveHint": true}, "examples": {"match": [{}]}}],
		"asklist": [{"id": "q", "tool": "a__q", "unlessAllowed": true, "risk": "high", "remember": {"scopes": ["run"], "max": "1h", "default": "1m", "args": "exact"}}],
		"allowlist": [{"id": "w", "tool": "a__w", "when": {"/x": {"exists": true}}, "others": "none", "until": "2030-01-01T00:00:00+02:00", "risk": "low"}]}}}}`},
	{"every setting of a profile", 0, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"unmatched": "ask", "elicitationFallback": "deny",
		"ask": {"channels": ["elicitation", "web", "terminal"], "timeout": "2m", "budget": "10m", "minHuman": "700ms", "batch": true, "edit": false, "approver": "other"},
		"remember": {"scopes": ["once", "run", "count", "time", "session"], "default": "5m", "max": "168h", "args": "any"},
		"limits": {"asks": 20, "asksPerMinute": 6, "pending": 5, "refusals": 3, "calls": 1000, "repeat": 5},
		"redact": {"keys": ["*token*"], "pointers": ["/headers/*"], "detect": true,
			"tools": [{"tool": "a__*", "keys": ["iban"], "pointers": ["/to/*"]}, {"tool": "b__x"}]},
		"raise": {"destructiveHint": "ask", "openWorldHint": "deny", "tainted": "ask"}}}}}`},
	{"checks before runs", 0, `{"evaluation": {"requirePreflight": true, "preflightLifetime": "5m", "adminURL": "https://codemode.example/admin/", "defaultProfile": "p", "profiles": {"p": {"requirePreflight": false}}}}`},
	{"overlays and a shadow", 0, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"shadow": "q"}, "q": {}}, "overlays": [
		{"id": "a", "session": "s", "until": "2026-12-31T18:00:00Z", "profile": "q"},
		{"id": "b", "principal": "sha256:00", "program": ["sha256:11", "weekly.ts"], "folder": "reports", "tool": ["a__*", "b__x"], "role": "r",
			"allowlist": ["a__*"], "asklist": [], "denylist": [{"tool": "b__x"}], "unmatched": "ask", "limits": {"calls": 3}}]}}`},
	{"saved programs", 0, `{"scripts": {"root": "scripts", "allow": [
		{"file": "reports/weekly.ts", "sha256": "sha256:0123456789abcdef0123456789abcdef0123456789ABCDEF0123456789abcdef", "profile": "p", "input": {"type": "object"}, "limits": {"calls": 10}, "description": "the report"},
		{"folder": ".", "pattern": "*.{ts,js}", "input": true}, {"folder": "team/own", "pattern": "daily-*"}]},
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}}`},
	{"a folder of saved programs of which none is allowed", 0, `{"scripts": {"root": "/srv/scripts"}}`},
	{"patterns of every kind", 0,
		`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"denylist": ["*", "fs__?", "fs__[a-c_]*", "fs__[!x]", "fs__[^x-]", "a__{b,c}{,d}", "a__\\*", "a__\\{", "x**y__*"]}}}}`},
}

func TestAcceptedFiles(t *testing.T) {
	schema := compiledSchema(t)
	for _, f := range acceptedFiles {
		t.Run(f.title, func(t *testing.T) {
			c := parse(t, f.content)
			if len(c.Warnings) != f.warnings {
				t.Errorf("got %d warnings, want %d:\n%v", len(c.Warnings), f.warnings, settings.Problems(c.Warnings))
			}
			if f.content[0] != 0xef {
				if err := schema.Validate(instance(t, f.content)); err != nil {
					t.Errorf("the schema refuses it: %v", err)
				}
			}
		})
	}
}

func TestSchemaAcceptsTheExamples(t *testing.T) {
	schema := compiledSchema(t)
	for _, name := range []string{"original.json", "policy.json"} {
		data, err := os.ReadFile("../testdata/profiles/" + name)
		must(t, err)
		if err := schema.Validate(instance(t, string(data))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServersKeepTheirTextWithoutComments(t *testing.T) {
	c := parse(t, "{\"mcpServers\": {\n  \"b\": { \"command\": \"x\", /* why */ \"args\": [ \"1e2\", ], \"timeout\": 1e2, },\n  \"a-1\": {\"url\": \"http:\\/\\/x\", \"trustAnnotations\": true} }}")
	want := []Server{
		{Name: "b", JSON: []byte(`{"command":"x","args":["1e2"],"timeout":1e2}`),
			Pos: settings.Position{File: "codemode.json", Line: 2, Column: 3}},
		{Name: "a-1", JSON: []byte(`{"url":"http:\/\/x","trustAnnotations":true}`),
			Pos: settings.Position{File: "codemode.json", Line: 3, Column: 3}, TrustAnnotations: true},
	}
	if diff := cmp.Diff(want, c.Servers, cmpopts.IgnoreUnexported(Server{})); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

func TestTheRestIsHandedOn(t *testing.T) {
	c := parse(t, `{"builtin": {"time": false, /* x */ "filesystem": {"root": "."}}, "store": {"keep": /* x */ "1h",}, "http": {"hosts": ["a",]}, "limits": {"memory": "1MiB", "cpu": "2s"}}`)
	http, err := c.HTTP(nil)
	must(t, err)
	for _, x := range []struct {
		what      string
		got, want any
	}{
		{"builtin", *c.Builtin, Builtin{Root: "."}}, {"store", storeOf(t, c), Store{Keep: time.Hour}},
		{"http", http, HTTP{Hosts: []string{"a"}}},
	} {
		if diff := cmp.Diff(x.want, x.got, cmpopts.IgnoreUnexported(Token{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", x.what, diff)
		}
	}
	if c.Limits.Memory != 1<<20 || c.Limits.CPU.String() != "2s" {
		t.Errorf("limits: got %+v", c.Limits)
	}
	empty := parse(t, `{}`)
	if empty.Builtin != nil || empty.Keys.Store != nil || empty.Keys.HTTP != nil {
		t.Errorf("got %v, %v, %v for what the file does not say, want nil", empty.Builtin, empty.Keys.Store, empty.Keys.HTTP)
	}
}

func TestWhatIsListed(t *testing.T) {
	const all = `"profiles": {"b": {}, "a": {}, "codemode_check": {}}`
	for _, x := range []struct {
		title, expose   string
		names           []string
		listed, omitted []string
	}{
		{"without expose everything is listed", ``, []string{"a", "b", "codemode_check"},
			[]string{"codemode_eval", "codemode_eval_a", "search_tools", "start_here"}, nil},
		{"profiles alone drop the base tool and keep the helpers", `"expose": ["a"],`, []string{"a"},
			[]string{"codemode_eval_a", "search_tools", "codemode_check"}, []string{"codemode_eval", "codemode_eval_b"}},
		{"the base tool can be named", `"expose": ["codemode_eval", "codemode_eval_b"],`, []string{"b"},
			[]string{"codemode_eval", "codemode_eval_b", "get_tools"}, []string{"codemode_eval_a"}},
		{"naming a helper drops the others", `"expose": ["a", "search_tools"],`, []string{"a"}, []string{"search_tools"},
			[]string{"get_tools", "codemode_eval"}},
		{"a profile may have the name of a helper", `"expose": ["codemode_check"],`, []string{"codemode_check"},
			[]string{"search_tools", "codemode_eval_codemode_check"}, []string{"codemode_eval"}},
	} {
		t.Run(x.title, func(t *testing.T) {
			c := parse(t, `{"evaluation": {`+x.expose+all+`}}`)
			if diff := cmp.Diff(x.names, c.Names()); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			for _, tool := range x.listed {
				if !c.Exposes(tool) {
					t.Errorf("%s is not listed", tool)
				}
			}
			for _, tool := range x.omitted {
				if c.Exposes(tool) {
					t.Errorf("%s is listed", tool)
				}
			}
		})
	}
}

// TestWarnings is THREATS.md P04: rules without effect and dangerous settings are
// reported at load.
func TestWarnings(t *testing.T) {
	for _, x := range []struct{ title, body, message, hint string }{
		{"an allow rule below a deny rule", `"denylist": ["fs__*"], "allowlist": ["fs__read_*"]`,
			`the rule "fs__read_*" has no effect: line 1 denies`, "narrow the deny rule"},
		{"an ask rule below a deny rule", `"denylist": ["*"], "asklist": [{"id": "q", "tool": "fs__read_[ab]"}]`,
			`the rule "q" has no effect: line 1 denies`, ""},
		{"an allow rule below an ask rule", `"asklist": ["github__*"], "allowlist": ["github__get"]`,
			`the rule "github__get" has no effect: line 1 asks`, "unlessAllowed"},
		{"every pattern of a rule below a deny rule",
			`"denylist": ["a__*", "*__c"], "allowlist": [{"tool": ["a__x", "b__c"]}]`, `has no effect`, ""},
		{"a rule twice", `"denylist": ["fs__a", "fs__b", "fs__a"]`, `the rule "fs__a" is on line 1 already`, "remove one"},
		{"a name as the program writes it", `"allowlist": ["github.get_issue"]`,
			`the pattern "github.get_issue" fits no tool`, `"github__get_issue"`},
		{"a tool without its server", `"denylist": ["delete_file"]`, `the pattern "delete_file" fits no tool`, `"*__"`},
		{"a misspelt server", `"allowlist": ["filesytem__read"]`, `names the server "filesytem"`,
			`did you mean "filesystem"?`},
	} {
		t.Run(x.title, func(t *testing.T) {
			c := parse(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {`+x.body+`}}}}`)
			if len(c.Warnings) != 1 {
				t.Fatalf("got %d warnings, want 1:\n%v", len(c.Warnings), settings.Problems(c.Warnings))
			}
			w := c.Warnings[0]
			if !contains(w.Message, x.message) || !contains(w.Hint, x.hint) || w.Line != 1 || w.Column < 2 {
				t.Errorf("got %s\nwant the message %q and the hint %q", w, x.message, x.hint)
			}
		})
	}
	for _, x := range []struct{ title, body string }{
		{"conditions on the deny rule",
			`"denylist": [{"tool": "fs__*", "when": {"/x": {"eq": 1}}}], "allowlist": ["fs__read"]`},
		{"a deny rule that covers only some", `"denylist": ["fs__r*d"], "allowlist": ["fs__r*"]`},
		{"an ask rule that may be beaten",
			`"asklist": [{"tool": "github__*", "unlessAllowed": true}], "allowlist": ["github__get"]`},
		{"one of two patterns below a deny rule", `"denylist": ["a__*"], "allowlist": [{"tool": ["a__x", "b__c"]}]`},
		{"a server of another machine", `"allowlist": ["jira__get"]`},
		{"a narrower class", `"denylist": ["fs__[a-c]"], "allowlist": ["fs__[a-d]"]`},
		{"a question mark is not a star", `"denylist": ["fs__?"], "allowlist": ["fs__*"]`},
		{"the same pattern in two lists",
			`"asklist": [{"tool": "fs__a", "when": {"/x": {"eq": 1}}}], "denylist": [{"tool": "fs__a", "when": {"/x": {"eq": 2}}}]`},
	} {
		t.Run("none for "+x.title, func(t *testing.T) {
			c := parse(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {`+x.body+`}}}}`)
			if len(c.Warnings) > 0 {
				t.Errorf("got %v", settings.Problems(c.Warnings))
			}
		})
	}
	t.Run("an allow rule below the floor", func(t *testing.T) {
		c := parse(t, `{"evaluation": {"defaultProfile": "p", "floor": "f", "expose": ["p"], "profiles": {"f": {"denylist": ["*__drop_*"]}, "p": {"allowlist": ["db__drop_t"]}}}}`)
		if len(c.Warnings) != 1 || !contains(c.Warnings[0].Message, "the floor denies all it is about") {
			t.Errorf("got %v", settings.Problems(c.Warnings))
		}
	})
}

// TestPlacesOfWarnings: what is marked is the name, and a floor that lets nothing through
// by itself is no trap.
func TestPlacesOfWarnings(t *testing.T) {
	for content, want := range map[string][]int{
		`{"evaluation": {"profiles": {"pp": {}}}}`:                                                                           {4},
		`{"evaluation": {"defaultProfile": "pp", "profiles": {"pp": {"elicitationFallback": "allow"}}}}`:                     {4},
		`{"evaluation": {"defaultProfile": "p", "floor": "fff", "profiles": {"fff": {}, "p": {}}}}`:                          {5},
		`{"evaluation": {"defaultProfile": "p", "floor": "fff", "profiles": {"fff": {"unmatched": "deny"}, "p": {}}}}`:       nil,
		`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"denylist": ["*__x", "__x", "tme__now", "time__now"]}}}}`: {1},
	} {
		var got []int
		for _, w := range parse(t, content).Warnings {
			got = append(got, w.Length)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got the lengths %v, want %v", content, got, want)
		}
	}
}

func TestManyWarningsAreCut(t *testing.T) {
	body := ""
	for range 3000 {
		body += "\n\"nowhere\","
	}
	c := parse(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"denylist": [`+body+`]}}}}`)
	if len(c.Warnings) != settings.MaxProblems {
		t.Errorf("got %d warnings, want %d", len(c.Warnings), settings.MaxProblems)
	}
}
