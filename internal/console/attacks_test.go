package console

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/console/links"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// untouched holds that a question is still open, and nobody has answered it.
func untouched(t *testing.T, w *world, answers <-chan []approvals.Result) {
	t.Helper()
	select {
	case a := <-answers:
		t.Errorf("somebody has answered: %+v", a)
	default:
	}
	if w.waiting() == 0 {
		t.Error("no question waits any more")
	}
}

// Every answer of the page forbids what it does not need, whatever it is an answer to.
func TestHeaders(t *testing.T) {
	w := newWorld(t)
	anna, nobody := w.login(anna), &visitor{w: w}
	for what, got := range map[string]*response{
		"a page": anna.get("/"), "a page without a login": nobody.get("/"), "the script": nobody.get("/static/console.js"),
		"JSON":    anna.get("/api/pending"),
		"nothing": nobody.get("/nothing"), "another host": nobody.send("GET", "/", "", "Host: evil.test"),
		"another method": nobody.send("PUT", "/", ""),
	} {
		for name, want := range headers {
			if name == "Cache-Control" && what == "the script" {
				want = "private, max-age=60"
			}
			if value := got.header.Get(name); value != want {
				t.Errorf("%s: %s is %q, want %q", what, name, value, want)
			}
		}
		for _, name := range []string{"Access-Control-Allow-Origin", "Server", "X-Powered-By"} {
			if value := got.header.Get(name); value != "" {
				t.Errorf("%s: %s is %q", what, name, value)
			}
		}
	}
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'",
		"script-src 'self'", "trusted-types 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s", want)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("the policy is %s", policy)
	}
	page := anna.get("/").body
	for _, inline := range []string{"<style", " style=", "<script>", " onclick", " onload", "javascript:"} {
		if strings.Contains(page, inline) {
			t.Errorf("the page has %q in it, which its own policy forbids", inline)
		}
	}
}

// W01: a name that leads here, but is not ours, is another site's.
func TestW01DNSRebinding(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	answers := w.ask(aCall())
	_, port, _ := strings.Cut(strings.TrimPrefix(w.origin, "http://"), ":")
	for _, host := range []string{
		"evil.test", "evil.test:" + port, "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.test:" + port, "127.0.0.2:" + port,
		"0.0.0.0:" + port, "localhost:" + port,
		"localhost.evil:" + port, "[::1]:" + port, "[::]:" + port, "192.168.1.7:" + port, "2130706433:" + port,
		"0x7f.1:" + port, "127.1:" + port, "127.0.0.1:" + port + ".", "127.0.0.1:0" + port,
		"user@127.0.0.1:" + port, "codemode.example",
	} {
		a := v.pending()[0]
		for _, got := range []*response{
			v.send("GET", "/api/pending", "", "Host: "+host), v.send("GET", "/", "", "Host: "+host),
			v.send("GET", "/static/console.js", "", "Host: "+host),
			v.send("POST", "/login", `{"secret":"x"}`, "Host: "+host, "Content-Type: application/json"),
			v.send("POST", "/api/answer", `{"id":"`+a.ID+`","digest":"`+a.Digest+`","decision":"allow"}`, "Host: "+host,
				"Content-Type: application/json", "X-CSRF-Token: "+v.csrf),
		} {
			if got.code != 403 && got.code != 400 { // the latter from the server itself: it is no host at all
				t.Errorf("%s: %d", host, got.code)
			}
			if strings.Contains(got.body, "github") {
				t.Errorf("%s sees what waits", host)
			}
		}
	}
	untouched(t, w, answers)
}

