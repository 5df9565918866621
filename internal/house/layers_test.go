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

// imports is what a folder may import besides the standard library; a folder without a line imports nothing else. The
// drawing in docs/architecture.md has all folders, and a folder imports only folders above its own layer. A module of
// others comes in through the folders that name it. What is not at the top is below internal.
const imports = `
.: analysis approvals call config hostfns approvals/notify config/process config/servers runs/loader record/recorder
	runs runs/asking runs/inforce runs/preflight store tools/catalog tools/registry tools/upstream tools/upstream/builtin
	tools/upstream/login
analysis: call analysis/ecmascript strictjson visible github.com/evanw/esbuild
approvals: approvals/prompt call strictjson
approvals/notify: approvals approvals/prompt call secrets config/process settings visible github.com/wneessen/go-mail
approvals/pending: approvals approvals/prompt call
approvals/prompt: call secrets strictjson visible
approvals/terminal: approvals approvals/prompt approvals/pending call golang.org/x/sys golang.org/x/term
bench: . analysis call config hostfns bench/printed isolation strictjson visible sandbox testdata/attacks
bench/discovery: . call config bench/printed tokens tools/catalog visible server github.com/google/jsonschema-go
	github.com/modelcontextprotocol/go-sdk
bench/engine: bench bench/junit bench/printed bench/sarif isolation tools/upstream visible golang.org/x/sync
bench/junit: visible
bench/policy: . analysis approvals approvals/prompt call config hostfns bench/junit bench/printed bench/sarif
	config/servers profiles/match runs/asking runs/inforce runs/preflight tools/catalog tools/registry visible profiles
	sandbox golang.org/x/sync
bench/printed: visible
bench/sarif: bench/printed visible
call: strictjson visible golang.org/x/text
cmd/codemode: . analysis approvals approvals/prompt approvals/terminal bench bench/discovery bench/engine bench/policy
	call cmd/codemode/auditcmd cmd/codemode/cli cmd/codemode/confined cmd/codemode/demo cmd/codemode/doctor cmd/codemode/launch
	cmd/codemode/responder cmd/codemode/rulebook cmd/codemode/serve cmd/codemode/sessionscmd cmd/codemode/setup
	cmd/codemode/storecmd cmd/codemode/upgrade config confine guest/quickjs hostfns replace repository runs/inforce
	runs/preflight sandbox store/postgres store/sqlite strictjson tools/catalog tools/registry tools/upstream
	tools/upstream/login visible github.com/spf13/cobra golang.org/x/term
cmd/codemode/auditcmd: call cmd/codemode/cli cmd/codemode/launch record/audit record/recorder record/report replace
	store visible github.com/spf13/cobra
cmd/codemode/checks: . call config config/process config/servers runs/loader record/recorder settings
cmd/codemode/cli: analysis config runs/preflight visible github.com/spf13/cobra github.com/spf13/pflag
	golang.org/x/term
cmd/codemode/confined: . cmd/codemode/checks config config/servers confine runs/loader record/recorder tools/upstream
cmd/codemode/demo: cmd/codemode/cli cmd/codemode/responder approvals/terminal visible
	github.com/modelcontextprotocol/go-sdk github.com/spf13/cobra
cmd/codemode/doctor: . approvals call cmd/codemode/checks cmd/codemode/cli cmd/codemode/confined cmd/codemode/launch
	cmd/codemode/responder cmd/codemode/serve cmd/codemode/setup config confine console/signin record/audit
	record/recorder runs/inforce runs/preflight server/oauth store tools/catalog tools/registry tools/upstream visible
	github.com/pelletier/go-toml/v2 github.com/spf13/cobra
cmd/codemode/launch: . approvals call cmd/codemode/cli cmd/codemode/confined config config/changes config/servers
	record/audit record/recorder runs/inforce runs/loader settings store visible github.com/spf13/cobra
cmd/codemode/responder: . approvals approvals/prompt call cmd/codemode/cli cmd/codemode/launch config approvals/pending
	approvals/terminal record/audit record/recorder runs/asking store strictjson visible charm.land/bubbles/v2
	charm.land/bubbletea/v2 charm.land/lipgloss/v2 github.com/spf13/cobra
cmd/codemode/rulebook: . call cmd/codemode/checks cmd/codemode/cli cmd/codemode/launch config config/changes
	config/importtable record/audit record/recorder runs/inforce settings store tools/catalog tools/registry visible
	profiles github.com/rogpeppe/go-internal github.com/spf13/cobra
cmd/codemode/serve: . approvals call cmd/codemode/cli cmd/codemode/confined cmd/codemode/launch cmd/codemode/responder
	config hostfns approvals/terminal config/changes config/tenants confine console console/accounts console/rules
	console/signin fair record/audit record/metrics record/otlp record/recorder record/tracing replace runs runs/inforce
	runs/preflight runs/sessions server/limits server/oauth tools/catalog tools/upstream tools/upstream/login visible
	profiles sandbox server github.com/coreos/go-systemd/v22 github.com/spf13/cobra
cmd/codemode/sessionscmd: call cmd/codemode/cli cmd/codemode/launch config record/audit record/recorder runs
	runs/inforce runs/sessions store visible github.com/spf13/cobra
cmd/codemode/setup: . cmd/codemode/checks cmd/codemode/cli cmd/codemode/launch cmd/codemode/setup/clientfile config
	secrets config/servers replace repository settings tools/catalog tools/openapi tools/registry tools/rest tools/upstream
	visible github.com/spf13/cobra
cmd/codemode/setup/clientfile: strictjson github.com/pelletier/go-toml/v2 go.yaml.in/yaml/v3
cmd/codemode/storecmd: call cmd/codemode/auditcmd cmd/codemode/cli cmd/codemode/launch record/audit record/recorder
	store store/backup visible github.com/spf13/cobra
cmd/codemode/upgrade: repository golang.org/x/mod
config: call config/process config/servers profiles/match replace settings strictjson visible profiles
	github.com/fsnotify/fsnotify
config/changes: call config profiles/match replace settings strictjson visible profiles
config/importtable: call config settings strictjson visible profiles
config/process: call profiles/match settings strictjson profiles
config/servers: call jsonschema settings strictjson visible
config/tenants: config config/process settings
confine: golang.org/x/sys
console: approvals approvals/pending approvals/prompt call docs hostfns sandbox console/accounts console/editor
	console/form console/links console/records console/rules console/servers console/signin console/text record/audit runs
	runs/sessions store strictjson
console/editor: config
console/editor/bundle: github.com/evanw/esbuild
console/form: approvals/prompt strictjson
console/records: approvals/prompt call record/audit store
console/rules: call config hostfns config/changes runs/inforce visible profiles
console/servers: tools/catalog tools/upstream
console/signin: config/process identity github.com/coreos/go-oidc/v3 github.com/go-jose/go-jose/v4 golang.org/x/oauth2
console/text: approvals/prompt
examples/batch: . config store/sqlite
examples/chat: . config store/sqlite
examples/functions: . approvals approvals/prompt call config
examples/gate: . approvals approvals/prompt call config
examples/webasks: . approvals approvals/prompt call config
hostfns: call strictjson
identity: strictjson github.com/go-jose/go-jose/v4
iofault: modernc.org/libc modernc.org/sqlite
jsonschema: strictjson visible call
profiles: call profiles/match settings strictjson visible
profiles/match: settings strictjson visible github.com/bmatcuk/doublestar/v4 golang.org/x/text
record/audit: call secrets store strictjson visible golang.org/x/mod # its entries are rows of the store
record/metrics: call secrets fair record/audit record/otlp record/recorder tools/upstream
record/otlp: secrets
record/recorder: approvals/prompt call config hostfns record/audit record/otlp runs/inforce store tools/upstream
record/report: call record/audit store tokens visible
record/tracing: call record/audit record/otlp record/recorder go.opentelemetry.io/otel
runs: analysis approvals approvals/prompt call config hostfns fair record/audit record/recorder runs/asking
	runs/inforce runs/preflight runs/results runs/sessions store strictjson tools/catalog tools/registry visible profiles
	sandbox
runs/asking: analysis approvals approvals/prompt call hostfns approvals/notify record/recorder runs/inforce
	runs/preflight store strictjson tools/registry visible profiles
runs/inforce: call config hostfns store tools/catalog visible profiles sandbox
runs/loader: call config record/recorder replace runs/inforce tools/catalog tools/upstream tools/upstream/builtin
runs/preflight: analysis call config hostfns fair runs/inforce strictjson tools/catalog tools/registry visible profiles
runs/results: config hostfns fair store
runs/sessions: config store sandbox
sandbox: guest/quickjs fair replace github.com/tetratelabs/wazero
secrets: strictjson
server: . approvals approvals/prompt call config fair runs runs/asking runs/inforce runs/preflight runs/results
	runs/sessions server/direct server/limits server/oauth server/origins server/requeststate server/resources
	tools/catalog tools/registry tools/upstream tools/upstream/login visible github.com/modelcontextprotocol/go-sdk
server/direct: strictjson github.com/modelcontextprotocol/go-sdk
server/limits: fair golang.org/x/sys
server/oauth: config/process identity strictjson github.com/coreos/go-oidc/v3 github.com/go-jose/go-jose/v4
	github.com/modelcontextprotocol/go-sdk golang.org/x/time
server/requeststate: strictjson
server/resources: . hostfns runs/results tools/catalog tools/registry github.com/modelcontextprotocol/go-sdk
settings: call strictjson visible
store: secrets golang.org/x/sys
store/backup: call secrets record/audit replace store github.com/jackc/pgx/v5 # it copies tables of both databases
store/postgres: store github.com/jackc/pgx/v5
store/sqlite: modernc.org/sqlite
strictjson: github.com/go-json-experiment/json
tools/catalog: call jsonschema replace strictjson visible github.com/kljensen/snowball golang.org/x/text
tools/openapi: strictjson github.com/go-json-experiment/json go.yaml.in/yaml/v3 golang.org/x/text
tools/registry: call config hostfns config/servers runs/inforce strictjson tools/catalog tools/upstream
	tools/upstream/login visible profiles
tools/rest: secrets strictjson tools/openapi visible github.com/go-json-experiment/json
tools/upstream: call secrets config/servers store strictjson tools/catalog tools/openapi tools/rest
	tools/upstream/builtin tools/upstream/login visible github.com/modelcontextprotocol/go-sdk
tools/upstream/builtin: call config/servers strictjson github.com/bmatcuk/doublestar/v4 github.com/google/jsonschema-go
tools/upstream/login: secrets config/servers replace store github.com/modelcontextprotocol/go-sdk golang.org/x/oauth2
	golang.org/x/sys # logins are rows of the store
visible: golang.org/x/text
`

