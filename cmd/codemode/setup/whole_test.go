package setup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/internal/checktest"
)

// A plan is carried out whole or not at all: after an error at any file, every file is what it was, and the book is
// empty.
func TestAPlanIsCarriedOutWholeOrNotAtAll(t *testing.T) {
	defer func() { rename = os.Rename }()
	for at := range 4 {
		d := newDesk(t)
		d.put(".cursor/mcp.json", `{"mcpServers": {"a": {"command": "x"}}}`)
		d.put(".gemini/settings.json", `{"mcpServers": {"b": {"command": "y"}}}`)
		d.put(".codex/config.toml", "[mcp_servers.c]\ncommand = \"z\"\n")
		before := d.files()
		n := 0
		rename = func(from, to string) error {
			if n++; n > at {
				return errors.New("the disk is full")
			}
			return os.Rename(from, to)
		}
		x := d.plan()
		text, _, err := x.configuration(nil)
		checktest.OK(t, err)
		err = x.apply(d.book(), text)
		if err == nil || !strings.Contains(err.Error(), "nothing was changed: the disk is full") {
			t.Errorf("at file %d: %v", at, err)
		}
		if diff := cmp.Diff(before, d.files()); diff != "" {
			t.Errorf("at file %d (-want +got):\n%s", at, diff)
		}
		if left, err := os.ReadDir(d.state); err == nil && len(left) > 0 {
			t.Errorf("at file %d: %v is left", at, left)
		}
		if _, err := os.Stat(filepath.Dir(d.out)); !os.IsNotExist(err) {
			t.Errorf("at file %d: the folder of the configuration is left: %v", at, err)
		}
	}
}

// A client that is named gets its folder, and undo removes it again.
func TestAFolderIsMadeForAClientThatIsNamed(t *testing.T) {
	d := newDesk(t)
	d.project = filepath.Join(d.home, "work")
	d.put("work/.vscode/mcp.json", `{"servers": {"v": {"command": "x"}}}`)
	before := d.files()
	d.install("vscode")
	if !strings.Contains(d.read(".config/Code/User/mcp.json"), "codemode") {
		t.Error("codemode is not there")
	}
	if refused := d.undo(false); refused != nil {
		t.Errorf("refused %q", refused)
	}
	if diff := cmp.Diff(before, d.files()); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(d.home, ".config")); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

// What administrators have switched off, in the folders of the system.
func TestAdministratorsSwitchOff(t *testing.T) {
	for file, text := range map[string]string{
		"etc/claude-code/managed-settings.json":          `{"deniedMcpServers": [{"serverName": "x"}]}`,
		"etc/claude-code/managed-settings.d/10-mcp.json": `{"allowedMcpServers": []}`,
		"etc/claude-code/managed-mcp.json":               `{"mcpServers": {}}`,
		"etc/gemini-cli/settings.json":                   `{"mcp": {"excluded": ["x"]}}`,
		"etc/gemini-cli/system-defaults.json":            `{"mcp": {"allowed": []}}`,
		"etc/qwen-code/settings.json":                    `{"mcp": {"excluded": ["x"]}}`,
		"etc/codex/requirements.toml":                    "[mcp_servers.other.identity]\ncommand = \"y\"\n",
	} {
		d := newDesk(t)
		d.root = d.home
		d.put(file, text)
		d.put(".claude.json", `{"mcpServers": {"x": {"command": "claude-x"}}}`)
		d.put(".gemini/settings.json", `{"mcpServers": {"x": {"command": "gemini-x"}}}`)
		d.put(".qwen/settings.json", `{"mcpServers": {"x": {"command": "qwen-x"}}}`)
		d.put(".codex/config.toml", "[mcp_servers.x]\ncommand = \"codex-x\"\n")
		off := 0
		for _, f := range findClients(d.places, "", noVariables) {
			for _, e := range f.entries {
				client, _, _ := strings.Cut(f.client.id, "-")
				if (e.off.why != "") != strings.Contains(file, client) {
					t.Errorf("%s: in %s it is off because of %q", file, f.client.name, e.off.why)
				}
				if e.off.why != "" {
					off++
				}
			}
		}
		if off != 1 {
			t.Errorf("%s: %d are off", file, off)
		}
	}
}

// Whatever the client has done to its file, undo takes codemode out under any name, and says what it could not put back.
func TestUndoSaysWhatItCouldNot(t *testing.T) {
	d := newDesk(t)
	d.put(".cursor/mcp.json", `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`)
	d.install()
	text := d.read(".cursor/mcp.json")
	text = strings.Replace(text, `"codemode"`, `"gate"`, 1)
	text = strings.Replace(text, `{"gate"`, `{"a": {"command": "another"}, "gate"`, 1)
	d.put(".cursor/mcp.json", text)
	b := d.book()
	files, err := b.undo(nil, false)
	checktest.OK(t, err)
	checktest.OK(t, b.restore(files))
	if diff := cmp.Diff([]string{"a"}, files[0].left); diff != "" || files[0].err != nil {
		t.Errorf("left: %s, %v", diff, files[0].err)
	}
	if got, want := d.read(".cursor/mcp.json"), `{"mcpServers": {"a": {"command": "another"}, "b": {"command": "y"}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if copies, err := filepath.Glob(filepath.Join(d.state, "init", "*-mcp.json")); err != nil || len(copies) != 1 {
		t.Errorf("the copy is lost: %q, %v", copies, err)
	}
}
