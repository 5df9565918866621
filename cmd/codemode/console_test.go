package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/profiles"
)

// A person is somebody at the page of a process, as a front end reaches it.
type person struct {
	t            *testing.T
	base, cookie string // base is where the page is before the login
	path         string // of the session, below base
	csrf         string
	secrets      []string // of every link and code that was used
}

// atThePage opens a link that codemode console prints.
func atThePage(t *testing.T, environment []string, args ...string) *person {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"console"}, args...)...)
	cmd.Env = environment
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		t.Fatalf("codemode console: %v: %s", err, problem.String())
	}
	link := strings.TrimSpace(out.String())
	base, secret, ok := strings.Cut(link, "/login#")
	if !ok || strings.Contains(link, "\n") {
		t.Fatalf("codemode console printed %q", link)
	}
	p := &person{t: t, base: base, secrets: []string{secret}}
	var said console.Session
	res := p.send("POST", "/login", map[string]string{"secret": secret}, &said)
	p.cookie, _, _ = strings.Cut(res.Header.Get("Set-Cookie"), ";")
	p.csrf, p.path = said.CSRF, said.Path[strings.LastIndex(said.Path, "/s/"):]
	if res.StatusCode != 200 || p.csrf == "" {
		t.Fatalf("login: %s", res.Status)
	}
	return p
}

func (p *person) send(method, path string, body, to any, headers ...string) *http.Response {
	p.t.Helper()
	js, err := json.Marshal(body)
	checktest.OK(p.t, err)
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+p.path+path, bytes.NewReader(js))
	checktest.OK(p.t, err)
	req.Header.Set("Cookie", p.cookie)
	if method == "POST" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-CSRF-Token", p.csrf)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	checktest.OK(p.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	checktest.OK(p.t, err)
	if err := json.Unmarshal(text, to); err != nil {
		p.t.Fatalf("%s %s: %s: %s", method, path, res.Status, text)
	}
	return res
}

// code is the code of the one change that waits, as codemode console --confirm prints it; it says what the change is.
func (p *person) code(environment []string, says string) string {
	p.t.Helper()
	cmd := exec.Command(os.Args[0], "console", "--confirm", "--json")
	cmd.Env = environment
	out, err := cmd.Output()
	var got console.Confirmation
	if err != nil || json.Unmarshal(out, &got) != nil || got.Code == "" ||
		!strings.Contains(got.What+"\n"+strings.Join(got.Detail, "\n"), says) {
		p.t.Fatalf("codemode console --confirm: %v: %s, want %q", err, out, says)
	}
	p.secrets = append(p.secrets, got.Code)
	return got.Code
}

// one waits for the one question that is open.
func (p *person) one() console.Asked {
	p.t.Helper()
	var got struct{ Pending []console.Asked }
	if !testwait.Holds(func() bool {
		got.Pending = nil
		p.send("GET", "/api/pending", nil, &got)
		return len(got.Pending) == 1
	}) {
		p.t.Fatalf("%d questions are open, want one", len(got.Pending))
	}
	return got.Pending[0]
}

func (p *person) allow(a console.Asked, wait string) console.Result {
	p.t.Helper()
	var got console.Result
	p.send("POST", "/api/answer", console.Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Code: a.Code,
		Wait: wait}, &got)
	return got
}

// A house is a user's home, with a process in it that serves.
type house struct {
	t           *testing.T
	home, files string
	config      string
	environment []string
	args        []string
	log         *screen
	transcript  *screen // all that crossed MCP, in both directions
	cmd         *exec.Cmd
	over        chan struct{} // closed when a process that start began has ended
}

