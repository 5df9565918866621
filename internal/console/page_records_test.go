package console

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/console/signin"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// add adds entries of access, numbered from a to b.
func (w *world) add(from, to int, change ...func(*call.Entry)) {
	w.t.Helper()
	for i := from; i <= to; i++ {
		e := call.Entry{Kind: audit.Access, State: "refused", Principal: anna, Detail: fmt.Sprintf("entry %d.", i)}
		for _, f := range change {
			f(&e)
		}
		checktest.OK(w.t, w.record.note(w.t.Context(), e))
	}
}

type entries struct {
	Entries   []audit.Entry
	Next, End string
	Error     string
}

// GET /api/entries gives pages that do not move while entries come, and filters, and says which filter is wrong.
func TestEntriesComeInPages(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna) // one entry of access
	w.add(1, 9)
	var page entries
	read := func(query string) int {
		t.Helper()
		page = entries{}
		got := v.get("/api/entries?" + query)
		got.json(&page)
		return got.code
	}
	var all []string
	for query := "record=access&limit=4"; ; query = "record=access&limit=4&before=" + page.Next {
		if code := read(query); code != 200 {
			t.Fatalf("%s: %d %s", query, code, page.Error)
		}
		for _, e := range page.Entries {
			all = append(all, fmt.Sprint(e.Seq))
		}
		w.add(100, 101) // they are behind the first page
		if page.Next == "" {
			break
		}
	}
	if got := strings.Join(all, " "); got != "10 9 8 7 6 5 4 3 2 1" {
		t.Errorf("the pages have %s", got)
	}
	for query, want := range map[string]int{"record=policy": 0, "principal=nobody": 0, "state=admitted": 1, "limit=1000": 16} {
		if code := read(query); code != 200 || len(page.Entries) != want {
			t.Errorf("%s: %d, %d entries, want %d", query, code, len(page.Entries), want)
		}
	}
	for query, want := range map[string]string{"record=x": "record is", "since=x": "since is", "before=x": "before: that is no place"} {
		if code := read(query); code != 400 || !strings.Contains(page.Error, want) {
			t.Errorf("%s: %d %q", query, code, page.Error)
		}
	}
	ben := w.login("ben")
	var his entries
	if ben.get("/api/entries?principal=" + anna).json(&his); len(his.Entries) != 0 {
		t.Errorf("ben sees %+v", his.Entries)
	}
	if ben.get("/api/entries").json(&his); len(his.Entries) != 1 || his.Entries[0].Principal != "ben" {
		t.Errorf("ben sees %+v", his.Entries)
	}
}

// An event of a stream.
type event struct{ id, name, data string }

// follow reads events of a stream until each returns false; then it breaks the connection.
func (v *visitor) follow(query, lastID string, each func(event) bool) {
	v.w.t.Helper()
	ctx, cancel := context.WithCancel(v.w.t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", v.w.origin+v.path+"/api/entries/events?"+query, nil)
	checktest.OK(v.w.t, err)
	req.Header.Set("Cookie", v.cookie)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := http.DefaultClient.Do(req)
	checktest.OK(v.w.t, err)
	defer res.Body.Close()
	if res.StatusCode != 200 {
		text, _ := io.ReadAll(res.Body)
		v.w.t.Fatalf("%s: %s", res.Status, text)
	}
	var e event
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case field == "id":
			e.id = value
		case field == "event":
			e.name = value
		case field == "data":
			e.data = value
		case lines.Text() == "":
			if !each(e) {
				return
			}
			e = event{id: e.id}
		}
	}
}

// A front end whose connection breaks after each few entries gets all of them once, by Last-Event-ID, also those that
// came while it was away. One that begins anew gets what comes.
func TestAStreamOfEntriesGoesOn(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	var page entries
	v.get("/api/entries?record=access").json(&page)
	w.add(1, 5)
	var got []string
	last, n := "", 0
	for left := 12; left > 0; {
		n++
		few := n%3 + 1
		v.follow("record=access&after="+page.End, last, func(e event) bool {
			if last = e.id; e.name != "entry" {
				return true
			}
			var entry audit.Entry
			checktest.OK(t, json.Unmarshal([]byte(e.data), &entry))
			got = append(got, entry.Detail)
			if left--; len(got) < 12 {
				w.record.note(t.Context(), call.Entry{Kind: audit.Policy, State: "edited", Principal: anna}) // not asked for
			}
			few--
			return few > 0 && left > 0
		})
		if n == 2 {
			w.add(6, 12)
		}
	}
	var want []string
	for i := range 12 {
		want = append(want, fmt.Sprintf("entry %d.", i+1))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("it got %q", got)
	}
	if n < 4 {
		t.Errorf("the connection broke %d times", n)
	}
	v.follow("record=access", "", func(e event) bool {
		if e.name == "" {
			w.add(13, 13)
			return true
		}
		if !strings.Contains(e.data, "entry 13.") {
			t.Errorf("a stream that begins anew has %s", e.data)
		}
		return false
	})
	for id, code := range map[string]int{"1-99999": 409, "7-1": 409, "x": 400} {
		if got := v.send("GET", "/api/entries/events", "", "Last-Event-ID: "+id); got.code != code {
			t.Errorf("%s: %d %s", id, got.code, got.body)
		}
	}
}

