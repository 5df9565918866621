package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/console/signin"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/sessions"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/sandbox"
)

// storedSessions are sessions in a database, whose changes go to the record of a world.
type storedSessions struct {
	t  *testing.T
	db *store.DB
	w  *world
}

func (f *storedSessions) Sessions(context.Context) (*sessions.Sessions, error) {
	return sessions.In(f.db), nil
}

func (f *storedSessions) ChangeSession(ctx context.Context, person string, c SessionChange) (string, error) {
	change := runs.SessionChange{Action: runs.SessionAction(c.Action), Name: c.Name, Version: c.Version, As: c.As,
		By: &call.DecidedBy{How: call.ByPerson, Channel: ChannelName, Principal: person}}
	done, err := runs.Change(ctx, sessions.In(f.db), c.Principal, change, plenty)
	if err != nil {
		return "", err
	}
	return done, f.w.record.note(ctx, runs.SessionEntry(&runs.Request{Principal: c.Principal, Client: "console"}, change,
		done))
}

var plenty = config.Sessions{Keep: time.Hour, Bytes: 1 << 30, Number: 1000, Versions: 20}

// put adds a version that declares names to the session of a principal, and returns the session's ID.
func (f *storedSessions) put(principal, name string, versions int, names ...sandbox.Name) string {
	f.t.Helper()
	s := &store.Session{ID: fmt.Sprintf("ID%x%x", principal, name), Principal: principal, Name: name, Profile: "careful",
		Expires: time.Now().Add(time.Hour)}
	for i := range versions {
		about, err := json.Marshal(sessions.State{V: 1, Names: names,
			Program: &sessions.Program{Number: i + 1, Name: "program.ts"}})
		checktest.OK(f.t, err)
		part := func(b []byte) func(context.Context) ([]byte, error) {
			return func(context.Context) ([]byte, error) { return b, nil }
		}
		v := &store.Version{Run: fmt.Sprintf("r_%s%d", name, i+1), Guest: "sha256:g", About: part(about),
			Image: part(make([]byte, 3000))}
		quota := store.Quota{Sessions: 1000, Bytes: 1 << 30, Versions: 20}
		checktest.OK(f.t, f.db.Sessions.Put(f.t.Context(), s, v, nil, quota))
		s.Created = time.Now() // it is stored
	}
	return s.ID
}

// names lists the sessions of a principal, with the number of their current versions.
func (f *storedSessions) names(principal string) string {
	f.t.Helper()
	all, err := sessions.In(f.db).List(f.t.Context(), principal)
	checktest.OK(f.t, err)
	var list []string
	for _, s := range all {
		list = append(list, fmt.Sprintf("%s:%d", s.Name, s.Versions[len(s.Versions)-1].Number))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// worldOfSessions is a world where root sees everybody, and boss sees carl too.
func worldOfSessions(t *testing.T, also ...func(*Options)) (*world, *storedSessions) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "sessions.db")})
	checktest.OK(t, err)
	t.Cleanup(func() { db.Close() })
	f := &storedSessions{t: t, db: db}
	f.w = newWorld(t, append(also, func(o *Options) {
		o.Sessions = f
		o.Sees = func(person string) ([]string, bool) {
			return map[string][]string{"boss": {"carl"}}[person], person == "root"
		}
	})...)
	return f.w, f
}

