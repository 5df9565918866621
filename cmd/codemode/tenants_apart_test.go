//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// Tenants with something in common do not start, and neither does one with an error; the message says which.
func TestTenantsThatDoNotStart(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		what       string
		acme, bolt string // more keys of the configurations
		list       string // of tenants, instead of the usual one
		flags      []string
		want       []string
	}{
		{"one database file", `, "store": "HOME/one.db"`, `, "store": "HOME/one.db"`, "", nil,
			[]string{"tenants acme and bolt have the same record"}},
		{"one key", `, "store": {"key": "HOME/a.key"}`, `, "store": {"key": "HOME/a.key"}`, "", nil,
			[]string{"tenants acme and bolt have the same key"}},
		{"one file of checkpoints", `, "store": {"checkpoints": {"file": "HOME/c"}}`,
			`, "store": {"checkpoints": {"file": "HOME/c"}}`, "", nil,
			[]string{"tenants acme and bolt have the same file of checkpoints"}},
		{"one state folder", "", "", `{"tenants": {"acme": {"config": "acme/codemode.json", "state": "s"},
			"bolt": {"config": "bolt/codemode.json", "state": "./s/"}}}`, nil,
			[]string{"tenants acme and bolt have the same state folder"}},
		{"one configuration", "", "", `{"tenants": {"acme": {"config": "acme/codemode.json"},
			"bolt": {"config": "acme/codemode.json"}}}`, nil, []string{"tenants acme and bolt have the same configuration"}},
		{"one token", "", `, "http": {"tokens": [{"token": "${ACME_ANNA_RUNS}", "principal": "x"}]}`, "", nil,
			[]string{"tenants acme and bolt have the same token"}},
		{"no tokens", "", `, "http": {}`, "", nil, []string{"tenant bolt", "no http.tokens"}},
		{"a broken configuration", "", `, "nothing": 7`, "", nil, []string{"tenant bolt", `"nothing"`}},
		{"TLS of one tenant", `, "http": {"tokens": [{"token": "${ACME_ANNA_RUNS}"}],
			"tls": {"certificate": "/c", "key": "/k"}}`, "", "", nil, []string{"tenant acme", "http.tls", "file of tenants"}},
		{"diagnostics of one tenant", `, "diagnostics": "0"`, "", "", nil, []string{"tenant acme", "diagnostics"}},
		{"memory of one tenant", `, "capacity": {"guestMemory": "1GiB"}`, "", "", nil, []string{"tenant acme", "guestMemory"}},
		{"the address of another tenant", `, "http": {"oauth": {"resource": "https://h.example/t/bolt/mcp", "issuers": {
			"i": {"issuer": "https://i.example", "profiles": {"p": {"scope": "s"}}}}}}`, "", "", nil,
			[]string{"tenant acme", "https://h.example/t/bolt/mcp", "/t/acme/mcp"}},
		{"a name that is none", "", "", `{"tenants": {"../acme": {"config": "acme/codemode.json"}}}`, nil,
			[]string{"not the name of a tenant"}},
		{"a flag for one service", "", "", "", []string{"--config", "x.json"}, []string{"--config", "tenant"}},
		{"a page for one service", "", "", "", []string{"--console", "127.0.0.1:0"}, []string{"--console", "tenant"}},
		{"a session of one tenant", "", "", "", []string{"--session", "cms_x"}, []string{"--session", "tenant"}},
	} {
		h := newHousehold(t)
		at := strings.NewReplacer("HOME", h.home)
		for tenant, more := range map[string]string{"acme": row.acme, "bolt": row.bolt} {
			text := tenantConfig(tenant, at.Replace(more))
			if strings.Contains(more, `"http"`) { // in the place of the usual one
				before, _, _ := strings.Cut(text, `"http": {"tokens"`)
				text = strings.TrimRight(before, " \t\n,") + at.Replace(more) + "}"
			}
			write(t, h.configOf(tenant), text)
		}
		if row.list != "" {
			write(t, filepath.Join(h.home, "tenants.json"), row.list)
		}
		said := h.refuses(t, row.flags...)
		for _, want := range row.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: got %s\nwant %q", row.what, said, want)
			}
		}
	}
}

