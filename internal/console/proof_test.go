package console

import (
	"encoding/base64"
	"fmt"
	"html"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// powers is what each route can do that takes something in. A route that is not here fails the test: whoever adds it
// decides whether it wants a proof, and what it is called with in TestNothingWidensWithoutAProof.
var powers = map[string]power{
	"/answer":         answers,
	"/answer/propose": widens,
	"/grants/revoke":  narrows,
	"/rules/validate": reads,
	"/rules/save":     widens,
	"/rules/propose":  widens,
	"/rules/session":  widens,

	"/rules/session/end": narrows, "/api/rules/session/end": narrows,

	"/rules/explain": reads,
	"/rules/preview": reads,
	"/logout":        narrows,

	"/servers/reconnect": narrows, "/api/servers/reconnect": narrows,
	"/servers/accept": widens, "/api/servers/accept": widens,

	"/sessions/{id}/{action}": arranges, "/api/sessions/{id}/{action}": arranges,

	"/api/answer":       answers,
	"/accounts/connect": arranges, "/accounts/disconnect": narrows,
	"/api/accounts/connect": arranges, "/api/accounts/disconnect": narrows, "/api/logout": narrows,
	"/api/grants/revoke": narrows, "/api/answer/propose": widens,
	"/api/rules/save": widens, "/api/rules/propose": widens, "/api/rules/session": widens,
	"/api/rules/explain": reads, "/api/rules/preview": reads,
}

func TestEveryRouteIsClassified(t *testing.T) {
	w, _ := withBook(t)
	got := map[string]power{}
	for _, x := range w.c.inside() {
		if x.method == "GET" {
			if x.power != reads {
				t.Errorf("GET %s changes something", x.path)
			}
			continue
		}
		got[x.path] = x.power
		if (x.power == widens) != (x.prepare != nil) || (x.power == widens) != (x.page == nil) {
			t.Errorf("%s does what it does without a proof, or does nothing", x.path)
		}
	}
	if !maps.Equal(got, powers) {
		t.Errorf("the routes are %v, want %v", got, powers)
	}
	if (route{}).power != widens {
		t.Error("a route that says nothing needs no proof")
	}
}

// request is how a route that widens power is used.
type request struct {
	path   string
	fields []string // or
	body   string   // JSON
	done   func(w *world) bool
}

func widening(a Asked) []request {
	q := "q=" + a.ID + " " + a.Digest
	js := `{"id":"` + a.ID + `","digest":"` + a.Digest + `","decision":"allow","propose":"exact"}`
	proposed := func(w *world) bool { return len(w.rules.proposed) == 1 }
	made := func(w *world) bool { return len(w.rules.made) == 1 }
	accepted := func(w *world) bool { return w.c.options.Servers.(*fakeServers).done() != "" }
	return []request{
		{"/rules/save", []string{"path=codemode.json", "digest=3", "why=a server", "text={\"servers\": {}}\n// a comment\n"}, "",
			func(w *world) bool {
				return w.rules.text == "{\"servers\": {}}\n// a comment\n"
			}},
		{"/rules/propose", []string{"profile=p", "tool=x__y", "list=allowlist", "why=because"}, "", proposed},
		{"/rules/session", []string{"role=reviewer", "life=1 hour"}, "", made},
		{"/api/rules/propose", nil, `{"profile":"p","tool":"x__y","list":"allowlist","why":"because"}`, proposed},
		{"/api/rules/session", nil, `{"role":"because","life":"1 hour"}`, made},
		{"/api/rules/save", nil, `{"path":"codemode.json","digest":"3","text":"{\"a\": 1}\n","why":"an exact reason"}`,
			func(w *world) bool { return w.rules.text == "{\"a\": 1}\n" }},
		{"/answer/propose", []string{q, "decision=allow propose:any"}, "", proposed},
		{"/api/answer/propose", nil, js, proposed},
		{"/servers/accept", []string{"tool=files__read", "digest=sha256:new", "why=because"}, "", accepted},
		{"/api/servers/accept", nil, `{"tool":"files__read","digest":"sha256:new","why":"because"}`, accepted},
	}
}

// ask sends a request, with a proof or without one.
func (v *visitor) ask(x request, proof string) *response {
	if x.body != "" {
		return v.send("POST", x.path, x.body, "Content-Type: application/json", "X-CSRF-Token: "+v.csrf,
			proofHeader+": "+proof)
	}
	return v.form(x.path, append(slices.Clone(x.fields), "proof="+proof)...)
}

// A session with both halves and its token changes nothing without a code, whatever it sends instead. With the code it
// does, once.
func TestNothingWidensWithoutAProof(t *testing.T) {
	all := 0
	for _, p := range powers {
		if p == widens {
			all++
		}
	}
	if n := len(widening(Asked{})); n != all {
		t.Fatalf("%d of %d routes are tried", n, all)
	}
	for i, x := range widening(Asked{}) {
		t.Run(x.path, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.Servers, o.Book = someServers(), newDisk(t).book })
			changes := func() int { return w.rules.changes() + len(w.c.options.Servers.(*fakeServers).did) }
			w.rules.anything = true
			v, other, ben := w.login(anna), w.login(anna), w.login("ben")
			answers := w.ask(aCall())
			x := widening(v.pending()[0])[i]
			refused := func(why string, got *response) {
				t.Helper()
				if got.code < 400 || changes() != 0 {
					t.Fatalf("%s: %d %s", why, got.code, got.body)
				}
			}
			if len(w.c.Confirm(anna)) != 0 {
				t.Fatal("a change waits that nobody asked for")
			}
			refused("without a code", v.ask(x, ""))
			if got := v.ask(x, ""); got.code != 403 {
				t.Errorf("without a code: %d", got.code)
			}
			for _, proof := range []string{"wrong", v.csrf, strings.TrimPrefix(v.path, "/s/"), strings.Repeat("A", 26),
				secretOf(w), "7f3a", " "} {
				refused("with "+proof, v.ask(x, proof))
			}
			code := w.code()
			refused("the code in another session of hers", other.ask(x, code))
			refused("the code in the session of somebody else", ben.ask(x, code))
			refused("half of the code", v.ask(x, code[:13]))
			refused("more than the code", v.ask(x, code+"A"))
			other2 := x
			if x.body != "" {
				if other2.body = strings.NewReplacer("exact", "any", "because", "otherwise").Replace(x.body); other2.body == x.body {
					t.Fatalf("the request %s has nothing to replace", x.body)
				}
			} else {
				last := len(x.fields) - 1
				other2.fields = append(slices.Clone(x.fields[:last]), x.fields[last]+" ")
				if strings.HasSuffix(x.path, "propose") && len(x.fields) == 2 {
					other2.fields[last] = "decision=allow propose:exact"
				}
			}
			refused("the code for something else", v.ask(other2, code))
			more := x
			if more.fields = append(slices.Clone(x.fields), "also=this"); x.body != "" {
				more.body = x.body + " "
			}
			refused("the code for something more", v.ask(more, code))
			if x.body == "" {
				hidden := url.Values{"text": {"{\"b\": 1}"}, "path": {"codemode.json"}, "digest": {"3"}, "profile": {"evil"},
					"tool": {"evil"}, "role": {"evil"}, "life": {"1 day"}}
				nested := "request=" + base64.RawURLEncoding.EncodeToString([]byte(hidden.Encode()))
				refused("the code for a request in a request", v.form(x.path,
					append(slices.Clone(x.fields), nested, "proof="+code)...))
			}
			refused("the code in the address", v.send("POST", x.path+"?proof="+code, formOf(x, v.csrf),
				"Content-Type: application/x-www-form-urlencoded"))
			refused("the code without the token", (&visitor{w: w, path: v.path, cookie: v.cookie}).ask(x, code))
			untouched(t, w, answers)

			// Many changes wait by now; the code of this one is still its own. Ten requests at once do it once.
			var done atomic.Int32
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					if got := v.ask(x, " "+strings.ToLower(code[:5])+" "+code[5:]+" "); got.code < 400 {
						done.Add(1)
					}
				})
			}
			all.Wait()
			if done.Load() != 1 || changes() != 1 || !x.done(w) {
				t.Errorf("with the code: done %d times, %d changes", done.Load(), changes())
			}
			if got := v.ask(x, code); got.code < 400 || changes() != 1 {
				t.Errorf("a second time: %d", got.code)
			}
			for _, e := range w.record.entries {
				if text := fmt.Sprintf("%+v", e); strings.Contains(text, code) || strings.Contains(text, "Broken link") {
					t.Errorf("the record has the code, or the arguments of a call: %+v", e)
				}
			}
		})
	}
}

