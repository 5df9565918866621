package catalog_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/sandbox"
)

func filesOf(t *testing.T, tools ...*catalog.Tool) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, f := range catalog.Files(tools) {
		if _, twice := files[f.Name]; twice {
			t.Errorf("there are two files %s", f.Name)
		}
		files[f.Name] = f.Text
	}
	return files
}

func TestEachServerHasAFile(t *testing.T) {
	for name, want := range map[string]string{
		"fs": "fs.d.ts", "git-hub": "git_hub.d.ts", "Fs": "fs.d.ts", "../../etc": "______etc.d.ts",
		"index": "_index.d.ts", "Index": "_index.d.ts", "ü": "ü.d.ts", "a/b\n": "a_b_.d.ts",
	} {
		if got := catalog.FileOf(name); got != want {
			t.Errorf("the file of the server %q is %s, want %s", name, got, want)
		}
	}
	files := filesOf(t, &catalog.Tool{Name: "b__x", Server: "b", Raw: "x"},
		&catalog.Tool{Name: "a__y", Server: "a", Raw: "y"})
	if len(files) != 3 {
		t.Fatalf("got %d files, want 3: %v", len(files), files)
	}
	if both := "/// <reference path=\"./a.d.ts\" />\n/// <reference path=\"./b.d.ts\" />\n"; !strings.Contains(
		files[catalog.Index], both) {
		t.Errorf("the index does not refer to both files:\n%s", files[catalog.Index])
	}
}

// TestFilesSayWhatDeclarationsSay: there is one generator.
func TestFilesSayWhatDeclarationsSay(t *testing.T) {
	c := realCatalog(t)
	of := map[string][]*catalog.Tool{}
	for _, tool := range c.Tools() {
		of[tool.Server] = append(of[tool.Server], tool)
	}
	files := filesOf(t, c.Tools()...)
	for server, tools := range of {
		want := strings.TrimSuffix(catalog.Declarations(tools), "\ndeclare const codemode: Codemode;\n")
		if got := files[catalog.FileOf(server)]; got != want {
			t.Errorf("%s: the file differs from the declarations:\n%s", server, got)
		}
	}
}

func TestFilesLeaveOutWhatWasLearned(t *testing.T) {
	c := catalog.New()
	if problems := c.Replace("s", []catalog.Tool{{Raw: "t", Description: "Gives something."}}); len(problems) > 0 {
		t.Fatal(problems)
	}
	before := filesOf(t, c.Tools()...)["s.d.ts"]
	c.Learn("s__t", c.Tools()[0].Digest, json.RawMessage(`{"a":1}`))
	c.Learn("s__t", c.Tools()[0].Digest, json.RawMessage(`{"a":2}`))
	if text := catalog.Declarations(c.Tools()); !strings.Contains(text, "learned") {
		t.Fatalf("nothing was learned:\n%s", text)
	}
	if after := filesOf(t, c.Tools()...)["s.d.ts"]; after != before {
		t.Errorf("a call changed the file:\n%s", after)
	}
}

// TestFilesOfRealServersCompile also in one text, as codemode types prints them.
func TestFilesOfRealServersCompile(t *testing.T) {
	var files []string
	var all strings.Builder
	for _, f := range catalog.Files(realCatalog(t).Tools()) {
		files = append(files, f.Name, f.Text)
		all.WriteString("// " + f.Name + "\n\n" + f.Text + "\n")
	}
	const program = `async () => {
	const r = await codemode.filesystem__read_text_file({ path: input.path, head: 3 });
	const answer = await codemode.ask_user({ question: "Which?", options: ["a", { label: "b" }], multiple: true });
	if (answer.action !== "accept") throw new ToolError("no");
	// @ts-expect-error there is no such tool
	await codemode.filesystem__nothing();
	// @ts-expect-error there is no fetch
	fetch("x");
	setTimeout(() => console.table([r]), 10);
	try { await codemode.read_resource("docs", "file:///a"); }
	catch (e) { if (e instanceof ToolCallDeniedError) return e.reason.length; }
	return new URL("/x", "https://a.example").searchParams.get("q") ?? [...new URLSearchParams("a=1").keys()];
};
export {};
`
	compiles(t, append(files, "use.ts", program)...)
	compiles(t, "all.d.ts", all.String(), "use.ts", program)
}

// TestGlobalsAreThoseOfTheGuest: what the index declares exists in programs, and what exists there is declared.
func TestGlobalsAreThoseOfTheGuest(t *testing.T) {
	index := filesOf(t)[catalog.Index]
	var declared []string
	global := regexp.MustCompile(`(?m)^declare (?:var|const|class|function) (\w+)`)
	for _, m := range global.FindAllStringSubmatch(index, -1) {
		declared = append(declared, m[1])
	}
	if len(declared) < 20 {
		t.Fatalf("the index declares %q", declared)
	}
	engine, err := sandbox.New(t.Context(), sandbox.Options{})
	checktest.OK(t, err)
	defer engine.Close(t.Context())
	names, err := json.Marshal(declared)
	checktest.OK(t, err)
	result, err := engine.Run(t.Context(), sandbox.Program{Input: names, Source: `
const members = o => Reflect.ownKeys(o).filter(k => typeof k === "string" && /^[a-zA-Z]\w*$/.test(k));
const own = Object.getOwnPropertyNames(globalThis), uses = [];
for (const name of own) {
	uses.push(name + ";");
	const v = globalThis[name];
	if (!input.includes(name) || v === null || v === undefined || name === "codemode") continue;
	const skip = ["length", "name", "prototype", "constructor"];
	const of = typeof v === "function" && v.prototype && Object.getPrototypeOf(v) !== Error ? v.prototype : v;
	if (typeof v === "object" || of !== v) {
		for (const k of members(of)) {
			if (skip.includes(k) || /^[A-Z_]+$/.test(k)) continue;
			uses.push(of === v ? name + "." + k + ";" : "(x: " + name + ") => x." + k + ";");
		}
	}
}
return { missing: input.filter(n => !own.includes(n)), uses: uses.filter(u => !u.startsWith("input")) };`},
		func(context.Context, *sandbox.Call) (json.RawMessage, error) { return nil, nil })
	checktest.OK(t, err)
	var got struct{ Missing, Uses []string }
	checktest.OK(t, json.Unmarshal(result.Value, &got))
	if len(got.Missing) > 0 {
		t.Errorf("the index declares %q, which programs do not have", got.Missing)
	}
	if !slices.Contains(got.Uses, "(x: URL) => x.searchParams;") || !slices.Contains(got.Uses, "console.table;") {
		t.Fatalf("the guest has only %q", got.Uses)
	}
	compiles(t, "index.d.ts", index, "use.ts", strings.Join(got.Uses, "\n")+"\nexport {};\n")
}
