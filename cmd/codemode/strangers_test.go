package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/bench/engine"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/store"
)

// strangers is what servers, programs, clients and files may call themselves or say.
var strangers = []struct{ what, text string }{
	{"line ends and a forged entry",
		"gone\n2026-11-21 12:00:00.000  call     ok        r_1#1  fs__read\r\n  call 2  fs__read\ncodemode: error: forged"},
	{"a carriage return", "evil\rgood"},
	{"other line ends", "a\vb\fc\u0085d\u2028e\u2029f"},
	{"escape sequences", "\x1b[2J\x1b[31m\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x7f\b\b"},
	{"control characters of eight bits", "\u009b31m\u009d0;x\u009c"},
	{"text direction", "\u202egnp.exe\u202c \u2066x\u2069 \u200f"},
	{"tags, zero width, variation selectors", "a\U000E0041\U000E007F\u200b\u200d\ufeff\u2060\ufe0f\U000E0100\u00ad"},
	{"a formula", "=cmd|' /C calc'!A0"},
	{"a formula behind blanks", "\t\r\n =1+1"},
	{"private use", "\ue000\U000F0000"},
	{"a long text", strings.Repeat("very long\n", 300)},
	{"quotation marks and separators", "a\",\"b;c|d=e 'f' `g` <b> %s %d"},
}

// raw gives the first character of a text that must not reach a terminal; -1 if there is none.
func raw(text string) rune {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
			return r
		}
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) {
			return r
		}
	}
	return -1
}

// A stranger is a home in which everything that others may word is worded alike.
type stranger struct {
	config, state string
	runs          string // state folder of the programs that are run
	sick          string // the same configuration with a server that answers with errors
	dir           string
}

func newStranger(t *testing.T, text string) *stranger {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: text, Version: text}, &mcp.ServerOptions{Instructions: text})
	s.AddTool(&mcp.Tool{Name: "fail", Title: text, Description: text, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	s.AddTool(&mcp.Tool{Name: "give", Description: text, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: map[string]any{"text": text, text: 1}}, nil
		})
	up := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true}))
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, text)
	}))
	t.Cleanup(func() { up.CloseClientConnections(); up.Close(); broken.CloseClientConnections(); broken.Close() })
	rule, err := json.Marshal(text)
	checktest.OK(t, err)
	x := &stranger{dir: t.TempDir(), state: t.TempDir(), runs: t.TempDir()}
	config := func(name, servers string) string {
		return write(t, filepath.Join(x.dir, name), fmt.Sprintf(`{"mcpServers": {%s},
"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["up__*"], "denylist": [{"id": "gone", "tool": "up__gone", "when": {"/x": {"eq": %s}}, "reason": %s}]}}}}`,
			servers, rule, rule))
	}
	up1 := fmt.Sprintf(`"up": {"type": "http", "url": %q}`, up.URL)
	x.config = config("codemode.json", up1)
	x.sick = config("sick.json", up1+fmt.Sprintf(`, "broken": {"type": "http", "url": %q}`, broken.URL))
	x.record(t, text)
	return x
}