func newHouse(t *testing.T, profile string, args ...string) *house {
	t.Helper()
	endToEnd(t)
	if runtime.GOOS == "windows" {
		t.Skip("login links come over a Unix socket")
	}
	home, err := os.MkdirTemp("", "cm") // sockets have short paths
	checktest.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	h := &house{t: t, home: home, files: t.TempDir(), log: &screen{}, transcript: &screen{}}
	h.config = write(t, filepath.Join(home, "codemode.json"),
		`{"evaluation": {"profiles": {"p": `+profile+`}, "expose": ["p"]}}`)
	h.environment = append(os.Environ(), asCommand+"=codemode", "HOME="+home, "XDG_CONFIG_HOME="+home,
		"XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+cachetest.Dir(), "CODEMODE_CONFIG=")
	h.args = append([]string{"serve", "--config", h.config, "--root", h.files}, args...)
	return h
}

// connect starts the process, with a client over stdio.
func (h *house) connect() *mcp.ClientSession {
	h.t.Helper()
	h.cmd = exec.Command(os.Args[0], h.args...)
	h.cmd.Env, h.cmd.Stderr = h.environment, h.log
	transport := &mcp.LoggingTransport{Transport: &mcp.CommandTransport{Command: h.cmd}, Writer: h.transcript}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(h.t.Context(), transport,
		nil)
	if err != nil {
		h.t.Fatalf("%v: %s", err, h.log)
	}
	h.t.Cleanup(func() { client.Close() })
	return client
}

// start starts the process for clients that come over HTTP.
func (h *house) start() {
	h.t.Helper()
	cmd := exec.Command(os.Args[0], h.args...)
	cmd.Env, cmd.Stderr = h.environment, h.log
	checktest.OK(h.t, cmd.Start())
	h.cmd, h.over = cmd, make(chan struct{})
	go func() { defer close(h.over); _ = cmd.Wait() }()
	h.t.Cleanup(func() { cmd.Process.Kill(); <-h.over })
	if !testwait.Holds(func() bool { return strings.Contains(h.log.String(), "codemode console opens it") }) {
		h.t.Fatalf("no page was announced:\n%s", h.log)
	}
}

// command runs another codemode in the same home.
func (h *house) command(args ...string) (string, error) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = h.environment
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const writesAFile = `try { await codemode.filesystem__write_file({path: "a.md", content: "x"}); return "written" } catch (e) { return e.reason + ": " + e.detail }`

func runs(t *testing.T, client *mcp.ClientSession, code string) <-chan string {
	t.Helper()
	return answerTo(t, client, &mcp.CallToolParams{Name: "codemode_eval_p", Arguments: map[string]any{"code": code}})
}

// answerTo calls a tool meanwhile. Its text comes, or the error.
func answerTo(t *testing.T, client *mcp.ClientSession, params *mcp.CallToolParams) <-chan string {
	t.Helper()
	answer := make(chan string, 1)
	go func() {
		res, err := client.CallTool(t.Context(), params)
		if err != nil {
			answer <- err.Error()
			return
		}
		answer <- res.Content[0].(*mcp.TextContent).Text
	}()
	return answer
}

// S2.3, S2.4: what a program asks over stdio is seen and answered at the page, by a front end that has a link; the
// answer comes with what became of the call. C9: the secret of the link is nowhere but with that person.
func TestConsoleOfAStdioServer(t *testing.T) {
	h := newHouse(t, `{"asklist": ["filesystem__*"], "ask": {"edit": true}}`, "--console", "127.0.0.1:0")
	client := h.connect()
	p := atThePage(t, h.environment)
	answer := runs(t, client, writesAFile)
	a := p.one()
	if a.Tool != "filesystem.write_file" || !a.Editable || len(a.Offers) == 0 ||
		!strings.Contains(a.Text, `path: "a.md"`) {
		t.Errorf("asked: %+v", a)
	}
	if got := p.allow(a, "15s"); !got.OK || got.Outcome != "ok" {
		t.Errorf("allowed: %+v", got)
	}
	if got := <-answer; !strings.HasPrefix(got, `"written"`) || !strings.Contains(got, "approved (person, web)") {
		t.Errorf("the program got %s", got)
	}
	if got := p.allow(a, ""); got.OK || got.Error == "" {
		t.Errorf("a second answer: %+v", got)
	}
	var entries struct {
		Entries []struct {
			Kind, State string
			DecidedBy   struct{ Channel, Principal string }
		}
	}
	p.send("GET", "/api/entries?run="+a.Run, nil, &entries)
	found := false
	for _, e := range entries.Entries {
		found = found || e.Kind == "approval" && e.State == "allowed" && e.DecidedBy.Channel == "web" &&
			e.DecidedBy.Principal == launch.Owner()
	}
	if !found {
		t.Errorf("the record has no answer over the page: %+v", entries.Entries)
	}
	p.nowhere(h)
}

// nowhere holds that no secret of a link is in what crossed MCP, in what was logged, or in a file.
func (p *person) nowhere(h *house) {
	p.t.Helper()
	holds := func(where, text string) {
		for _, secret := range append(p.secrets, p.csrf, p.cookie, p.path) {
			if strings.Contains(text, secret) {
				p.t.Errorf("a secret of the page is in %s", where)
			}
		}
	}
	holds("what crossed MCP", h.transcript.String())
	holds("the log", h.log.String())
	err := filepath.WalkDir(h.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		holds(path, string(data))
		return err
	})
	if err != nil {
		p.t.Error(err)
	}
}

