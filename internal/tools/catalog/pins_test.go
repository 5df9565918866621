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

// Tools and prompts of one server are compared each with their own kind, and prompts are no tools.
func TestPinsOfPrompts(t *testing.T) {
	dir := t.TempDir()
	p, err := OpenPins(dir)
	checktest.OK(t, err)
	tools := Named("s", []Tool{{Raw: "a"}})
	prompt := func(description string) []Tool {
		one := Tool{Server: "s", Name: "s__get_prompt/a", Raw: "get_prompt/a", Description: description}
		one.Digest = one.Definition()
		return []Tool{one}
	}
	_, err = p.Observe("s", "id", tools)
	checktest.OK(t, err)
	_, err = p.ObservePrompts("s", "id", prompt("first"))
	checktest.OK(t, err)
	names, err := p.ObservePrompts("s", "id", prompt("second"))
	checktest.OK(t, err)
	if _, err = p.Observe("s", "id", nil); err != nil || len(names) != 1 || names[0] != "s__get_prompt/a" {
		t.Errorf("changed: %q, %v", names, err)
	}
	if all := p.Changes(); len(all) != 1 || all[0].Name != "s__get_prompt/a" {
		t.Errorf("without tools, to review: %+v", all)
	}
	if all := p.AcceptedOf("s", "id"); len(all) != 1 || all[0].Raw != "a" {
		t.Errorf("accepted tools: %+v", all)
	}
	again, err := OpenPins(dir)
	checktest.OK(t, err)
	_, err = again.ObservePrompts("s", "id", prompt("second"))
	checktest.OK(t, err)
	if !again.Changed("s__get_prompt/a", prompt("second")[0].Digest, again.Now()) || len(again.Changes()) != 1 {
		t.Error("after a restart, another definition counts")
	}
	if _, err = again.ObservePrompts("s", "id", nil); err != nil || len(again.Changes()) > 0 {
		t.Errorf("what is not offered needs no review: %+v, %v", again.Changes(), err)
	}
}
