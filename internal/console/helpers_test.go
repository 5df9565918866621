package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/console/rules"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A world is a page with what stands behind it: a desk that asks, and a record, grants and rules in memory.
type world struct {
	t      *testing.T
	c      *Console
	queue  *approvals.Queue
	desk   approvals.Desk
	origin string
	record *fakeRecord
	grants approvals.GrantStore
	rules  *fakeRules
}

const anna = "local:anna"

// newWorld starts a page for Anna, who looks after the rules; change adjusts what she gets.
func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	checktest.OK(t, err)
	w := &world{
		t: t, queue: approvals.NewStrongQueue(ChannelName), origin: "http://" + listener.Addr().String(),
		record: &fakeRecord{}, grants: approvals.NewGrantStore(time.Now), rules: &fakeRules{text: "{}\n"},
	}
	o := Options{
		Queue: w.queue, Origins: []string{w.origin}, Record: w.record, Grants: w.grants, Rules: w.rules,
		Admin: func(person string) bool { return person == anna }, Note: w.record.note,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	for _, f := range change {
		f(&o)
	}
	if w.c, err = New(o); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(w.c.Handler())
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(func() {
		w.c.Close()
		server.Close()
	})
	return w
}

// aCall is a call that needs a yes.
func aCall(change ...func(*prompt.Request)) *prompt.Request {
	r := &prompt.Request{
		Server: "github", Tool: "create_issue", Name: "github__create_issue", Profile: "supervised", Rule: "github-writes",
		Risk:      "medium",
		Reasons:   []string{"it writes where others read"},
		Args:      json.RawMessage(`{"owner":"acme","repo":"web","title":"Broken link on /pricing"}`),
		Principal: anna, Run: "r_8f2k", Call: 1, Code: "7f3a", ProfileDigest: "sha256:1", Definition: "sha256:2",
		Terms: prompt.Terms{Scopes: []call.Scope{call.ForRun, call.ForTime}},
	}
	for _, f := range change {
		f(r)
	}
	return r
}

// ask asks for calls at once, and gives the answers when they are there.
func (w *world) ask(calls ...*prompt.Request) <-chan []approvals.Result {
	w.t.Helper()
	answers := make(chan []approvals.Result, 1)
	before := w.waiting()
	// What keeps the question open until somebody comes.
	desk := &w.desk
	go func() {
		answers <- desk.AskAll(w.t.Context(), calls, []approvals.Channel{w.queue, silent{}},
			approvals.Options{Timeout: 10 * time.Minute})
	}()
	w.until("the calls wait", func() bool { return w.waiting() == before+len(calls) })
	return answers
}

func (w *world) waiting() int {
	seat := w.queue.Sit("nobody")
	seat.Leave()
	return len(seat.Pending())
}

// until waits for something that happens elsewhere.
func (w *world) until(what string, so func() bool) {
	w.t.Helper()
	if !testwait.Holds(so) {
		w.t.Fatalf("it did not come to pass that %s", what)
	}
}

func answerOf(t *testing.T, answers <-chan []approvals.Result) []approvals.Result {
	t.Helper()
	select {
	case a := <-answers:
		return a
	case <-time.After(30 * time.Second):
		t.Fatal("nobody answered")
		return nil
	}
}

// silent is a channel to somebody who does not answer.
type silent struct{}

func (silent) Name() string { return "silent" }
func (silent) Ask(ctx context.Context, _ *approvals.Showing) (call.Answer, error) {
	<-ctx.Done()
	return call.Answer{}, context.Cause(ctx)
}

// A visitor is a browser without its manners: it sends what it is told to.
type visitor struct {
	w      *world
	path   string // of the session; what is sent goes below it
	cookie string
	csrf   string
}

// login lets a person in, as the script of the page does.
func (w *world) login(person string) *visitor {
	w.t.Helper()
	return w.loginAt("", person)
}

// loginAt is login for a page below a path.
func (w *world) loginAt(path, person string) *visitor {
	w.t.Helper()
	v := &visitor{w: w}
	_, secret, _ := strings.Cut(w.c.Link(person), "#")
	got := v.send("POST", path+"/login", `{"secret":"`+secret+`"}`, "Content-Type: application/json",
		"Accept: application/json")
	var said Session
	got.json(&said)
	if got.code != 200 || said.CSRF == "" || said.Person != person {
		w.t.Fatalf("login: %d %s", got.code, got.body)
	}
	v.csrf, v.path = said.CSRF, said.Path
	v.cookie, _, _ = strings.Cut(got.header.Get("Set-Cookie"), ";")
	return v
}