// W02, W04, C9: what another site can make a browser send changes nothing, nor does anything that comes without the
// token.
func TestW02W04RequestsOfOtherSites(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	answers := w.ask(aCall())
	a := v.pending()[0]
	js := `{"id":"` + a.ID + `","digest":"` + a.Digest + `","decision":"allow"}`
	form := url.Values{"csrf": {v.csrf}, "q": {a.ID + " " + a.Digest}, "decision": {"allow once"}}.Encode()
	without := url.Values{"q": {a.ID + " " + a.Digest}, "decision": {"allow once"}}.Encode()
	const isJSON, isForm = "Content-Type: application/json", "Content-Type: application/x-www-form-urlencoded"
	token := "X-CSRF-Token: " + v.csrf
	tests := []struct {
		why     string
		method  string
		path    string
		body    string
		headers []string
		want    int
	}{
		{"another origin", "POST", "/api/answer", js, []string{isJSON, token, "Origin: https://evil.test"}, 403},
		{"an origin that begins like ours", "POST", "/api/answer", js,
			[]string{isJSON, token, "Origin: " + w.origin + ".evil.test"}, 403},
		{"another port of this host", "POST", "/api/answer", js, []string{isJSON, token, "Origin: http://127.0.0.1:1"}, 403},
		{"our origin with TLS", "POST", "/api/answer", js, []string{isJSON, token,
			"Origin: " + strings.Replace(w.origin, "http:", "https:", 1)}, 403},
		{"an origin that is hidden", "POST", "/api/answer", js, []string{isJSON, token, "Origin: null"}, 403},
		{"an origin that is hidden, of the same site", "POST", "/answer", form,
			[]string{isForm, "Origin: null", "Sec-Fetch-Site: same-origin"}, 403},
		{"an origin that is hidden, from another site", "POST", "/answer", form,
			[]string{isForm, "Origin: null", "Sec-Fetch-Site: cross-site"}, 403},
		{"two origins", "POST", "/api/answer", js, []string{isJSON, token, "Origin: " + w.origin,
			"Origin: https://evil.test"}, 403},
		{"two sites", "POST", "/api/answer", js, []string{isJSON, token, "Sec-Fetch-Site: same-origin",
			"Sec-Fetch-Site: cross-site"}, 403},
		{"a form of another site", "POST", "/answer", form, []string{isForm, "Sec-Fetch-Site: cross-site",
			"Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 403},
		{"a form of another port", "POST", "/answer", form, []string{isForm, "Sec-Fetch-Site: same-site"}, 403},
		{"a form from nowhere", "POST", "/answer", form, []string{isForm, "Sec-Fetch-Site: none"}, 403},
		{"a script of another site without CORS", "POST", "/api/answer", js,
			[]string{isJSON, token, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, 403},
		{"no token", "POST", "/api/answer", js, []string{isJSON}, 403},
		{"no token in a form", "POST", "/answer", without, []string{isForm}, 403},
		{"another token", "POST", "/api/answer", js, []string{isJSON, "X-CSRF-Token: " + v.csrf + "x"}, 403},
		{"an empty token", "POST", "/answer", "csrf=&" + without, []string{isForm}, 403},
		{"the token in the address", "POST", "/answer?csrf=" + v.csrf, without, []string{isForm}, 403},
		{"text, as a form can send it", "POST", "/api/answer", js, []string{"Content-Type: text/plain", token}, 415},
		{"a form with files", "POST", "/answer", form, []string{"Content-Type: multipart/form-data; boundary=x"}, 415},
		{"no kind at all", "POST", "/api/answer", js, []string{token}, 415},
		{"a form where JSON is wanted", "POST", "/api/answer", form, []string{isForm}, 415},
		{"GET, as a picture does", "GET", "/answer?" + form, "", []string{"Sec-Fetch-Dest: image", "Sec-Fetch-Mode: no-cors",
			"Sec-Fetch-Site: cross-site"}, 403},
		{"GET", "GET", "/answer?" + form, "", nil, 405},
		{"GET of JSON", "GET", "/api/answer?id=" + a.ID, "", nil, 405},
		{"HEAD", "HEAD", "/answer?" + form, "", nil, 405},
		{"another method", "PUT", "/api/answer", js, []string{isJSON, token}, 405},
		{"a method that overrides", "GET", "/answer?" + form, "", []string{"X-HTTP-Method-Override: POST"}, 405},
		{"a question before a request", "OPTIONS", "/api/answer", "",
			[]string{"Origin: https://evil.test", "Access-Control-Request-Method: POST"}, 405},
		{"a frame of another site", "GET", "/", "", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate",
			"Sec-Fetch-Dest: iframe"}, 403},
		{"a script of another site that reads", "GET", "/api/pending", "",
			[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors", "Origin: https://evil.test"}, 403},
		{"a stream to another site", "GET", "/api/events", "", []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"},
			403},
		{"no login", "POST", "/api/answer", js, []string{isJSON, token, "Cookie: "}, 401},
		{"a made-up login", "POST", "/api/answer", js, []string{isJSON, token, "Cookie: ",
			"Cookie: " + securePrefix + w.c.cookie + "=AAAA"}, 401},
		{"a link from another site, which cannot know the path", "GET", "/", "",
			[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Cookie: "}, 403},
		{"a link from another port, which cannot know the path", "GET", "/", "",
			[]string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 403},
		{"a script that would stay in the browser", "GET", "/", "",
			[]string{"Service-Worker: script", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: same-origin",
				"Sec-Fetch-Dest: serviceworker"}, 403},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			if got := v.send(test.method, test.path, test.body, test.headers...); got.code != test.want {
				t.Errorf("got %d %s, want %d", got.code, got.body, test.want)
			}
			untouched(t, w, answers)
		})
	}
	if got := v.send("POST", "/api/answer", js, isJSON, token, "Origin: "+w.origin,
		"Sec-Fetch-Site: same-origin"); got.code != 200 {
		t.Errorf("our own page: %d %s", got.code, got.body)
	}
	if a := answerOf(t, answers)[0]; !a.Allowed {
		t.Errorf("our own page: %+v", a)
	}
}

// W05: whatever a program or a server says stands in the page as text.
func TestW05NothingInThePageComesFromData(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	payloads := []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'-alert(1)-'`, `</textarea><svg onload=alert(1)>`,
		`</pre><iframe src="javascript:alert(1)">`,
		`{{.CSRF}}`, `${alert(1)}`, "\u202e<b>\u2028", `javascript:alert(1)`, `<!--`, `]]>`, `&lt;script&gt;`, "\x00<script>",
		"<a href=//evil.test>x", `" autofocus onfocus=alert(1) x="`,
	}
	for i, p := range payloads {
		answers := w.ask(aCall(func(r *prompt.Request) {
			r.Server, r.Tool, r.Name, r.Profile, r.Rule, r.Run, r.Call = p, p, p+"__"+p, p, p, "r_"+p, i+1
			r.Reasons, r.Title, r.Description, r.Principal = []string{p}, p, p, anna
			r.Args = []byte(fmt.Sprintf(`{%s:%s}`, quoted(p), quoted(p)))
			r.Edit = func(json.RawMessage) error { return errors.New(p) }
		}))
		a := v.pending()[0]
		pages := []string{v.get("/").body, v.get("/ask/" + a.ID).body}
		got := v.form("/answer", "q="+a.ID+" "+a.Digest, "decision=allow edited:1", "whole=1", `args={"x":`+quoted(p)+`}`,
			"reason="+p)
		if got.code != 422 {
			t.Errorf("%q: arguments that are wrong: %d", p, got.code)
		}
		pages = append(pages, got.body)
		if v.form("/answer", "q="+a.ID+" "+a.Digest, "decision=deny", "reason="+p).code != 303 {
			t.Errorf("%q: denying failed", p)
		}
		answerOf(t, answers)
		checktest.OK(t, w.record.note(t.Context(), call.Entry{
			Kind: audit.Call, State: p, Run: "r_x", Call: 1, Principal: anna, Tool: p, Server: p, Profile: p, Reason: p,
			Detail: p, Risk: p, Client: p,
			Rules: []call.EntryRule{{ID: p, At: p}}, DecidedBy: &call.DecidedBy{How: p, Channel: p, Principal: p},
			Args:   &call.EntryArgs{Redacted: []byte(`{"x":` + quoted(p) + `}`), Proposed: p},
			Result: &call.EntryResult{Redacted: []byte(quoted(p))},
		}))
		if err := w.record.note(t.Context(), call.Entry{Kind: audit.Run, State: "ok", Run: "r_x", Principal: anna,
			Program: &call.EntryProgram{Name: p, Text: p, Digest: p}}); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, v.get("/history?tool="+url.QueryEscape(p)).body, v.get("/history?kind=all").body,
			v.get("/run/r_x").body, v.get("/run/"+url.PathEscape(p)).body,
			v.get("/rules?profile="+url.QueryEscape(p)+"&allow="+url.QueryEscape(p)+"&program="+url.QueryEscape(p)).body,
			v.form("/rules/validate", "path=codemode.json", "text="+p).body,
			v.form("/rules/propose", "profile="+p, "tool="+p, "list="+p, "why="+p).body,
			v.form("/rules/session", "role="+p, "life=1 hour").body,
			v.form("/rules/save", "path=codemode.json", "why="+p, `text={"x":`+quoted(p)+`}`).body)
		for n, page := range pages {
			for _, element := range []string{"<script>", "<img src=x", "<svg", "<iframe", "<b>", "<a href=//", "<!--"} {
				if strings.Contains(page, element) {
					t.Errorf("%q is an element of page %d: %s", p, n, around(page, element))
				}
			}
			for _, raw := range []string{"\u202e", "\u2028", "\x00"} {
				if strings.Contains(page, raw) {
					t.Errorf("%q stands in page %d as it came", p, n)
				}
			}
			if strings.Contains(page, `" onfocus`) || strings.Contains(page, `" autofocus onfocus`) {
				t.Errorf("%q has left its attribute in page %d", p, n)
			}
		}
	}
}

func around(page, what string) string {
	at := strings.Index(page, what)
	return page[max(at-80, 0):min(at+80, len(page))]
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\x00", `\u0000`).Replace(s) + `"`
}

// W06: the secret of a link is in no request line, opens the page once, and leaves a cookie that no script sees.
func TestW06TheLoginLink(t *testing.T) {
	w := newWorld(t)
	v := &visitor{w: w}
	link := w.c.Link(anna)
	before, secret, ok := strings.Cut(link, "#")
	if !ok || before != w.origin+"/login" || len(secret) < 26 {
		t.Fatalf("the link is %s", link)
	}
	body := `{"secret":"` + secret + `"}`
	got := v.send("POST", "/login", body, "Content-Type: application/json")
	cookie := got.header.Get("Set-Cookie")
	var said Session
	got.json(&said)
	if key, ok := strings.CutPrefix(said.Path, "/s/"); !ok || len(key) != 26 || strings.Contains(cookie, secret) {
		t.Errorf("the path of the session is %s", said.Path)
	}
	for _, want := range []string{"__Secure-codemode-", "Path=" + said.Path + ";", "HttpOnly", "Secure", "SameSite=Strict",
		"Max-Age="} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie lacks %s: %s", want, cookie)
		}
	}
	if strings.Contains(cookie, "Domain") || strings.Contains(got.body, secret) {
		t.Errorf("got %s, %s", cookie, got.body)
	}
	if again := v.send("POST", "/login", body, "Content-Type: application/json"); again.code != 403 ||
		again.header.Get("Set-Cookie") != "" {
		t.Errorf("a second time: %d", again.code)
	}
	for why, request := range map[string]func(secret string) *response{
		"in the address": func(s string) *response { return v.send("GET", "/login?secret="+s, "") },
		"in a form's place": func(s string) *response {
			return v.send("POST", "/login?secret="+s, "", "Content-Type: application/x-www-form-urlencoded")
		},
		"of another site": func(s string) *response {
			return v.send("POST", "/login", "secret="+s, "Content-Type: application/x-www-form-urlencoded",
				"Origin: https://evil.test")
		},
		"as text": func(s string) *response {
			return v.send("POST", "/login", `{"secret":"`+s+`"}`, "Content-Type: text/plain")
		},
		"twice": func(s string) *response {
			return v.send("POST", "/login", `{"secret":"`+s+`","secret":"`+s+`"}`, "Content-Type: application/json")
		},
		"in other case": func(s string) *response {
			return v.send("POST", "/login", `{"Secret":"`+s+`","secret":"x"}`, "Content-Type: application/json")
		},
		"only the half": func(s string) *response {
			return v.send("POST", "/login", `{"secret":"`+s[:13]+`"}`, "Content-Type: application/json")
		},
	} {
		_, secret, _ := strings.Cut(w.c.Link(anna), "#")
		if got := request(secret); got.header.Get("Set-Cookie") != "" {
			t.Errorf("a secret %s: %d, and a login", why, got.code)
		}
	}
	for _, paste := range []string{secretOf(w), w.c.Link(anna), " " + secretOf(w) + "\n"} {
		if got := v.send("POST", "/login", url.Values{"secret": {paste}}.Encode(),
			"Content-Type: application/x-www-form-urlencoded"); got.code != 303 || !strings.HasPrefix(got.header.Get("Location"),
			"/s/") {
			t.Errorf("without a script, pasted: %d %s", got.code, got.body)
		}
	}
	for _, s := range w.record.states(audit.Access) {
		if strings.Contains(s, secret) {
			t.Errorf("the record has %s", s)
		}
	}
}

