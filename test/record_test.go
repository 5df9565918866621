package codemode_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
)

// recorded keeps the record of an Evaluator in a folder, and gives the folder.
func recorded(dir string) func(*codemode.Options) {
	return func(o *codemode.Options) { o.RecordDir = dir }
}

// readRecord reads all of a record, whether or not it is in use.
func readRecord(t testing.TB, dir string) []*audit.Entry {
	t.Helper()
	db, err := store.Open(context.Background(), store.Options{Path: filepath.Join(dir, "codemode.db"), ReadOnly: true})
	must(t, err)
	defer db.Close()
	var all []*audit.Entry
	must(t, audit.Entries(context.Background(), db, store.Query{}, func(e *audit.Entry) error {
		all = append(all, e)
		return nil
	}))
	return all
}

// A careless upstream answers some calls, and loses others before or behind what they do.
type careless struct {
	url string

	mu  sync.Mutex
	did map[int]int // how often each call was performed
}

func newCareless(t *testing.T) *careless {
	t.Helper()
	c := &careless{did: map[int]int{}}
	s := mcp.NewServer(&mcp.Implementation{Name: "careless", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "do",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args struct{ N int }
			if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
				return nil, err
			}
			c.mu.Lock()
			c.did[args.N]++
			c.mu.Unlock()
			if args.N%11 == 7 {
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "it did not work"}}}, nil
			}
			return &mcp.CallToolResult{StructuredContent: map[string]any{"n": args.N}}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var call struct {
			Method string
			Params struct{ Arguments struct{ N int } }
		}
		_ = json.Unmarshal(body, &call)
		n := call.Params.Arguments.N
		switch {
		case call.Method == "tools/call" && n%13 == 3: // lost on the way
			panic(http.ErrAbortHandler)
		case call.Method == "tools/call" && n%13 == 5: // the answer is lost
			handler.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// TestRecordEqualsUpstreamsLog compares what an upstream says it did with what the record says, call by call.
func TestRecordEqualsUpstreamsLog(t *testing.T) {
	runs, calls := 8, 150
	if os.Getenv("CODEMODE_LONG") != "" {
		runs, calls = 125, 800
	}
	c, dir := newCareless(t), t.TempDir()
	e := open(t, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q}}, "limits":{"cpu":"10m","wall":"1h"}, "evaluation":{"profiles":{"p":{"denylist":[{"id":"no","tool":"up__do","when":{"/deny":{"eq":true,"ifMissing":"noMatch"}}}]}}}}`, c.url), recorded(dir))
	eventually(t, "the server being there", func() bool {
		r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Principal: "first",
			Code: `return await codemode.up__do({n: -1}).then(() => 1, () => 0)`})
		return err == nil && string(r.Value) == "1"
	})
	var wg sync.WaitGroup
	limit := make(chan struct{}, 4)
	for i := range runs {
		limit <- struct{}{}
		wg.Go(func() {
			defer func() { <-limit }()
			code := fmt.Sprintf(`const all = []; for (let i = 0; i < %d; i++) { const n = %d + i;
				all.push(codemode.up__do(n %% 10 === 9 ? {n, deny: true} : {n}).then(() => 1, () => 0)); }
				return (await Promise.all(all)).length`, calls, i*calls)
			if r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: code}); err != nil {
				t.Errorf("run %d: %s", i, r.Text(err))
			}
		})
	}
	wg.Wait()
	must(t, e.Close(t.Context()))

	states := map[int][]string{}
	args := map[string]int{} // of calls
	refused := 0
	for _, entry := range readRecord(t, dir) {
		if entry.Kind != audit.Call || entry.Principal == "first" {
			continue
		}
		call := fmt.Sprintf("%s#%d", entry.Run, entry.Call)
		switch entry.State {
		case audit.Refused:
			refused += max(1, entry.Count)
			continue
		case audit.Running:
			var a struct{ N int }
			must(t, json.Unmarshal(entry.Args.Redacted, &a))
			args[call] = a.N
		}
		states[args[call]] = append(states[args[call]], entry.State)
	}
	count, late := map[string]int{}, 0
	for n := range runs * calls {
		s := states[n]
		if n%10 == 9 {
			if s != nil || c.did[n] != 0 {
				t.Errorf("call %d, which is denied, is recorded as %v and was performed %d times", n, s, c.did[n])
			}
			continue
		}
		if len(s) != 2 || s[0] != audit.Running {
			t.Errorf("call %d is recorded as %v", n, s)
			continue
		}
		count[s[1]]++
		ok := map[string]bool{
			audit.OK: c.did[n] == 1 && n%11 != 7, audit.Failed: c.did[n] == 1 && n%11 == 7,
			audit.Unknown: c.did[n] <= 1, audit.NotSent: c.did[n] == 0,
		}
		if s[1] == audit.Unknown && n%13 != 3 && n%13 != 5 {
			late++ // on a loaded machine an answer may come after its time
		}
		if !ok[s[1]] {
			t.Errorf("call %d is recorded as %v and was performed %d times", n, s, c.did[n])
		}
	}
	if late > runs*calls/100 {
		t.Errorf("the outcome of %d calls that were answered is unknown", late)
	}
	if want := runs * calls / 10; refused != want {
		t.Errorf("%d refusals are recorded, want %d", refused, want)
	}
	for n := range c.did {
		if states[n] == nil && n >= 0 {
			t.Errorf("call %d was performed and is not recorded", n)
		}
	}
	t.Logf("%d calls: %v, %d refused", runs*calls, count, refused)
}

// TestNoRecordNoCall takes the record away: nothing is written by the filesystem server until it is back.
func TestNoRecordNoCall(t *testing.T) {
	dir := t.TempDir()
	var root string
	e := open(t, `{}`, recorded(dir), func(o *codemode.Options) { root = o.Root })
	write := func(name string) (*codemode.Response, error) {
		return e.Eval(t.Context(),
			codemode.Request{Unrestricted: true, Code: fmt.Sprintf(`await codemode.filesystem__write_file({path: %q, content: "x"}); return 1`,
				name)})
	}
	if r, err := write("before.txt"); err != nil {
		t.Fatal(r.Text(err))
	}
	db := filepath.Join(dir, "codemode.db")
	must(t, os.Rename(db, db+".away"))
	r, err := write("meanwhile.txt")
	if err == nil || !strings.Contains(err.Error(), "could not be recorded") ||
		!strings.Contains(err.Error(), "was deleted") {
		t.Errorf("without a record: %v\n%s", err, r.Text(err))
	}
	if _, err := os.Stat(filepath.Join(root, "meanwhile.txt")); err == nil {
		t.Error("the call was made though it was not recorded")
	}
	if r, err := e.Eval(t.Context(), codemode.Request{Unrestricted: true, Code: `return 6 * 7`}); err != nil || string(r.Value) != "42" {
		t.Errorf("a program that calls nothing: %v", err)
	}
	must(t, os.Rename(db+".away", db))
	r, err = write("after.txt") // it may take a moment until it is known that the record is back
	testwait.Holds(func() bool {
		if err != nil {
			r, err = write("after.txt")
		}
		return err == nil
	})
	if err != nil {
		t.Errorf("with the record back: %s", r.Text(err))
	}
	if _, err := os.Stat(filepath.Join(root, "after.txt")); err != nil {
		t.Error(err)
	}
}

// TestFloodIsCounted lets a program be refused 10,000 times.
func TestFloodIsCounted(t *testing.T) {
	dir := t.TempDir()
	e := open(t, `{"limits":{"calls":20000},"evaluation":{"profiles":{"p":{"denylist":["filesystem__*"],"limits":{"calls":20000}}}}}`, recorded(dir))
	r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: `let n = 0;
		for (let i = 0; i < 10000; i++) await codemode.filesystem__read_text_file({path: "a" + i}).catch(() => n++); return n`})
	if err != nil || string(r.Value) != "10000" {
		t.Fatal(r.Text(err))
	}
	must(t, e.Close(t.Context()))
	lines, count := 0, 0
	all := readRecord(t, dir)
	for _, entry := range all {
		if entry.State == audit.Refused {
			lines++
			count += max(1, entry.Count)
		}
	}
	if len(all) > 100 || count != 10000 {
		t.Errorf("%d entries, %d of refusals, which count %d; want at most 100 and 10000", len(all), lines, count)
	}
}

// TestSecretsStayOut looks for secrets of every origin in everything that is on the disk afterwards.
func TestSecretsStayOut(t *testing.T) {
	secret := func(what string) string { return "canary-" + what + "-5d8f0c71aa" }
	var mu sync.Mutex
	seen := ""
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "login", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: map[string]any{"user": "anna",
				"session": map[string]any{"token": secret("result")}}}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = r.Header.Get("X-Api-Key") + r.Header.Get("Authorization")
		mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	var log testwait.Buffer
	e := open(t, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q,"headers":{"X-Api-Key":%q,"Authorization":"Bearer ${TOKEN}"}},
		"local":{"command":"/nonexistent/server","env":{"SOME_SETTING":%q,"API_KEY":"${TOKEN}"}}}}`, server.URL, secret("header"), secret("config")), recorded(dir),
		func(o *codemode.Options) {
			o.Log = log.Logger()
			o.Env = func(name string) (string, bool) { return secret("env"), name == "TOKEN" }
		})
	code := fmt.Sprintf(`const secret = %q;
		const r = await codemode.up__login({user: "anna", password: secret, nested: [{api_key: %q}], headers: {Authorization: "Bearer " + %q}});
		console.log(%q);
		const again = await codemode.up__login({note: r.session.token, text: "x " + secret + " y", config: %q}).catch(e => String(e));
		await codemode.up__login("not " + secret).catch(e => 0);
		if (input) throw new Error("failed with " + r.session.token + secret);
		return {value: r.session.token, said: secret, again}`, secret("argument"), secret("nested"), secret("bearer"), secret("env"), secret("config"))
	for _, input := range []string{"false", "true"} {
		_, _ = e.Eval(t.Context(), codemode.Request{Unrestricted: true, Code: code, Input: json.RawMessage(input)})
	}
	must(t, e.Close(t.Context()))
	if !strings.Contains(seen, secret("header")) || !strings.Contains(seen, secret("env")) {
		t.Fatalf("the upstream got the headers %q: the test shows nothing", seen)
	}
	var files []string
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	export := filepath.Join(dir, "export.csv")
	exportCSV(t, dir, export)
	for _, path := range append(files, export) {
		raw, err := os.ReadFile(path)
		must(t, err)
		if at := bytes.Index(raw, []byte("canary")); at >= 0 {
			t.Errorf("%s holds …%s…", filepath.Base(path), raw[max(0, at-300):min(len(raw), at+60)])
		}
	}
	if s := log.String(); strings.Contains(s, "canary") {
		t.Errorf("the log holds it: %s", s)
	}
	if n := len(readRecord(t, dir)); n < 12 {
		t.Errorf("only %d entries: the test shows nothing", n)
	}
}

