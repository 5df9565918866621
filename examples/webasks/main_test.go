package main

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/testwait"
)

// A browser of a user.
type browser struct {
	t        *testing.T
	site     string
	user     *user
	password string
}

// start opens the service, and a browser for each of its users.
func start(t *testing.T) (s *service, anna, ben *browser) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	host := server.Listener.Addr().String()
	a := &user{name: "anna", password: "a-secret", inbox: []mail{{1, "ben", "urgent"}, {2, "shop", "buy"}}}
	b := &user{name: "ben", password: "b-secret"}
	s, err := newService(t.Context(), host, filepath.Join(os.TempDir(), "codemode-example-test"), a, b)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = s.handler()
	server.Start()
	t.Cleanup(func() {
		server.Close()
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s, &browser{t, server.URL, a, a.password}, &browser{t, server.URL, b, b.password}
}

// send sends a request as the page does, unless the headers say otherwise. It follows redirects.
func (b *browser) send(method, path string, form url.Values, headers ...string) (status int, page string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.site+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.SetBasicAuth(b.user.name, b.password)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if policy := resp.Header.Get("Content-Security-Policy"); resp.StatusCode == 200 &&
		!strings.Contains(policy, "default-src 'none'") {
		b.t.Errorf("%s has the policy %q", path, policy)
	}
	return resp.StatusCode, string(text)
}

func (b *browser) run(code string) {
	b.t.Helper()
	if status, page := b.send("POST", "/run", url.Values{"code": {code}}); status != 200 {
		b.t.Fatalf("%d %s", status, page)
	}
}

var (
	askLink   = regexp.MustCompile(`href="(/asks/[^"]+)"`)
	digestOf  = regexp.MustCompile(`name="digest" value="([^"]+)"`)
	codeOf    = regexp.MustCompile(`code +([0-9a-f]{4})\n`)
	wrap      = regexp.MustCompile(`\n +\| `) // where a long text goes on in the next line
	tag       = regexp.MustCompile(`</?([a-zA-Z][a-zA-Z0-9]*|!)[^>]*>?`)
	knownTags = strings.Fields("! html meta title h1 h2 h3 p a form textarea button pre input label")
)

// asked waits for a question of the user, and opens it.
func (b *browser) asked() (path, page string, form url.Values) {
	b.t.Helper()
	testwait.Until(b.t, "a question", func() bool {
		_, home := b.send("GET", "/", nil)
		if found := askLink.FindStringSubmatch(home); found != nil {
			path = found[1]
		}
		return path != ""
	})
	_, page = b.send("GET", path, nil)
	form = url.Values{"digest": {first(digestOf, page)}}
	if code := first(codeOf, page); code != "" && strings.Contains(page, `name="code"`) {
		form.Set("code", code)
	}
	return path, page, form
}

func first(of *regexp.Regexp, page string) string {
	if found := of.FindStringSubmatch(page); found != nil {
		return found[1]
	}
	return ""
}

// ended waits until no program of the user runs, and returns what they read.
func (b *browser) ended() (text string) {
	b.t.Helper()
	testwait.Until(b.t, "the end of the run", func() bool {
		_, text = b.send("GET", "/", nil)
		return !strings.Contains(text, "It runs.")
	})
	return html.UnescapeString(text)
}

func (b *browser) did() (sent []letter, left int) {
	b.user.mu.Lock()
	defer b.user.mu.Unlock()
	return slices.Clone(b.user.sent), len(b.user.inbox)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	const sends = `await codemode.mail.send({to: "a@example.org", text: "hello"}); return "sent"`
	const inquires = `return codemode.ask_user({question: "Which?", 
		options: [{label: "tea"}, {label: "milk"}]})`
	const deletes = `await codemode.mail.delete({ids: [1, 2]}); return "deleted"`
	for _, row := range []struct {
		why, code  string
		change     url.Values // of the form
		status     int
		text       string // a part of how the run ends
		sent, left int
	}{
		{"a yes", sends, url.Values{"answer": {"yes"}}, 200, "sent", 1, 2},
		{"a no", sends, url.Values{"answer": {"no"}}, 200, "elicitation_declined", 0, 2},
		{"a no with a reason", sends, url.Values{"answer": {"no"}, "reason": {"<b>not</b> now"}}, 200, `<b>not</b> now`,
			0, 2},
		{"neither", sends, url.Values{"answer": {"on"}}, 400, "", 0, 2},
		{"an empty form", sends, url.Values{}, 400, "", 0, 2},
		{"a yes to another question", sends, url.Values{"answer": {"yes"}, "digest": {"sha256:1"}}, 409, "", 0, 2},
		{"a yes with the code", deletes, url.Values{"answer": {"yes"}}, 200, "deleted", 0, 0},
		{"a yes with another code", deletes, url.Values{"answer": {"yes"}, "code": {"x"}}, 409, "", 0, 2},
		{"a no without the code", deletes, url.Values{"answer": {"no"}, "code": nil}, 200, "elicitation_declined", 0, 2},
		{"an answer to the program", inquires,
			url.Values{"answer": {"yes"}, "option": {"1"}}, 200, "milk", 0, 2},
		{"an option that is not there", inquires,
			url.Values{"answer": {"yes"}, "option": {"7"}}, 409, "", 0, 2},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			_, anna, _ := start(t)
			anna.run(row.code)
			path, _, form := anna.asked()
			for name, values := range row.change {
				form[name] = values
			}
			status, text := anna.send("POST", path, form)
			if status != row.status {
				t.Errorf("the answer gets %d: %s", status, text)
			}
			if status == 200 {
				if text := anna.ended(); !strings.Contains(text, row.text) {
					t.Errorf("the run ended without %q:\n%s", row.text, text)
				}
			} else if _, home := anna.send("GET", "/", nil); !strings.Contains(home, path) {
				t.Error("the question is gone")
			}
			if sent, left := anna.did(); len(sent) != row.sent || left != row.left {
				t.Errorf("%d mails sent, %d left", len(sent), left)
			}
		})
	}
}