func TestSessionsAreOnThePage(t *testing.T) {
	fake := &fakeRuns{elsewhere: []runs.Running{{Run: "r_waits", Principal: "anna", Parked: true}}}
	w, f := worldOfSessions(t, func(o *Options) { o.Runs = fake })
	id := f.put("anna", "work", 3, sandbox.Name{Name: "rates", Kind: "const", Type: "object", Class: "Map"},
		sandbox.Name{Name: "next", Kind: "var", Type: "function"},
		sandbox.Name{Name: "__helper", Kind: "var", Type: "function"})
	busy := f.put("anna", "busy", 1)
	f.put("carl", "secret-of-carl", 1)
	f.put("", "of-nobody", 1)
	if err := f.db.Keys.Enroll(t.Context(), nil, &store.ParkedRun{Run: "r_waits", Principal: "anna", Profile: "careful",
		State: json.RawMessage(`{}`), Expires: time.Now().Add(time.Hour), Holder: "here", Session: busy,
		SessionEnds: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	nobody, visitor := &visitor{w: w}, w.login("anna")
	has := func(path string, want ...string) string {
		t.Helper()
		page := visitor.get(path).body
		for _, part := range want {
			if !strings.Contains(page, part) {
				t.Errorf("%s lacks %q:\n%s", path, part, page)
			}
		}
		return page
	}
	lacks := func(page string, never ...string) {
		t.Helper()
		for _, part := range never {
			if strings.Contains(page, part) {
				t.Errorf("the page has %q:\n%s", part, page)
			}
		}
	}
	page := has("/sessions", `aria-current="page">Sessions`, "/sessions/"+id+`">work</a>`, "careful",
		`Versions">3</td>`, "10 KiB",
		`<span class="state open">waits for a person</span> <a href="`, "/run/r_waits")
	lacks(page, "secret-of-carl", "of-nobody")
	page = has("/sessions/"+id, "Session work", "<code>rates</code>", "<code>Map</code>", "<code>next</code>", "function",
		"/run/r_work3", "left by program.ts", "4 KiB", "/fork?version=3", "/rollback?version=2", "/delete")
	lacks(page, "__helper", "/rollback?version=3")
	page = has("/sessions/"+busy, "It declares nothing", "when its program has ended", "/run/r_waits")
	lacks(page, "/delete", "/rollback")

	visitor = w.login("boss")
	lacks(has("/sessions", "secret-of-carl"), ">work<", "of-nobody")
	visitor = w.login("root")
	has("/sessions", ">work<", "secret-of-carl", "of-nobody", "anybody")
	visitor = w.login("zoe")
	has("/sessions", "There are no sessions", `aria-current="page">Sessions`)
	visitor = nobody
	if got := visitor.get("/sessions"); got.code != http.StatusUnauthorized || strings.Contains(got.body, ">work<") {
		t.Errorf("without a login: %d", got.code)
	}
}

// A person forks, rolls back and deletes after a page that names the session. The record says who did it.
func TestAPersonChangesSessions(t *testing.T) {
	w, f := worldOfSessions(t)
	id := f.put("carl", "work", 3, sandbox.Name{Name: "n", Kind: "let", Type: "number"})
	boss, zoe := w.login("boss"), w.login("zoe")
	at := "/sessions/" + id
	for _, row := range []struct {
		why    string
		by     *visitor
		path   string
		fields []string
		want   int
		says   string // on the page after it
		left   string // sessions of carl
	}{
		{"a stranger rolls back", zoe, at + "/rollback", []string{"version=1"}, 404, "", "work:3"},
		{"a stranger forks", zoe, at + "/fork", []string{"version=1", "as=mine"}, 404, "", "work:3"},
		{"a stranger deletes", zoe, at + "/delete", nil, 404, "", "work:3"},
		{"another word", boss, at + "/rename", []string{"version=1"}, 404, "", "work:3"},
		{"no version", boss, at + "/rollback", nil, 400, "", "work:3"},
		{"a word for a version", boss, at + "/fork", []string{"version=first", "as=x"}, 400, "", "work:3"},
		{"a version before the first", boss, at + "/rollback", []string{"version=0"}, 400, "", "work:3"},
		{"a version that is not there", boss, at + "/rollback", []string{"version=9"}, 303, "has no version 9", "work:3"},
		{"a session that is not there", boss, "/sessions/nothing/delete", nil, 404, "", "work:3"},
		{"a fork without a name", boss, at + "/fork", []string{"version=1"}, 303, "names no session", "work:3"},
		{"a hostile name", boss, at + "/fork", []string{"version=1", "as=<script>\u202e"}, 303, "names no session", "work:3"},
		{"a name that is taken", boss, at + "/fork", []string{"version=1", "as=work"}, 303, "there is a session", "work:3"},
		{"a fork", boss, at + "/fork", []string{"version=2", "as=try"}, 303,
			"The session try is a fork of work at version 2.",
			"try:1 work:3"},
		{"a rollback", boss, at + "/rollback", []string{"version=1"}, 303,
			"The session work is as it was at version 1; that is its version 4.", "try:1 work:4"},
		{"a deletion", boss, at + "/delete", nil, 303, "The session work is deleted", "try:1"},
		{"a second one", boss, at + "/delete", nil, 404, "", "try:1"},
	} {
		got := row.by.form(row.path, row.fields...)
		if got.code != row.want || f.names("carl") != row.left {
			t.Errorf("%s: %d, %s; want %d, %s", row.why, got.code, f.names("carl"), row.want, row.left)
		}
		if row.says == "" {
			continue
		}
		_, to, _ := strings.Cut(got.header.Get("Location"), row.by.path)
		page := row.by.get(to).body
		if !strings.Contains(page, row.says) || strings.Contains(page, "<script>") || strings.Contains(page, "\u202e") {
			t.Errorf("%s: %s says\n%s", row.why, to, page)
		}
	}
	if got := strings.Join(w.record.states(audit.Session), ", "); got != "forked carl, rolled_back carl, deleted carl" {
		t.Errorf("the record has %s", got)
	}
	for _, e := range w.record.entries {
		if e.Kind == audit.Session && (e.DecidedBy == nil || e.DecidedBy.Principal != "boss" ||
			e.DecidedBy.Channel != ChannelName) {
			t.Errorf("the record does not say who: %+v", e.DecidedBy)
		}
	}
}

// Over REST a person sees and changes what the page shows that person, and nothing else.
func TestAPersonChangesSessionsOverREST(t *testing.T) {
	w, f := worldOfSessions(t)
	id := f.put("carl", "work", 3, sandbox.Name{Name: "n", Kind: "let", Type: "object", Class: "Map"},
		sandbox.Name{Name: strings.Repeat("é", 10_000), Kind: "let", Type: "number"})
	f.put("anna", "of-anna", 1)
	boss, zoe, root := w.login("boss"), w.login("zoe"), w.login("root")
	auditor := w.enterAs("boss", signin.Auditor)
	at := "/api/sessions/" + id
	for _, row := range []struct {
		why  string
		by   *visitor
		path string
		body string // "" is a GET
		want int
		says string
		left string // sessions of carl
	}{
		{"a list", boss, "/api/sessions", "", 200, `"name":"work","principal":"carl","profile":"careful","versions":3,`,
			"work:3"},
		{"a list of all", root, "/api/sessions", "", 200, `"name":"of-anna"`, "work:3"},
		{"a list of nothing", zoe, "/api/sessions", "", 200, `{"sessions":[]}`, "work:3"},
		{"what it declares", boss, at, "", 200, `{"name":"n","kind":"let","type":"Map"}`, "work:3"},
		{"a long name", boss, at, "", 200, `"` + strings.Repeat("é", mostName) + `…"`, "work:3"},
		{"what a stranger sees", zoe, at, "", 404, "there is no such session", "work:3"},
		{"a stranger rolls back", zoe, at + "/rollback", `{"version": 1}`, 404, "there is no such session", "work:3"},
		{"a stranger forks", zoe, at + "/fork", `{"version": 1, "as": "x"}`, 404, "there is no such session", "work:3"},
		{"a stranger deletes", zoe, at + "/delete", `{}`, 404, "there is no such session", "work:3"},
		{"an auditor reads", auditor, at, "", 200, `"at":3`, "work:3"},
		{"an auditor deletes", auditor, at + "/delete", `{}`, 403, "needs the role admin", "work:3"},
		{"another word", boss, at + "/rename", `{"version": 1}`, 404, "nothing under that path", "work:3"},
		{"no version", boss, at + "/rollback", `{}`, 400, "that is no version", "work:3"},
		{"a word for a version", boss, at + "/fork", `{"version": "1", "as": "x"}`, 400, "wrong member or type", "work:3"},
		{"the session of another principal", boss, at + "/delete", `{"principal": "anna"}`, 400, "wrong member", "work:3"},
		{"no JSON", boss, at + "/delete", `version=1`, 400, "not strict JSON", "work:3"},
		{"a version that is not there", boss, at + "/rollback", `{"version": 9}`, 409, "not done: ", "work:3"},
		{"a name that is taken", boss, at + "/fork", `{"version": 1, "as": "work"}`, 409, "there is a session", "work:3"},
		{"a fork", boss, at + "/fork", `{"version": 2, "as": "try"}`, 200,
			`{"ok":true,"said":"The session try is a fork of work at version 2."}`, "try:1 work:3"},
		{"a rollback", boss, at + "/rollback", `{"version": 1}`, 200, "as it was at version 1", "try:1 work:4"},
		{"a deletion", boss, at + "/delete", `{}`, 200, "is deleted", "try:1"},
		{"a second one", boss, at + "/delete", `{}`, 404, "there is no such session", "try:1"},
	} {
		got := row.by.get(row.path)
		if row.body != "" {
			got = row.by.post(row.path, row.body)
		}
		if got.code != row.want || f.names("carl") != row.left || !strings.Contains(got.body, row.says) ||
			row.by == boss && strings.Contains(got.body, "of-anna") ||
			strings.Contains(got.body, strings.Repeat("é", mostName+1)) {
			t.Errorf("%s: %d, %s; want %d, %s: %s", row.why, got.code, f.names("carl"), row.want, row.left, got.body)
		}
	}
	if got := strings.Join(w.record.states(audit.Session), ", "); got != "forked carl, rolled_back carl, deleted carl" {
		t.Errorf("the record has %s", got)
	}
	id = f.put("carl", "kept", 1)
	for why, headers := range map[string][]string{
		"no token":     {"Content-Type: application/json"},
		"another site": {"Content-Type: application/json", "X-CSRF-Token: " + boss.csrf, "Origin: https://evil.test"},
		"a form":       {"Content-Type: application/x-www-form-urlencoded", "X-CSRF-Token: " + boss.csrf},
	} {
		if got := boss.send("POST", "/api/sessions/"+id+"/delete", "{}", headers...); got.code != 403 && got.code != 415 ||
			f.names("carl") != "kept:1 try:1" {
			t.Errorf("%s: %d %s, there are %s", why, got.code, got.body, f.names("carl"))
		}
	}
	// What was done and cannot be recorded says so, as on the page.
	w.record.broken = true
	if got := boss.post("/api/sessions/"+id+"/delete", "{}"); got.code != 200 ||
		!strings.Contains(got.body, "The record does not say so") || f.names("carl") != "try:1" {
		t.Errorf("without a record: %d %s", got.code, got.body)
	}
}

// A page that asks changes nothing, and says what it is about. Only its own form changes something.
func TestChangesOfSessionsAreAskedAbout(t *testing.T) {
	w, f := worldOfSessions(t)
	id := f.put("anna", "work", 2)
	v := w.login("anna")
	at := "/sessions/" + id
	for path, want := range map[string]string{
		"/delete":             "Delete the session work with all its 2 versions",
		"/rollback?version=1": "Make the session work what it was at version 1",
		"/fork?version=2":     "Make a new session of version 2 of the session work",
	} {
		if got := v.get(at + path); got.code != 200 || !strings.Contains(got.body, want) ||
			!strings.Contains(got.body, "the session work</button>") {
			t.Errorf("%s: %d\n%s", path, got.code, got.body)
		}
	}
	for path, want := range map[string]int{"/rollback?version=9": 404, "/rollback": 400, "/fork": 400,
		"/rename?version=1": 404} {
		if got := v.get(at + path); got.code != want {
			t.Errorf("%s: %d, want %d", path, got.code, want)
		}
	}
	const isForm = "Content-Type: application/x-www-form-urlencoded"
	for why, row := range map[string]struct {
		body    string
		headers []string
		want    int
	}{
		"no token":      {"version=1", []string{isForm}, 403},
		"another token": {"csrf=" + v.csrf + "x&version=1", []string{isForm}, 403},
		"another site":  {"csrf=" + v.csrf + "&version=1", []string{isForm, "Origin: https://evil.test"}, 403},
		"another port":  {"csrf=" + v.csrf, []string{isForm, "Sec-Fetch-Site: same-site"}, 403},
		"JSON": {`{"version":1}`, []string{"Content-Type: application/json",
			"X-CSRF-Token: " + v.csrf}, 415},
		"a token of a stolen link": {"csrf=" + v.csrf, []string{isForm, "Cookie: "}, 401},
	} {
		for _, action := range []string{"/delete", "/rollback", "/fork"} {
			if got := v.send("POST", at+action, row.body, row.headers...); got.code != row.want {
				t.Errorf("%s: %s: %d, want %d", why, action, got.code, row.want)
			}
		}
	}
	if got := f.names("anna"); got != "work:2" {
		t.Errorf("there are %s", got)
	}
	if n := len(w.record.states(audit.Session)); n != 0 {
		t.Errorf("the record has %d changes", n)
	}
}

// Names and types come from programs, and the store may be somebody's: on the page they are text, and all visible.
func TestHostileSessionsAreText(t *testing.T) {
	w, f := worldOfSessions(t)
	const hostile = "<script>alert(1)</script>\"><img src=x onerror=alert(1)>\u202e\u2066\x1b[31m{{.CSRF}}"
	id := f.put("anna", hostile, 2, sandbox.Name{Name: hostile, Kind: hostile, Type: hostile, Class: hostile},
		sandbox.Name{Name: strings.Repeat("é", 10_000), Kind: "let", Type: "number"})
	v := w.login("anna")
	for _, path := range []string{"/sessions", "/sessions/" + id, "/sessions/" + id + "/delete",
		"/sessions/" + id + "/fork?version=1",
		"/sessions/" + id + "/rollback?version=1"} {
		got := v.get(path)
		if got.code != 200 || !strings.Contains(got.body, "&lt;script&gt;alert(1)&lt;/script&gt;") {
			t.Errorf("%s: %d\n%s", path, got.code, got.body)
		}
		for _, never := range []string{"<script>", "<img src=x", "\u202e", "\u2066", "\x1b",
			strings.Repeat("é", mostName+1)} {
			if strings.Contains(got.body, never) {
				t.Errorf("%s has %.20q: %s", path, never, around(got.body, never))
			}
		}
	}
	if got := v.form("/sessions/" + id + "/delete"); got.code != 303 || f.names("anna") != "" {
		t.Errorf("deleting it: %d, there are %s", got.code, f.names("anna"))
	}
	if page := v.get("/sessions?said=x").body; strings.Contains(page, "<script>") {
		t.Error(page)
	}
}

func TestManySessionsAndNamesAreCounted(t *testing.T) {
	w, f := worldOfSessions(t)
	var names []sandbox.Name
	for i := range 600 {
		names = append(names, sandbox.Name{Name: fmt.Sprintf("n%d_", i), Kind: "let", Type: "number"})
	}
	for i := range mostSessions + 5 {
		f.put("anna", fmt.Sprintf("s%d", i), 1)
	}
	large := f.put("anna", "large", 1, names...)
	v := w.login("anna")
	if page := v.get("/sessions").body; strings.Count(page, "<tr>")-1 != mostSessions ||
		!strings.Contains(page, "6 more sessions") {
		t.Errorf("%d sessions are on the page", strings.Count(page, "<tr>")-1)
	}
	page := v.get("/sessions/" + large).body
	if strings.Contains(page, ">n99_<") || !strings.Contains(page, ">n100_<") || !strings.Contains(page, ">n599_<") ||
		!strings.Contains(page, "100 earlier names are not shown") {
		t.Errorf("the page has\n%.3000s", page)
	}
}

func TestWithoutSessionsThereIsNoSuchPage(t *testing.T) {
	w := newWorld(t)
	v := w.login("anna")
	for _, path := range []string{"/sessions", "/sessions/x", "/sessions/x/delete", "/api/sessions", "/api/sessions/x"} {
		if got := v.get(path); got.code != http.StatusNotFound {
			t.Errorf("GET %s: %d", path, got.code)
		}
	}
	if got := v.form("/sessions/x/delete"); got.code != http.StatusNotFound ||
		strings.Contains(v.get("/").body, "/sessions") {
		t.Errorf("got %d", got.code)
	}
}
