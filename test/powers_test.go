package codemode_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/runs/loader"
	"github.com/codemode-project/codemode/internal/testwait"
)

// house is a folder with everything in it that gives power, and a desk that is nothing but a folder.
type house struct {
	t   *testing.T
	dir string
}

func newHouse(t *testing.T) house {
	t.Helper()
	h := house{t, t.TempDir()}
	for _, dir := range []string{"desk/sub", "config", "state/logins", "cache", "saved/reports", "bin", "env",
		"elsewhere"} {
		must(t, os.MkdirAll(h.at(dir), 0o700))
	}
	h.write("config/codemode.json", `{}`)
	h.write("state/record.key", "secret")
	h.write("desk/note.txt", "hello")
	h.write("env/tool.env", "A=b")
	h.write("bin/tool.js", "x")
	return h
}

func (h house) at(name string) string { return filepath.Join(h.dir, filepath.FromSlash(name)) }

func (h house) write(name, text string) {
	h.t.Helper()
	must(h.t, os.WriteFile(h.at(name), []byte(text), 0o600))
}

func (h house) link(to, name string) {
	h.t.Helper()
	if err := os.Symlink(h.at(to), h.at(name)); err != nil {
		h.t.Skip("no symbolic links here: ", err)
	}
}

// options name every file that the house has.
func (h house) options(root string) codemode.Options {
	return codemode.Options{
		Root: root, StateDir: h.at("state"), CacheDir: cachetest.Dir(), Env: os.LookupEnv,
		ServiceOptions: codemode.ServiceOptions{
			Files: config.Files{User: h.at("config/codemode.json"), Overlays: h.at("config/overlays.json"),
				Trust: h.at("trust/projects.json")},
			Protected: map[string]string{h.at("project/.codemode.json"): loader.ProjectPlace}},
	}
}

func (h house) start(root string) *codemode.Evaluator {
	h.t.Helper()
	e, err := codemode.New(h.t.Context(), h.options(root))
	must(h.t, err)
	h.t.Cleanup(func() { e.Close(h.t.Context()) })
	return e
}

// keptOut runs a program that does one thing with the files and wants it refused with that in the message.
func keptOut(t *testing.T, e *codemode.Evaluator, call, part string) {
	t.Helper()
	r, err := e.Eval(t.Context(), codemode.Request{Unrestricted: true, Code: `try { return JSON.stringify(await codemode.filesystem__` + call +
		`) } catch (e) { return "refused: " + e.message }`})
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	if text := string(r.Value); !strings.HasPrefix(text, `"refused: `) || !strings.Contains(text, part) {
		t.Errorf("%s: got %s, want it refused with %q", call, text, part)
	}
}

func works(t *testing.T, e *codemode.Evaluator, call string) {
	t.Helper()
	if _, err := e.Eval(t.Context(), codemode.Request{Unrestricted: true, Code: `return await codemode.filesystem__` + call}); err != nil {
		t.Errorf("%s: %v", call, err)
	}
}

const everything = `{
	"mcpServers": {"tool": {"command": "node", "args": ["%[1]s/bin/tool.js"], "envFile": "%[1]s/env/tool.env", "disabled": true}},
	"scripts": {"root": "%[1]s/saved"},
	"store": {"key": "%[1]s/keys/record.key", "checkpoints": {"file": "%[1]s/checks/c.jsonl"}, "path": "%[1]s/db/codemode.db"}
}`

// TestRootsThatGivePowerAreRefused: by whatever path, and whether or not the file is there yet.
func TestRootsThatGivePowerAreRefused(t *testing.T) {
	h := newHouse(t)
	h.write("config/codemode.json", fmt.Sprintf(everything, filepath.ToSlash(h.dir)))
	for _, dir := range []string{"keys", "checks", "db", "trust", "project", "real", "links"} {
		must(t, os.Mkdir(h.at(dir), 0o700))
	}
	h.link("config", "link-to-config")
	h.link("state/logins", "link-into-state")
	h.link("link-to-config", "link-to-link")
	for root, part := range map[string]string{
		"desk": "", "desk/sub": "", "elsewhere": "",
		".":               "contains",
		"config":          "configuration",
		"state":           "is the state of codemode",
		"state/logins":    "lies in the state of codemode",
		"saved":           "is the folder of the saved programs",
		"saved/reports":   "lies in the folder of the saved programs",
		"bin":             `a file that starts the server "tool"`,
		"env":             `the file of variables of the server "tool"`,
		"keys":            "the key of the record",
		"checks":          "the checkpoints of the record",
		"db":              "the database of the record",
		"trust":           "the list of trusted project files",
		"project":         "--project none",
		"link-to-config":  "configuration",
		"link-to-link":    "configuration",
		"link-into-state": "lies in the state",
		"desk/../config":  "configuration",
		"missing":         "cannot tell",
	} {
		e, err := codemode.New(t.Context(), h.options(h.dir+"/"+root))
		switch {
		case part == "" && err != nil:
			t.Errorf("%s: %v", root, err)
		case part != "" && (err == nil || !strings.Contains(err.Error(), part)):
			t.Errorf("%s: got %v, want %q in it", root, err, part)
		}
		if e != nil {
			e.Close(t.Context())
		}
	}
	self, err := os.Executable()
	must(t, err)
	if _, err := codemode.New(t.Context(), h.options(filepath.Dir(self))); err == nil {
		t.Error("the folder of the program itself can be written by programs")
	}
}