func secretOf(w *world) string {
	_, secret, _ := strings.Cut(w.c.Link(anna), "#")
	return secret
}

// A07: however many wrong secrets somebody sends, from wherever, the right one opens the page at once. None of them is
// guessed: a secret has 130 random bits. They do not fill the record either.
func TestWrongSecretsCostTheRightOneNothing(t *testing.T) {
	w := newWorld(t)
	_, secret, _ := strings.Cut(w.c.Link(anna), "#")
	stranger := &visitor{w: w}
	for i := range 40 {
		body, kind := `{"secret":"WRONG"}`, "Content-Type: application/json"
		if i%2 == 0 {
			body, kind = "secret=WRONG", "Content-Type: application/x-www-form-urlencoded"
		}
		if got := stranger.send("POST", "/login", body, kind); got.code != 403 || got.header.Get("Set-Cookie") != "" {
			t.Fatalf("a wrong secret: %d", got.code)
		}
	}
	owner := &visitor{w: w}
	if got := owner.send("POST", "/login", `{"secret":"`+secret+`"}`, "Content-Type: application/json"); got.code != 200 {
		t.Errorf("the right secret after 40 wrong ones: %d %s", got.code, got.body)
	}
	if n := len(w.record.states(audit.Access)); n > links.Burst+4 { // the clock goes on meanwhile
		t.Errorf("%d entries: a flood of wrong secrets fills the record", n)
	}
	if n := len(w.record.states(audit.Access)); n < links.Burst {
		t.Errorf("%d entries: wrong secrets are not recorded", n)
	}
}