// store opens the store to look at it.
func (h *house) store() *store.DB {
	h.t.Helper()
	place, err := recorder.PlaceOf(filepath.Join(h.home, "codemode"), nil, os.LookupEnv)
	checktest.OK(h.t, err)
	key, err := place.Prepare()
	checktest.OK(h.t, err)
	place.Store.ReadOnly, place.Store.SealKey = true, key.Derive("seal the store")
	db, err := store.Open(h.t.Context(), place.Store)
	checktest.OK(h.t, err)
	return db
}

// parked waits until a run is in the store, which is a moment after it has nothing to do but to wait.
func (h *house) parked(run string) {
	h.t.Helper()
	db := h.store()
	defer db.Close()
	testwait.Until(h.t, "the run is parked", func() bool { _, err := db.Runs.Get(h.t.Context(), run); return err == nil })
}

// S2.2, S5.2: the process is killed while a question is open. Another one shows it, a person answers, and the program
// goes on there.
func TestConsoleAfterAKill(t *testing.T) {
	h := newHouse(t, `{"asklist": ["filesystem__*"], "ask": {"timeout": "5m"}}`, "--console", "127.0.0.1:0")
	client := h.connect()
	p := atThePage(t, h.environment)
	runs(t, client, `const before = await codemode.time__now({}); await codemode.filesystem__write_file({path: "a.md", content: "x"}); return "written"`)
	asked := p.one()
	h.parked(asked.Run)
	checktest.OK(t, h.cmd.Process.Kill())
	_ = client.Close() // it is gone
	h.connect()
	p = atThePage(t, h.environment)
	again := p.one()
	if again.ID != asked.ID || again.Digest != asked.Digest {
		t.Errorf("another question: %+v, was %+v", again, asked)
	}
	if got := p.allow(again, ""); !got.OK {
		t.Fatalf("allowed: %+v", got)
	}
	if !testwait.Holds(func() bool {
		text, err := os.ReadFile(filepath.Join(h.files, "a.md"))
		return err == nil && string(text) == "x"
	}) {
		t.Fatalf("the call was not made; the log says:\n%s", h.log)
	}
	db := h.store()
	defer db.Close()
	var kept *store.Outcome
	if !testwait.Holds(func() bool { kept, _ = db.Outcomes.Get(t.Context(), asked.Run, ""); return kept != nil }) {
		t.Fatalf("the run did not end; the log says:\n%s", h.log)
	}
	if kept.State != "finished" || !strings.Contains(string(kept.Body), `\"written\"`) {
		t.Errorf("the run came to %s: %s", kept.State, kept.Body)
	}
	made := map[string]int{}
	err := audit.Entries(t.Context(), db, store.Query{Run: asked.Run, Kinds: []string{audit.Call},
		States: []string{audit.Running}}, func(e *audit.Entry) error {
		made[e.Tool]++
		return nil
	})
	if err != nil || made["time__now"] != 1 || made["filesystem__write_file"] != 1 {
		t.Errorf("calls were made so often: %v (%v)", made, err)
	}
}

// Beside MCP over HTTP the page is there by itself, on the same listener, behind its own login.
func TestConsoleBesideHTTP(t *testing.T) {
	h := newHouse(t, `{"asklist": ["filesystem__*"]}`, "--http", "127.0.0.1:0")
	h.start()
	p := atThePage(t, h.environment)
	if !strings.HasSuffix(p.base, "/console") {
		t.Errorf("the page is at %s", p.base)
	}
	origin := strings.TrimSuffix(p.base, "/console")
	client := mcptest.Connect(t, &mcp.StreamableClientTransport{Endpoint: origin + "/mcp"})
	answer := runs(t, client, writesAFile)
	if got := p.allow(p.one(), ""); !got.OK {
		t.Errorf("allowed: %+v", got)
	}
	if got := <-answer; !strings.HasPrefix(got, `"written"`) {
		t.Errorf("the program got %s", got)
	}
	for path, want := range map[string]int{"/console/": 401, "/console/api/pending": 401,
		"/console/static/console.css": 200, "/console/..%2fmcp": 404} {
		res, err := http.Get(origin + path)
		checktest.OK(t, err)
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("GET %s: %s, want %d", path, res.Status, want)
		}
	}
	p.nowhere(h)
}

