package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/changes"
	"github.com/codemode-project/codemode/internal/console/rules"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/profiles"
)

// longest is how long the names of tools may be, in bytes.
const longest = 256

const bookText = `// the rules of the house
{
  "evaluation": {
    "profiles": {
      "work": {
        "denylist": ["fs__delete_*"], // never
        "asklist": [
          // what changes files
          { "id": "write", "tool": "fs__write" },
          "mail__*"
        ],
        "allowlist": ["fs__read"]
      }
    },
    "overlays": [
      { "id": "contractor", "principal": "eve", "tool": "mail__*", "denylist": ["mail__*"], "until": "2035-01-01T00:00:00Z" }
    ]
  }
}
`

// disk is one configuration file, with the book of its rules.
type disk struct {
	*fakeRules
	t     *testing.T
	path  string
	book  *rules.Book
	calls []changes.PastCall
}

// withBook makes a world with a file of rules.
func withBook(t *testing.T, change ...func(*Options)) (*world, *disk) {
	t.Helper()
	d := newDisk(t)
	return newWorld(t, append([]func(*Options){func(o *Options) { o.Rules, o.Book = d, d.book }}, change...)...), d
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{fakeRules: &fakeRules{}, t: t, path: filepath.Join(t.TempDir(), "codemode.json")}
	accepted, err := catalog.OpenPins(t.TempDir())
	check(t, err)
	d.book = &rules.Book{
		Rules: inforce.NewRules(slog.New(slog.DiscardHandler), accepted),
		Files: func() (config.Files, error) { return config.Files{User: d.path}, nil },
		Past: func(context.Context) (changes.Past, error) {
			return changes.Past{Calls: d.calls, Days: 30}, nil
		},
		Tools: func() (all []*call.Tool) {
			for _, name := range []string{"fs__read", "fs__write", "fs__delete_all", "mail__send"} {
				server, raw, _ := strings.Cut(name, "__")
				all = append(all, &call.Tool{Server: server, Raw: raw, Name: name})
			}
			return append(all, &call.Tool{Server: "mail", Raw: "sеnd", Name: "mail__s\u0435nd"}) // a Cyrillic е
		},
	}
	for i := range 4 {
		d.calls = append(d.calls, changes.PastCall{Run: fmt.Sprint("r_", i), Call: 1, Time: time.Now().Add(-time.Hour),
			Server: "fs", Tool: "fs__read", Args: json.RawMessage(`{}`), Profile: "work", Verdict: call.Allow, Rule: "fs__read"})
	}
	d.put(bookText)
	return d
}

var check = checktest.OK

// put writes the file as an editor does, and reads it.
func (d *disk) put(text string) {
	d.t.Helper()
	check(d.t, os.WriteFile(d.path, []byte(text), 0o600))
	cfg, err := config.Load(d.path)
	check(d.t, err)
	d.book.Rules.Replace(&inforce.State{Config: cfg})
}

func (d *disk) now() string {
	data, err := os.ReadFile(d.path)
	check(d.t, err)
	return string(data)
}

func (d *disk) digest() string { return profiles.Digest([]byte(d.now())) }

func (d *disk) Files() ([]rules.File, string) {
	text := d.now()
	return []rules.File{
		{Path: d.path, Standing: "Yours", Digest: profiles.Digest([]byte(text)), Text: text, Editable: true},
		{Path: "/etc/codemode/managed.json", Standing: "Of the administrator", Digest: "x", Text: "{}"},
	}, ""
}

func (d *disk) Check(path string, text []byte) error {
	if path != d.path {
		return errors.New("this file cannot be changed here")
	}
	_, err := config.Files{User: d.path}.LoadWith(path, text)
	return err
}

func (d *disk) Save(_ context.Context, path, digest string, text []byte) error {
	if path != d.path || digest != d.digest() {
		return errors.New("the file has changed meanwhile")
	}
	d.put(string(text))
	return nil
}

func (d *disk) fields(more ...string) []string {
	return append([]string{"path=" + d.path, "digest=" + d.digest()}, more...)
}

// fieldOf finds the value of a hidden field of a page.
func fieldOf(t *testing.T, page, name string) string {
	t.Helper()
	_, after, ok := strings.Cut(page, `name="`+name+`" value="`)
	value, _, end := strings.Cut(after, `"`)
	if !ok || !end {
		t.Fatalf("the page has no field %s:\n%s", name, page)
	}
	return html.UnescapeString(value)
}