// Whatever a program writes into its arguments, a question, or its result: on the page it is text, and all of it.
func TestHostileArguments(t *testing.T) {
	t.Parallel()
	_, anna, _ := start(t)
	const hostile = `</pre></textarea><script>fetch("/run")</script><img src=x onerror=alert(1)>` +
		`<form action="//evil.example">" autofocus onfocus="alert(1)' {{.User}} &lt;i>`
	check := func(page string) {
		t.Helper()
		for _, found := range tag.FindAllStringSubmatch(page, -1) {
			if !slices.Contains(knownTags, found[1]) || strings.Contains(found[0], "alert") ||
				strings.Contains(found[0], "evil") {
				t.Errorf("the page has %s", found[0])
			}
		}
		if strings.Count(page, "<pre>") != strings.Count(page, "</pre>") {
			t.Errorf("a text ends early:\n%s", page)
		}
	}
	const moved = "pay\u202e001\u2066\x00\x1b[31m\u200b"
	anna.run(`const evil = ` + "`" + hostile + "`" + `;
		await codemode.mail.send({to: "pay\u202e001\u2066\u0000\u001b[31m\u200b", text: evil.repeat(30)});
		return evil`)
	path, page, form := anna.asked()
	check(page)
	shown := html.UnescapeString(page)
	if n := strings.Count(wrap.ReplaceAllString(shown, ""), `onerror=alert(1)>`); n != 30 {
		t.Errorf("the person sees %d of 30 parts:\n%s", n, shown)
	}
	if strings.ContainsAny(shown, "\u202e\u2066\x00\x1b\u200b") ||
		!strings.Contains(shown, `"pay\u{202E}001\u{2066}\u{0}\u{1B}[31m\u{200B}"`) {
		t.Errorf("what moves or hides text is not shown as what it is:\n%s", shown)
	}
	_, home := anna.send("GET", "/", nil)
	check(home)
	form.Set("answer", "yes")
	_, home = anna.send("POST", path, form)
	anna.ended()
	check(home)
	if sent, _ := anna.did(); len(sent) != 1 || sent[0].To != moved || sent[0].Text != strings.Repeat(hostile, 30) {
		t.Errorf("sent is %q", sent)
	}
	anna.run("return codemode.ask_user({question: `" + hostile + "`, options: [{label: `<script>`}, {label: 'b'}]})")
	path, page, form = anna.asked()
	check(page)
	_, home = anna.send("GET", "/", nil)
	check(home)
	form.Set("answer", "no")
	anna.send("POST", path, form)
	anna.ended()
}