// record fills the record of a home.
func (x *stranger) record(t *testing.T, text string) {
	t.Helper()
	place, err := recorder.PlaceOf(x.state, nil, func(string) (string, bool) { return "", false })
	checktest.OK(t, err)
	key, err := place.Prepare()
	checktest.OK(t, err)
	value, err := json.Marshal(map[string]string{"text": text, text: text})
	checktest.OK(t, err)
	r := audit.New(audit.Options{Open: place.Open, Key: key,
		Publish: []audit.Publisher{audit.FilePublisher(place.Checkpoints)}})
	for _, e := range []call.Entry{
		{Kind: audit.Run, State: audit.Running}, {Kind: audit.Call, State: audit.Pending, Call: 1},
		{Kind: audit.Approval, State: text, Call: 1},
		{Kind: audit.Call, State: audit.Running, Call: 1}, {Kind: audit.Call, State: audit.Failed, Call: 1},
		{Kind: audit.Call, State: audit.Refused, Call: 2},
		{Kind: audit.Policy, State: text}, {Kind: audit.Access, State: text}, {Kind: audit.Grant, State: text},
		{Kind: audit.Run, State: audit.Failed},
	} {
		e.Run, e.Principal, e.Client, e.Session, e.Role, e.Script = "r_1", text, text, text, text, text
		e.Profile, e.ProfileDigest, e.Server, e.Tool, e.ToolDefinition = text, text, text, text, text
		e.Verdict, e.Risk, e.Reason, e.Detail = text, text, text, text
		e.Rules = []call.EntryRule{{ID: text, At: text, Layer: text, Result: text}}
		e.DecidedBy = &call.DecidedBy{How: text, Channel: text, Principal: text, Scope: text, Grant: text}
		e.Args = &call.EntryArgs{RawProposed: call.Unread(value), RawExecuted: call.Unread(value)}
		e.Result = &call.EntryResult{Raw: value}
		if e.Kind == audit.Run {
			e.Program = &call.EntryProgram{Name: text, Text: "return 1"}
		}
		checktest.OK(t, r.Write(t.Context(), e))
	}
	checktest.OK(t, r.Close(t.Context()))
	db, err := store.Open(t.Context(), place.Store)
	checktest.OK(t, err)
	defer db.Close()
	g := &prompt.Grant{ID: text, Principal: text, Profile: text, Rule: text, Server: text, Name: text, Scope: call.ForTime,
		Created: time.Now(), Expires: time.Now().Add(time.Hour)}
	checktest.OK(t, asking.GrantsIn(db).Give(t.Context(), g))
}

// byChance are lines that are there when a server was found to be down in time.
var byChance = regexp.MustCompile(`(?m)^(codemode: (warn|info): upstream is |    note: it was tried again|warning +server broken: it was tried again)[^\n]*\n`)