// W07: ids of sessions are the server's, and end.
func TestW07Sessions(t *testing.T) {
	w := newWorld(t)
	name := securePrefix + w.c.cookie
	v := &visitor{w: w, cookie: name + "=chosen-by-somebody-else"}
	_, secret, _ := strings.Cut(w.c.Link(anna), "#")
	got := v.send("POST", "/login", `{"secret":"`+secret+`"}`, "Content-Type: application/json")
	if strings.Contains(got.header.Get("Set-Cookie"), "chosen") || v.get("/api/session").code != 401 {
		t.Error("a session that somebody else chose is one")
	}
	a, b := w.login(anna), w.login(anna)
	if a.cookie == b.cookie || a.csrf == b.csrf || a.path == b.path {
		t.Error("two sessions are one")
	}
	if got := a.send("POST", "/api/answer", `{}`, "Content-Type: application/json",
		"X-CSRF-Token: "+b.csrf); got.code != 403 {
		t.Errorf("the token of another session: %d", got.code)
	}
	if a.form("/logout").code != 303 || a.get("/api/session").code != 401 || b.get("/api/session").code != 200 {
		t.Error("a session that was ended lives, or another one is dead")
	}

	now := time.Now()
	w.c.logins.now = func() time.Time { return now }
	b = w.login(anna)
	now = now.Add(defaultIdle - time.Second)
	if b.get("/api/session").code != 200 {
		t.Error("a session ended before its time")
	}
	now = now.Add(defaultIdle)
	if b.get("/api/session").code != 401 {
		t.Error("a session that was idle for long lives")
	}
	b = w.login(anna)
	for end := now.Add(defaultLife); now.Before(end); now = now.Add(defaultIdle / 2) {
		if b.get("/api/session").code != 200 {
			t.Fatal("a session that is used ended before its time")
		}
	}
	if b.get("/api/session").code != 401 {
		t.Error("a session lives for ever")
	}
	for range maxSessions + 5 {
		w.c.logins.open(anna)
	}
	if n := len(w.c.logins.all); n > maxSessions {
		t.Errorf("%d sessions", n)
	}
}

