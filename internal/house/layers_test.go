package house

import (
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers is the import table, and the drawing of the house: what a folder may import besides the standard library.
// A folder imports only folders above its own line. A module of others comes in through the folders that name it. What
// is not at the top is below internal.
const layers = `
# The words of a call; what many need; what knows nothing of codemode.
address:
fair:
isolation:
lazy:
protect:
replace:
repository:
tokens:
typos:
confine: golang.org/x/sys
iofault: modernc.org/libc modernc.org/sqlite
strictjson: github.com/go-json-experiment/json
govalue: strictjson github.com/go-json-experiment/json
identity: strictjson github.com/go-jose/go-jose/v4
jsonschema: strictjson typos
secrets: strictjson
visible: golang.org/x/text
call: strictjson visible golang.org/x/text
settings: call strictjson typos visible
tsdecl: call jsonschema

# The parts, each with one subject.
guest/quickjs:
memory:
sandbox: guest/quickjs fair memory replace github.com/tetratelabs/wazero
analysis/ecmascript:
analysis: call analysis/ecmascript lazy strictjson visible github.com/evanw/esbuild
config/issuers: settings strictjson
config/variables: settings strictjson visible
config/signin: config/issuers config/variables settings strictjson
config/servers: call config/variables settings strictjson typos
config/notifications: call config/variables settings strictjson typos
profiles/pattern: settings strictjson visible github.com/bmatcuk/doublestar/v4 golang.org/x/text
profiles/condition: profiles/pattern settings strictjson visible golang.org/x/text
profiles: call profiles/condition profiles/pattern settings strictjson visible
config/process: config/issuers config/notifications config/signin config/variables profiles/pattern settings strictjson
	profiles
config: call config/issuers config/notifications config/process config/servers config/signin config/variables
	profiles/condition profiles/pattern replace settings strictjson typos profiles github.com/fsnotify/fsnotify
config/tenants: config config/process settings
config/changes: call config profiles/condition profiles/pattern replace settings strictjson visible profiles
config/importtable: call config settings strictjson typos visible profiles
tools/catalog: call jsonschema strictjson tsdecl typos visible golang.org/x/text
tools/pins: call replace tools/catalog
tools/upstream/builtin: github.com/bmatcuk/doublestar/v4
tools/upstream/child: config/servers lazy
tools/upstream/functions: call config/servers govalue tools/upstream/builtin github.com/google/jsonschema-go
approvals/prompt: call secrets strictjson visible
approvals: approvals/prompt call strictjson
approvals/pending: approvals approvals/prompt call
approvals/terminal: approvals approvals/prompt approvals/pending call golang.org/x/sys golang.org/x/term
hostfns: call strictjson
store: address golang.org/x/sys
store/sqlite: modernc.org/sqlite
store/postgres: store github.com/jackc/pgx/v5
# what principals have are rows of the store
tools/upstream/login: address config/servers replace store github.com/modelcontextprotocol/go-sdk golang.org/x/oauth2
	golang.org/x/sys
tools/upstream: call address config/servers lazy secrets store strictjson tools/upstream/builtin tools/upstream/child
	tools/upstream/login visible github.com/modelcontextprotocol/go-sdk
# what it writes are rows of the store
record/audit: call address secrets store strictjson visible golang.org/x/mod
store/storetest: store
# it copies the tables of both databases, so it speaks to both itself
store/backup: address record/audit replace store github.com/jackc/pgx/v5
record/otlp: address
record/report: record/audit store tokens visible

# What joins them.
runs/inforce: call config hostfns store tools/catalog tools/pins typos visible profiles sandbox
tools/registry: call config hostfns config/servers runs/inforce strictjson tools/catalog tools/pins tools/upstream
	tools/upstream/login typos visible profiles
record/recorder: approvals/prompt call config hostfns record/audit record/otlp runs/inforce store tools/upstream
runs/sessions: config store sandbox
runs/budgets: call config hostfns store
approvals/notify: approvals approvals/prompt call address config/notifications config/variables visible
	github.com/wneessen/go-mail
runs/results: config hostfns fair store
runs/preflight: analysis call config hostfns fair runs/inforce strictjson tools/catalog tools/registry visible profiles
runs/asking: analysis approvals approvals/prompt call hostfns approvals/notify record/recorder runs/inforce
	runs/preflight store strictjson tools/registry visible profiles
runs/feed: hostfns sandbox
runs: analysis approvals approvals/prompt config hostfns fair govalue record/audit record/recorder runs/asking
	runs/budgets runs/feed runs/inforce runs/preflight runs/results runs/sessions store strictjson tools/registry visible
	profiles sandbox

# What stands on them: configuration files put in force, what clients see of the tools, an embedding program's own
# tools.
runs/loader: call config protect record/recorder replace runs/inforce tools/catalog tools/pins tools/upstream
	tools/upstream/builtin
tools/discovery: call config hostfns runs/inforce tools/catalog tools/registry tools/upstream visible profiles
runs/owntools: approvals approvals/prompt call hostfns record/recorder runs runs/asking runs/inforce tools/catalog
	tools/registry profiles

# What wires them.
.: analysis approvals call config hostfns approvals/notify config/notifications config/servers protect record/recorder
	runs runs/asking runs/feed runs/inforce runs/loader runs/owntools runs/preflight store tools/discovery tools/pins
	tools/registry tools/upstream tools/upstream/functions tools/upstream/login
server/direct: strictjson github.com/modelcontextprotocol/go-sdk
server/limits: fair golang.org/x/sys
server/oauth: config/issuers identity strictjson github.com/coreos/go-oidc/v3 github.com/go-jose/go-jose/v4
	github.com/modelcontextprotocol/go-sdk golang.org/x/time
server/origins:
server/requeststate: strictjson
server/resources: . hostfns runs/results tools/catalog tools/discovery github.com/modelcontextprotocol/go-sdk
server: . approvals approvals/prompt call config fair runs runs/asking runs/inforce runs/preflight runs/results
	runs/sessions server/direct server/limits server/oauth server/origins server/requeststate server/resources store
	tools/catalog tools/discovery tools/registry tools/upstream tools/upstream/login visible
	github.com/modelcontextprotocol/go-sdk
record/tracing: call hostfns record/audit record/otlp record/recorder go.opentelemetry.io/otel
record/metrics: address fair hostfns record/audit record/otlp record/recorder tools/upstream
console/rules: call config hostfns config/changes runs/inforce typos visible profiles
console/editor: config
console/editor/bundle: github.com/evanw/esbuild
console/links:
console/records: approvals/prompt record/audit store
docs:
console/text: approvals/prompt
console/servers: tools/pins tools/upstream
console/signin: config/signin identity github.com/coreos/go-oidc/v3 github.com/go-jose/go-jose/v4 golang.org/x/oauth2
console/accounts:
console/form: approvals/prompt strictjson
console: approvals approvals/pending approvals/prompt call docs console/accounts console/editor console/form
	console/links console/records console/rules console/servers console/signin console/text record/audit runs/sessions
	store strictjson
cmd/codemode/checks: . call config config/issuers config/servers config/variables protect record/recorder
cmd/codemode/confined: . cmd/codemode/checks config config/servers confine protect record/recorder runs/loader
	tools/upstream tools/upstream/child
cmd/codemode/cli: analysis config runs/preflight typos visible github.com/spf13/cobra github.com/spf13/pflag
	golang.org/x/term
cmd/codemode/launch: . approvals call cmd/codemode/cli cmd/codemode/confined config config/changes config/servers
	config/variables record/audit record/recorder runs/inforce runs/loader store visible github.com/spf13/cobra
cmd/codemode/auditcmd: cmd/codemode/cli cmd/codemode/launch record/audit record/recorder record/report replace store
	visible github.com/spf13/cobra
cmd/codemode/responder: . approvals approvals/prompt call cmd/codemode/cli cmd/codemode/launch config
	approvals/pending approvals/terminal record/audit record/recorder runs/asking store strictjson visible
	charm.land/bubbles/v2
	charm.land/bubbletea/v2 charm.land/lipgloss/v2 github.com/spf13/cobra
cmd/codemode/rulebook: . call cmd/codemode/checks cmd/codemode/cli cmd/codemode/launch config config/changes
	config/importtable config/variables record/audit record/recorder runs/inforce settings store tools/catalog tools/pins
	tools/registry typos visible profiles github.com/rogpeppe/go-internal github.com/spf13/cobra
cmd/codemode/serve: . approvals call cmd/codemode/cli cmd/codemode/confined cmd/codemode/launch cmd/codemode/responder
	config hostfns approvals/terminal config/changes config/tenants confine console console/accounts console/rules
	console/signin fair record/audit record/metrics record/otlp record/recorder record/tracing replace
	runs runs/inforce runs/preflight runs/sessions server/limits server/oauth store tools/pins tools/upstream
	tools/upstream/login visible profiles sandbox server github.com/coreos/go-systemd/v22 github.com/spf13/cobra
cmd/codemode/sessionscmd: call cmd/codemode/cli cmd/codemode/launch config record/audit record/recorder runs
	runs/inforce runs/sessions store visible github.com/spf13/cobra
cmd/codemode/storecmd: call cmd/codemode/auditcmd cmd/codemode/cli cmd/codemode/launch record/audit record/recorder
	store store/backup visible github.com/spf13/cobra
cmd/codemode/setup/clientfile: strictjson github.com/pelletier/go-toml/v2 go.yaml.in/yaml/v3
cmd/codemode/setup: . cmd/codemode/checks cmd/codemode/cli cmd/codemode/launch cmd/codemode/setup/clientfile config
	address config/servers config/variables replace tools/catalog tools/discovery tools/upstream visible
	github.com/spf13/cobra
cmd/codemode/doctor: . approvals call cmd/codemode/checks cmd/codemode/cli cmd/codemode/confined cmd/codemode/launch
	cmd/codemode/responder cmd/codemode/serve cmd/codemode/setup config confine console/signin record/audit
	record/recorder runs/inforce runs/preflight server/oauth store tools/catalog tools/discovery tools/upstream visible
	github.com/pelletier/go-toml/v2 github.com/spf13/cobra
cmd/codemode/upgrade: repository golang.org/x/mod
# What measures the product.
testdata/attacks:
bench/junit: visible
bench/sarif: visible
bench: . analysis call config hostfns bench/junit isolation strictjson visible sandbox testdata/attacks
bench/engine: bench bench/junit bench/sarif isolation tools/upstream/child visible golang.org/x/sync
bench/discovery: . call config tokens tools/catalog visible server github.com/google/jsonschema-go
	github.com/modelcontextprotocol/go-sdk
bench/policy: . analysis approvals approvals/prompt call config hostfns bench/junit bench/sarif config/servers
	profiles/condition profiles/pattern runs/asking runs/budgets runs/inforce runs/preflight tools/catalog tools/registry
	visible profiles sandbox

# The command line.
cmd/codemode: . analysis approvals approvals/prompt approvals/terminal bench bench/discovery bench/engine bench/policy
	call cmd/codemode/auditcmd cmd/codemode/cli cmd/codemode/confined cmd/codemode/doctor cmd/codemode/launch
	cmd/codemode/responder cmd/codemode/rulebook cmd/codemode/serve cmd/codemode/sessionscmd cmd/codemode/setup
	cmd/codemode/storecmd cmd/codemode/upgrade config confine guest/quickjs hostfns replace repository runs/inforce
	runs/preflight sandbox store/postgres store/sqlite strictjson tools/catalog tools/discovery tools/registry
	tools/upstream tools/upstream/login typos visible github.com/spf13/cobra golang.org/x/term

# Services that embed it, to read.
examples/batch: . config store/sqlite
examples/chat: . config store/sqlite
examples/functions: . approvals approvals/prompt call config tools/discovery
examples/gate: . approvals approvals/prompt call config runs/owntools
examples/webasks: . approvals approvals/prompt call config
`

// elsewhere are folders that build, test or measure the product and are no part of it.
var elsewhere = []string{"internal/bench/engines", "guest/instrument", "guest/preinit",
	"internal/reference", "internal/release", "internal/scoreboard"}

func TestImportTable(t *testing.T) {
	may, folder := map[string][]string{}, ""
	for line := range strings.Lines(layers) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		of, imports, begins := strings.Cut(line, ":")
		if begins {
			folder, line = inside(of), imports
			may[folder] = nil
		}
		for name := range strings.FieldsSeq(line) {
			if _, above := may[inside(name)]; above && inside(name) != folder {
				name = inside(name)
			} else if name == "." || !strings.Contains(name, ".") {
				t.Errorf("%s may import %s, which does not stand above it", folder, name)
			}
			may[folder] = append(may[folder], name)
		}
	}
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
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "test.go") || kindOf(filepath.ToSlash(path)) == aTest {
			return nil
		}
		if _, ok := may[folder]; !ok {
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
			switch of, ours := strings.CutPrefix(imported+"/", published.Path+"/"); {
			case ours && !slices.Contains(may[folder], folderOf(of)):
				t.Errorf("%s imports our %s, which %s may not", path, folderOf(of), folder)
			case !ours && strings.Contains(strings.Split(imported, "/")[0], ".") &&
				!slices.ContainsFunc(may[folder], func(m string) bool { return strings.HasPrefix(imported+"/", m+"/") }):
				t.Errorf("%s imports %s, whose door is elsewhere", path, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestQuestionsAreData: what shows questions to people reads the parts of a prompt.View, and looks in no text for a
// sentence or an escape sequence, written there or as a constant.
func TestQuestionsAreData(t *testing.T) {
	const sentence = `["\x60][^"\x60\n]*(?:[a-z] [a-z]|\\x1b)`
	constant := regexp.MustCompile(`(?m)^(?:const |\t)(\w+) += ` + sentence)
	for _, folder := range []string{"approvals", "approvals/prompt", "internal/approvals/*", "internal/console",
		"internal/console/*", "cmd/codemode/responder"} {
		names, err := filepath.Glob(folder + "/*.go")
		var all []byte
		for _, name := range names {
			text, err2 := os.ReadFile(name)
			if err = errors.Join(err, err2); !strings.HasSuffix(name, "_test.go") {
				all = append(all, text...)
			}
		}
		texts := sentence
		for _, found := range constant.FindAllSubmatch(all, -1) {
			texts += `|\b` + string(found[1]) + `\b`
		}
		looks := `\w+\.\w*(?:Prefix|Suffix|Cut|Contains|Index|Split)\w*\((?:[^()\n]|\([^()\n]*\))*(?:` + texts + `)`
		for _, found := range regexp.MustCompile(looks).FindAllString(string(all), -1) {
			t.Errorf("%s looks for a sentence: %s", folder, found)
		}
		if err != nil || len(all) == 0 {
			t.Errorf("%s: %d bytes, %v", folder, len(all), err)
		}
	}
}

// inside returns the folder of a name in layers.
func inside(name string) string {
	if files, _ := filepath.Glob(name + "/*.go"); files != nil {
		return name
	}
	return "internal/" + name
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
		case published.Path:
			ours = append(ours, strings.TrimPrefix(path, published.Path+"/"))
		default:
			modules = append(modules, of)
		}
	}
	slices.Sort(ours)
	slices.Sort(modules)
	modules = slices.Compact(modules)
	if want := []string{"guest/quickjs", "internal/fair", "internal/memory", "internal/replace", "sandbox"}; !slices.Equal(ours, want) {
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