// TestStrangersWords says the same in every command with plain words and with hostile ones. No line is added, and
// nothing that moves a cursor, turns text around or hides it is printed.
func TestStrangersWords(t *testing.T) {
	hostile.NotRaced(t, "one goroutine runs commands")
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	t.Setenv("XDG_CACHE_HOME", cachetest.Dir())
	t.Setenv("CODEMODE_CONFIG", "")
	commands := func(x *stranger, text string) map[string][]string {
		input, _ := json.Marshal(text) // a text always can be
		args, _ := json.Marshal(map[string]string{"x": text})
		quoted := string(input)
		calls := write(t, filepath.Join(x.dir, "calls.txt"), fmt.Sprintf("profile p\nallow up__gone %s\n", args))
		past := write(t, filepath.Join(x.dir, "past.jsonl"),
			fmt.Sprintf(`{"kind":"call","state":"running","run":"r_1","call":1,"profile":"p","server":"up","tool":"no__%s","verdict":"ask","rules":[{"id":%s}],"args":%s}`+"\n", quoted[1:len(quoted)-1], quoted, args))
		tools := write(t, filepath.Join(x.dir, "tools.json"), fmt.Sprintf(`{"up": [{"name": "t_%s", "inputSchema": {}}]}`,
			quoted[1:len(quoted)-1]))
		wrong := write(t, filepath.Join(x.dir, "wrong.json"), fmt.Sprintf(`{"limits": {%s: 1}, %s: 2}`, quoted, quoted))
		with := func(rest ...string) []string { return append(rest, "--config", x.config) }
		kept := func(rest ...string) []string { return append(rest, "--config", x.config, "--state", x.state) }
		ran := func(rest ...string) []string { return append(rest, "--config", x.config, "--state", x.runs) }
		return map[string][]string{
			"audit list":             kept("audit", "list"),
			"audit list --json":      kept("audit", "list", "--json"),
			"audit show":             kept("audit", "show", "r_1"),
			"audit show --json":      kept("audit", "show", "r_1", "--json"),
			"audit show, no run":     kept("audit", "show", text),
			"audit list, wrong time": kept("audit", "list", "--since", text),
			"audit report":           kept("audit", "report"),
			"audit report --json":    kept("audit", "report", "--json"),
			"audit verify":           kept("audit", "verify"),
			"audit export, format":   kept("audit", "export", "--format", text),
			"grants":                 kept("approvals", "grants"),
			"grants --json":          kept("approvals", "grants", "--json"),
			"revoke":                 kept("approvals", "revoke", "no "+text),
			"tools":                  {"tools", "--config", x.sick},
			"tools QUERY":            with("tools", "up"),
			"tools --json":           with("tools", "--json"),
			"doctor":                 {"doctor", "--config", x.sick},
			"doctor --json":          with("doctor", "--json"),
			"run, an error":          ran("run", "-e", "await codemode.up__fail({})"),
			"run, a result":          ran("run", "-e", "return await codemode.up__give({})"),
			"run, a thrown text":     ran("run", "-e", "throw new Error(input)", "--input", quoted),
			"run, a named error": ran("run", "-e",
				"class E extends Error {}; const e = new E(input); e.name = input; throw e", "--input", quoted),
			"run, a denial": ran("run", "-e", "await codemode.up__gone({x: input})", "--input", quoted),
			"run --json": ran("run", "--json", "-e", "console.log(input); return await codemode.up__fail({})",
				"--input", quoted),
			"run, no such file":     ran("run", text),
			"run, no such profile":  ran("run", "-e", "1", "--profile", text),
			"check":                 with("check", "-e", "await codemode.up__gone({x: "+quoted+"}); codemode["+quoted+"]({})"),
			"check --json":          with("check", "--json", "-e", "await codemode.up__gone({x: "+quoted+"})"),
			"explain":               with("explain", "p", "up__gone", string(args)),
			"explain, a tool":       with("explain", "p", text, "{}", "--all"),
			"explain --json":        with("explain", "p", "up__gone", string(args), "--json"),
			"explain, a profile":    with("explain", text, "up__gone"),
			"profiles show":         with("profiles", "show", "p"),
			"profiles show --json":  with("profiles", "show", "p", "--json"),
			"profiles show, none":   with("profiles", "show", text),
			"profiles lint":         with("profiles", "lint", "--tools", tools),
			"profiles lint --json":  with("profiles", "lint", "--tools", tools, "--json"),
			"profiles test":         with("profiles", "test", calls),
			"profiles diff":         with("profiles", "diff", x.config+":p", x.config+":p", "--record", past),
			"profiles diff, none":   with("profiles", "diff", text, "p"),
			"profiles replay":       with("profiles", "replay", past),
			"profiles propose":      with("profiles", "propose", text, text),
			"profiles import":       {"profiles", "import", text, past},
			"profiles untrust":      {"profiles", "untrust", text},
			"review":                with("review"),
			"review --accept":       with("review", "--accept", text+"=sha256:123456789012"),
			"login":                 with("login", text),
			"a wrong configuration": {"tools", "--config", wrong},
			"doctor of a wrong one": {"doctor", "--config", wrong},
			"no such command":       {text},
			"no such flag":          {"run", "--" + strings.TrimLeft(text, "=-")},
			"no such configuration": {"tools", "--config", text},
		}
	}
	say := func(t *testing.T, args []string) string {
		var out, errs screen
		runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, args...)
		return byChance.ReplaceAllString(out.String()+errs.String(), "")
	}
	plain := map[string]string{}
	x := newStranger(t, "plain")
	for name, args := range commands(x, "plain") {
		plain[name] = say(t, args)
	}
	for _, of := range strangers {
		t.Run(of.what, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir()) // where nobody has accepted its tools with plain words
			x := newStranger(t, of.text)
			for name, args := range commands(x, of.text) {
				got := say(t, args)
				if r := raw(got); r >= 0 {
					t.Errorf("%s prints U+%04X:\n%q", name, r, got)
				}
				if was, is := strings.Count(plain[name], "\n"), strings.Count(got, "\n"); was != is {
					t.Errorf("%s prints %d lines, and %d with plain words:\n%.1500s\nwith plain words:\n%.1500s", name, is, was, got,
						plain[name])
				}
				if strings.Contains(name, "--json") && !strings.Contains(plain[name], "codemode:") {
					for line := range strings.Lines(got) {
						if strings.HasPrefix(line, "{") && strings.HasSuffix(line, "}\n") && !json.Valid([]byte(line)) {
							t.Errorf("%s prints what is no JSON: %.300q", name, line)
						}
					}
				}
			}
			x.console(t, of.text, say)
			x.exports(t, of.text, say)
		})
	}
}