// One PostgreSQL database has a schema for each tenant; the same schema is refused, however its URL is written.
func TestTenantsOfOneDatabase(t *testing.T) {
	t.Parallel()
	h := newHousehold(t)
	server := pgtest.Start(t)
	at := func(tenant, schema, more string) {
		u, err := url.Parse(server.URL("tenants"))
		checktest.OK(t, err)
		u.RawQuery += "&search_path=" + schema + more
		write(t, h.configOf(tenant), tenantConfig(tenant, fmt.Sprintf(`, "store": %q`, u)))
	}
	at("acme", "acme", "")
	at("bolt", "bolt", "")
	if said := h.refuses(t); !strings.Contains(said, "tenant acme") || !strings.Contains(said, "schema") {
		t.Errorf("without the schemas: %s", said)
	}
	if out, err := server.SQL("tenants", `CREATE SCHEMA acme; CREATE SCHEMA bolt`); err != nil {
		t.Fatal(err, out)
	}
	h.start(t)
	h.actors(t)
	var things []*thing
	for _, tenant := range tenantNames {
		things = append(things, h.makes(t, tenant, "anna", h.operators[tenant]))
	}
	for _, x := range things {
		for _, w := range ways() {
			for _, operator := range h.operators {
				if got := w.kind != spends && w.try(h, t, operator, x.tenant, x); got !=
					(w.kind != spends && may(operator, w, x.tenant, x)) {
					t.Errorf("%s at %s: %s, about what %s has: %v", w.action, w.door, operator, x, got)
				}
			}
		}
	}
	h.end()
	for _, schema := range tenantNames {
		out, err := server.SQL("tenants", "SELECT count(*) > 0 FROM "+schema+".sessions")
		if err != nil || !strings.Contains(out, "t") {
			t.Errorf("schema %s: %s %v", schema, out, err)
		}
	}
	at("bolt", "acme", "&application_name=other")
	if said := h.refuses(t); !strings.Contains(said, "tenants acme and bolt have the same record") {
		t.Errorf("with one schema: %s", said)
	}
}

// A broken configuration keeps only its own tenant at its last good version.
func TestABrokenTenantStaysAlone(t *testing.T) {
	t.Parallel()
	h := newHousehold(t)
	h.start(t)
	x := map[string]*thing{}
	for _, tenant := range tenantNames {
		x[tenant] = &thing{tenant: tenant, principal: "anna"}
	}
	tools := func(tenant string) string {
		_, text := h.mcp(x[tenant].runner(), tenant, "tools/list", map[string]any{})
		return text
	}
	write(t, h.configOf("acme"), `{"evaluation": `)
	more := strings.Replace(tenantConfig("bolt", ""), `"profiles": {"p"`, `"profiles": {"added": {}, "p"`, 1)
	write(t, h.configOf("bolt"), more)
	if !testwait.Holds(func() bool { return strings.Contains(tools("bolt"), "codemode_eval_added") }) {
		t.Errorf("the change of bolt has no effect\n%s", h.log)
	}
	if !testwait.Holds(func() bool {
		return strings.Contains(h.log.String(), "tenant=acme") && strings.Contains(h.log.String(), "acme/codemode.json:1")
	}) {
		t.Errorf("nothing is said about acme\n%s", h.log)
	}
	if got := tools("acme"); !strings.Contains(got, `"codemode_eval"`) || strings.Contains(got, "codemode_eval_added") {
		t.Errorf("acme has %s", got)
	}
	for _, line := range strings.Split(h.log.String(), "\n") {
		if strings.Contains(line, "tenant=bolt") && (strings.Contains(line, "error:") || strings.Contains(line, "warning:")) {
			t.Errorf("bolt complains: %s", line)
		}
	}
	h.end()
}

// Runs of all tenants survive a restart, and each is come back for at its own tenant alone.
func TestRunsOfTenantsSurviveARestart(t *testing.T) {
	t.Parallel()
	h := newHousehold(t)
	h.start(t)
	h.actors(t)
	var things []*thing
	for _, tenant := range tenantNames {
		x := &thing{tenant: tenant, principal: "anna", mark: "MARK-" + tenant}
		x.asked, x.state = h.ask(t, x, h.operators[tenant])
		things = append(things, x)
	}
	h.signal()
	h.exits()
	h.start(t)
	h.actors(t)
	for _, x := range things {
		for _, tenant := range tenantNames {
			a := (&thing{tenant: tenant, principal: "anna"}).runner()
			if tenant != x.tenant && h.comesBack(a, tenant, x, nil) {
				t.Errorf("anna of %s comes back for the run of %s", tenant, x)
			}
		}
		if got := h.operators[x.tenant].at.allow(x.asked, ""); !got.OK {
			t.Errorf("the operator of %s: %+v", x.tenant, got)
		}
		if !h.comesBack(x.runner(), x.tenant, x, nil) {
			t.Errorf("%s does not get the result\n%s", x, h.log)
		}
	}
	h.end()
}