// W13: what is too large or too slow is cut off, and streams are counted.
func TestW13LargeSlowAndMany(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	big := `{"id":"` + strings.Repeat("x", maxAnswer) + `"}`
	if got := v.send("POST", "/api/answer", big, "Content-Type: application/json",
		"X-CSRF-Token: "+v.csrf); got.code != 413 {
		t.Errorf("a large answer: %d", got.code)
	}
	if got := v.send("POST", "/login", strings.Repeat("x", maxBody+1), "Content-Type: application/json"); got.code != 413 {
		t.Errorf("a large login: %d", got.code)
	}
	conns := make([]net.Conn, 0, maxStreams)
	for range maxStreams {
		c, first := stream(t, w, v)
		if !strings.Contains(first, "200 OK") {
			t.Fatalf("a stream: %s", first)
		}
		conns = append(conns, c)
	}
	if _, first := stream(t, w, v); !strings.Contains(first, "429") {
		t.Errorf("one stream too many: %s", first)
	}
	for _, c := range conns {
		c.Close()
	}
	w.until("there is room again", func() bool {
		c, first := stream(t, w, v)
		c.Close()
		return strings.Contains(first, "200 OK")
	})
}

// stream opens a stream of events, and gives the first line of the answer.
func stream(t *testing.T, w *world, v *visitor) (net.Conn, string) {
	t.Helper()
	host := strings.TrimPrefix(w.origin, "http://")
	c, err := net.Dial("tcp", host)
	checktest.OK(t, err)
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "GET %s/api/events HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n", v.path, host, v.cookie)
	line, err := bufio.NewReader(c).ReadString('\n')
	checktest.OK(t, err)
	return c, line
}

