package codemode_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/sandbox"
)

// pixel is an image of one pixel, as no text of ours may contain it.
var pixel = []byte("\x89PNG\r\n\x1a\n-one-pixel-")

// library is an upstream with tools that answer in every way, and resources. It
// returns its address, and counts what reached it.
func library(t *testing.T) (url string, reached *atomic.Int32) {
	t.Helper()
	reached = new(atomic.Int32)
	s := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1"}, nil)
	tool := func(name string, output json.RawMessage, result *mcp.CallToolResult) {
		def := &mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}
		if output != nil {
			def.OutputSchema = output
		}
		s.AddTool(def, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			reached.Add(1)
			copied := *result
			return &copied, nil
		})
	}
	text := func(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }
	count := json.RawMessage(`{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}`)
	tool("honest", count, &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"count":9007199254740993}`),
		Content: text("x")})
	tool("liar", count, &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"count":"many"}`), Content: text("x")})
	tool("silent", count, &mcp.CallToolResult{Content: text("no structured content")})
	tool("rows", nil, &mcp.CallToolResult{Content: text(`[{"id":1,"name":"Ada"},{"id":2}]`)})
	tool("picture", nil, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a pixel"},
		&mcp.ImageContent{MIMEType: "image/png", Data: pixel}}})
	tool("sound", nil, &mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{MIMEType: "audio/wav",
		Data: []byte("RIFFwave")}}})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		reached.Add(1)
		c := &mcp.ResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: "the text of " + r.Params.URI}
		if strings.HasSuffix(r.Params.URI, ".bin") {
			c.Text, c.MIMEType, c.Blob = "", "application/octet-stream", pixel
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
	}
	for _, uri := range []string{"lib://a.txt", "lib://b.bin"} {
		s.AddResource(&mcp.Resource{URI: uri, Name: uri}, read)
	}
	return mcptest.Serve(t, s), reached
}

// withLibrary is an Evaluator over the library; rest is the end of its configuration.
func withLibrary(t *testing.T, rest string) (*codemode.Evaluator, *atomic.Int32) {
	url, reached := library(t)
	return open(t, fmt.Sprintf(`{"mcpServers": {"my-lib": {"url": %q}}%s}`, url, rest)), reached
}

func TestLargeIntegersKeepTheirDigits(t *testing.T) {
	e, _ := withLibrary(t, "")
	r, err := eval(t, e, "", `const { count } = await codemode.my_lib__honest({}); return { count, next: count + 1n, text: String(count), kind: typeof count }`)
	if want := `{"count":9007199254740993,"next":9007199254740994,"text":"9007199254740993","kind":"bigint"}`; err != nil || string(r.Value) != want {
		t.Errorf("got %s, %v; want %s", r.Value, err, want)
	}
	if text := r.Text(nil); strings.Contains(text, "warning") {
		t.Errorf("an integer beyond 2^53 does not fit its schema:\n%s", text)
	}
}

func TestBlocksStayOnTheHost(t *testing.T) {
	e, _ := withLibrary(t, "")
	hidden := base64.StdEncoding.EncodeToString(pixel)
	for _, row := range []struct {
		name, code string
		blocks     int
	}{
		{"returned inside what the tool gave", `return await codemode.my_lib__picture({})`, 1},
		{"returned by itself", `return (await codemode.my_lib__picture({}))[1]`, 1},
		{"emitted", `const [, image] = await codemode.my_lib__picture({}); await codemode.emit(image); return image.bytes`,
			1},
		{"several emitted", `await codemode.emit([(await codemode.my_lib__picture({}))[1], (await codemode.my_lib__sound({}))[0]])`, 2},
		{"dropped", `await codemode.my_lib__picture({}); return 1`, 0},
		{"a resource that is read", `return await codemode.read_resource("my-lib", "lib://b.bin")`, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, err := eval(t, e, "", "const seen = []; const result = await (async () => {"+row.code+"})(); console.log(JSON.stringify(result)); return result")
			if err != nil || len(r.Blocks) != row.blocks {
				t.Fatalf("%d blocks, want %d; error %v, value %s", len(r.Blocks), row.blocks, err, r.Value)
			}
			if text := r.Text(nil); strings.Contains(text, hidden) {
				t.Errorf("the image was inside the guest:\n%s", text)
			}
			for _, b := range r.Blocks {
				if b.Handle == "" || !json.Valid(b.JSON) {
					t.Errorf("block %+v", b)
				}
			}
		})
	}
}

