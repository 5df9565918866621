package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/server"
)

// listing is what a model is shown of the tools, byte by byte.
func (c *client) listing() string {
	c.t.Helper()
	res, err := c.ListTools(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	b, err := json.Marshal(res.Tools)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

// The list of tools says the same before a server is ready and after, and when one never is.
func TestWhatAModelSeesDoesNotChangeWhenServersConnect(t *testing.T) {
	h := open(t, `{"mcpServers": {"broken": {"command": "no-such-command-anywhere"}}, "evaluation": {"profiles": {"safe": {"allowlist": ["time__*"]}}}}`, server.Options{})
	c := h.connect(nil, "")
	first := c.listing()
	h.evaluator.Tools().Ready(t.Context(), 30e9)
	if now := c.listing(); now != first {
		t.Errorf("first\n%s\nthen\n%s", first, now)
	}
	if !strings.Contains(first, "Servers: broken, filesystem, time.") || !strings.Contains(first, "Servers: time.") {
		t.Errorf("the servers are not named, or not those of each profile:\n%s", first)
	}
	if text, _ := c.call("search_tools", nil); !strings.Contains(text, "broken is not available: ") {
		t.Errorf("search_tools does not say that a server failed:\n%s", text)
	}
}

// What the base tool does already is not offered under a second name; the name still works.
func TestTheDefaultProfileIsListedOnce(t *testing.T) {
	c := open(t, `{"evaluation": {"defaultProfile": "work", "profiles": {"work": {"asklist": ["filesystem__*"]}, "other": {}}}}`, server.Options{}).connect(nil, "")
	var runs []string
	for _, name := range c.tools() {
		if strings.HasPrefix(name, "codemode_eval") {
			runs = append(runs, name)
		}
	}
	if got := strings.Join(runs, " "); got != "codemode_eval codemode_eval_other" {
		t.Errorf("the tools that run programs are %s", got)
	}
	if text, failed := c.eval("codemode_eval_work", "return 1"); failed || !strings.HasPrefix(text, "1\n") {
		t.Errorf("the name that is not listed: %s", text)
	}
}

func TestTheExampleIsOfNoServerThatCanExist(t *testing.T) {
	c := open(t, original, server.Options{}).connect(nil, "")
	for _, part := range strings.Split(c.listing()+c.InitializeResult().Instructions, "codemode.")[1:] {
		if name, _, ok := strings.Cut(part, "("); ok && strings.Contains(name, "__") && !strings.HasPrefix(name,
			`\u003cserver\u003e__`) {
			t.Errorf("codemode.%s could be taken for a tool", name)
		}
	}
}

// A search says what the rules say about each server that it found something on, and whether anybody can be asked.
func TestASearchTellsPowersBeforeAProgram(t *testing.T) {
	h := open(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {
		"asklist": ["filesystem__write_file", {"tool": "filesystem__move_file", "when": {"/source": {"glob": "secret*"}}}], "denylist": ["filesystem__delete_*"]}}}}`, server.Options{})
	want := "- filesystem: 9 allowed; asked about: write_file; by their arguments: move_file; 1 denied\n"
	text, _ := h.connect(nil, "").call("search_tools", map[string]any{"query": "write a file, time in a city"})
	for _, part := range []string{want, "- time: all 2 allowed\n", "No person can be asked here",
		"filesystem__write_file(args: {", "time__"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing from\n%s", part, text)
		}
	}
	text, _ = h.connect(says("accept", nil), "").call("search_tools", map[string]any{"query": "write a file"})
	if !strings.Contains(text, want) || !strings.Contains(text, "A person is asked by forms of this client.") ||
		strings.Contains(text, "- time: ") {
		t.Errorf("a client that can ask, and one server:\n%s", text)
	}
}

// A search without words keeps what the tool's description says of it: it names every tool, and declares them only
// where all have room.
func TestASearchWithoutWordsNamesAllTools(t *testing.T) {
	h := open(t, original, server.Options{})
	c := h.connect(nil, "")
	if list := c.listing(); !strings.Contains(list, "Without a query it names all tools.") {
		t.Errorf("the description of search_tools says something else:\n%s", list)
	}
	text, _ := c.call("search_tools", nil)
	for _, tool := range h.evaluator.Tools().ToolInfos() {
		if !strings.Contains(text, tool.Server+"__"+tool.Tool) {
			t.Errorf("%s of %s is missing from\n%s", tool.Tool, tool.Server, text)
		}
	}
}