// W16, S2.6, L08: what is asked, allowed and recorded for somebody else is as if it were not there.
func TestW16OtherPeople(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.May = func(person, principal string) bool { return person == "carl" && principal == anna }
		o.Sees = func(person string) ([]string, bool) {
			if person == "carl" {
				return []string{anna}, false
			}
			return nil, person == "admin"
		}
	})
	history(w)
	answers := w.ask(aCall())
	g, err := aCall().Draft(call.Answer{Scope: call.ForTime}, time.Now())
	checktest.OK(t, err)
	checktest.OK(t, w.grants.Give(t.Context(), g))
	owner := w.login(anna)
	a := owner.pending()[0]

	eve := w.login("eve")
	for path, want := range map[string]int{"/ask/" + a.ID: 404, "/api/pending/" + a.ID: 404, "/run/r_1a2b3c": 404,
		"/rules": 403} {
		if got := eve.get(path); got.code != want || strings.Contains(got.body, "acme") {
			t.Errorf("eve: %s: %d", path, got.code)
		}
	}
	for _, path := range []string{"/", "/api/pending", "/history?kind=all", "/api/entries", "/grants", "/api/grants",
		"/api/entries?run=r_1a2b3c"} {
		if got := eve.get(path); got.code != 200 || strings.Contains(got.body, "acme") ||
			strings.Contains(got.body, "github") {
			t.Errorf("eve sees at %s: %d %s", path, got.code, got.body)
		}
	}
	for _, decision := range []string{"allow", "deny"} {
		if got, code := eve.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: decision, Code: a.Code}); code != 404 ||
			got.OK {
			t.Errorf("eve answers %s: %d %+v", decision, code, got)
		}
	}
	if got := eve.form("/grants/revoke", "grant="+g.ID); got.code != 404 {
		t.Errorf("eve revokes: %d", got.code)
	}
	if got := eve.form("/rules/save", "path=codemode.json", "digest=3", "text={}"); got.code != 403 ||
		w.rules.text != "{}\n" {
		t.Errorf("eve changes the rules: %d", got.code)
	}
	if got, code := eve.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow",
		Propose: ProposeAny}); code != 404 || got.OK || len(w.rules.proposed) != 0 {
		t.Errorf("eve proposes a rule: %d", code)
	}
	untouched(t, w, answers)

	carl := w.login("carl")
	if len(carl.pending()) != 1 || carl.get("/run/r_1a2b3c").code != 200 ||
		!strings.Contains(carl.get("/grants").body, "create_issue") {
		t.Error("carl does not see what he answers for")
	}
	if got, code := carl.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow",
		Propose: ProposeAny}); code != 403 || got.OK {
		t.Errorf("carl, who does not look after the rules, proposes one: %d", code)
	}
	if got, code := carl.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow"}); code != 200 || !got.OK {
		t.Errorf("carl: %d %+v", code, got)
	}
	if x := answerOf(t, answers)[0]; !x.Allowed || x.By != "carl" {
		t.Errorf("carl: %+v", x)
	}
}

