package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// W07: neither half of a session opens anything alone, nor the halves of two sessions together.
func TestBothHalvesOfASession(t *testing.T) {
	for _, path := range []string{"", "/console"} {
		w := newWorld(t, func(o *Options) { o.Path = path })
		v, other, eve := w.loginAt(path, anna), w.loginAt(path, anna), w.loginAt(path, "eve")
		answers := w.ask(aCall())
		a := v.pending()[0]
		name, id, _ := strings.Cut(v.cookie, "=")
		key := strings.TrimPrefix(v.path, path+"/s/")
		plain := strings.TrimPrefix(name, securePrefix)
		for _, test := range []struct {
			why, path, cookie string
		}{
			{"the cookie without the path", path, v.cookie},
			{"the cookie, with the path of nobody", path + "/s/" + strings.Repeat("A", len(key)), v.cookie},
			{"the cookie, with half of the path", path + "/s/" + key[:13], v.cookie},
			{"the cookie, with more than the path", path + "/s/" + key + "A", v.cookie},
			{"the cookie, with the path in small letters", path + "/s/" + strings.ToLower(key), v.cookie},
			{"the cookie, with the path of another session of hers", other.path, v.cookie},
			{"the cookie, with the path of somebody else", eve.path, v.cookie},
			{"the cookie, with its value as the path", path + "/s/" + id, v.cookie},
			{"the cookie, with nothing as the path", path + "/s/", v.cookie},
			{"the path without the cookie", v.path, ""},
			{"the path, with an empty cookie", v.path, name + "="},
			{"the path, with half of the cookie", v.path, name + "=" + id[:26]},
			{"the path, with the cookie of another session of hers", v.path, other.cookie},
			{"the path, with the cookie of somebody else", v.path, eve.cookie},
			{"the path, with itself as the cookie", v.path, name + "=" + key},
			{"the path, with the token as the cookie", v.path, name + "=" + v.csrf},
			{"the path, with a cookie of another name", v.path, "codemode=" + id},
			{"the path, with the cookie's name in small letters", v.path, strings.ToLower(name) + "=" + id},
		} {
			stranger := &visitor{w: w, path: test.path, cookie: test.cookie, csrf: v.csrf}
			for _, page := range []string{"/", "/rules", "/history", "/ask/" + a.ID, "/api/session", "/api/pending",
				"/api/entries", "/api/grants"} {
				page = strings.ReplaceAll(test.path+page, "//", "/")
				got := (&visitor{w: w, cookie: test.cookie}).get(page)
				if got.code == 200 || strings.Contains(got.body, "acme") || strings.Contains(got.body, v.csrf) {
					t.Errorf("%s: %s: %d", test.why, page, got.code)
				}
			}
			if c, first := stream(t, w, &visitor{w: w, path: strings.TrimSuffix(test.path, "/"),
				cookie: test.cookie}); strings.Contains(first, "200") {
				t.Errorf("%s: a stream: %s", test.why, first)
				c.Close()
			}
			for _, x := range w.c.inside() {
				if x.method != "POST" {
					continue
				}
				stranger.path = strings.TrimSuffix(test.path, "/")
				if got := stranger.form(x.path, "q="+a.ID+" "+a.Digest, "decision=allow once", "path=codemode.json", "digest=3",
					"text={}"); got.code < 400 {
					t.Errorf("%s: %s: %d", test.why, x.path, got.code)
				}
				js := `{"id":"` + a.ID + `","digest":"` + a.Digest + `","decision":"allow"}`
				if got := stranger.send("POST", x.path, js, "Content-Type: application/json",
					"X-CSRF-Token: "+v.csrf); got.code < 400 {
					t.Errorf("%s: %s as JSON: %d", test.why, x.path, got.code)
				}
			}
		}
		untouched(t, w, answers)
		if w.rules.changes() != 0 || len(w.c.Confirm(anna)) != 0 {
			t.Error("somebody with half of a session changed the rules, or wants to")
		}

		// What other ports set under the same name does not stand in the way of the session, wherever it stands.
		for _, cookies := range []string{
			name + "=tossed; " + v.cookie, v.cookie + "; " + name + "=tossed", plain + "=tossed; " + v.cookie,
			name + "=; " + plain + "=; " + v.cookie,
			eve.cookie + "; " + v.cookie, strings.Repeat(name+"=tossed; ", 50) + v.cookie, plain + "=" + id,
		} {
			mixed := &visitor{w: w, path: v.path, cookie: cookies}
			var said Session
			mixed.get("/api/session").json(&said)
			if said.Person != anna || said.Path != v.path {
				t.Errorf("with the cookies %s: %+v", cookies, said)
			}
		}
		// Eve's cookie beside Anna's, on Eve's path, is Eve's session.
		mixed := &visitor{w: w, path: eve.path, cookie: v.cookie + "; " + eve.cookie}
		var said Session
		if mixed.get("/api/session").json(&said); said.Person != "eve" || said.CSRF == v.csrf {
			t.Errorf("on the path of Eve: %+v", said)
		}
		for digest, s := range w.c.logins.all {
			if strings.Contains(string(digest[:]), key) || strings.Contains(string(s.id[:]), id) {
				t.Error("a half of a session is kept as it is")
			}
		}
		if v.form("/logout").code != 303 || v.get("/api/session").code != 401 || other.get("/api/session").code != 200 {
			t.Error("logging out ends another session, or none")
		}
		if got := eve.send("POST", "/api/logout", "{}", "Content-Type: application/json"); got.code != 403 ||
			eve.get("/api/session").code != 200 {
			t.Errorf("logging out without the token of the session: %d", got.code)
		}
		if got := eve.post("/api/logout", "{}"); got.body != `{"ok":true}`+"\n" || eve.get("/api/session").code != 401 ||
			!strings.Contains(got.header.Get("Set-Cookie"), "Max-Age=0") || other.get("/api/session").code != 200 {
			t.Errorf("logging out over REST: %d %s", got.code, got.body)
		}
	}
}

