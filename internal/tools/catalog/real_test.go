package catalog_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/tools/catalog"
)

// realTools reads the tool lists that real servers gave, by server.
func realTools(t testing.TB) map[string][]catalog.Tool {
	t.Helper()
	files, err := filepath.Glob("testdata/tools/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tool lists in testdata/tools: %v", err)
	}
	out := map[string][]catalog.Tool{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		checktest.OK(t, err)
		var list []struct {
			Name, Title, Description   string
			Input, Output, Annotations json.RawMessage
		}
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		server := strings.TrimSuffix(filepath.Base(f), ".json")
		for _, e := range list {
			tool := catalog.Tool{Raw: e.Name, Title: e.Title, Description: e.Description, Input: e.Input}
			if string(e.Output) != "null" {
				tool.Output = e.Output
			}
			if string(e.Annotations) != "null" {
				tool.Annotations = e.Annotations
			}
			out[server] = append(out[server], tool)
		}
	}
	return out
}

func realCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	c := catalog.New()
	for server, tools := range realTools(t) {
		for _, p := range c.Replace(server, tools) {
			t.Errorf("%s: %s", server, p)
		}
	}
	return c
}

// tsc returns the TypeScript compiler of the npm folder or of the machine.
func tsc(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node to run the TypeScript compiler")
	}
	if dir := os.Getenv("CODEMODE_NPM_SERVERS"); dir != "" {
		if path := filepath.Join(dir, "node_modules", ".bin", "tsc"); exists(path) {
			return path
		}
	}
	path, err := exec.LookPath("tsc")
	if err != nil {
		t.Skip("there is no TypeScript compiler: neither tsc in PATH nor typescript in the node_modules of CODEMODE_NPM_SERVERS")
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// compiles runs tsc --strict over the files, which are name and text in turn.
func compiles(t *testing.T, files ...string) {
	t.Helper()
	path, dir := tsc(t), t.TempDir()
	args := []string{"--strict", "--noEmit", "--target", "es2022", "--lib", "esnext", "--types", ""}
	for pair := range slices.Chunk(files, 2) {
		name := filepath.Join(dir, pair[0])
		checktest.OK(t, os.WriteFile(name, []byte(pair[1]), 0o600))
		args = append(args, name)
	}
	if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		lines := strings.SplitN(string(out), "\n", 21)
		t.Errorf("tsc: %v\n%s", err, strings.Join(lines[:min(20, len(lines))], "\n"))
	}
}

func TestDeclarationsOfRealServersCompile(t *testing.T) {
	text := catalog.Declarations(realCatalog(t).Tools())
	if dump := os.Getenv("CODEMODE_DUMP_DECLARATIONS"); dump != "" {
		checktest.OK(t, os.WriteFile(dump, []byte(text), 0o600))
	}
	compiles(t, "codemode.d.ts", text, "use.ts", `
async function program() {
	const r = await codemode.filesystem__read_text_file({ path: "a.txt", head: 3 });
	const text: string = r.content;
	const tree = await codemode.filesystem__directory_tree();
	const deep: string | undefined = tree.tree[0].children?.[0].children?.[0].name;
	// @ts-expect-error a path is needed
	await codemode.filesystem__read_text_file({});
	// @ts-expect-error there is no such option
	await codemode.time__now({ zone: "UTC" });
	return [text, deep];
}
program();
`)
}