// TestRootOfALinkedConfiguration: the folder that the link leads to gives power, and each folder that has a link on the
// way.
func TestRootOfALinkedConfiguration(t *testing.T) {
	h := newHouse(t)
	for _, dir := range []string{"dotfiles", "between"} {
		must(t, os.Mkdir(h.at(dir), 0o700))
	}
	h.write("dotfiles/codemode.json", `{}`)
	h.link("dotfiles/codemode.json", "between/link.json")
	must(t, os.Remove(h.at("config/codemode.json")))
	h.link("between/link.json", "config/codemode.json")
	for _, root := range []string{"config", "between", "dotfiles"} {
		if _, err := codemode.New(t.Context(), h.options(h.at(root))); err == nil {
			t.Errorf("%s is on the way to the configuration, and is no root", root)
		}
	}
}

// TestOneWriteDoesNotChangeTheRules is the attack: a program that may write files replaces the rules, and a command
// starts.
func TestOneWriteDoesNotChangeTheRules(t *testing.T) {
	h := newHouse(t)
	h.write("config/codemode.json",
		`{"builtin": {"filesystem": {"root": "."}}, "evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["filesystem__write_file"]}}}}`)
	_, err := codemode.New(t.Context(), h.options(""))
	if err == nil || !strings.Contains(err.Error(), "is refused") {
		t.Errorf("got %v", err)
	}
}

// TestReloadDoesNotOpenWhatGivesPower: the new root is refused, and the old rules hold, loudly.
func TestReloadDoesNotOpenWhatGivesPower(t *testing.T) {
	for what, config := range map[string]string{
		"a root at the configuration":      `{"builtin": {"filesystem": {"root": "."}}}`,
		"saved programs in the root":       `{"builtin": {"filesystem": {"root": "../desk"}}, "scripts": {"root": "../desk/sub"}}`,
		"the record moves into the root":   `{"builtin": {"filesystem": {"root": "../desk"}}, "store": {"path": "DIR/desk/new.db"}}`,
		"a server's variables in the root": `{"builtin": {"filesystem": {"root": "../desk"}}, "mcpServers": {"x": {"command": "x", "envFile": "DIR/desk/.env"}}}`,
	} {
		t.Run(what, func(t *testing.T) {
			h := newHouse(t)
			h.write("config/codemode.json", `{"builtin": {"filesystem": {"root": "../desk"}}}`)
			e := h.start("")
			h.write("config/codemode.json", strings.ReplaceAll(config, "DIR", filepath.ToSlash(h.dir)))
			testwait.Holds(func() bool { return e.Rules().Now().Stale != nil })
			if err := e.Rules().Now().Stale; err == nil || !strings.Contains(err.Error(),
				"the root of the built-in filesystem is refused") {
				t.Fatalf("got %v", err)
			}
			works(t, e, `write_file({path: "fine.txt", content: "x"})`)
			keptOut(t, e, `read_text_file({path: "codemode.json"})`, "does not exist")
		})
	}
}

// TestWhatComesLaterBelowTheRoot: what gives power is kept from programs also where it is found below a root that was
// fine.
func TestWhatComesLaterBelowTheRoot(t *testing.T) {
	h := newHouse(t)
	h.write("config/codemode.json", `{}`)
	e := h.start(h.at("desk"))
	if err := os.Link(h.at("state/record.key"), h.at("desk/sub/innocent.txt")); err != nil {
		t.Skip("no hard links here: ", err)
	}
	must(t, os.Link(h.at("config/codemode.json"), h.at("desk/rules")))
	must(t, os.Symlink("sub/innocent.txt", h.at("desk/soft")))
	const no = "no program may touch"
	for _, call := range []string{
		`read_text_file({path: "sub/innocent.txt"})`, `read_text_file({path: "sub/innocent.txt", head: 1})`,
		`read_media_file({path: "sub/innocent.txt"})`,
		`read_text_file({path: "soft"})`, `read_text_file({path: "rules"})`,
		`write_file({path: "sub/innocent.txt", content: "x"})`, `write_file({path: "soft", content: "x"})`,
		`write_file({path: "rules", content: "x"})`,
		`edit_file({path: "rules", edits: [{oldText: "{", newText: "["}]})`,
		`move_file({source: "rules", destination: "x"})`, `move_file({source: "sub/innocent.txt", destination: "x"})`,
		`delete_file({path: "rules"})`, `get_file_info({path: "rules"})`,
	} {
		keptOut(t, e, call, no)
	}
	r, err := e.Eval(t.Context(),
		codemode.Request{Unrestricted: true, Code: `return (await codemode.filesystem__read_multiple_files({paths: ["rules", "note.txt"]})).files.map(f => f.content ?? f.error)`})
	if err != nil || !strings.Contains(string(r.Value), no) || !strings.Contains(string(r.Value), "hello") {
		t.Errorf("several at once: %v %v", r, err)
	}
	for name, want := range map[string]string{"state/record.key": "secret", "config/codemode.json": "{}"} {
		if data, err := os.ReadFile(h.at(name)); err != nil || string(data) != want {
			t.Errorf("%s is %q now: %v", name, data, err)
		}
	}
	works(t, e, `write_file({path: "sub/new.txt", content: "x"})`)
	works(t, e, `create_directory({path: "a/b/c"})`)
	works(t, e, `move_file({source: "sub/new.txt", destination: "a/b/c/new.txt"})`)
	works(t, e, `edit_file({path: "note.txt", edits: [{oldText: "hello", newText: "bye"}]})`)
}