// A person who follows a link from elsewhere to a page, without a script, comes to it after the login, and never to
// another site.
func TestALinkIntoThePageAfterTheLogin(t *testing.T) {
	w := newWorld(t)
	v := &visitor{w: w}
	page := v.get("/rules?profile=p&allow=github__create_issue").body
	if !strings.Contains(page, `name="to" value="/rules?profile=p&amp;allow=github__create_issue"`) {
		t.Errorf("the login page does not know where to go on:\n%s", page)
	}
	stale := v.get("/s/AAAAAAAAAAAAAAAAAAAAAAAAAA/history?kind=runs").body
	if !strings.Contains(stale, `name="to" value="/history?kind=runs"`) || strings.Contains(stale, "AAAA") {
		t.Errorf("after the end of a session, too:\n%s", stale)
	}
	for to, want := range map[string]string{
		"/rules?profile=p": "/rules?profile=p", "/history": "/history", "": "/", "//evil.test/": "/",
		"https://evil.test/": "/", `/\evil.test`: "/", "evil": "/",
		"/../../x": "/", "/s/../x": "/", "javascript:alert(1)": "/", "/\r\nX: y": "/",
		"/" + strings.Repeat("x", longestTo): "/", "/x#y": "/x", "?x": "/", "/%2e%2e/x": "/", "/x%2fy": "/",
	} {
		body := "secret=" + secretOf(w) + "&to=" + url.QueryEscape(to)
		got := v.send("POST", "/login", body, "Content-Type: application/x-www-form-urlencoded")
		path, rest := got.header.Get("Location"), ""
		if len(path) > 29 {
			path, rest = path[:29], path[29:]
		}
		if got.code != http.StatusSeeOther || !strings.HasPrefix(path, "/s/") || rest != want {
			t.Errorf("to %q: %d %s, want …%s", to, got.code, got.header.Get("Location"), want)
		}
	}
}