// S4.5, S4.7: a rule is seen in its table, changed in the text of its file, and its effect is seen before it is saved.
func TestARuleIsSeenChangedAndSaved(t *testing.T) {
	w, d := withBook(t)
	v := w.login(anna)
	page := v.get("/rules/profile/work")
	for _, want := range []string{"fs__delete_*", "never decided", "4 calls", "codemode.json:6", `/rules">file</a>`} {
		if page.code != 200 || !strings.Contains(page.body, want) {
			t.Errorf("the table has no %q: %d\n%s", want, page.code, page.body)
		}
	}
	asked := strings.NewReplacer(`"mail__*"
        ],`, `"mail__*",
          "fs__read"
        ],`, `"allowlist": ["fs__read"]`, `"allowlist": []`).Replace(bookText)
	preview := v.form("/rules/preview", d.fields("text="+asked, "why=too much is read")...)
	for _, want := range []string{"4</strong> of 4 recent calls", "/run/r_3", "too much is read", `class="minus"`} {
		if preview.code != 200 || !strings.Contains(preview.body, want) {
			t.Errorf("the preview has no %q: %d\n%s", want, preview.code, preview.body)
		}
	}
	if d.now() != bookText {
		t.Fatal("a preview changed the file")
	}
	text := fieldOf(t, preview.body, "text")
	if got := v.form("/rules/save", d.fields("text="+text, "why=too much is read")...); got.code != 403 || d.now() != bookText {
		t.Errorf("saving without a code: %d", got.code)
	}
	if got := v.proved("/rules/save", d.fields("text="+text, "why=too much is read")...); got.code != 303 || d.now() != asked {
		t.Fatalf("saving: %d %s\n%s", got.code, got.body, d.now())
	}
	w.record.mu.Lock()
	e := w.record.entries[len(w.record.entries)-1]
	w.record.mu.Unlock()
	if e.Kind != audit.Policy || e.Principal != anna || !strings.Contains(e.Detail, d.path) ||
		!strings.HasSuffix(e.Detail, "because too much is read") {
		t.Errorf("the record has %+v", e)
	}
}

// Without a reason, or with one that has no end, no change waits for a code, and the form keeps what the person typed.
func TestEveryChangeOfTheRulesSaysWhy(t *testing.T) {
	w, d := withBook(t)
	v := w.login(anna)
	d.put("{}\n")
	if got := v.proved("/rules/save", d.fields("text="+bookText, "why=the rules")...); got.code != 303 {
		t.Fatalf("the first change: %d %s", got.code, got.body)
	}
	file := map[string]string{"path": d.path, "digest": d.digest()}
	with := func(more map[string]string) map[string]string {
		maps.Copy(more, file)
		return more
	}
	text := strings.Replace(bookText, `["fs__read"]`, `["fs__*"]`, 1)
	for why, want := range map[string]string{"": "say why", " \t ": "say why", strings.Repeat("x", 1001): "1001 bytes, and 1000"} {
		for _, test := range []struct {
			path   string
			fields map[string]string
			keeps  string
		}{
			{"/rules/save", with(map[string]string{"text": text}), `[&#34;fs__*&#34;]`},
			{"/api/rules/save", with(map[string]string{"text": text}), ""},
		} {
			test.fields["why"] = why
			var got *response
			if strings.HasPrefix(test.path, "/api/") {
				js, err := json.Marshal(test.fields)
				check(t, err)
				got = v.send("POST", test.path, string(js), "Content-Type: application/json", "X-CSRF-Token: "+v.csrf)
			} else {
				var fields []string
				for name, value := range test.fields {
					fields = append(fields, name+"="+value)
				}
				if got = v.form(test.path, fields...); len(why) > 3 && !strings.Contains(got.body, `value="`+why+`"`) {
					t.Errorf("%s: the reason of %d bytes is gone:\n%s", test.path, len(why), got.body)
				}
			}
			if got.code != 422 || !strings.Contains(got.body, want) || !strings.Contains(got.body, test.keeps) {
				t.Errorf("%s because %.9q: %d\n%s", test.path, why, got.code, got.body)
			}
		}
	}
	if all := w.c.Confirm(anna); len(all) != 0 || d.now() != bookText {
		t.Errorf("%d changes wait, the file is\n%s", len(all), d.now())
	}
}