// TestARootThatComesToHoldTheConfigurationIsClosed: a folder on the way to the configuration is exchanged for a link
// into the root.
func TestARootThatComesToHoldTheConfigurationIsClosed(t *testing.T) {
	h := newHouse(t)
	e := h.start(h.at("desk"))
	works(t, e, `read_text_file({path: "note.txt"})`)
	must(t, os.Rename(h.at("state"), h.at("desk/moved")))
	h.link("desk/moved", "state")
	const no = "no program may touch"
	for _, call := range []string{
		`read_text_file({path: "moved/record.key"})`, `read_text_file({path: "note.txt"})`, `list_directory({path: "."})`,
		`list_directory({path: "moved"})`,
		`directory_tree({})`, `search_files({pattern: "**"})`, `create_directory({path: "x"})`,
		`write_file({path: "new", content: "x"})`,
		`move_file({source: "moved", destination: "gone"})`, `delete_file({path: "note.txt"})`, `get_file_info({path: "."})`,
	} {
		keptOut(t, e, call, no)
	}
}

// TestASymbolicLinkToNothingMakesNoFile: what it would be made in has not been judged.
func TestASymbolicLinkToNothingMakesNoFile(t *testing.T) {
	h := newHouse(t)
	e := h.start(h.at("desk"))
	if err := os.Symlink("sub/made", h.at("desk/soft")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	keptOut(t, e, `write_file({path: "soft", content: "x"})`, "symbolic link to a file that does not exist")
	if _, err := os.Lstat(h.at("desk/sub/made")); err == nil {
		t.Error("it was made")
	}
}

// A server reads more in the folder that it works in than codemode knows of: hooks, modules, settings.
func TestRootWhereAServerWorks(t *testing.T) {
	h := newHouse(t)
	for _, dir := range []string{"projects/repo/notes", "projects/beside"} {
		must(t, os.MkdirAll(h.at(dir), 0o700))
	}
	h.link("projects/repo", "projects/link")
	server := func(dir string) string {
		return fmt.Sprintf(`{"mcpServers": {"tool": {"command": "no-such-program", "cwd": %q}}}`, filepath.ToSlash(h.dir)+dir)
	}
	for _, tt := range []struct {
		name, cwd, root string
		refused         bool
	}{
		{"the very folder", "/projects/repo", "projects/repo", true},
		{"a folder around it", "/projects/repo", "projects", true},
		{"the folder by a link in the configuration", "/projects/link", "projects/repo", true},
		{"the folder by a link in the root", "/projects/repo", "projects/link", true},
		{"a folder that is not there yet", "/projects/repo/later", "projects/repo", true},
		{"a folder in it", "/projects/repo", "projects/repo/notes", false},
		{"a folder beside it", "/projects/repo", "projects/beside", false},
	} {
		h.write("config/codemode.json", server(tt.cwd))
		e, err := codemode.New(t.Context(), h.options(h.at(tt.root)))
		if refused := err != nil && strings.Contains(err.Error(),
			`the working folder of the server "tool"`); refused != tt.refused || !refused && err != nil {
			t.Errorf("%s: got %v", tt.name, err)
		}
		if e != nil {
			e.Close(t.Context())
		}
	}
}

// The files that give the configuration its secrets, and the programs that print them, are out of reach of the built-in
// filesystem.
func TestFilesOfSecretsAreOutOfReach(t *testing.T) {
	h := newHouse(t)
	for _, dir := range []string{"secrets", "helpers"} {
		must(t, os.Mkdir(h.at(dir), 0o700))
	}
	h.write("secrets/token", "c4n4ry")
	h.write("helpers/print", "")
	h.write("config/codemode.json", fmt.Sprintf(`{"mcpServers": {"tool": {"command": "node", "disabled": true,
		"env": {"A": "${file:%[1]s/secrets/token}", "B": "${cmd:'%[1]s/helpers/print' c4n4ry}"}}}}`, filepath.ToSlash(h.dir)))
	for root, part := range map[string]string{"desk": "", "secrets": "a file with a secret", "helpers": "a program that prints one"} {
		e, err := codemode.New(t.Context(), h.options(h.dir+"/"+root))
		if part == "" && err != nil || part != "" && (err == nil || !strings.Contains(err.Error(), part)) {
			t.Errorf("%s: got %v, want %q", root, err, part)
		}
		if e != nil {
			e.Close(t.Context())
		}
	}
}
