package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
)

func TestDifferenceOfDefinitions(t *testing.T) {
	was := `{"description":"reads a file","inputSchema":{"properties":{"path":{"type":"string"}},"required":["path"]}}`
	is := `{"description":"reads a file.","inputSchema":{"properties":{"path":{"type":"string"},"to":{"type":"string"}},"required":["path"]}}`
	got := strings.Join(difference(json.RawMessage(was), json.RawMessage(is)), "\n")
	want := `- /description: "reads a file"
+ /description: "reads a file."
+ /inputSchema/properties/to/type: "string"`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// More tools than can be remembered do not get by unseen.
func TestPinsThatAreFull(t *testing.T) {
	p, err := OpenPins("")
	checktest.OK(t, err)
	p.most = 2
	tools := Named("s", []Tool{{Raw: "a"}, {Raw: "b"}, {Raw: "c"}})
	if _, err := p.Observe("s", "id", tools); err == nil || !strings.Contains(err.Error(), "definitions of 2 tools") {
		t.Errorf("got %v", err)
	}
	changed := func(i int) bool {
		return p.Changed(call.Name("s", tools[i].Raw), tools[i].Definition(), p.Now())
	}
	if changed(0) || changed(1) || !changed(2) {
		t.Errorf("asked about: %v %v %v", changed(0), changed(1), changed(2))
	}
	// Those that are remembered stay watched, wherever they stand in the list.
	tools = Named("s", append(tools[2:3:3], Tool{Raw: "b", Description: "new"}, tools[0]))
	if names, _ := p.Observe("s", "id", tools); len(names) != 1 || names[0] != "s__b" || !changed(1) || changed(2) ||
		!changed(0) {
		t.Errorf("changed: %q", names)
	}
}

func TestPinsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for text, part := range map[string]string{"{": "correct the file, or remove it", `{"v": 3}`: "version 3"} {
		checktest.OK(t, os.WriteFile(filepath.Join(dir, "pins.json"), []byte(text), 0o600))
		if _, err := OpenPins(dir); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