// What has a path has that of the tenant: cookies, the addresses of metadata, links in notifications. A tenant that does
// not exist is like any other path that does not.
func TestPathsOfTenants(t *testing.T) {
	t.Parallel()
	h := newHousehold(t)
	sent := make(chan string, 100)
	phone := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		sent <- string(text)
	}))
	defer phone.Close()
	text := tenantConfig("acme", fmt.Sprintf(`, "notifications": {"destinations": {"phone": {"ntfy": %q, "delay": "0s",
		"seated": true}}}`, phone.URL+"/topic"))
	text = strings.Replace(text, `"console": {`, `"console": {"origin": "https://c.example", `, 1)
	text = strings.Replace(text, `"http": {`, `"http": {"oauth": {"resource": "http://127.0.0.1/t/acme/mcp", "issuers": {
		"i": {"issuer": "http://127.0.0.1:1", "profiles": {"p": {"scope": "s"}}}}}, `, 1)
	write(t, h.configOf("acme"), text)
	h.start(t, "--diagnostics", "127.0.0.1:0")

	const metadata = "/.well-known/oauth-protected-resource"
	for path, want := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/t/acme/readyz": 200, "/t/bolt/healthz": 200,
		"/t/acme/mcp": 401, "/t/bolt/mcp": 401, "/t/bolt/mcp/p": 401,
		"/": 404, "/mcp": 404, "/console": 404, "/t": 404, "/t/": 404, "/t/acme": 404, "/t/nobody": 404, "/t/nobody/mcp": 404,
		"/t/nobody/readyz": 404, "/t/acm/mcp": 404, "/t/acme%2Fx/mcp": 404, "/t/ACME/mcp": 404, "/t/acme/t/bolt/mcp": 404,
		metadata: 404, metadata + "/mcp": 404, metadata + "/t/acme/mcp": 200, metadata + "/t/acme/mcp/p": 200,
		metadata + "/t/bolt/mcp": 404, metadata + "/t/nobody/mcp": 404, "/t/acme" + metadata: 404,
		"/t/acme/console/client-metadata.json": 200, "/t/bolt/console/client-metadata.json": 404, // bolt has no https address
	} {
		status, got := h.request("GET", h.base+path, nil, nil)
		if status != want {
			t.Errorf("%s: got %d %s, want %d", path, status, got, want)
		}
		for _, tenant := range tenantNames {
			if status == 404 && strings.Contains(got, tenant) {
				t.Errorf("%s: the answer names %s: %s", path, tenant, got)
			}
		}
	}
	if _, got := h.request("GET", h.base+metadata+"/t/acme/mcp", nil, nil); !strings.Contains(got,
		`"resource":"http://127.0.0.1/t/acme/mcp"`) {
		t.Errorf("the metadata is %s", got)
	}
	if _, got := h.request("GET", h.base+"/t/acme/console/client-metadata.json", nil, nil); !strings.Contains(got,
		`"client_id": "https://c.example/t/acme/console/client-metadata.json"`) {
		t.Errorf("the client is %s", got)
	}
	res, err := http.Get(h.base + "/t/acme/mcp")
	checktest.OK(t, err)
	res.Body.Close()
	if got := res.Header.Get("WWW-Authenticate"); !strings.Contains(got, `"http://127.0.0.1`+metadata+`/t/acme/mcp"`) {
		t.Errorf("the challenge is %s", got)
	}

	cmd := h.command()
	cmd.Args = append(cmd.Args[:1], "console", "--state", h.stateOf("acme"))
	link, err := cmd.Output()
	if err != nil || !strings.HasPrefix(string(link), "https://c.example/t/acme/console/login#") {
		t.Errorf("the link is %s %v", link, err)
	}
	operator := h.enters(t, "bolt", "")
	if !strings.Contains(operator.path, "/s/") {
		t.Errorf("the session is at %s", operator.path)
	}
	_, secret, _ := strings.Cut(strings.TrimSpace(string(link)), "#")
	r, _ := http.NewRequest("POST", h.base+"/t/acme/console/login", strings.NewReader(fmt.Sprintf(`{"secret": %q}`, secret)))
	r.Header.Set("Content-Type", "application/json")
	if res, err = http.DefaultClient.Do(r); err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if cookies := res.Cookies(); len(cookies) != 1 || !strings.HasPrefix(cookies[0].Path, "/t/acme/console/s/") {
		t.Errorf("the cookies are %v (%s)", cookies, res.Status)
	}

	x := &thing{tenant: "acme", principal: "anna", mark: "m"}
	h.tool(x.runner(), "acme", "codemode_eval", map[string]any{"code": x.program()}, nil)
	if got := <-sent; !strings.Contains(got, "https://c.example/t/acme/console") {
		t.Errorf("the message is %s", got)
	}

	at := diagnosticsAt.FindStringSubmatch(h.log.String())[1]
	if status, got := fetch(t, at+"/readyz"); status != 200 || got != "tenant acme: ok\ntenant bolt: ok\n" {
		t.Errorf("/readyz: %d %s", status, got)
	}
	if _, got := fetch(t, at+"/metrics"); !strings.Contains(got, `codemode_asks_total{profile="p",tenant="acme"} 1`) ||
		!strings.Contains(got, `codemode_ready{tenant="bolt"} 1`) ||
		strings.Contains(got, `codemode_asks_total{profile="p",tenant="bolt"}`) {
		t.Errorf("the figures do not tell tenants apart: %s", got)
	}
	h.end()
}

