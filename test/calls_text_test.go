package codemode_test

import (
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
)

// callsOf is the list of calls in what a model reads of a run.
func callsOf(t *testing.T, e *codemode.Evaluator, r codemode.Request) string {
	t.Helper()
	response, err := e.Eval(t.Context(), r)
	if response == nil {
		t.Fatal(err)
	}
	_, calls, _ := strings.Cut(response.Text(err), "\ncalls: ")
	return calls
}

const noSecrets = `{"evaluation": {"profiles": {"p": {"denylist": [{"id": "no-secret", "tool": "filesystem__write_file", "when": {"/path": {"glob": "secret*"}}}]}}}}`

func TestEqualCallsShareALineAndWhatMattersComesFirst(t *testing.T) {
	got := callsOf(t, open(t, noSecrets), codemode.Request{Profile: "p", Code: `
		const read = path => codemode.filesystem__read_text_file({ path }).catch(() => "");
		const write = path => codemode.filesystem__write_file({ path, content: "x" }).catch(() => "");
		for (let i = 0; i < 150; i++) await read("a.md");
		for (let i = 0; i < 9; i++) await write("w" + i);
		for (const path of ["m1", "m2", "secret1", "secret2"]) await (path[0] === "m" ? read : write)(path);
		for (let i = 0; i < 50; i++) await codemode.time__now({});
		return 1`})
	want := `213 (209 done, 2 refused, 2 failed)
  160-161. filesystem__read_text_file x2 failed (ToolError):
    160. m1: it does not exist
    161. m2: it does not exist
  162-163. filesystem__write_file x2 refused (denied): profile p: the profile denies it (rule no-secret, codemode.json:1)
  151-159. filesystem__write_file x9 done
  1-150. filesystem__read_text_file x150 done
  164-213. time__now x50 done
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// However many calls went wrong, in however many ways, the list has the writes.
func TestWritesAreListedHoweverManyCallsFailed(t *testing.T) {
	got := callsOf(t, open(t, `{"limits": {"resultBytes": 4096}, "evaluation": {"profiles": {"p": {}}}}`), codemode.Request{Profile: "p", Code: `
		await codemode.filesystem__write_file({ path: "w", content: "x" });
		for (let i = 0; i < 300; i++) await codemode["filesystem__no_" + i]({}).catch(() => 0);
		return 1`})
	for _, part := range []string{"301 (1 done, 300 failed)", "1. filesystem__write_file done\n",
		" more are not listed)\n"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing from\n%s", part, got)
		}
	}
	if len(got) > 2048 {
		t.Errorf("the list has %d bytes", len(got))
	}
}

func TestAProgramThatThrewSaysWhatIsDone(t *testing.T) {
	e := open(t, noSecrets)
	for _, tt := range []struct{ name, code, want string }{
		{"after some of its writes", `
			await codemode.filesystem__read_text_file({ path: "a.md" });
			for (const path of ["w1", "w2", "w3", "secret", "w4"]) await codemode.filesystem__write_file({ path, content: "x" });`,
			`5 (4 done, 1 refused); what is done is not undone
  5. filesystem__write_file refused (denied): profile p: the profile denies it (rule no-secret, codemode.json:1)
  2-4. filesystem__write_file x3 done
  1. filesystem__read_text_file done
`},
		{"after it has read", `await codemode.filesystem__read_text_file({ path: "a.md" }); null.x`,
			`1 (1 done); they only read, as their servers say
  1. filesystem__read_text_file done
`},
		{"before anything", `null.x; await codemode.time__now({})`, "none\n"},
		{"when nothing got through", `await codemode.filesystem__write_file({ path: "secret", content: "x" })`,
			`1 (1 refused)
  1. filesystem__write_file refused (denied): profile p: the profile denies it (rule no-secret, codemode.json:1)
`},
	} {
		if got := callsOf(t, e, codemode.Request{Profile: "p", Code: tt.code}); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestEachCallIsListedOnRequest(t *testing.T) {
	got := callsOf(t, open(t, noSecrets), codemode.Request{Profile: "p", EveryCall: true,
		Code: `for (let i = 0; i < 250; i++) await codemode.time__now({})`})
	if lines := strings.Split(strings.TrimSpace(got), "\n"); len(lines) != 251 ||
		!strings.HasPrefix(lines[250], "  250. time__now done in ") {
		t.Errorf("got\n%s", got)
	}
}
