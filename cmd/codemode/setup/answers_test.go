package setup

import (
	"strings"
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
)

// Where a client shows no forms, init says how a person answers; where windows can be shown, codemode opens a terminal.
func TestInitOffersAPlaceForAnswers(t *testing.T) {
	for _, row := range []struct {
		file, display string
		opens, says   bool
	}{
		{".gemini/settings.json", ":0", true, true}, {".qwen/settings.json", "", false, true}, {".cursor/mcp.json", ":0", false, false},
	} {
		d := newDesk(t)
		d.env = func(name string) string { return map[string]string{"DISPLAY": row.display}[name] }
		d.put(row.file, `{"mcpServers": {"a": {"command": "x"}}}`)
		x := d.install()
		if got := strings.Contains(d.read(".config/codemode/codemode.json"), `"responder": "auto"`); got != row.opens {
			t.Errorf("%s: a terminal is opened: %t", row.file, got)
		}
		var out strings.Builder
		x.printDone(cli.Streams{Out: &out}, nil, nil)
		if got := strings.Contains(out.String(), "codemode approvals"); got != row.says {
			t.Errorf("%s: it says\n%s", row.file, out.String())
		}
	}
}

// The same without --install: codemode writes a configuration, and the person changes the clients.
func TestInitWithoutInstallOffersAPlaceForAnswers(t *testing.T) {
	for file, says := range map[string]bool{".gemini/settings.json": true, ".qwen/settings.json": true, ".cursor/mcp.json": false} {
		d := newDesk(t)
		for name, value := range map[string]string{"HOME": d.home, "USERPROFILE": d.home, "XDG_CONFIG_HOME": "", "DISPLAY": ":0"} {
			t.Setenv(name, value)
		}
		d.put(file, `{"mcpServers": {"a": {"command": "x"}}}`)
		var out strings.Builder
		err := initialize(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out},
			&initOptions{out: d.out, state: d.state, yes: true})
		if err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string]bool{
			"the text": strings.Contains(out.String(), "codemode approvals"),
			"the file": strings.Contains(d.read(".config/codemode/codemode.json"), `"responder": "auto"`),
		} {
			if got != says {
				t.Errorf("%s: %s offers a terminal: %t\n%s", file, what, got, out.String())
			}
		}
	}
}