func formOf(x request, csrf string) string {
	values := url.Values{"csrf": {csrf}}
	for _, f := range x.fields {
		name, value, _ := strings.Cut(f, "=")
		values.Add(name, value)
	}
	return values.Encode()
}

// No route that wants no proof changes the rules, whatever it is sent.
func TestOtherRoutesDoNotWiden(t *testing.T) {
	w := newWorld(t)
	w.rules.anything = true
	w.ask(aCall(), aCall(func(r *prompt.Request) { r.Call = 2 }))
	for path, power := range powers {
		if power == widens {
			continue
		}
		v := w.login(anna) // one of them ends it
		open := v.pending()
		for _, a := range open[:min(len(open), 1)] {
			for _, decision := range []string{"allow propose:any", "allow propose:exact", "propose", "allow propose:"} {
				v.form(path, "q="+a.ID+" "+a.Digest, "decision="+decision, "do=save", "propose=any", "path=codemode.json",
					"digest=3", "text={\"a\":1}", "profile=p", "tool=x", "role=r", "life=1 hour", "action=save")
			}
			js := `{"id":"` + a.ID + `","digest":"` + a.Digest + `","decision":"allow","propose":"any"}`
			v.send("POST", path, js, "Content-Type: application/json", "X-CSRF-Token: "+v.csrf)
		}
	}
	if n := w.rules.changes(); n != 0 {
		t.Errorf("%d changes without a proof", n)
	}
	if n := w.waiting(); n != 2 {
		t.Errorf("%d calls wait: one was allowed together with a rule that was not", n)
	}
}