// C15: who asks may not answer where the profile wants somebody else; it is said, recorded, and the question stays.
func TestC15ThePageKnowsWhoAnswers(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.May = func(person, _ string) bool { return person == "ben" } })
	answers := make(chan []approvals.Result, 1)
	go func() {
		answers <- w.desk.AskAll(t.Context(), []*prompt.Request{aCall()}, []approvals.Channel{w.queue, silent{}},
			approvals.Options{Timeout: time.Minute, OtherOnly: true})
	}()
	w.until("it waits", func() bool { return w.waiting() == 1 })
	self := w.login(anna)
	a := self.pending()[0]
	if got, code := self.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow"}); code != 403 || got.OK {
		t.Errorf("she herself: %d %+v", code, got)
	}
	found := false
	for _, s := range w.record.states(audit.Access) {
		found = found || s == "refused "+anna
	}
	if !found {
		t.Errorf("the record has %v", w.record.states(audit.Access))
	}
	untouched(t, w, answers)
	if got, code := w.login("ben").answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow"}); code != 200 ||
		!got.OK {
		t.Errorf("somebody else: %d %+v", code, got)
	}
	if x := answerOf(t, answers)[0]; !x.Allowed || x.By != "ben" {
		t.Errorf("somebody else: %+v", x)
	}
}