func TestReadingResourcesIsDecidedAbout(t *testing.T) {
	const read = `codemode.read_resource("my-lib", "lib://a.txt")`
	e, reached := withLibrary(t, `, "evaluation": {"profiles": {
		"tools": {"allowlist": ["my_lib__honest"]},
		"reads": {"allowlist": ["my_lib__read_resource"]},
		"some":  {"allowlist": [{"tool": "my_lib__read_resource", "when": {"/uri": {"prefix": "lib://a"}}}]},
		"denies": {"denylist": ["*__read_resource"]},
		"asks": {"asklist": ["my_lib__*"]}
	}}`)
	for _, row := range []struct{ profile, call, reason string }{
		{"", read, ""},
		{"", `codemode.read_resource({server: "my_lib", uri: "lib://a.txt"})`, ""},
		{"", `codemode.my_lib.read_resource({uri: "lib://a.txt"})`, ""},
		{"reads", read, ""},
		{"some", read, ""},
		{"some", `codemode.read_resource("my-lib", "lib://b.bin")`, "denied"},
		{"tools", read, "denied"},
		{"denies", read, "denied"},
		{"asks", read, "no_approver"},
	} {
		before := reached.Load()
		got := value[refusal](t, e, row.profile, refused(row.call))
		if got.Reason != row.reason || row.reason != "" && got.ToolName != "my_lib__read_resource" {
			t.Errorf("profile %q, %s: got %+v, want reason %q", row.profile, row.call, got, row.reason)
		}
		if happened := reached.Load() > before; happened != (row.reason == "") {
			t.Errorf("profile %q, %s: the upstream was reached: %v", row.profile, row.call, happened)
		}
	}
	if got := value[string](t, e, "", `return (await `+read+`).text`); got != "the text of lib://a.txt" {
		t.Errorf("the text is %q", got)
	}
	if entries := e.Record().Journal().Entries(); len(entries) == 0 ||
		entries[len(entries)-1].Tool != "my_lib__read_resource" {
		t.Errorf("the reading was not recorded: %+v", entries)
	}
	for call, want := range map[string]string{
		`codemode.read_resource("nobody", "x:y")`:          "ToolNotFoundError",
		`codemode.read_resource("my-lib")`:                 "InvalidArgumentsError",
		`codemode.read_resource("my-lib", "lib://none")`:   "ToolError UpstreamError",
		`codemode.my_lib.read_resource({uri: "x", y: 1})`:  "InvalidArgumentsError",
		`codemode.read_resource("filesystem", "file:///")`: "ToolError UpstreamError",
	} {
		if got := value[refusal](t, e, "", refused(call)); !strings.Contains(want, got.Name) {
			t.Errorf("%s: got %+v, want %s", call, got, want)
		}
	}
}

func TestOutputValidation(t *testing.T) {
	for _, row := range []struct {
		config          string
		throws, warning bool
	}{
		{config: "", warning: true},
		{config: `, "outputValidation": "warn"`, warning: true},
		{config: `, "outputValidation": "off"`},
		{config: `, "outputValidation": "strict"`, throws: true},
	} {
		t.Run(row.config, func(t *testing.T) {
			e, reached := withLibrary(t, row.config)
			r, err := eval(t, e, "", `
				const out = [];
				for (const name of ["honest", "liar", "liar", "silent"]) {
					try { await codemode["my_lib__" + name]({}); out.push("ok") }
					catch (e) { out.push([e.name, e instanceof InvalidResultError, e.toolName, e.path, e.expected, e.got].join("|")) }
				}
				return out;`)
			if err != nil {
				t.Fatalf("%s", r.Text(err))
			}
			want := `["ok","ok","ok","ok"]`
			if row.throws {
				liar := `"InvalidResultError|true|my_lib__liar|/count|an integer|the string \"many\""`
				want = `["ok",` + liar + `,` + liar + `,"InvalidResultError|true|my_lib__silent||structured content|none"]`
			}
			if string(r.Value) != want {
				t.Errorf("got  %s\nwant %s", r.Value, want)
			}
			if reached.Load() != 4 {
				t.Errorf("%d calls happened, want 4", reached.Load())
			}
			text := r.Text(nil)
			for _, line := range []string{
				"  warning: my_lib__liar (2 calls): its result does not fit its output schema: /count: expected an integer, got the string \"many\"\n",
				"  warning: my_lib__silent: its result does not fit its output schema: the result: expected structured content, got none\n",
			} {
				if strings.Contains(text, line) != row.warning {
					t.Errorf("a warning: want %v, in\n%s", row.warning, text)
				}
			}
			if row.throws && !strings.Contains(text, "failed (InvalidResultError)") {
				t.Errorf("the calls are not listed as failed:\n%s", text)
			}
		})
	}
}