// A file may have more than 64 KiB, over JSON as in a form.
func TestALargeFileIsSavedOverJSON(t *testing.T) {
	w, d := withBook(t)
	v := w.login(anna)
	long := bookText + strings.Repeat("// a comment\n", 6000)
	d.put(long)
	text := strings.Replace(long, `["fs__read"]`, `["fs__*"]`, 1)
	js, err := json.Marshal(map[string]string{"path": d.path, "digest": d.digest(), "text": text, "why": "all of it"})
	check(t, err)
	for path, want := range map[string]int{"/api/rules/preview": 200, "/api/rules/save": 403} {
		got := v.send("POST", path, string(js), "Content-Type: application/json", "X-CSRF-Token: "+v.csrf)
		if got.code != want || !strings.Contains(got.body, "fs__*") {
			t.Errorf("%s: %d %.300s", path, got.code, got.body)
		}
	}
}

// A preview over JSON is of the change that saving makes: with the line ends and the mark of the file, and of the file
// that the client has seen.
func TestAPreviewOverJSONIsOfWhatIsSaved(t *testing.T) {
	w, d := withBook(t)
	v := w.login(anna)
	d.put("\ufeff" + strings.ReplaceAll(bookText, "\n", "\r\n"))
	text := strings.Replace(bookText, "fs__delete_*", "fs__d*", 1)
	ask := func(digest string) *response {
		js, err := json.Marshal(map[string]string{"path": d.path, "digest": digest, "text": text})
		check(t, err)
		return v.send("POST", "/api/rules/preview", string(js), "Content-Type: application/json", "X-CSRF-Token: "+v.csrf)
	}
	var preview rules.Preview
	if ask(d.digest()).json(&preview); len(preview.Diff) != 6 {
		t.Errorf("%d lines: %+v", len(preview.Diff), preview.Diff)
	}
	if got := ask("old"); got.code != 422 || !strings.Contains(got.body, "changed meanwhile") {
		t.Errorf("of a file that the client has not seen: %d %s", got.code, got.body)
	}
}

// The text of a file from an editor of another system keeps its line ends and its mark.
func TestAFileKeepsItsLineEndsAndItsMark(t *testing.T) {
	w, d := withBook(t)
	v := w.login(anna)
	d.put("\ufeff" + strings.ReplaceAll(bookText, "\n", "\r\n"))
	text := strings.Replace(bookText, "fs__delete_*", "fs__d*", 1)
	preview := v.form("/rules/preview", d.fields("text="+strings.ReplaceAll(text, "\n", "\r\n"))...)
	if preview.code != 200 || strings.Count(preview.body, `class="minus"`) != 1 {
		t.Fatalf("the preview: %d\n%s", preview.code, preview.body)
	}
	if got := v.proved("/rules/save", d.fields("why=shorter", "text="+fieldOf(t, preview.body, "text"))...); got.code != 303 ||
		d.now() != "\ufeff"+strings.ReplaceAll(text, "\n", "\r\n") {
		t.Errorf("saving: %d %q", got.code, d.now())
	}
}