// Codes are short-lived, the newest counts, and they end with the session. Wrong ones cost nothing and do not fill the
// record.
func TestCodesEnd(t *testing.T) {
	w := newWorld(t)
	w.rules.anything = true
	now := time.Now()
	w.c.logins.now = func() time.Time { return now }
	v := w.login(anna)
	x := widening(Asked{})[0]
	v.ask(x, "")
	first := w.code()
	second := w.code()
	if first == second || len(second) != 26 {
		t.Errorf("the codes are %s and %s", first, second)
	}
	if v.ask(x, first); w.rules.changes() != 0 {
		t.Error("an older code counts")
	}
	for range 200 {
		v.ask(x, "wrong")
	}
	if n := len(w.record.states(audit.Access)); n != 1+maxWrong {
		t.Errorf("%d entries", n)
	}
	now = now.Add(proofLife - time.Second)
	if got := v.ask(x, second); got.code != 303 || !x.done(w) {
		t.Errorf("after 201 wrong codes, just in time: %d", got.code)
	}
	w.rules.text = "{}\n"
	v.ask(x, "")
	code := w.code()
	now = now.Add(proofLife)
	if v.ask(x, code); w.rules.changes() != 0 {
		t.Error("a code lasts longer than it says")
	}
	now = now.Add(changeLife)
	if n := len(w.c.Confirm(anna)); n != 0 {
		t.Errorf("%d changes wait for ever", n)
	}
	v.ask(x, "")
	code = w.code()
	v.form("/logout")
	if n := len(w.c.Confirm(anna)); n != 0 {
		t.Errorf("%d changes wait for a session that has ended", n)
	}
	again := w.login(anna)
	if again.ask(x, code); w.rules.changes() != 0 {
		t.Error("the code of a session that has ended counts")
	}
	for i := range 3 * maxChanges {
		x.fields[3] = fmt.Sprintf("text={\"a\": %d}", i)
		again.ask(x, "")
	}
	if n := len(w.c.Confirm(anna)); n != maxChanges {
		t.Errorf("%d changes wait at once", n)
	}
	if n := len(w.c.Confirm("ben")); n != 0 {
		t.Errorf("%d changes of hers are somebody else's", n)
	}
	now = now.Add(defaultLife)
	if n := len(w.c.Confirm(anna)); n != 0 {
		t.Errorf("%d changes wait for a session whose time is over", n)
	}
}