// console: a message of a program may have lines, which are indented; declarations hold descriptions, in comments.
func (x *stranger) console(t *testing.T, text string, say func(*testing.T, []string) string) {
	input, _ := json.Marshal(text)
	got := say(t, []string{"run", "--config", x.config, "--state", x.runs, "-e", "console.log(input)", "--input",
		string(input)})
	if r := raw(got); r >= 0 {
		t.Errorf("a message of a program prints U+%04X:\n%q", r, got)
	}
	console, ended := strings.CutSuffix(got, "\n\ncalls: none\n")
	if !ended {
		t.Errorf("it does not end with its calls:\n%.2000s", got)
	}
	for i, line := range strings.Split(strings.TrimRight(console, "\n"), "\n") {
		if i > 2 && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "  (cut:") {
			t.Errorf("a message of a program begins the line %q in\n%.2000s", line, got)
		}
	}
	if r := raw(say(t, []string{"tools", "--declarations", "--config", x.config})); r >= 0 {
		t.Errorf("declarations print U+%04X", r)
	}
}

// exports: cells of CSV hold nothing raw and no formula; JSON is JSON and holds what was recorded.
func (x *stranger) exports(t *testing.T, text string, say func(*testing.T, []string) string) {
	export := func(format string) string {
		path := filepath.Join(x.dir, "export."+format)
		say(t, []string{"audit", "export", "--config", x.config, "--state", x.state, "--format", format, "-o", path})
		if said := say(t, []string{"audit", "verify", path, "--config", x.config, "--state",
			x.state}); !strings.Contains(said, "what was written") || strings.Contains(said, "is not what") {
			t.Errorf("the export as %s is not taken for what it is: %s", format, said)
		}
		text, err := os.ReadFile(path)
		checktest.OK(t, err)
		return string(text)
	}
	table := export("csv")
	if r := raw(table); r >= 0 {
		t.Errorf("CSV holds U+%04X", r)
	}
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	checktest.OK(t, err)
	if len(rows) != strings.Count(table, "\n") {
		t.Errorf("%d rows in %d lines", len(rows), strings.Count(table, "\n"))
	}
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsAny(strings.TrimLeft(cell, " ")[:min(1, len(strings.TrimLeft(cell, " ")))],
				"=+-@|%") {
				t.Errorf("a cell is a formula: %q", cell)
			}
		}
	}
	found := false
	for line := range strings.Lines(export("jsonl")) {
		var e audit.Entry
		checktest.OK(t, json.Unmarshal([]byte(line), &e))
		found = found || e.Principal == text || len(text) > 1000 // which is cut
	}
	if !found {
		t.Error("the principal is not what was recorded")
	}
	if !json.Valid([]byte(export("json"))) {
		t.Error("JSON is none")
	}
}

// Lines of the log and of a benchmark.
func TestStrangersWordsElsewhere(t *testing.T) {
	for _, of := range strangers {
		var b bytes.Buffer
		log := cli.NewLogger(&b, slog.LevelInfo)
		log.With(of.text, of.text).Warn("a message of "+of.text, "value", of.text, "error",
			fmt.Errorf("it said: %w", errors.New(of.text)), of.text, 1)
		if got := b.String(); raw(got) >= 0 || strings.Count(got, "\n") != 1 {
			t.Errorf("%s in a log: %.1000q", of.what, got)
		}
		for _, format := range []string{"table", "json", "junit", "markdown"} {
			lines := func(text string) int {
				b.Reset()
				report := engine.OwnReport{Cases: []engine.OwnCase{{File: text, Class: text, Expected: text, Got: "error",
					Detail: text}}}
				checktest.OK(t, report.Write(&b, format, true))
				return strings.Count(b.String(), "\n")
			}
			if was, is := lines("plain"), lines(of.text); was != is || raw(b.String()) >= 0 {
				t.Errorf("%s in a report as %s: %d lines for %d: %.1000q", of.what, format, is, was, b.String())
			}
		}
	}
}