// The name localhost is of several addresses: a browser is sent to the one that the page is at, and nothing is done
// under that name.
func TestNoSessionUnderLocalhost(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	_, port, _ := strings.Cut(strings.TrimPrefix(w.origin, "http://"), ":")
	host := "Host: localhost:" + port
	visit := []string{host, "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}
	got := (&visitor{w: w}).send("GET", "/rules?profile=p", "", visit...)
	if got.code != http.StatusTemporaryRedirect || got.header.Get("Location") != w.origin+"/rules?profile=p" ||
		got.header.Get("Set-Cookie") != "" {
		t.Errorf("a visit: %d %s", got.code, got.header.Get("Location"))
	}
	for _, path := range []string{"//evil.test/", "/\\evil.test", "/../x"} {
		if got := (&visitor{w: w}).send("GET", path, "", visit...); strings.Contains(got.header.Get("Location"), "evil") &&
			!strings.HasPrefix(got.header.Get("Location"), w.origin+"/") {
			t.Errorf("%s: %s", path, got.header.Get("Location"))
		}
	}
	for _, got := range []*response{
		(&visitor{w: w}).send("POST", "/login", `{"secret":"`+secretOf(w)+`"}`, host, "Content-Type: application/json"),
		v.send("GET", "/api/session", "", host), v.send("POST", "/logout", "csrf="+v.csrf, host,
			"Content-Type: application/x-www-form-urlencoded"),
		v.send("POST", "/logout", "csrf="+v.csrf, "Origin: http://localhost:"+port,
			"Content-Type: application/x-www-form-urlencoded"),
		v.send("POST", "/logout", "csrf="+v.csrf, "Origin: http://[::1]:"+port,
			"Content-Type: application/x-www-form-urlencoded"),
	} {
		if got.code != 403 || got.header.Get("Set-Cookie") != "" {
			t.Errorf("got %d %s", got.code, got.body)
		}
	}
	// Two origins that are both ours: a page of one does not act on the other.
	two := newWorld(t, func(o *Options) { o.Origins = append(o.Origins, "https://codemode.example") })
	v = two.login(anna)
	if got := v.send("POST", "/logout", "csrf="+v.csrf, "Origin: https://codemode.example",
		"Content-Type: application/x-www-form-urlencoded"); got.code != 403 {
		t.Errorf("a page of another origin of ours: %d", got.code)
	}
	got = v.send("GET", "/api/session", "", "Host: codemode.example")
	if got.code != 200 {
		t.Errorf("behind what adds TLS: %d", got.code)
	}
}

// Safari keeps no cookie with Secure from a page without TLS on this machine, and does behind what adds TLS.
func TestCookiesForSafari(t *testing.T) {
	const safari = "User-Agent: Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15"
	w := newWorld(t, func(o *Options) { o.Origins = append([]string{"https://codemode.example"}, o.Origins...) })
	for host, secure := range map[string]bool{strings.TrimPrefix(w.origin, "http://"): false, "codemode.example": true} {
		v := &visitor{w: w}
		got := v.send("POST", "/login", `{"secret":"`+secretOf(w)+`"}`, "Host: "+host, safari,
			"Content-Type: application/json")
		cookie := got.header.Get("Set-Cookie")
		if got.code != 200 || strings.Contains(cookie, "Secure") != secure || !strings.Contains(cookie, "Path=/s/") {
			t.Errorf("%s: %d %s", host, got.code, cookie)
		}
		var said Session
		got.json(&said)
		v.path = said.Path
		v.cookie, _, _ = strings.Cut(cookie, ";")
		if got := v.send("GET", "/api/session", "", "Host: "+host, safari); got.code != 200 {
			t.Errorf("%s: the session: %d", host, got.code)
		}
	}
}