// W: what a form, a link or a file brings changes nothing that the person has not seen, and its text is only text.
func TestAttacksOnTheRules(t *testing.T) {
	w, d := withBook(t)
	v := w.login(anna)
	t.Run("the file changes between form and save", func(t *testing.T) {
		saving := d.fields("text=" + strings.Replace(bookText, `["fs__read"]`, `["fs__*"]`, 1))
		d.put(strings.Replace(bookText, `["fs__read"]`, `["time__*"]`, 1))
		defer d.put(bookText)
		for _, path := range []string{"/rules/save", "/rules/preview"} {
			if got := v.form(path, saving...); got.code != 422 || !strings.Contains(got.body, "changed meanwhile") {
				t.Errorf("%s: %d", path, got.code)
			}
		}
	})
	t.Run("without the token of the page", func(t *testing.T) {
		for _, path := range []string{"/rules/preview", "/rules/explain", "/rules/save"} {
			body := url.Values{"path": {d.path}, "profile": {"work"}, "tool": {"fs__read"}}.Encode()
			if got := v.send("POST", path, body, "Content-Type: application/x-www-form-urlencoded"); got.code != 403 {
				t.Errorf("%s: %d", path, got.code)
			}
		}
	})
	t.Run("a file that is not one of ours", func(t *testing.T) {
		for _, path := range []string{"/etc/passwd", "/etc/codemode/managed.json", d.path + "/../codemode.json", ""} {
			if got := v.form("/rules/preview", "path="+path, "digest=x", "text={}"); got.code != 404 {
				t.Errorf("the preview of %q: %d", path, got.code)
			}
		}
	})
	t.Run("a link that prefills", func(t *testing.T) {
		for tool, shown := range map[string]bool{"fs__write": true, `"><script>`: false, "fs\u202ewrite": false,
			strings.Repeat("x", longest+1): false} {
			body := v.get("/rules/profile/work?tool=" + url.QueryEscape(tool)).body
			if fieldOf(t, strings.ReplaceAll(body, `name="tool" value=""`, ""), "csrf") == "" ||
				strings.Contains(body, `name="tool" value="`+tool+`"`) != shown || strings.Contains(body, "decides the call") {
				t.Errorf("%q: %s", tool, body)
			}
		}
	})
	t.Run("markup and invisible characters in a rule", func(t *testing.T) {
		const evil = `<img src=x onerror=alert(1)>`
		d.put(strings.Replace(bookText, `"tool": "fs__write" }`, `"tool": "fs__write", "reason": "`+evil+"\u202e"+`" }`, 1))
		defer d.put(bookText)
		for _, page := range []string{
			v.get("/rules/profile/work").body, v.get("/rules/overlays").body, v.get("/rules").body,
			v.form("/rules/explain", "profile=work", "tool="+evil, "args="+evil, "principal="+evil).body,
			v.form("/rules/preview", d.fields("text="+strings.Replace(d.now(), "fs__read", evil, 1), "why="+evil)...).body,
			v.form("/rules/preview", d.fields("text="+strings.Replace(d.now(), "fs__read", "fs__*", 1))...).body,
			v.form("/rules/preview", d.fields("text="+bookText)...).body,
		} {
			// The value of a hidden field comes back to us: it is exact.
			for i, part := range strings.Split(page, `name="text" value="`) {
				if i > 0 {
					_, part, _ = strings.Cut(part, `"`)
				}
				if strings.Contains(part, "<img src=x") || strings.Contains(part, "\u202e") {
					t.Errorf("a page has it as it is:\n%s", page)
				}
			}
		}
	})
	t.Run("a tool that looks like another one", func(t *testing.T) {
		got := v.form("/rules/explain", "profile=work", "tool=mail__s\u0435nd").body
		if !strings.Contains(got, "mail.send looks like it, and is another tool") {
			t.Errorf("it passes for the other one:\n%s", got)
		}
		got = v.form("/rules/explain", "profile=work", "tool=fs__raed").body
		if !strings.Contains(got, "fs.read is near it") {
			t.Errorf("a near miss:\n%s", got)
		}
	})
	t.Run("who does not look after the rules", func(t *testing.T) {
		eve := w.login("eve")
		for _, x := range w.c.inside() {
			if !strings.HasPrefix(x.path, "/rules") && !strings.HasPrefix(x.path, "/api/rules") {
				continue
			}
			path := strings.NewReplacer("{name}", "work", "{id}", "x-1").Replace(x.path)
			got := &response{}
			switch {
			case x.method == "GET":
				got = eve.get(path)
			case isAPI(&http.Request{URL: &url.URL{Path: path}}):
				got = eve.send("POST", path, "{}", "Content-Type: application/json", "X-CSRF-Token: "+eve.csrf)
			default:
				got = eve.form(path, d.fields("text={}", "profile=work", "tool=fs__read")...)
			}
			if got.code != 403 || strings.Contains(got.body, "fs__delete") {
				t.Errorf("%s %s: %d", x.method, x.path, got.code)
			}
		}
	})
	if d.now() != bookText {
		t.Errorf("the file is\n%s", d.now())
	}
}

// A call is decided beside the table, whose deciding rule is marked.
func TestWhatWouldHappenToACall(t *testing.T) {
	w, _ := withBook(t)
	v := w.login(anna)
	for _, test := range []struct {
		fields []string
		code   int
		want   []string
	}{
		{[]string{"tool=fs__write", `args={"path": "x"}`}, 200, []string{"decides the call", "<strong>write</strong> in the asklist"}},
		{[]string{"tool=mail__send"}, 200, []string{"<strong>mail__*</strong> in the asklist"}},
		{[]string{"tool=mail__send", "principal=eve"}, 200, []string{"of the overlay contractor"}},
		{[]string{"tool=time__now"}, 200, []string{"No connected server has"}},
		{[]string{"tool=fs__read", "args={"}, 200, []string{"cannot be judged"}},
		{[]string{"tool="}, 422, []string{"name a tool"}},
		{[]string{"tool=" + strings.Repeat("x", longest+1)}, 422, []string{"name a tool"}},
	} {
		got := v.form("/rules/explain", append([]string{"profile=work"}, test.fields...)...)
		for _, want := range test.want {
			if got.code != test.code || !strings.Contains(got.body, want) {
				t.Errorf("%q: %d, no %q\n%s", test.fields, got.code, want, got.body)
			}
		}
	}
	if got := v.form("/rules/explain", "profile=nobody", "tool=fs__read"); got.code != 404 {
		t.Errorf("a profile that is not there: %d", got.code)
	}
	overlays := v.get("/rules/overlays")
	if overlays.code != 200 || !strings.Contains(overlays.body, "contractor") || !strings.Contains(overlays.body, "2035-01-01") {
		t.Errorf("overlays: %d\n%s", overlays.code, overlays.body)
	}
}

