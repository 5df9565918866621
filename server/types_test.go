package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/server"
)

// resources names the resources that a client sees, in their order.
func (c *client) resources() string {
	c.t.Helper()
	var names []string
	for r, err := range c.Resources(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		names = append(names, r.URI)
	}
	return strings.Join(names, " ")
}

// read returns the text of a resource, or the error.
func (c *client) read(uri string) string {
	c.t.Helper()
	res, err := c.ReadResource(c.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return err.Error()
	}
	if len(res.Contents) != 1 || res.Contents[0].URI != uri {
		c.t.Fatalf("reading %s gives %+v", uri, res.Contents)
	}
	return res.Contents[0].Text
}

const (
	onlyIndex = "codemode://types/index.d.ts"
	allTypes  = onlyIndex + " codemode://types/filesystem.d.ts codemode://types/time.d.ts"
)

// The declarations are resources: what get_tools says about a server, and an index, on both versions of the protocol.
func TestDeclarationsAreResources(t *testing.T) {
	h := open(t, `{"evaluation": {"defaultProfile": "p", "profiles": {
		"p": {"denylist": ["filesystem__write_*", "filesystem__delete_*"]}}}}`,
		server.Options{})
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		c := h.connectHTTPOn(h.listen(), nil, version)
		if got := c.resources(); got != allTypes {
			t.Errorf("%s: there are %s", version, got)
		}
		declared, _ := c.call("get_tools", map[string]any{"names": []string{"filesystem"}})
		file := c.read("codemode://types/filesystem.d.ts")
		if want, ok := strings.CutSuffix(declared, "\ndeclare const codemode: Codemode;\n"); !ok || file != want {
			t.Errorf("%s: the resource differs from get_tools\n%s\n%s", version, file, declared)
		}
		if strings.Contains(file, "write_file") || !strings.Contains(file, "read_text_file") {
			t.Errorf("%s: the profile does not decide what is declared:\n%s", version, file)
		}
		index := c.read(onlyIndex)
		for _, part := range []string{`<reference path="./filesystem.d.ts" />`, "declare const codemode: Codemode;"} {
			if !strings.Contains(index, part) {
				t.Errorf("%s: %q is missing from the index", version, part)
			}
		}
		for _, uri := range []string{"codemode://types/nothing.d.ts", "codemode://types/", "codemode://types/../x",
			"codemode://types/filesystem.d.ts?x", "file:///etc/passwd"} {
			if text := c.read(uri); !strings.Contains(text, "not found") {
				t.Errorf("%s: %s gives %s", version, uri, text)
			}
		}
	}
}

// A caller over HTTP reads the declarations of its own profiles, and an overlay hides tools from it.
func TestEachCallerReadsItsOwnDeclarations(t *testing.T) {
	h := open(t, `{"evaluation": {"profiles": {"p": {}, "clock": {"allowlist": ["time__*"]}},
		"overlays": [{"id": "contractor", "principal": "anna", "denylist": ["filesystem__*"]}]},
		"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${CARL}", "profiles": ["clock"]}]}}`,
		server.Options{})
	h.variables = map[string]string{"ANNA": annasToken, "CARL": carlsToken}
	url := h.listen()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		anna, carl := h.connectHTTPAs(url, annasToken, version), h.connectHTTPAs(url, carlsToken, version)
		if text := anna.read("codemode://types/filesystem.d.ts"); text != "interface Codemode {\n}\n" {
			t.Errorf("%s: an overlay denies all of filesystem, and anna reads\n%s", version, text)
		}
		if text := anna.read("codemode://types/time.d.ts"); !strings.Contains(text, "time__now") {
			t.Errorf("%s: anna reads\n%s", version, text)
		}
		if got := carl.resources(); got != onlyIndex+" codemode://types/time.d.ts" {
			t.Errorf("%s: carl sees %s", version, got)
		}
		if text := carl.read("codemode://types/filesystem.d.ts"); !strings.Contains(text, "not found") {
			t.Errorf("%s: carl reads\n%s", version, text)
		}
	}
}

// A configuration that does not expose get_tools offers no declarations; one that does later tells its clients.
func TestDeclarationsAreOfferedWithGetTools(t *testing.T) {
	const without = `{"evaluation": {"profiles": {"p": {}}, "expose": ["p", "search_tools"]}}`
	h := open(t, without, server.Options{})
	changed := make(chan struct{}, 10)
	c := h.connectWith(nil, "", func(o *mcp.ClientOptions) {
		o.ResourceListChangedHandler = func(_ context.Context, _ *mcp.ResourceListChangedRequest) { changed <- struct{}{} }
	})
	if got := c.resources() + c.read(onlyIndex); !strings.Contains(got, "not found") || strings.Contains(got, "codemode") {
		t.Errorf("there are %s", got)
	}
	h.write(`{"evaluation": {"profiles": {"p": {}}, "expose": ["p", "get_tools"]}}`)
	select {
	case <-changed:
	case <-time.After(30 * time.Second):
		t.Fatal("nobody told the client")
	}
	if got := c.resources(); got != allTypes {
		t.Errorf("then there are %s", got)
	}
	h.write(without)
	eventually(t, "the end of the resources", func() bool { return c.resources() == "" })
}