// The commands find what belongs to a tenant by its configuration and its state folder, and only that.
func TestCommandsOfATenant(t *testing.T) {
	t.Parallel()
	h := newHousehold(t)
	h.start(t)
	h.actors(t)
	runs := map[string]string{}
	for _, tenant := range tenantNames {
		runs[tenant] = h.makes(t, tenant, "anna", h.operators[tenant]).asked.Run
	}
	for _, tenant := range tenantNames {
		// codemode approvals, which needs a terminal, finds the process here.
		if at, err := filepath.Glob(filepath.Join(h.stateOf(tenant), "approvals", "*")); err != nil || len(at) == 0 {
			t.Errorf("nobody listens for codemode approvals of %s: %v", tenant, err)
		}
		of := []string{"--config", h.configOf(tenant), "--state", h.stateOf(tenant)}
		for _, command := range []struct {
			words []string
			want  string // in the output for this tenant, and not for another
		}{
			{[]string{"audit", "list", "--json"}, runs[tenant]},
			{[]string{"audit", "results"}, ""},
			{[]string{"audit", "verify"}, ""},
			{[]string{"sessions", "list"}, "s-" + tenant + "-anna"},
			{[]string{"doctor"}, h.stateOf(tenant)},
			{[]string{"approvals", "grants"}, ""},
		} {
			cmd := h.command()
			cmd.Args = append(append(cmd.Args[:1], command.words...), of...)
			out, err := cmd.CombinedOutput()
			text := string(out)
			if err != nil && command.words[0] != "doctor" {
				t.Errorf("%s: %v: %s", command.words, err, text)
			}
			if !strings.Contains(text, command.want) {
				t.Errorf("%s of %s has not %s:\n%s", command.words, tenant, command.want, text)
			}
			for other, run := range runs {
				if other != tenant && (strings.Contains(text, run) || strings.Contains(text, "s-"+other) ||
					strings.Contains(text, h.stateOf(other))) {
					t.Errorf("%s of %s tells of %s:\n%s", command.words, tenant, other, text)
				}
			}
		}
	}
	h.end()
}

// The built-in filesystem of a tenant reaches nothing of another one.
func TestNoTenantHasTheFilesOfAnother(t *testing.T) {
	t.Parallel()
	for _, root := range []string{"bolt", "codemode/tenants/bolt", "."} {
		h := newHousehold(t)
		dir := filepath.Join(h.home, root)
		checktest.OK(t, os.MkdirAll(dir, 0o700))
		js, _ := json.Marshal(map[string]any{"filesystem": map[string]string{"root": dir}})
		write(t, h.configOf("acme"), tenantConfig("acme", `, "builtin": `+string(js)))
		if said := h.refuses(t); !strings.Contains(said, "tenant acme") || !strings.Contains(said, dir) {
			t.Errorf("%s: %s", root, said)
		}
	}
}