// The same over JSON, each answer as the OpenAPI file says.
func (w *world) checkRulesAPI(t *testing.T, o *openAPI, v *visitor, d *disk) {
	t.Helper()
	const in = "/s/{session}/api/rules"
	ask := func(method, path, under string, body any, headers ...string) (got *response) {
		t.Helper()
		if method == "GET" {
			got = v.get("/api/rules" + under)
		} else {
			js, err := json.Marshal(body)
			check(t, err)
			got = v.send("POST", "/api/rules"+under, string(js), append(headers, "Content-Type: application/json",
				"X-CSRF-Token: "+v.csrf)...)
		}
		o.check(t, in+path, strings.ToLower(method), got)
		return got
	}
	type object = map[string]any
	ask("GET", "", "", nil)
	ask("GET", "/profiles/{name}", "/profiles/work", nil)
	ask("GET", "/profiles/{name}", "/profiles/nobody", nil)
	ask("GET", "/overlays", "/overlays", nil)
	ask("POST", "/explain", "/explain", object{"profile": "work", "tool": "fs__write", "args": object{"path": "x"}})
	ask("POST", "/explain", "/explain", object{"profile": "nobody", "tool": "x"})
	ask("POST", "/preview", "/preview", object{"path": d.path, "text": "{"})
	ask("POST", "/preview", "/preview", object{"path": "/etc/passwd", "text": "{}"})
	text := strings.Replace(bookText, `["fs__read"]`, "[]", 1)
	ask("POST", "/preview", "/preview", object{"path": d.path, "text": text})
	save := object{"path": d.path, "digest": d.digest(), "text": text, "why": "unused"}
	ask("POST", "/save", "/save", object{"path": d.path, "digest": "old", "text": text})
	ask("POST", "/save", "/save", save)
	proof := func() string {
		t.Helper()
		all := w.c.Confirm(anna)
		if len(all) == 0 {
			t.Fatal("no change waits")
		}
		return proofHeader + ": " + all[len(all)-1].Code
	}
	ask("POST", "/save", "/save", save, proof())
	if d.now() != text {
		t.Errorf("saved, the file is\n%s", d.now())
	}
	if states := w.record.states(audit.Policy); !slices.Equal(states, []string{"edited " + anna}) {
		t.Errorf("the record has %q", states)
	}
	for path, wrong := range map[string][2]object{
		"/propose": {{"profile": "work", "list": "allowlist", "rule": "x"}, {"profile": "work", "tool": "fs__read",
			"list": "allowlist", "why": "it only reads"}},
		"/session": {{"role": "reviewer", "life": "1 year"}, {"role": "reviewer", "life": "1 hour"}},
	} {
		ask("POST", path, path, wrong[0])
		ask("POST", path, path, wrong[1])
		if got := ask("POST", path, path, wrong[1], proof()); got.code != 200 {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
	var made struct {
		Roles    []Role
		Sessions []RoleSession
	}
	ask("GET", "/sessions", "/sessions", nil).json(&made)
	if len(made.Roles) != 1 || made.Roles[0].Can == "" || len(made.Sessions) != 1 || made.Sessions[0].Role != "reviewer" {
		t.Fatalf("the sessions for roles: %+v", made)
	}
	end := object{"id": made.Sessions[0].ID}
	if got := ask("POST", "/session/end", "/session/end", end); got.code != 200 {
		t.Errorf("ending a session for a role: %d %s", got.code, got.body)
	}
	if got := ask("POST", "/session/end", "/session/end", end); got.code != 422 {
		t.Errorf("ending it again: %d %s", got.code, got.body)
	}
	if len(d.proposed) != 1 || d.proposed[0].By != anna || d.proposed[0].Why != "it only reads" ||
		!slices.Equal(d.made, []string{"reviewer"}) {
		t.Errorf("it did %+v, %q", d.proposed, d.made)
	}
}
