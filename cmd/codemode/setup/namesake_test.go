package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/internal/checktest"
)

// programs makes a folder with programs of other people called codemode, and with wrappers of this one. A program that
// is run leaves a file, which no test wants to see.
func programs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	self, err := os.Executable()
	checktest.OK(t, err)
	ran := filepath.Join(dir, "ran")
	const node = "#!/usr/bin/env node\n"
	for name, text := range map[string]string{
		"npm/lib/node_modules/codemode/cli.js":                      node + "require('fs').writeFileSync('" + ran + "', '')\n",
		"ournpm/lib/node_modules/@codemode-project/codemode/cli.js": node,
		"pip/codemode":                  "#!/usr/bin/python3\nopen('" + ran + "', 'w')\n",
		"wrapper/codemode":              "#!/bin/sh\ntouch '" + ran + "'\nexec " + self + " \"$@\"\n",
		"pnpm/codemode":                 "#!/bin/sh\nexec node \"$basedir/global/node_modules/codemode/cli.js\" \"$@\"\n",
		"manager/shims/version-manager": "\x7fELF",
		"elf/codemode":                  "\x7fELF",
		"scoop/codemode.exe":            "MZ",
		"scoop/codemode.shim":           "path = \"C:\\x\\codemode.exe\"\n",
		"data/codemode/not-a-program":   "",
		"ournpm/lib/node_modules/@codemode-project/codemode-x/bin/cm": "\x7fELF",
		"module/source/go.mod":  "module example.com/codemode\n\ngo 1.25\n",
		"module/source/main.go": "package main\n\nfunc main() {}\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		checktest.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		checktest.OK(t, os.WriteFile(path, []byte(text), 0o700))
	}
	for link, to := range map[string]string{"npm/codemode": "lib/node_modules/codemode/cli.js",
		"ournpm/codemode":  "lib/node_modules/@codemode-project/codemode/cli.js",
		"manager/codemode": "shims/version-manager", "link/codemode": self} {
		path := filepath.Join(dir, link)
		checktest.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if err := os.Symlink(to, path); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "module", "codemode"), ".")
	build.Dir = filepath.Join(dir, "module", "source")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		if _, err := os.Stat(ran); err == nil {
			t.Error("a program was run to find out whose it is")
		}
	})
	return dir
}

// TestWhoseProgramAFileIs: it is read, and never run.
func TestWhoseProgramAFileIs(t *testing.T) {
	dir := programs(t)
	for name, want := range map[string]string{
		"npm/codemode": "npm package codemode", "pnpm/codemode": "npm package codemode",
		"module/codemode": "Go module example.com/codemode",
		"pip/codemode":    "not built from github.com/codemode-project/codemode",
		"elf/codemode":    "not built from github.com/codemode-project/codemode",
		"link/codemode":   "ours", "ournpm/codemode": "ours",
		"ournpm/lib/node_modules/@codemode-project/codemode-x/bin/cm": "ours",
		"wrapper/codemode": "unclear", "manager/codemode": "unclear", "scoop/codemode.exe": "unclear",
		"data/codemode": "unclear", "nowhere/codemode": "unclear",
	} {
		o, got := originOf(filepath.Join(dir, filepath.FromSlash(name)))
		if o != foreign {
			got = map[origin]string{ours: "ours", unclear: "unclear"}[o]
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestAnotherProgramOnThePath is found wherever it stands there, and told by what the word codemode starts.
func TestAnotherProgramOnThePath(t *testing.T) {
	dir := programs(t)
	for _, row := range []struct {
		folders, found string
		first          bool
	}{
		{"npm", "npm", true}, {"link", "", false}, {"link npm", "npm", false}, {"npm link", "npm", true},
		{"wrapper pip", "pip", false}, {"data nowhere module", "module", true}, {"manager ournpm", "", false},
	} {
		var folders []string
		for _, name := range strings.Fields(row.folders) {
			folders = append(folders, filepath.Join(dir, name))
		}
		path := strings.Join(folders, string(filepath.ListSeparator))
		n, found := FindNamesake(path)
		want := filepath.Join(dir, row.found, "codemode")
		if found != (row.found != "") || found && (n.Path != want || n.First != row.first) {
			t.Errorf("%s: got %+v, %t", row.folders, n, found)
		}
		p := places{env: func(string) string { return path }}
		if own := p.command() != "codemode"; own != row.first {
			t.Errorf("%s: a person types %s", row.folders, p.command())
		}
	}
}

// TestAnotherServerCalledCodemodeStays in the file of its client, as it is written, and codemode comes in beside it.
func TestAnotherServerCalledCodemodeStays(t *testing.T) {
	dir := programs(t)
	for title, server := range map[string]string{
		"a package":          `{"command": "npx", "args": ["-y", "@someone/codemode", "serve"]}`,
		"a program":          `{"command": "` + dir + `/npm/codemode", "args": ["serve", "--profile", "x"]}`,
		"of a Go module":     `{"command": "` + dir + `/module/codemode", "args": ["serve"], "env": {"CODEMODE_KEY": "x"}}`,
		"a vendor's address": `{"url": "https://mcp.vendor.example/mcp"}`,
		"any command":        `{"command": "/opt/start", "args": ["serve"]}`,
		"without serve":      `{"command": "/opt/codemode-mcp"}`,
		"off":                `{"command": "npx", "args": ["@someone/codemode", "serve"], "disabled": true}`,
	} {
		d := newDesk(t)
		d.put(".cursor/mcp.json", `{"mcpServers": {"codemode": `+server+`, "a": {"command": "x"}}}`)
		before := d.files()
		x := d.install()
		text := d.read(".cursor/mcp.json")
		if !strings.Contains(text, `"codemode": `+server) || !strings.Contains(text, `"codemode-project": {"command": `) ||
			strings.Contains(text, `"a"`) {
			t.Errorf("%s: got\n%s", title, text)
		}
		want := "Cursor: codemode comes in as codemode-project, a behind it"
		if got := x.clients[0].files[0].summary(x.clients[0].client); got != want {
			t.Errorf("%s: the plan says %s, want %s", title, got, want)
		}
		if again := d.plan(); !again.empty() {
			t.Errorf("%s: once more changes %v", title, again.clients[0].files)
		}
		if refused := d.undo(false); refused != nil {
			t.Errorf("%s: refused %q", title, refused)
		}
		if diff := cmp.Diff(before, d.files()); diff != "" {
			t.Errorf("%s: undone (-want +got):\n%s", title, diff)
		}
		d.install()
		d.put(".cursor/mcp.json", text+"\n") // as the client wrote it anew
		d.undo(false)
		text = d.read(".cursor/mcp.json")
		if !strings.Contains(text, `"codemode": `+server) || !strings.Contains(text, `"a": {"command": "x"}`) ||
			strings.Contains(text, otherName) {
			t.Errorf("%s: undone after a change: got\n%s", title, text)
		}
	}
}

// TestThePathThatAPersonChose comes into the clients, and is codemode's own the next time.
func TestThePathThatAPersonChose(t *testing.T) {
	chosen := filepath.Join(t.TempDir(), "cm")
	t.Setenv(BinVariable, chosen)
	d := newDesk(t)
	d.out = filepath.Join(d.home, "gate.json")
	d.put(".cursor/mcp.json", `{"mcpServers": {"a": {"command": "x"}}}`)
	d.install()
	if got := d.read(".cursor/mcp.json"); !strings.Contains(got, `"command": "`+chosen+`"`) {
		t.Errorf("got\n%s", got)
	}
	if again := d.plan(); !again.empty() {
		t.Errorf("once more changes %v", again.clients[0].files)
	}
}