// elsewhere are folders that build, test or measure the product and are no part of it.
var elsewhere = []string{"internal/bench/engines", "guest/instrument", "guest/preinit",
	"internal/reference", "internal/release", "internal/scoreboard"}

func TestImportTable(t *testing.T) {
	layer, may, folder := drawing(t), map[string][]string{}, ""
	inside := func(name string) string { // the folder of a name
		if layer[name] > 0 {
			return name
		}
		return "internal/" + name
	}
	for line := range strings.Lines(imports) {
		line, _, _ = strings.Cut(line, "#") // a reason
		if of, imported, begins := strings.Cut(line, ":"); begins {
			folder, line = inside(of), imported
		}
		for name := range strings.FieldsSeq(line) {
			if of := layer[inside(name)]; of > 0 {
				name = inside(name)
				if of >= layer[folder] {
					t.Errorf("%s may import %s, which the drawing does not show above it", folder, name)
				}
			} else if !strings.Contains(name, ".") {
				t.Errorf("%s may import %s, which the drawing does not show", folder, name)
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
		if layer[folder] == 0 {
			t.Errorf("%s: the drawing does not show the folder %s", path, folder)
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

// drawing reads the layers in docs/architecture.md, and returns the layer of each folder. A number begins a layer. A
// word that ends with a slash says where the folders after it are.
func drawing(t *testing.T) map[string]int {
	text, err := os.ReadFile("docs/architecture.md")
	_, from, _ := strings.Cut(string(text), "```text\n 1 ")
	block, _, found := strings.Cut(from, "```")
	if err != nil || !found {
		t.Fatal("docs/architecture.md has no drawing of the layers: ", err)
	}
	layer, n, at := map[string]int{}, 1, ""
	for word := range strings.FieldsSeq(block) {
		if next, err := strconv.Atoi(word); err == nil {
			n = next
		} else if strings.HasSuffix(word, "/") {
			at = strings.TrimPrefix(word, "/")
		} else if files, _ := filepath.Glob(at + word + "/*.go"); files == nil || layer[at+word] > 0 {
			t.Errorf("the drawing shows the folder %s%s twice, or there is none", at, word)
		} else {
			layer[at+word] = n
		}
	}
	return layer
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
	if want := []string{"guest/quickjs", "internal/fair", "internal/replace", "sandbox"}; !slices.Equal(ours, want) {
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