type response struct {
	t      *testing.T
	code   int
	header http.Header
	body   string
}

func (r *response) json(to any) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.body), to); err != nil {
		r.t.Fatalf("%s: %v", r.body, err)
	}
}

// send sends a request with the headers that it is given, "Host" among them; one without a value takes a header away.
func (v *visitor) send(method, path, body string, headers ...string) *response {
	v.w.t.Helper()
	u, err := url.Parse(v.w.origin)
	checktest.OK(v.w.t, err)
	path = v.path + path
	u.Opaque = path // as it is written
	if strings.HasPrefix(path, "//") {
		u.Opaque = "//" + u.Host + path
	}
	req, err := http.NewRequestWithContext(v.w.t.Context(), method, v.w.origin, io.NopCloser(strings.NewReader(body)))
	checktest.OK(v.w.t, err)
	req.URL, req.ContentLength = u, int64(len(body))
	if v.cookie != "" {
		req.Header.Set("Cookie", v.cookie)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case name == "Host":
			req.Host = value
		case value == "":
			req.Header.Del(name)
		default:
			req.Header.Add(name, value)
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	checktest.OK(v.w.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	checktest.OK(v.w.t, err)
	return &response{v.w.t, res.StatusCode, res.Header, string(text)}
}

func (v *visitor) get(path string) *response {
	v.w.t.Helper()
	return v.send("GET", path, "")
}

// form sends a form as a page does that runs no script.
func (v *visitor) form(path string, fields ...string) *response {
	v.w.t.Helper()
	values := url.Values{"csrf": {v.csrf}}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		values.Add(name, value)
	}
	return v.send("POST", path, values.Encode(), "Content-Type: application/x-www-form-urlencoded", "Origin: "+v.w.origin,
		"Sec-Fetch-Site: same-origin")
}

// post sends JSON to the API as a front end does, which read the session's token.
func (v *visitor) post(path, body string) *response {
	v.w.t.Helper()
	return v.send("POST", path, body, "Content-Type: application/json", "X-CSRF-Token: "+v.csrf)
}

// proved sends a form, and again with the code that whoever started the process gets for it.
func (v *visitor) proved(path string, fields ...string) *response {
	v.w.t.Helper()
	if got := v.form(path, fields...); got.code != 403 || !strings.Contains(got.body, "Nothing is changed yet") {
		return got
	}
	return v.form(path, append(fields, "proof="+v.w.code())...)
}

// code is the code of the one change that waits.
func (w *world) code() string {
	w.t.Helper()
	all := w.c.Confirm(anna)
	if len(all) != 1 {
		w.t.Fatalf("%d changes wait for a code: %+v", len(all), all)
	}
	return all[0].Code
}

// codeFor is the code of the change that waits and names something.
func (w *world) codeFor(what string) string {
	w.t.Helper()
	for _, x := range w.c.Confirm(anna) {
		if strings.Contains(x.What, what) {
			return x.Code
		}
	}
	w.t.Fatalf("no change that names %s waits", what)
	return ""
}

// answer sends an answer as a front end does.
func (v *visitor) answer(a Answered) (Result, int) {
	v.w.t.Helper()
	js, err := json.Marshal(a)
	checktest.OK(v.w.t, err)
	path, headers := "/api/answer", []string{"Content-Type: application/json", "X-CSRF-Token: " + v.csrf}
	if a.Propose != "" {
		path += "/propose"
	}
	got := v.send("POST", path, string(js), headers...)
	if a.Propose != "" && got.code == 403 && strings.Contains(got.body, `"proof":"wanted"`) {
		got = v.send("POST", path, string(js), append(headers, proofHeader+": "+v.w.code())...)
	}
	var result Result
	got.json(&result)
	return result, got.code
}

// pending is what a front end sees.
func (v *visitor) pending() []Asked {
	v.w.t.Helper()
	var got struct{ Pending []Asked }
	v.get("/api/pending").json(&got)
	return got.Pending
}

type fakeRecord struct {
	mu      sync.Mutex
	entries []*audit.Entry
	broken  bool
}

func (f *fakeRecord) note(_ context.Context, e call.Entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return errors.New("the disk is full")
	}
	e.Time = time.Now()
	f.entries = append(f.entries, &audit.Entry{V: 1, Chain: 1, Seq: int64(len(f.entries) + 1), Entry: e})
	return nil
}