// A user does not see the questions and the runs of another one, and answers none, also if they know the question.
func TestTheQuestionsOfOthers(t *testing.T) {
	t.Parallel()
	_, anna, ben := start(t)
	anna.run(`await codemode.mail.send({to: "x", text: "of anna"}); return "sent for anna"`)
	path, _, form := anna.asked()
	form.Set("answer", "yes")
	if status, page := ben.send("GET", path, nil); status != 404 || strings.Contains(page, "of anna") {
		t.Errorf("ben sees %d %s", status, page)
	}
	if status, page := ben.send("POST", path, form); status != 404 {
		t.Errorf("ben's answer gets %d %s", status, page)
	}
	if _, home := ben.send("GET", "/", nil); strings.Contains(home, "of anna") || strings.Contains(home, "/asks/") {
		t.Errorf("ben's page has\n%s", home)
	}
	if sent, _ := anna.did(); len(sent) > 0 {
		t.Errorf("ben's yes sent %v", sent)
	}
	if status, page := anna.send("POST", path, form); status != 200 {
		t.Errorf("anna's answer gets %d %s", status, page)
	}
	if text := anna.ended(); !strings.Contains(text, "sent for anna") {
		t.Error(text)
	}
	if status, _ := anna.send("POST", path, form); status != 404 {
		t.Errorf("a second answer gets %d", status)
	}
	if _, home := ben.send("GET", "/", nil); strings.Contains(home, "for anna") {
		t.Errorf("ben's page has\n%s", home)
	}
	if sent, _ := ben.did(); len(sent) > 0 {
		t.Errorf("ben's mail has %v", sent)
	}
}

// Requests that no page of the service made change nothing.
func TestForgedRequests(t *testing.T) {
	t.Parallel()
	_, anna, _ := start(t)
	anna.run(`await codemode.mail.send({to: "x", text: "y"}); return "sent"`)
	path, _, form := anna.asked()
	form.Set("answer", "yes")
	run := url.Values{"code": {`return "forged"`}}
	for _, row := range []struct {
		why, method, path string
		form              url.Values
		header            string
		status            int
	}{
		{"an answer from another site", "POST", path, form, "Sec-Fetch-Site: cross-site", 403},
		{"a program from another site", "POST", "/run", run, "Sec-Fetch-Site: cross-site", 403},
		{"from another port of this machine", "POST", path, form, "Sec-Fetch-Site: same-site", 403},
		{"a link", "GET", path + "?" + form.Encode(), nil, "Sec-Fetch-Site: cross-site", 200}, // shows it, and no more
		{"a link that runs", "GET", "/run?" + run.Encode(), nil, "Sec-Fetch-Site: cross-site", 405},
		{"another name of this machine", "POST", path, form, "Host: evil.example", 421},
		{"without a password", "POST", path, form, "Authorization: ", 401},
		{"with another password", "POST", path, form, "Authorization: Basic YW5uYTphLXNlY3JldHM=", 401},
		{"as nobody", "POST", path, form, "Authorization: Basic Og==", 401},
		{"a program that is too large", "POST", "/run", url.Values{"code": {strings.Repeat("x", longestForm)}}, "X: y", 400},
	} {
		if status, page := anna.send(row.method, row.path, row.form, row.header); status != row.status {
			t.Errorf("%s: %d %s", row.why, status, page)
		}
	}
	old := &browser{t, anna.site, anna.user, anna.password} // one that says only the origin
	if status, _ := old.send("POST", path, form, "Sec-Fetch-Site: ", "Origin: http://evil.example"); status != 403 {
		t.Errorf("an older browser, from another site: %d", status)
	}
	if sent, _ := anna.did(); len(sent) > 0 {
		t.Errorf("sent is %v", sent)
	}
	if _, home := anna.send("GET", "/", nil); strings.Contains(home, "forged") || !strings.Contains(home, path) {
		t.Errorf("the page has\n%s", home)
	}
}

// The program of the example, with both answers, and no more programs at once than a user may run.
func TestTheProgram(t *testing.T) {
	t.Parallel()
	_, anna, _ := start(t)
	anna.run(program)
	for range 2 {
		path, _, form := anna.asked()
		form.Set("answer", "yes")
		if status, page := anna.send("POST", path, form); status != 200 {
			t.Fatalf("%d %s", status, page)
		}
		testwait.Until(t, "the next question, or the end", func() bool {
			_, home := anna.send("GET", "/", nil)
			return !strings.Contains(home, path)
		})
	}
	text := anna.ended()
	if sent, left := anna.did(); len(sent) != 1 || left != 1 || !strings.Contains(text, "1 of 2 mails forwarded") {
		t.Errorf("%v sent, %d left\n%s", sent, left, text)
	}
	for range mostRunning {
		anna.run(`await codemode.mail.send({to: "x", text: "y"})`)
	}
	if status, _ := anna.send("POST", "/run", url.Values{"code": {"return 1"}}); status != http.StatusTooManyRequests {
		t.Errorf("one more gets %d", status)
	}
}