// Who does not read a stream is disconnected. What is recorded does not wait for that.
func TestASlowReaderIsDisconnected(t *testing.T) {
	w := newWorld(t)
	w.c.patient = 300 * time.Millisecond
	v := w.login(anna)
	var page entries
	v.get("/api/entries?record=access").json(&page)
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.origin, "http://"))
	checktest.OK(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s/api/entries/events?after=%s HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n", v.path, page.End,
		strings.TrimPrefix(w.origin, "http://"), v.cookie)
	streams := func() int {
		s := w.session(anna)
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.streams
	}
	w.until("the stream is open", func() bool { return streams() == 1 })
	began := time.Now()
	huge := strings.Repeat("x", 1<<20)
	w.add(1, 64, func(e *call.Entry) { e.Detail += huge })
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("recording took %s while nobody read", took)
	}
	w.until("the stream is over", func() bool { return streams() == 0 })
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := io.Copy(io.Discard, conn); n == 0 || n >= 64<<20 {
		t.Errorf("%d bytes came (%v), want some and not all", n, err)
	}
}

// The three records in a browser: entries that come appear by themselves, once each; filters hold; a page of earlier
// entries stays; and what is in an entry stays text.
func TestRecordsInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	history(w)
	w.add(1, 100)
	b := newBrowser(t)
	b.Do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.Until("the page is there", `document.querySelector(".empty") !== null`)
	b.Do("the records", chromedp.Click(chromedp.CSS(`nav a[href$="/records/runs"]`)), chromedp.WaitVisible(chromedp.CSS("#records table")))
	b.Do("access", chromedp.Click(chromedp.CSS(`nav.kinds a[href$="/access"]`)))
	b.Until("it is live", `document.getElementById("tail").textContent.startsWith("Live")`)
	b.named()
	const details = `[...document.querySelectorAll("#records tbody tr")].map((r) => r.innerText.match(/entry (\d+)\./)?.[1]).filter((n) => n)`
	b.Until("the newest are there", details+`.length === 59 && `+details+`[0] === "100"`)
	w.add(101, 101, func(e *call.Entry) { e.Detail += " " + markup + strings.Repeat(" huge", 100_000) })
	w.add(102, 105)
	b.Until("new ones appear once", details+`.slice(0, 6).join() === "105,104,103,102,101,100" && `+details+`.length === 64`)
	b.Until("nothing is an element or turns text around", `document.querySelector("#records img") === null &&
		document.title !== "taken" && !document.body.textContent.includes("\u202e")`)
	for _, width := range []int64{390, 1280} {
		b.Size(width, 900)
		b.fits("records")
		for _, dark := range []bool{false, true} {
			b.Dark(dark)
			b.Accessible("records")
			b.Shot(fmt.Sprintf("records-%d-%t", width, dark))
		}
	}
	w.add(106, 250) // more than a page has
	b.Until("a gap is not hidden", details+`[0] === "250" && `+details+`.length === 60`)
	b.Do("stop", chromedp.Click(chromedp.CSS("#pause")))
	w.add(251, 251)
	b.Do("older ones", chromedp.Click(chromedp.CSS("#older")))
	b.Until("they go on where the page ended", details+`[0] === "190" && `+details+`.length === 60 && document.getElementById("pause") === null`)
	b.Do("the policy, filtered", chromedp.Navigate(w.origin+"/records/runs?tool=github__create_issue&state=ok&since=1h"))
	b.Until("one call is there", `document.querySelectorAll("#records tbody tr").length === 1 &&
		document.querySelector("select[name=since]").value === "1h" && document.querySelector("input[name=state]").value === "ok"`)
}

// No entry about access has the credential that somebody came with: not those of the page, whatever is sent.
func TestRecordsOfAccessHaveNoCredentials(t *testing.T) {
	w := withTokens(t)
	v := w.login(anna)
	const secret = "hunter2hunter2hunter2"
	v.send("GET", "/api/entries", "", "Cookie: codemode="+secret, "Authorization: Bearer "+secret)
	w.byTokenOf(secret, "GET", "/api/entries", "")
	(&visitor{w: w}).send("POST", "/login", `{"secret":"`+secret+`"}`, "Content-Type: application/json")
	w.enterAs("acme:eve", signin.Auditor).form("/rules/save", "text="+secret, "proof="+secret)
	v.form("/rules/save", "path=codemode.json", "digest=3", "text={}", "proof="+secret)
	all, err := json.Marshal(w.record.entries)
	checktest.OK(t, err)
	text := string(all)
	if len(w.record.entries) < 3 || strings.Contains(text, secret) || strings.Contains(text, v.cookie) ||
		strings.Contains(text, strings.TrimPrefix(v.path, "/s/")) {
		t.Errorf("the record has %s", text)
	}
}