func (f *fakeRecord) Entries(_ context.Context, q store.Query, each func(*audit.Entry) error) error {
	f.mu.Lock()
	all := append([]*audit.Entry{}, f.entries...)
	f.mu.Unlock()
	n := 0
	for i := range all {
		e := all[i]
		if q.Newest {
			e = all[len(all)-1-i]
		}
		if q.Run != "" && e.Run != q.Run || q.Principal != "" && e.Principal != q.Principal || q.Limit > 0 && n >= q.Limit {
			continue
		}
		if q.Chain != 0 && (e.Chain != q.Chain || e.Seq <= q.After || q.Before != 0 && e.Seq >= q.Before) ||
			len(q.Principals) > 0 && !slices.Contains(q.Principals, e.Principal) ||
			len(q.States) > 0 && !slices.Contains(q.States, e.State) || q.Tool != "" && q.Tool != e.Tool {
			continue
		}
		if len(q.Kinds) > 0 && !strings.Contains(" "+strings.Join(q.Kinds, " ")+" ", " "+e.Kind+" ") {
			continue
		}
		n++
		if err := each(e); err != nil {
			return err
		}
	}
	return nil
}

func (f *fakeRecord) Ends(context.Context) ([]store.End, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.entries) == 0 {
		return nil, nil
	}
	return []store.End{{Head: store.Head{Chain: 1, Seq: int64(len(f.entries))}}}, nil
}

// states lists the entries of a kind as "state principal".
func (f *fakeRecord) states(kind string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, e := range f.entries {
		if e.Kind == kind {
			all = append(all, strings.TrimSpace(e.State+" "+e.Principal))
		}
	}
	return all
}

type fakeRules struct {
	mu       sync.Mutex
	text     string
	proposed []Proposal
	made     []string // roles that a session was made for
	sessions []RoleSession
	anything bool // no text is wrong
	checked  atomic.Int64
}

// changes is how much was done by it.
func (f *fakeRules) changes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.proposed) + len(f.made)
	if f.text != "{}\n" {
		n++
	}
	return n
}

func (f *fakeRules) Files() ([]rules.File, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return []rules.File{{Path: "codemode.json", Standing: "user file", Digest: fmt.Sprint(len(f.text)), Text: f.text,
		Editable: true}}, ""
}

func (f *fakeRules) Check(_ string, text []byte) error {
	f.checked.Add(1)
	if !f.anything && !json.Valid(bytes.TrimSpace(text)) {
		return errors.New("codemode.json:1:1: it is not JSON")
	}
	return nil
}

func (f *fakeRules) Save(_ context.Context, _, digest string, text []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if digest != fmt.Sprint(len(f.text)) {
		return errors.New("the file was changed meanwhile")
	}
	f.text = string(text)
	return nil
}

func (f *fakeRules) Propose(_ context.Context, p Proposal) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.proposed = append(f.proposed, p)
	return "codemode.json", nil
}

func (f *fakeRules) NewSession(role string, life time.Duration) (string, time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made = append(f.made, role)
	f.sessions = append(f.sessions, RoleSession{ID: fmt.Sprintf("sha256:made%d", len(f.made)), Role: role,
		Expires: time.Now().Add(life)})
	return "cms_made", time.Now().Add(life), nil
}

func (f *fakeRules) Roles() []Role {
	return []Role{{"reviewer", "Programs in it may do what their profile allows, as far as these overlays allow it too: r."}}
}

func (f *fakeRules) RoleSessions(context.Context) ([]RoleSession, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sessions), nil
}

func (f *fakeRules) EndRoleSession(_ context.Context, id string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := slices.IndexFunc(f.sessions, func(s RoleSession) bool { return s.ID == id })
	if at < 0 {
		return "", errors.New("there is no such session for a role: it has ended")
	}
	role := f.sessions[at].Role
	f.sessions = slices.Delete(f.sessions, at, at+1)
	return role, nil
}
