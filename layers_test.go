package codemode

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers is the import table, and the drawing of the house: what a folder may import besides the standard library.
// Packages import others of their group and of the groups above it. An outside module comes in through the folders that
// are named here and no others.
var layers = map[string]struct {
	ours    []string
	outside []string
}{
	// the words of a call, which every package may import
	"call": {ours: []string{"internal/strictjson", "internal/visible"}, outside: []string{"golang.org/x/text"}},

	// The parts, each with one subject.
	"guest/quickjs":  {}, // only the module
	"sandbox/memory": {}, // of guests
	"sandbox": {ours: []string{"guest/quickjs", "internal/fair", "internal/replace", "sandbox/memory"},
		outside: []string{"github.com/tetratelabs/wazero"}},
	"analysis/ecmascript": {}, // tokens, syntax tree, scopes
	"analysis": {ours: []string{"analysis/ecmascript", "call", "internal/lazy", "internal/strictjson", "internal/visible"},
		outside: []string{"github.com/evanw/esbuild"}},
	"config": {ours: []string{"call", "config/collectors", "config/issuers", "config/notifications", "config/servers",
		"config/signin", "config/variables", "internal/replace",
		"internal/settings", "internal/strictjson", "internal/typos", "profiles", "profiles/condition", "profiles/pattern"},
		outside: []string{"github.com/fsnotify/fsnotify"}},
	"config/issuers": {ours: []string{"internal/settings", "internal/strictjson"}},
	"config/signin":  {ours: []string{"config/issuers", "config/variables", "internal/settings", "internal/strictjson"}},
	"config/servers": {ours: []string{"call", "config/variables", "internal/settings", "internal/strictjson",
		"internal/typos"}},
	"config/collectors": {ours: []string{"config/variables", "internal/settings", "internal/strictjson"}},
	"config/tenants":    {ours: []string{"config", "internal/settings", "internal/strictjson"}},
	"config/variables":  {ours: []string{"internal/settings", "internal/strictjson", "internal/visible"}},
	"config/notifications": {ours: []string{"call", "config/variables", "internal/settings", "internal/strictjson",
		"internal/typos"}},
	"config/changes": {ours: []string{"call", "config", "internal/replace", "internal/settings",
		"internal/strictjson", "internal/visible", "profiles", "profiles/condition", "profiles/pattern"}},
	"config/importtable": {ours: []string{"call", "config", "internal/settings", "internal/strictjson",
		"internal/typos", "internal/visible", "profiles"}},
	"profiles": {ours: []string{"call", "internal/settings", "internal/strictjson", "internal/visible",
		"profiles/condition", "profiles/pattern"}},
	"profiles/condition": {ours: []string{"internal/settings", "internal/strictjson", "internal/visible", "profiles/pattern"},
		outside: []string{"golang.org/x/text"}},
	"profiles/pattern": {ours: []string{"internal/settings", "internal/strictjson", "internal/visible"},
		outside: []string{"github.com/bmatcuk/doublestar/v4", "golang.org/x/text"}},
	"catalog": {ours: []string{"call", "internal/jsonschema", "internal/strictjson", "internal/tsdecl",
		"internal/typos", "internal/visible"}, outside: []string{"golang.org/x/text"}},
	"catalog/pins": {ours: []string{"call", "catalog", "internal/replace"}},
	"upstream": {ours: []string{"internal/visible", "call", "config/servers", "internal/address", "internal/secrets",
		"internal/lazy", "internal/strictjson", "store", "upstream/builtin",
		"upstream/child", "upstream/login"}, outside: []string{"github.com/modelcontextprotocol/go-sdk"}},
	// what principals have are rows of the store
	"upstream/login": {ours: []string{"config/servers", "internal/address", "internal/replace", "store"},
		outside: []string{"github.com/modelcontextprotocol/go-sdk", "golang.org/x/oauth2", "golang.org/x/sys"}},
	"upstream/builtin": {outside: []string{"github.com/bmatcuk/doublestar/v4"}},
	"upstream/child":   {ours: []string{"config/servers", "internal/lazy"}},
	"upstream/functions": {ours: []string{"call", "config/servers", "internal/govalue", "upstream/builtin"},
		outside: []string{"github.com/google/jsonschema-go"}},
	"approvals":        {ours: []string{"approvals/prompt", "call", "internal/strictjson"}},
	"approvals/prompt": {ours: []string{"call", "internal/secrets", "internal/strictjson", "internal/visible"}},
	"approvals/terminal": {ours: []string{"approvals", "approvals/prompt", "call"},
		outside: []string{"golang.org/x/sys", "golang.org/x/term"}},
	"hostfns": {ours: []string{"call", "internal/strictjson"}},
	"store": {ours: []string{"internal/address"}, outside: []string{"github.com/jackc/pgx/v5",
		"golang.org/x/sys", "modernc.org/sqlite"}},
	// what it writes are rows of the store
	"audit": {ours: []string{"call", "internal/address", "internal/secrets", "internal/strictjson",
		"internal/visible", "store"}, outside: []string{"golang.org/x/mod"}},
	"store/storetest": {ours: []string{"store"}},
	// it copies the tables of both databases, so it speaks to both itself
	"store/backup": {ours: []string{"audit", "internal/address", "internal/replace", "store"},
		outside: []string{"github.com/jackc/pgx/v5"}},

	"internal/otlp": {ours: []string{"internal/address"}},

	"audit/report": {ours: []string{"audit", "internal/tokens", "internal/visible", "store"}},

	// What joins them.
	"inforce": {ours: []string{"internal/typos", "call", "catalog", "catalog/pins", "config", "hostfns", "internal/visible", "profiles",
		"sandbox", "store"}},

	"registry": {ours: []string{"call", "catalog", "catalog/pins", "config", "config/servers", "hostfns", "inforce", "internal/strictjson",
		"internal/typos", "internal/visible", "profiles", "upstream", "upstream/login"}},
	"recorder": {ours: []string{"approvals/prompt", "audit", "call", "config", "hostfns", "inforce",
		"internal/otlp", "store", "upstream"}},
	"sessions": {ours: []string{"config", "sandbox", "store"}},
	"budgets":  {ours: []string{"call", "config", "hostfns", "store"}},
	"notify": {ours: []string{"approvals", "approvals/prompt", "call", "config/notifications", "config/variables",
		"internal/address", "internal/visible"}, outside: []string{"github.com/wneessen/go-mail"}},
	"results": {ours: []string{"config", "hostfns", "internal/fair", "store"}},
	"preflight": {ours: []string{"analysis", "call", "catalog", "config", "hostfns", "inforce", "internal/fair",
		"internal/strictjson", "internal/visible",
		"profiles", "registry"}},
	"asking": {ours: []string{"analysis", "approvals", "approvals/prompt", "call", "hostfns", "inforce",
		"internal/strictjson", "internal/visible", "notify", "preflight", "profiles", "recorder", "registry", "store"}},
	"runs/feed": {ours: []string{"hostfns", "sandbox"}},
	"runs": {ours: []string{"analysis", "approvals", "approvals/prompt", "asking", "audit", "budgets", "config",
		"hostfns", "inforce", "internal/fair", "internal/govalue", "internal/strictjson", "internal/visible", "preflight",
		"profiles", "recorder", "registry", "results", "runs/feed", "sandbox", "sessions", "store"}},

	// What stands on them: configuration files put in force, what clients see of the tools, an embedding program's own
	// tools.
	"inforce/loader": {ours: []string{"call", "catalog", "catalog/pins", "config", "inforce", "internal/protect",
		"internal/replace", "recorder", "upstream", "upstream/builtin"}},
	"discovery": {ours: []string{"call", "catalog", "config", "hostfns", "inforce", "internal/visible", "profiles",
		"registry", "upstream"}},
	"owntools": {ours: []string{"approvals", "approvals/prompt", "asking", "call", "catalog", "hostfns", "inforce",
		"profiles", "recorder", "registry", "runs"}},

	// What wires them.
	".": {ours: []string{"analysis", "approvals", "asking", "call", "catalog/pins", "config", "config/notifications",
		"config/servers", "discovery", "hostfns", "inforce", "inforce/loader", "internal/protect", "notify", "owntools", "preflight", "recorder", "registry", "runs",
		"runs/feed", "store", "upstream", "upstream/functions", "upstream/login"}},
	"server/direct": {ours: []string{"internal/strictjson"},
		outside: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"server/limits": {ours: []string{"internal/fair"}, outside: []string{"golang.org/x/sys"}},
	"server/oauth": {ours: []string{"config/issuers", "internal/identity", "internal/strictjson"},
		outside: []string{"github.com/coreos/go-oidc/v3", "github.com/go-jose/go-jose/v4",
			"github.com/modelcontextprotocol/go-sdk", "golang.org/x/time"}},
	"server/origins":      {}, // who sends requests to a listener
	"server/requeststate": {ours: []string{"internal/strictjson"}},
	"server/resources": {ours: []string{".", "catalog", "discovery", "hostfns", "results"},
		outside: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"server": {ours: []string{".", "approvals", "approvals/prompt", "asking", "call", "catalog", "config",
		"discovery", "inforce", "internal/fair", "internal/visible", "preflight", "registry", "results", "runs",
		"server/direct", "server/limits", "server/oauth", "server/origins", "server/requeststate",
		"server/resources", "sessions", "store", "upstream", "upstream/login"},
		outside: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"tracing": {ours: []string{"audit", "call", "hostfns", "internal/otlp", "recorder"},
		outside: []string{"go.opentelemetry.io/otel"}},
	"metrics": {ours: []string{"audit", "hostfns", "internal/fair", "recorder", "upstream"},
		outside: []string{"github.com/prometheus/client_golang"}},
	"metrics/push": {ours: []string{"internal/address", "internal/otlp"},
		outside: []string{"github.com/prometheus/client_golang", "github.com/prometheus/client_model"}},
	"console/rules": {ours: []string{"call", "config", "config/changes", "hostfns", "inforce", "internal/typos",
		"internal/visible", "profiles"}},
	"console": {ours: []string{"approvals", "approvals/prompt", "audit", "call", "console/accounts", "console/editor",
		"console/form", "console/links",
		"console/records", "console/rules", "console/servers", "console/signin",
		"console/text", "docs", "internal/strictjson", "sessions", "store"}},
	"console/editor":        {ours: []string{"config"}},
	"console/editor/bundle": {outside: []string{"github.com/evanw/esbuild"}}, // a tool that nothing imports
	"console/links":         {},
	"console/records":       {ours: []string{"approvals/prompt", "audit", "store"}},
	"docs":                  {},
	"console/text":          {ours: []string{"approvals/prompt"}},
	"console/servers":       {ours: []string{"catalog/pins", "upstream"}},
	"console/signin": {ours: []string{"config/signin", "internal/identity"},
		outside: []string{"github.com/coreos/go-oidc/v3", "github.com/go-jose/go-jose/v4", "golang.org/x/oauth2"}},
	"console/accounts": {},
	"console/form":     {ours: []string{"approvals/prompt", "internal/strictjson"}},
	"cmd/codemode": {ours: []string{".", "analysis", "approvals", "approvals/prompt", "approvals/terminal",
		"call", "catalog", "cmd/codemode/auditcmd", "cmd/codemode/cli", "cmd/codemode/confined",
		"cmd/codemode/doctor",
		"cmd/codemode/launch", "cmd/codemode/responder", "cmd/codemode/rulebook", "cmd/codemode/serve",
		"cmd/codemode/sessionscmd", "cmd/codemode/setup", "cmd/codemode/storecmd", "cmd/codemode/upgrade", "config",
		"discovery", "guest/quickjs", "hostfns", "inforce", "internal/bench", "internal/bench/engine",
		"internal/bench/discovery", "internal/bench/policy", "internal/confine", "internal/replace",
		"internal/repository", "internal/strictjson", "internal/typos",
		"internal/visible", "preflight", "registry", "sandbox", "upstream", "upstream/login"},
		outside: []string{"github.com/spf13/cobra", "golang.org/x/term"}},
	"cmd/codemode/auditcmd": {ours: []string{"audit", "audit/report", "cmd/codemode/cli", "cmd/codemode/launch",
		"internal/replace", "internal/visible", "recorder", "store"}, outside: []string{"github.com/spf13/cobra"}},
	"cmd/codemode/confined": {ours: []string{".", "cmd/codemode/checks", "config", "config/servers", "inforce/loader",
		"internal/confine", "internal/protect", "recorder", "upstream", "upstream/child"}},
	"cmd/codemode/checks": {ours: []string{"config/variables", ".", "call", "config", "config/issuers", "config/servers", "internal/protect",
		"recorder"}},
	"cmd/codemode/cli": {ours: []string{"analysis", "config", "internal/typos", "internal/visible", "preflight"},
		outside: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term"}},
	"cmd/codemode/doctor": {ours: []string{"inforce", "server/oauth", ".", "approvals", "audit", "call", "catalog", "cmd/codemode/checks",
		"cmd/codemode/cli", "cmd/codemode/confined", "cmd/codemode/launch", "cmd/codemode/responder", "cmd/codemode/serve",
		"cmd/codemode/setup", "config", "console/signin", "discovery", "internal/confine", "internal/visible", "preflight",
		"recorder", "store", "upstream"},
		outside: []string{"github.com/pelletier/go-toml/v2", "github.com/spf13/cobra"}},
	"cmd/codemode/launch": {ours: []string{"internal/visible", ".", "approvals", "audit", "call", "cmd/codemode/cli", "cmd/codemode/confined", "config",
		"config/changes", "config/servers", "config/variables", "inforce", "inforce/loader", "recorder", "store"}, outside: []string{"github.com/spf13/cobra"}},
	"cmd/codemode/responder": {ours: []string{".", "approvals", "approvals/prompt", "approvals/terminal", "asking",
		"audit", "call", "cmd/codemode/cli", "cmd/codemode/launch", "config", "internal/strictjson", "internal/visible",
		"recorder", "store"}, outside: []string{"charm.land/bubbles/v2", "charm.land/bubbletea/v2", "charm.land/lipgloss/v2",
		"github.com/spf13/cobra"}},
	"cmd/codemode/rulebook": {ours: []string{"catalog", ".", "audit", "call", "catalog/pins", "cmd/codemode/checks", "cmd/codemode/cli",
		"cmd/codemode/launch", "config", "config/changes", "config/importtable", "config/variables", "inforce",
		"internal/settings", "internal/typos", "internal/visible", "profiles", "recorder", "registry", "store"},
		outside: []string{"github.com/rogpeppe/go-internal", "github.com/spf13/cobra"}},
	"cmd/codemode/serve": {ours: []string{".", "approvals", "approvals/terminal", "audit", "call", "catalog/pins", "cmd/codemode/cli",
		"cmd/codemode/confined",
		"cmd/codemode/launch", "cmd/codemode/responder", "config", "config/changes",
		"config/tenants", "console", "console/accounts", "console/rules", "console/signin",
		"hostfns", "inforce", "internal/confine", "internal/fair", "internal/otlp", "internal/replace", "internal/visible",
		"metrics", "metrics/push", "preflight", "profiles",
		"recorder", "runs",
		"sandbox", "server", "server/limits", "server/oauth", "sessions", "store", "tracing", "upstream", "upstream/login"},
		outside: []string{"github.com/coreos/go-systemd/v22", "github.com/spf13/cobra"}},
	"cmd/codemode/sessionscmd": {ours: []string{"inforce", "audit", "call", "cmd/codemode/cli", "cmd/codemode/launch", "config",
		"internal/visible", "recorder", "runs", "sessions", "store"}, outside: []string{"github.com/spf13/cobra"}},
	"cmd/codemode/storecmd": {ours: []string{"audit", "call", "cmd/codemode/auditcmd", "cmd/codemode/cli", "cmd/codemode/launch",
		"internal/visible", "recorder", "store", "store/backup"}, outside: []string{"github.com/spf13/cobra"}},
	"cmd/codemode/setup/clientfile": {ours: []string{"internal/strictjson"},
		outside: []string{"github.com/pelletier/go-toml/v2", "go.yaml.in/yaml/v3"}},
	"cmd/codemode/setup": {ours: []string{".", "catalog", "cmd/codemode/checks", "cmd/codemode/cli", "cmd/codemode/launch",
		"cmd/codemode/setup/clientfile", "config", "config/servers", "config/variables", "discovery", "internal/address",
		"internal/replace", "internal/visible", "upstream"}, outside: []string{"github.com/spf13/cobra"}},

	"cmd/codemode/upgrade": {ours: []string{"internal/repository"}, outside: []string{"golang.org/x/mod"}},

	// Services that embed it, to read.
	"examples/batch":     {ours: []string{".", "config"}},
	"examples/chat":      {ours: []string{".", "config"}},
	"examples/functions": {ours: []string{".", "approvals", "approvals/prompt", "call", "config", "discovery"}},
	"examples/gate":      {ours: []string{".", "approvals", "approvals/prompt", "call", "config", "owntools"}},
	"examples/webasks":   {ours: []string{".", "approvals", "approvals/prompt", "call", "config"}},
}

// elsewhere are folders that build, test or measure the product and are no part of it.
var elsewhere = []string{"bench/engines", "guest/instrument", "guest/preinit", "internal"}

const module = "github.com/codemode-project/codemode"

func TestImportTable(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		if d.IsDir() {
			slash := filepath.ToSlash(path)
			if slash != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" ||
				slices.Contains(elsewhere, slash)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		may, ok := layers[folder]
		if !ok {
			t.Errorf("%s: the folder %s is not in the import table", path, folder)
			return filepath.SkipDir
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			switch of, ours := strings.CutPrefix(imported+"/", module+"/"); {
			case ours && !slices.Contains(may.ours, folderOf(of)):
				t.Errorf("%s imports our %s, which %s may not", path, folderOf(of), folder)
			case !ours && strings.Contains(strings.Split(imported, "/")[0], ".") &&
				!slices.ContainsFunc(may.outside, func(m string) bool {
					return imported == m ||
						strings.HasPrefix(imported, m+"/")
				}):
				t.Errorf("%s imports %s, whose door is elsewhere", path, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func folderOf(of string) string {
	if of = strings.TrimSuffix(of, "/"); of == "" {
		return "."
	}
	return of
}

// Who uses the sandbox alone gets no database, terminal or MCP with it.
func TestSandboxStandsAlone(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{with .Module}}{{.Path}}{{end}} {{.ImportPath}}",
		"./sandbox", "./guest/quickjs").Output()
	if err != nil {
		t.Fatal(err)
	}
	var ours, modules []string
	for line := range strings.Lines(string(out)) {
		switch of, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); of {
		case "": // the standard library has no module
		case module:
			ours = append(ours, strings.TrimPrefix(path, module+"/"))
		default:
			modules = append(modules, of)
		}
	}
	slices.Sort(ours)
	slices.Sort(modules)
	modules = slices.Compact(modules)
	if want := []string{"guest/quickjs", "internal/fair", "internal/replace", "sandbox", "sandbox/memory"}; !slices.Equal(ours, want) {
		t.Errorf("package sandbox and its guest need our packages %q, want %q", ours, want)
	}
	if want := []string{"github.com/tetratelabs/wazero", "golang.org/x/sys"}; !slices.Equal(modules, want) {
		t.Errorf("package sandbox and its guest need the modules %q, want %q", modules, want)
	}
}

// TestSleepsSayWhatTheyWaitFor: a test that sleeps in real time says which process, kernel or person's pause it waits
// for. Others look again and again with internal/testwait, or run in a bubble of testing/synctest.
func TestSleepsSayWhatTheyWaitFor(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(text), `"testing/synctest"`) {
			return err
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if strings.Contains(line, "time.Sleep"+"(") && !strings.Contains(line, "//") {
				t.Errorf("%s:%d: what does it wait for? %s", path, n, strings.TrimSpace(line))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