// What the terminal shows for a code is what happens: the lines that go and come, with nothing hidden in them.
func TestWhatIsConfirmed(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	w.rules.text = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n"
	fields := []string{"path=codemode.json", "why=b is a text", fmt.Sprintf("digest=%d", len(w.rules.text)),
		"text={\r\n  \"a\": 1,\r\n  \"b\": \"x\u202ey\x01\",\r\n  \"c\": 3\r\n}\r\n"}
	w.rules.anything = true
	got := v.form("/rules/save", fields...)
	all := w.c.Confirm(anna)
	if len(all) != 1 || all[0].What != "write the file codemode.json, because b is a text" ||
		!slices.Equal(all[0].Detail, []string{`-   "b": 2,`, `+   "b": "x<U+202E>y<U+0001>",`}) {
		t.Errorf("got %q", all)
	}
	for _, want := range append(all[0].Detail, all[0].What, "codemode console --confirm") {
		if !strings.Contains(html.UnescapeString(got.body), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	// The page sends it again as one field, and what is written is what was sent at first.
	_, rest, _ := strings.Cut(got.body, `name="request" value="`)
	again, _, _ := strings.Cut(rest, `"`)
	if got := v.form("/rules/save", "request="+again, "proof="+all[0].Code); got.code != 303 ||
		w.rules.text != "{\n  \"a\": 1,\n  \"b\": \"x\u202ey\x01\",\n  \"c\": 3\n}\n" {
		t.Errorf("got %d %q", got.code, w.rules.text)
	}

	for _, test := range []struct {
		before, after string
		want          []string
	}{
		{"a\nb\nc", "a\nb\nc", nil},
		{"a\nb\nc", "a\nc", []string{"- b"}},
		{"a\nc", "a\nb\nc", []string{"+ b"}},
		{"a\na", "a", []string{"- a"}},
		{"", "x", []string{"- ", "+ x"}},
		{"a\r\nb", "a\nb", nil},
		// The reader of the file ends a comment at a line feed only.
		{"// a\n\"rule\"", "// a\r\"rule\"", []string{"- // a", `- "rule"`, `+ // a<U+000D>"rule"`}},
	} {
		if got := changedLines(test.before, test.after); !slices.Equal(got, test.want) {
			t.Errorf("from %q to %q: %q, want %q", test.before, test.after, got, test.want)
		}
	}
}

// A code is for all that it does: no line, no end of a long line and no argument is left out of what is shown, and
// nothing is shown of a file that is not the one that changes.
func TestAllOfAChangeIsShown(t *testing.T) {
	long := strings.Repeat("x", 5000)
	many := strings.Repeat("\"plain\": 1,\n", 200)
	for _, test := range []struct {
		what, path string
		fields     []string
		text       string // of the file; "" is {}
		want       string
	}{
		{"behind many lines", "/rules/save", []string{"why=more", "text=" + many + "\"evil\": 1\n" + many}, "", `+ "evil": 1`},
		{"at the end of a long line", "/rules/save", []string{"why=more", "text=[\"" + long + "\", \"evil\"]"}, "",
			`+ ["` + long + `", "evil"]`},
		{"a line that goes, behind many", "/rules/save", []string{"why=less", "text={}"}, many + "\"guard\": 1\n" + many, `- "guard": 1`},
		{"the reason of a proposal", "/rules/propose", []string{"profile=p", "tool=x__y", "why=first\nevil " + long}, "",
			"           evil " + long},
		{"a long name of a tool", "/rules/propose", []string{"profile=p", "tool=" + long + "evil"}, "",
			"tool:      " + long + "evil"},
	} {
		t.Run(test.what, func(t *testing.T) {
			w := newWorld(t)
			w.rules.anything = true
			if test.text != "" {
				w.rules.text = test.text
			}
			v := w.login(anna)
			got := v.form(test.path, append(test.fields, "path=codemode.json", fmt.Sprintf("digest=%d", len(w.rules.text)))...)
			all := w.c.Confirm(anna)
			if len(all) != 1 || !slices.Contains(all[0].Detail, test.want) {
				t.Errorf("what is printed with the code lacks %.100q: %.500q", test.want, all)
			}
			if !strings.Contains(html.UnescapeString(got.body), test.want) {
				t.Errorf("the page lacks %.100q", test.want)
			}
		})
	}

	t.Run("the arguments of a call whose rule is proposed", func(t *testing.T) {
		w := newWorld(t)
		args := `{"a":"` + strings.Repeat("x", 5000) + `","z":"evil"}`
		answers := w.ask(aCall(func(r *prompt.Request) { r.Args = []byte(args) }))
		v := w.login(anna)
		a := v.pending()[0]
		v.form("/answer/propose", "q="+a.ID+" "+a.Digest, "decision=allow propose:exact", "whole=1")
		all := w.c.Confirm(anna)
		if len(all) != 1 || !strings.Contains(strings.Join(all[0].Detail, "\n"), `"z": "evil"`) {
			t.Errorf("got %.600q", all)
		}
		untouched(t, w, answers)
	})

	t.Run("what is too much to compare gets no code", func(t *testing.T) {
		w := newWorld(t)
		w.rules.anything = true
		got := w.login(anna).form("/rules/save", "path=codemode.json", "digest=3", "why=much", "text="+strings.Repeat("x", maxShown))
		if got.code != 413 || len(w.c.Confirm(anna)) != 0 {
			t.Errorf("got %d, and %d codes", got.code, len(w.c.Confirm(anna)))
		}
	})

	// The digest of a form is the one of the file that was shown beside the code, or else it could be that of what the
	// file is about to be: then lines come back that somebody has just taken out, and nobody sees them.
	t.Run("a file that somebody else is about to write", func(t *testing.T) {
		w := newWorld(t)
		w.rules.anything = true
		w.rules.text = "\"wide\": 1\n"
		tightened := "\"narrow\": 1\n"
		v := w.login(anna)
		fields := []string{"path=codemode.json", "why=wider", fmt.Sprintf("digest=%d", len(tightened)), "text=\"wide\": 1\n// a comment\n"}
		first := v.form("/rules/save", fields...)
		all := w.c.Confirm(anna)
		w.rules.text = tightened
		if len(all) > 0 {
			v.form("/rules/save", append(fields, "proof="+all[0].Code)...)
		}
		if w.rules.text != tightened {
			t.Errorf("the file was widened behind %q (%d)", all[0].Detail, first.code)
		}
	})
}