func exportCSV(t *testing.T, dir, to string) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "codemode.db"), ReadOnly: true})
	must(t, err)
	defer db.Close()
	key, err := audit.LoadKey(filepath.Join(dir, "record.key"))
	must(t, err)
	var b bytes.Buffer
	if _, err := audit.Export(t.Context(), &b, db, key, audit.CSV, store.Query{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	must(t, os.WriteFile(to, b.Bytes(), 0o600))
}

// TestWhoDecided makes calls that are decided in every way there is.
func TestWhoDecided(t *testing.T) {
	dir := t.TempDir()
	e := open(t, `{"evaluation":{"floor":"house","profiles":{
		"house":{"denylist":[{"id":"house-rule","tool":"filesystem__delete_file"}],"unmatched":"allow"},
		"p":{"denylist":[{"id":"no-moves","tool":"filesystem__move_file"}],"asklist":["filesystem__write_file","filesystem__create_directory"],"unmatched":"allow","limits":{"asks":2}},
		"q":{"asklist":["filesystem__write_file"],"elicitationFallback":"allow"}}}}`, recorded(dir))
	p := &person{answer: func(_ context.Context, r *prompt.Request) (call.Answer, error) {
		if r.Tool == "write_file" {
			return yes, nil
		}
		return no, nil
	}}
	eval := func(profile, code string, people ...approvals.Channel) {
		t.Helper()
		if _, err := e.Eval(t.Context(), codemode.Request{Profile: profile, Code: code, Channels: people,
			Principal: "local:anna"}); err != nil {
			t.Fatal(err)
		}
	}
	eval("p", `const no = () => 0;
		await codemode.time__now({});
		await codemode.filesystem__delete_file({path: "a.md"}).catch(no);
		await codemode.filesystem__move_file({source: "a.md", destination: "c.md"}).catch(no);
		await codemode.filesystem__write_file({path: "new.md", content: "n"});
		await codemode.filesystem__create_directory({path: "d"}).catch(no);
		await codemode.filesystem__write_file({path: "more.md", content: "n"}).catch(no);
		await codemode.filesystem__wrong({}).catch(no)`, p)
	eval("q", `await codemode.filesystem__write_file({path: "fallback.md", content: "n"}).catch(() => 0)`)
	must(t, e.Close(t.Context()))
	var got []string
	for _, entry := range readRecord(t, dir) {
		if entry.Kind == audit.Call && (entry.State == audit.Running || entry.State == audit.Refused) {
			got = append(got, strings.TrimSpace(fmt.Sprint(entry.State, " ", entry.DecidedBy.How, " ", entry.Reason)))
			if entry.Args == nil {
				continue // there was no such tool
			}
			if asked := entry.DecidedBy.How == "person"; asked != (entry.Args.Shown != "") ||
				entry.State == audit.Running && entry.Args.Executed != entry.Args.Proposed {
				t.Errorf("%s of %s: arguments %+v", entry.State, entry.Tool, entry.Args)
			}
		}
	}
	want := []string{"running default", "refused floor denied", "refused rule denied", "running person",
		"refused person elicitation_declined",
		"refused limit limit", "refused error ToolNotFoundError", "running fallback"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestStoreConfiguration(t *testing.T) {
	for _, row := range []struct{ config, want string }{
		{`{}`, "/s/codemode.db full /s/record.key /s/checkpoints.jsonl"},
		{`{"store":"/elsewhere/r.db"}`, "/elsewhere/r.db full /s/record.key /s/checkpoints.jsonl"},
		{`{"store":"postgres://db/x"}`, "postgres://db/x full /s/record.key /s/checkpoints.jsonl"},
		{`{"store":{"url":"postgres://u:${PW}@db/x","key":"/k","checkpoints":{"file":"/c"}}}`,
			"postgres://u:pw@db/x full /k /c"},
		{`{"store":{"path":"${DIR:-sub}/r.db","durability":"normal"}}`,
			"/s/sub/r.db normal /s/record.key /s/checkpoints.jsonl"},
		{`{"store":{"url":"mysql://db/x"}}`, "error: must begin with postgres://"},
		{`{"store":{"url":"postgres://db/x","path":"y"}}`, "error: is for SQLite and"},
		{`{"store":{"durability":"some"}}`, `error: must be "full" or "normal"`},
		{`{"store":{"dir":"x"}}`, `error: unknown key "dir"`},
		{`{"store":{"path":"${NOPE}"}}`, "error: the variable NOPE is not set"},
		{`{"store":"host=db user=u password=secret dbname=x"}`, "error: a connection string in keywords"},
		{`{"store":{"path":"dbname = x password = ${PW}"}}`, "error: a connection string in keywords"},
		{`{"store":{"path":"/data/our hosts=all.db"}}`, "/data/our hosts=all.db full /s/record.key /s/checkpoints.jsonl"},
		{`{"store":{"keep":"a week"}}`, "error: is not a duration"},
		{`{"store":{"checkpoints":{"webhook":"here"}}}`, "error: must be the URL of a server"},
	} {
		cfg, err := config.Parse("codemode.json", []byte(row.config))
		if err != nil { // the file is refused; what depends on variables shows later
			if wrong, isError := strings.CutPrefix(row.want, "error: "); !isError || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%s: got %v, want %s", row.config, err, row.want)
			}
			continue
		}
		p, err := recorder.PlaceOf("/s", cfg, func(name string) (string, bool) { return "pw", name == "PW" })
		sync := map[bool]string{false: "full", true: "normal"}[p.Store.Relaxed]
		got := strings.TrimSpace(fmt.Sprint(p.Store.Path, p.Store.URL, " ", sync, " ", p.Key, " ", p.Checkpoints))
		if err != nil {
			got = "error: " + err.Error()
		}
		if wrong, isError := strings.CutPrefix(row.want, "error: "); isError &&
			(err == nil || !strings.Contains(got, wrong)) || !isError && got != row.want {
			t.Errorf("%s: got %s, want %s", row.config, got, row.want)
		}
	}
}

// TestAnObserverSeesTheRecord: it sees the entries of runs and calls, with a record and without one.
func TestAnObserverSeesTheRecord(t *testing.T) {
	cfg, err := config.Parse("c.json", []byte(`{"builtin": false, "evaluation": {"defaultProfile": "p",
		"profiles": {"p": {"allowlist": ["own__do"]}}}}`))
	must(t, err)
	type nothing struct{}
	do := func(context.Context, nothing) (nothing, error) { return nothing{}, nil }
	for _, dir := range []string{"", t.TempDir()} {
		var mu sync.Mutex
		var got []string
		e, err := codemode.New(t.Context(), codemode.Options{Config: cfg, RecordDir: dir,
			Servers: []codemode.Server{{Name: "own", Functions: []codemode.Function{codemode.Func("do", "x", do), codemode.Func("no", "x", do)}}},
			ServiceOptions: codemode.ServiceOptions{Observer: recorder.Observer{Entry: func(_ context.Context, e *call.Entry) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == audit.Run || e.Kind == audit.Call {
					got = append(got, e.Kind+" "+e.State+" "+e.Tool)
				}
			}}}})
		must(t, err)
		const program = `await codemode.own__do({}); await codemode.own__no({}).catch(() => 0)`
		if _, err := e.Eval(t.Context(), codemode.Request{Code: program}); err != nil {
			t.Error(err)
		}
		if journal := e.Record().Journal(); (journal == nil) != (dir != "") {
			t.Errorf("with %q there is the journal %v", dir, journal)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want := []string{"run running ", "call running own__do", "call ok own__do", "call refused own__no", "run ok "}
		if !slices.Equal(got, want) {
			t.Errorf("with %q: got %q, want %q", dir, got, want)
		}
	}
}

// decided is what the record says of each call: how it went on, and what decided that.
func decided(entries []*audit.Entry) (all []string) {
	for _, e := range entries {
		if e.Kind == audit.Call && (e.State == audit.Running || e.State == audit.Refused) {
			all = append(all, strings.TrimSpace(fmt.Sprint(e.State, " ", e.DecidedBy.How, " ", e.Reason)))
		}
	}
	return all
}

// TestDecidedWithoutARule makes calls that neither a rule nor a person's answer of the moment decides.
func TestDecidedWithoutARule(t *testing.T) {
	s := newStranger(t)
	s.define("read", "reads mail")
	dir := t.TempDir()
	e := open(t, fmt.Sprintf(`{"mcpServers": {"s": {"type": "http", "url": %q}}, "evaluation": {"profiles": {
		"p": {"allowlist": ["s__*"], "asklist": ["filesystem__write_file"], "remember": {"scopes": ["run"]}}}}}`, s.url),
		recorded(dir), func(o *codemode.Options) { o.StateDir = filepath.Join(dir, "state") })
	eval := func(code string, people ...approvals.Channel) {
		t.Helper()
		if r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: code, Channels: people,
			Principal: "local:anna"}); err != nil {
			t.Fatal(r.Text(err))
		}
	}
	eval(attempts(false, "a.md", "b.md"), &desk{answer: remembering(call.ForRun)})
	eval(attempts(false, "a.md"))
	eval(`await codemode.s__read({})`)
	s.define("read", "reads mail and sends it on")
	eventually(t, "the changed tool", func() bool { return len(e.Rules().Pins.Changes()) == 1 })
	eval(`await codemode.s__read({}).catch(() => 0)`)
	eval(`await codemode.s__read({}).catch(() => 0)`, says(yes, nil))
	must(t, e.Close(t.Context()))
	want := []string{"running person", "running grant", "refused fallback no_approver", "running rule",
		"refused definition_changed no_approver", "running person"}
	if got := decided(readRecord(t, dir)); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// G5: of a call with arguments that a person changed, the record has what the program proposed, what was shown, what
// was allowed and what was sent.
func TestG5EditedArgumentsAreRecorded(t *testing.T) {
	dir := t.TempDir()
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"], "ask": {"edit": true}}}}}`,
		recorded(dir))
	d := &desk{edits: true, answer: func(*prompt.Request) call.Answer {
		return call.Answer{Allowed: true, Args: json.RawMessage(`{"path":"b.md","content":"edited"}`)}
	}}
	if _, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: attempts(false, "a.md"),
		Channels: []approvals.Channel{d}}); err != nil {
		t.Fatal(err)
	}
	must(t, e.Close(t.Context()))
	key, err := audit.LoadKey(filepath.Join(dir, "record.key"))
	must(t, err)
	edited := key.Digest([]byte(`{"path":"b.md","content":"edited"}`))
	states := map[string]*call.EntryArgs{}
	for _, entry := range readRecord(t, dir) {
		if entry.Call != 0 && entry.Args != nil {
			states[entry.Kind+" "+entry.State] = entry.Args
		}
	}
	asked, answered, sent := states["call pending"], states["approval allowed"], states["call running"]
	if asked == nil || answered == nil || sent == nil {
		t.Fatalf("recorded are %v", states)
	}
	proposed := asked.Proposed
	if asked.Shown != proposed || asked.Authorised != "" || asked.Executed != "" ||
		!strings.Contains(string(asked.Redacted), "a.md") {
		t.Errorf("asked: %+v", asked)
	}
	if answered.Shown != proposed || answered.Authorised != edited || answered.Executed != "" {
		t.Errorf("answered: %+v", answered)
	}
	if sent.Proposed != proposed || sent.Shown != proposed || sent.Authorised != edited || sent.Executed != edited ||
		!strings.Contains(string(sent.Redacted), "b.md") {
		t.Errorf("sent: %+v", sent)
	}
	if proposed == edited {
		t.Error("the two do not differ")
	}
}