// C16: for a critical call the login is the second factor: whoever has none is offered nothing, and a queue without one
// only shows that it waits.
func TestC16ACriticalCallWantsALogin(t *testing.T) {
	w := newWorld(t)
	critical := func(r *prompt.Request) { r.Risk = "critical" }
	open := approvals.NewQueue("terminal")
	seat := open.Sit(anna)
	defer seat.Leave()
	v := w.login(anna) // somebody has to be there
	answers := make(chan []approvals.Result, 1)
	go func() {
		answers <- w.desk.AskAll(t.Context(), []*prompt.Request{aCall(critical)},
			[]approvals.Channel{open, w.queue, silent{}}, approvals.Options{Timeout: time.Minute})
	}()
	w.until("it waits at the page", func() bool { return w.waiting() == 1 })
	a := v.pending()[0]
	for _, shown := range seat.Pending() {
		if shown.Notice == nil {
			t.Errorf("it can be answered where nobody has logged in: %+v", shown)
		}
	}
	for _, allowed := range []bool{true, false} {
		if err := seat.Answer(a.ID, a.Digest, "7f3a", call.Answer{Allowed: allowed}); err == nil {
			t.Errorf("where nobody has logged in, somebody answers %v", allowed)
		}
	}
	nobody := &visitor{w: w, csrf: v.csrf}
	if got := nobody.send("POST", "/api/answer",
		`{"id":"`+a.ID+`","digest":"`+a.Digest+`","decision":"allow","code":"7f3a"}`, "Content-Type: application/json",
		"X-CSRF-Token: "+v.csrf); got.code != 401 {
		t.Errorf("without a login: %d", got.code)
	}
	if len(a.Offers) != 1 || a.Offers[0].Scope != call.Once {
		t.Errorf("a critical call is remembered: %+v", a.Offers)
	}
	untouched(t, w, answers)
	if got, code := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Code: "7f3a"}); code != 200 ||
		!got.OK {
		t.Errorf("with a login: %d %+v", code, got)
	}
	if x := answerOf(t, answers)[0]; !x.Allowed || x.Channel != ChannelName {
		t.Errorf("with a login: %+v", x)
	}
}

// W18: there are these paths and no others.
func TestW18Paths(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	for path, want := range map[string]int{
		"/": 200, "/history": 200, "/api/session": 200,
		"//": 404, "/.": 404, "/./": 404, "//history": 404, "/history/": 404, "/History": 404, "/history/../history": 404,
		"/%2e%2e/history": 404, "/history%2f": 404, "/api%2fsession": 404,
		"/static/../console.go": 404, "/static/..%2fconsole.go": 404, "/static/": 404, "/static/console.css/": 404,
		"/static/nothing": 404, "/templates/frame.html": 404,
		"/debug/pprof/": 404, "/debug/vars": 404, "/metrics": 404, "/.git/config": 404, "/api/": 404, "/ask/": 404,
		"/run/": 404, "/ask/..": 404,
	} {
		if got := v.get(path); got.code != want {
			t.Errorf("%s: %d, want %d", path, got.code, want)
		}
	}
}

// The page can be below another path, as beside MCP over HTTP.
func TestBelowAPath(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Path = "/console" })
	if link := w.c.Link(anna); !strings.HasPrefix(link, w.origin+"/console/login#") {
		t.Errorf("the link is %s", link)
	}
	v := w.loginAt("/console", anna)
	if !strings.HasPrefix(v.path, "/console/s/") {
		t.Fatalf("the session is at %s", v.path)
	}
	page := v.get("/").body
	for _, attribute := range []string{`href="/static`, `src="/static`, `action="/answer`, `href="/history`,
		`action="/logout`} {
		if strings.Contains(page, attribute) {
			t.Errorf("the page leads out of its path: %s", around(page, attribute))
		}
	}
	if v.get("/api/pending").code != 200 {
		t.Error("paths are not where they should be")
	}
	nobody := &visitor{w: w}
	for path, want := range map[string]int{
		"/": 404, "/console": 303, "/console/": 401, "/console/login": 200, "/console/static/console.css": 200,
		"/consolex": 404, "/consolex/": 404,
		"/s/" + strings.TrimPrefix(v.path, "/console/s/") + "/": 404, "/login": 404, "/console/console/": 404,
	} {
		if got := nobody.get(path); got.code != want {
			t.Errorf("%s: %d, want %d", path, got.code, want)
		}
	}
}