func TestOutputValidationOfOneServer(t *testing.T) {
	url, _ := library(t)
	e := open(t, fmt.Sprintf(`{"outputValidation": "strict", "mcpServers": {"my-lib": {"url": %q, "outputValidation": "off"}}}`, url))
	if got := value[map[string]any](t, e, "", `return await codemode.my_lib__liar({})`); got["count"] != "many" {
		t.Errorf("got %v", got)
	}
}

func TestAResultTypeIsLearnedFromTheFirstCalls(t *testing.T) {
	e, _ := withLibrary(t, "")
	const declared = `(await codemode.get_tools(["my_lib__rows"]))`
	got := value[[]string](t, e, "",
		`const before = `+declared+`; await codemode.my_lib__rows({}); await codemode.my_lib__rows({}); return [before, `+declared+`]`)
	if !strings.Contains(got[0], "Promise<string | object | Block[]>") {
		t.Errorf("before: %s", got[0])
	}
	if !strings.Contains(got[1], "Promise<{ id: number; name?: string }[]>; // learned from its first results") ||
		strings.Contains(got[1], "Ada") {
		t.Errorf("afterwards: %s", got[1])
	}
}

func TestACheckShowsReadingsOfResources(t *testing.T) {
	e, reached := withLibrary(t,
		`, "evaluation": {"profiles": {"some": {"allowlist": [{"tool": "my_lib__read_resource", "when": {"/uri": {"prefix": "lib://a"}}}]}}}`)
	plan, err := e.Check(t.Context(), codemode.Request{Profile: "some", Code: `
		await codemode.read_resource({server: "my-lib", uri: "lib://a.txt"});
		await codemode.read_resource({server: "my-lib", uri: "lib://b.bin"});
		await codemode.read_resource("my-lib", input.uri);
		await codemode.read_resource(input.server, "lib://a.txt");
		await codemode.search_tools("x");`})
	must(t, err)
	var got []string
	for _, c := range plan.Calls {
		got = append(got, fmt.Sprintf("%d %s %s", c.Line, c.Tool, c.Verdict))
	}
	want := "2 my_lib__read_resource allow, 3 my_lib__read_resource deny, 4 my_lib__read_resource depends"
	if s := strings.Join(got, ", "); s != want || len(plan.Dynamic) != 1 || plan.Dynamic[0].Line != 5 {
		t.Errorf("got  %s; dynamic %v\nwant %s", s, plan.Dynamic, want)
	}
	if reached.Load() != 0 {
		t.Error("a check read a resource")
	}
}

func TestAnInputThatIsNotJSON(t *testing.T) {
	e := open(t, rules)
	for _, input := range []string{"not json", "[1,", "{} x", "NaN"} {
		_, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: "return input", Input: json.RawMessage(input)})
		if err == nil || !strings.Contains(err.Error(), "not started: the input is not JSON: ") {
			t.Errorf("%s: got %v", input, err)
		}
	}
}