// E9: what is proposed at the page stands in the user's file as a comment, and decides nothing.
func TestConsoleProposesARule(t *testing.T) {
	h := newHouse(t, `{"asklist": ["filesystem__*"]}`, "--console", "127.0.0.1:0")
	client := h.connect()
	p := atThePage(t, h.environment)
	answer := runs(t, client, writesAFile)
	a := p.one()
	var got console.Result
	propose := console.Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Propose: console.ProposeExact}
	for _, path := range []string{"/api/answer", "/api/answer/propose"} {
		var refused struct{ OK bool }
		if res := p.send("POST", path, propose, &refused); res.StatusCode != 403 || refused.OK {
			t.Errorf("%s without a proof: %s", path, res.Status)
		}
	}
	p.send("POST", "/api/answer/propose", propose, &got, "X-Proof: "+p.code(h.environment, `filesystem__write_file`))
	if !got.OK || !strings.Contains(got.Note, "proposed") {
		t.Errorf("got %+v", got)
	}
	<-answer
	text, err := os.ReadFile(h.config)
	if err != nil || !strings.Contains(string(text), "// Proposed") || !strings.Contains(string(text), `a.md`) {
		t.Errorf("the file is %s", text)
	}
	runs(t, client, writesAFile)
	if again := p.one(); again.Tool != a.Tool {
		t.Errorf("the next call was not asked about: %+v", again)
	}
}

// C15, S2.6: where somebody else has to answer, it is not who started the process, but somebody whom the configuration
// knows.
func TestConsoleAnsweredBySomebodyElse(t *testing.T) {
	h := newHouse(t, `{}`)
	write(t, h.config, `{
		"console": {"address": "127.0.0.1:0", "people": {"ben": {"answersFor": ["*"]}, "eve": {"answersFor": ["ci"]}}},
		"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"], "ask": {"approver": "other"}}}, "expose": ["p"]}
	}`)
	client := h.connect()
	self := atThePage(t, h.environment)
	answer := runs(t, client, writesAFile)
	a := self.one()
	var got console.Result
	if res := self.send("POST", "/api/answer", console.Answered{ID: a.ID, Digest: a.Digest, Decision: "allow"},
		&got); res.StatusCode != 403 || got.OK {
		t.Errorf("who asked: %s %+v", res.Status, got)
	}
	var seen struct{ Pending []console.Asked }
	if atThePage(t, h.environment, "--as", "eve").send("GET", "/api/pending", nil, &seen); len(seen.Pending) != 0 {
		t.Errorf("eve sees %+v", seen)
	}
	ben := atThePage(t, h.environment, "--as", "ben")
	if got := ben.allow(ben.one(), ""); !got.OK {
		t.Errorf("ben: %+v", got)
	}
	if text := <-answer; !strings.HasPrefix(text, `"written"`) {
		t.Errorf("the program got %s", text)
	}
}

// Where no process has a page, codemode console says what to do.
func TestConsoleWithoutAPage(t *testing.T) {
	cmd := exec.Command(os.Args[0], "console")
	home := t.TempDir()
	cmd.Env = append(os.Environ(), asCommand+"=codemode", "HOME="+home, "XDG_STATE_HOME="+home)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitUsage ||
		!strings.Contains(string(out), "--console 127.0.0.1:0") {
		t.Errorf("%v: %s", err, out)
	}
}