// A call that the rules deny after a person has allowed it is refused by the rules: the record blames nobody for it.
func TestAPersonDidNotRefuseWhatTheRulesDeny(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "codemode.json")
	const rules = `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"], "denylist": ["none__*"]}}}}`
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	put(rules)
	e, err := codemode.New(t.Context(), codemode.Options{ConfigPath: path, Root: t.TempDir(), CacheDir: cachetest.Dir(),
		RecordDir: dir})
	must(t, err)
	changed := make(chan struct{}, 100)
	defer e.Subscribe(func() { changed <- struct{}{} })()
	person := slow{func(context.Context) (call.Answer, error) {
		before := e.Config().Profile("p").Digest()
		put(strings.Replace(rules, "none__*", "filesystem__*", 1))
		for e.Config().Profile("p").Digest() == before {
			<-changed
		}
		return yes, nil
	}}
	if _, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: attempts(false, "a.md"),
		Channels: []approvals.Channel{person}}); err != nil {
		t.Fatal(err)
	}
	must(t, e.Close(t.Context()))
	entries := readRecord(t, dir)
	if got, want := decided(entries), []string{"refused rule policy_changed"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, entry := range entries {
		if entry.State == audit.Refused && (entry.DecidedBy.Channel != "" || entry.DecidedBy.Principal != "") {
			t.Errorf("the refusal names a person: %+v", entry.DecidedBy)
		}
		if entry.Kind == audit.Approval && entry.DecidedBy.How != call.ByPerson {
			t.Errorf("the answer is not the person's: %+v", entry.DecidedBy)
		}
	}
}