// Whoever embeds an Evaluator prints r.Text(err) without looking at either, as the README does.
func TestEveryAnswerOfEvalHasAText(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["time__*"]}, "checked": {"requirePreflight": true}}}}`)
	closed := open(t, `{}`)
	must(t, closed.Close(t.Context()))
	for _, tt := range []struct {
		name string
		e    *codemode.Evaluator
		r    codemode.Request
		want string
	}{
		{"a value", e, codemode.Request{Profile: "p", Code: "return 6 * 7"}, "42\n"},
		{"a mistake", e, codemode.Request{Profile: "p", Code: "return ("}, "The program was not started.\n"},
		{"an exception", e, codemode.Request{Profile: "p", Code: "throw new Error('no')"}, "error (threw): Error: no\n"},
		{"an unknown profile", e, codemode.Request{Profile: "none", Code: "return 1"},
			"error: there is no profile \"none\"; there are checked, p\n"},
		{"an unknown saved program", e, codemode.Request{Script: "none.ts"}, "error: "},
		{"a role that is too long", e, codemode.Request{Profile: "p", Code: "return 1", Role: strings.Repeat("x", 10000)},
			"error: the role has"},
		{"a program that was not checked", e, codemode.Request{Profile: "checked", Code: "return 1"},
			"error: The program was not started (preflight_missing)"},
		{"an evaluator that is closed", closed, codemode.Request{Code: "return 1"}, "error: "},
	} {
		r, err := tt.e.Eval(t.Context(), tt.r)
		if r == nil {
			t.Errorf("%s: there is no response", tt.name)
			continue
		}
		text := r.Text(err)
		if !strings.HasPrefix(text, tt.want) {
			t.Errorf("%s: got %q, want %q first", tt.name, text, tt.want)
		}
		if began := r.Run != ""; !began && strings.Contains(text, "calls:") {
			t.Errorf("%s: it speaks of calls of a program that did not begin:\n%s", tt.name, text)
		}
	}
}

func TestTextOfNoResponse(t *testing.T) {
	var r *codemode.Response
	if got := r.Text(errors.New("it is gone\nask again")); got != "error: it is gone\nask again\n" {
		t.Errorf("got %q", got)
	}
	if got := r.Text(nil); got == "" {
		t.Error("there is no text without an error")
	}
}

// A program that was given nothing has an input all the same: it can test for it.
func TestInputIsUndefinedWhenLeftOut(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {}}}}`)
	for code, want := range map[string]string{
		"return input === undefined":                                      "true",
		"return input?.days ?? 7":                                         "7",
		"return typeof input + ' ' + ('input' in globalThis)":             `"undefined true"`,
		"const {days = 7} = input ?? {}; return days":                     "7",
		"input = 3; return input":                                         "3",
		"const own = () => { let input = 1; return input }; return own()": "1",
		"let input = 5; return input":                                     "5",
	} {
		r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: code})
		if err != nil || string(r.Value) != want {
			t.Errorf("%s: got %s, want %s", code, r.Text(err), want)
		}
	}
	r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: "return input.days",
		Input: json.RawMessage(`{"days": 3}`)})
	if err != nil || string(r.Value) != "3" {
		t.Errorf("with an input: %s", r.Text(err))
	}
}

// The same deterministic request gives the same, when calls are answered at once and when a person takes so long that
// the run is parked and its answers come in another order.
func TestDeterministicRequests(t *testing.T) {
	up := newPerformed(t)
	e, _ := newReplica(t, fleetFolder(t, up, `"codemode.db"`))
	defer e.Close(context.WithoutCancel(t.Context()))
	request := codemode.Request{
		Code: `const log: unknown[] = [];
			const asked = codemode.up__second({n: 1}).then(() => log.push("asked", Date.now()));
			const first = codemode.up__first({n: 2}).then(() => log.push("allowed", Math.random()));
			await Promise.all([asked, first]); console.log(log.length);
			await new Promise(r => setTimeout(r, 3_600_000));
			return [log, new Date(), crypto.randomUUID(), input]`,
		Input:         json.RawMessage(`{"x": 1}`),
		Deterministic: &codemode.Deterministic{Seed: 1 << 63, Start: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)},
	}
	run := func(profile string) string {
		t.Helper()
		r := request
		r.Profile, r.Channels = profile, []approvals.Channel{slowly()}
		resp, err := e.Eval(t.Context(), r)
		if err != nil || resp.Usage.Steps == 0 {
			t.Fatalf("got %s, %v after %d steps", resp.Value, err, resp.Usage.Steps)
		}
		return fmt.Sprint(string(resp.Value), resp.Console, resp.Usage.Steps)
	}
	allowed := run("q")
	if asked := run("p"); asked != allowed {
		t.Errorf("a run whose first call was asked about gave\n%s\nwant\n%s", asked, allowed)
	}
	request.Deterministic = &codemode.Deterministic{Steps: 300}
	_, err := e.Eval(t.Context(), request)
	if ended, ok := errors.AsType[*sandbox.Error](err); !ok || ended.Kind != sandbox.TooManySteps {
		t.Errorf("with 300 steps allowed it ended with %v", err)
	}
}