// A person in a browser changes the rules of a real process, with the code that codemode console --confirm prints.
// Beside MCP the outer guard lets the forms of the page through, which come with its own origin, and no others.
func TestConsoleChangesAreConfirmed(t *testing.T) {
	for _, way := range []string{"--console", "--http"} {
		h := newHouse(t, `{"asklist": ["filesystem__*"]}`, way, "127.0.0.1:0")
		if way == "--console" {
			h.connect()
		} else {
			h.start()
		}
		p := atThePage(t, h.environment)
		u, err := url.Parse(p.base)
		checktest.OK(t, err)
		origin := "http://" + u.Host
		form := func(path, origin, site string, fields url.Values) (int, string) {
			t.Helper()
			fields.Set("csrf", p.csrf)
			req, err := http.NewRequestWithContext(t.Context(), "POST", p.base+p.path+path, strings.NewReader(fields.Encode()))
			checktest.OK(t, err)
			for name, value := range map[string]string{"Cookie": p.cookie, "Content-Type": "application/x-www-form-urlencoded",
				"Origin": origin, "Sec-Fetch-Site": site} {
				req.Header.Set(name, value)
			}
			res, err := http.DefaultTransport.RoundTrip(req)
			checktest.OK(t, err)
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			checktest.OK(t, err)
			return res.StatusCode, string(text)
		}
		before, err := os.ReadFile(h.config)
		checktest.OK(t, err)
		after := strings.Replace(string(before), `"expose"`, `"adminURL": "https://codemode.example/rules", "expose"`, 1)
		save := func(proof string) url.Values {
			return url.Values{"path": {h.config}, "digest": {profiles.Digest(before)}, "text": {after},
				"why": {"an address for people"}, "proof": {proof}}
		}
		for _, test := range []struct{ origin, site string }{
			{"null", "same-origin"}, {"http://127.0.0.1:1", "same-site"}, {"http://localhost:" + u.Port(), "cross-site"},
			{"http://[::1]:" + u.Port(), "cross-site"},
			{"https://evil.test", "cross-site"}, {"http://[::1]:" + u.Port(), ""},
		} {
			if code, text := form("/rules/save", test.origin, test.site, save("")); code != 403 || strings.Contains(text,
				"Nothing is changed yet") {
				t.Errorf("%s: from %s: %d %s", way, test.origin, code, text)
			}
		}
		if out, err := h.command("console", "--confirm"); err == nil || !strings.Contains(out, "no change waits for a code") {
			t.Errorf("%s: nothing waits: %v %s", way, err, out)
		}
		if code, text := form("/rules/save", origin, "same-origin", save("")); code != 403 || !strings.Contains(text,
			"Nothing is changed yet") {
			t.Fatalf("%s: without a code: %d %s", way, code, text)
		}
		if out, err := h.command("console", "--confirm", "--as", "eve"); err == nil || !strings.Contains(out,
			"no person called") {
			t.Errorf("%s: as somebody else: %v %s", way, err, out)
		}
		out, err := h.command("console", "--confirm")
		if err != nil || !strings.Contains(out, "write the file "+h.config) || !strings.Contains(out, `"adminURL"`) ||
			!strings.Contains(out, launch.Owner()) {
			t.Fatalf("%s: %v %s", way, err, out)
		}
		_, rest, _ := strings.Cut(out, "its code is, until ")
		code := strings.Fields(rest)[1]
		p.secrets = append(p.secrets, code)
		if now, err := os.ReadFile(h.config); err != nil || !bytes.Equal(now, before) {
			t.Errorf("%s: the file is %s, %v", way, now, err)
		}
		if status, text := form("/rules/save", origin, "same-origin", save(code)); status != http.StatusSeeOther {
			t.Errorf("%s: with the code: %d %s", way, status, text)
		}
		if now, err := os.ReadFile(h.config); err != nil || string(now) != after {
			t.Errorf("%s: the file is %s, %v", way, now, err)
		}
		p.nowhere(h)

		// What other ports of this host have set in a browser comes along, and locks nobody out; nor do wrong codes.
		cookies := 180 // as many as a browser keeps
		if way == "--http" {
			cookies = 12 // strangers from elsewhere send headers there, too, and get less room
		}
		jar := strings.Repeat("bomb="+strings.Repeat("x", 4000)+"; ", cookies)
		req, err := http.NewRequestWithContext(t.Context(), "GET", p.base+p.path+"/api/session", nil)
		checktest.OK(t, err)
		req.Header.Set("Cookie", p.cookie+"; "+jar+strings.SplitN(p.cookie, "=", 2)[0]+"=tossed")
		res, err := http.DefaultClient.Do(req)
		checktest.OK(t, err)
		res.Body.Close()
		if res.StatusCode != 200 {
			t.Errorf("%s: with a full jar: %s", way, res.Status)
		}
		for range 20 {
			res, err := http.Post(p.base+"/login", "application/json", strings.NewReader(`{"secret":"WRONG"}`))
			checktest.OK(t, err)
			res.Body.Close()
			if res.StatusCode != 403 {
				t.Errorf("%s: a wrong code: %s", way, res.Status)
			}
		}
		atThePage(t, h.environment) // it fails the test if the link does not open the page
	}
}
