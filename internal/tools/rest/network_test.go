package rest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/tools/openapi"
)

func TestAddressesThatAreRefused(t *testing.T) {
	for _, address := range []string{"10.0.0.1", "172.31.255.255", "192.168.1.1", "127.0.0.1", "127.9.9.9",
		"169.254.169.254", "169.254.1.1", "0.0.0.0", "0.1.2.3", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192",
		"192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "192.88.99.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1",
		"::ffff:10.0.0.1", "::ffff:127.0.0.1", "::10.0.0.1", "::ffff:0:10.0.0.1", "fc00::1", "fd00:ec2::254", "fe80::1",
		"fe80::1%lo", "fec0::1", "ff02::1", "64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "2002:a00:1::1",
		"2001:0:53aa::1", "2001:db8::1", "3fff::1", "100::1"} {
		r := checktest.Must(newReach([]string{"intranet.example", "10.1.0.0/16"}))
		if r.check("tcp", net.JoinHostPort(address, "443"), nil) == nil {
			t.Errorf("%s is reached", address)
		}
		r = checktest.Must(newReach([]string{address, "[" + address + "]"}))
		if err := r.check("tcp", net.JoinHostPort(address, "443"), nil); err != nil {
			t.Errorf("%s is named, and refused: %v", address, err)
		}
	}
	r := checktest.Must(newReach([]string{"10.1.0.0/16", "fd12::/16"}))
	for _, address := range []string{"8.8.8.8", "2606:4700::1111", "10.1.2.3", "::ffff:10.1.2.3", "fd12::1"} {
		if err := r.check("tcp", net.JoinHostPort(address, "443"), nil); err != nil {
			t.Error(err)
		}
	}
}

// Names are checked when they are resolved, and whatever spelling an address has.
func TestTheDialledAddressCounts(t *testing.T) {
	a := newAPI(t, nil)
	t.Setenv("HTTP_PROXY", a.URL)
	_, port, _ := net.SplitHostPort(a.Listener.Addr().String())
	none := func(o *Options) { o.AllowPrivate = nil }
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1",
		"0177.0.0.1", "127.1", "0.0.0.0", "[::]"} {
		_, err := call(t, client(t, "http://"+host+":"+port, none), plan("POST /x"), `{}`)
		says(t, err, "nothing was sent")
		_, err = Fetch(context.Background(), FetchOptions{URL: parsed("http://" + host + ":" + port)}, io.Discard)
		says(t, err, "nothing was sent")
	}
	if len(a.all()) > 0 {
		t.Errorf("sent %v", a.all())
	}
	named := func(o *Options) { o.AllowPrivate = []string{"LocalHost."} }
	_, err := call(t, client(t, "http://localhost:"+port, named), plan("GET /x"), `{}`)
	checktest.OK(t, err)
	_, err = call(t, client(t, "http://127.0.0.1:"+port, named), plan("GET /x"), `{}`)
	says(t, err, "not on the internet")
}

func TestRedirects(t *testing.T) {
	other := newAPI(t, nil)
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		code, to := 0, ""
		if _, err := fmt.Sscanf(r.URL.Path, "/r/%d/", &code); err == nil {
			_, to, _ = strings.Cut(r.URL.RawQuery, "to=")
			to, _, _ = strings.Cut(to, "&api-key")
			w.Header().Set("Location", to)
			w.Header().Set("Set-Cookie", "a=b")
			w.WriteHeader(code)
			return
		}
		answer(w, `"`+r.Method+`"`)
	})
	host := strings.TrimPrefix(a.URL, "http://")
	c := client(t, a.URL, func(o *Options) { o.Key = &Key{openapi.InQuery, "api-key", canary} })
	for _, row := range []struct{ name, method, code, to, want string }{
		{"301 of a read", "GET", "301", "/end", "GET"}, {"302 of a read", "GET", "302", a.URL + "/end", "GET"},
		{"303 of a read", "GET", "303", "/end", "GET"}, {"307 of a read", "GET", "307", "/end", "GET"},
		{"308 of a read", "GET", "308", "/end", "GET"}, {"302 of a write", "POST", "302", "/end", "GET"},
		{"303 of a write", "DELETE", "303", "/end", "GET"},
		{"301 of a write", "POST", "301", "/end", "!not sent again"},
		{"307 of a write", "POST", "307", "/end", "!not sent again"},
		{"308 of a write", "PUT", "308", "/end", "!not sent again"},
		{"another port", "GET", "302", other.URL + "/end", "!" + a.URL + " redirects to another origin, \"" + other.URL},
		{"another port of a write", "POST", "303", other.URL + "/end", "!another origin"},
		{"another scheme", "GET", "302", "https://" + host + "/end", "!another origin"},
		{"without a scheme", "GET", "302", "//evil.example/end", "!http://evil.example"},
		{"a scheme that is none", "GET", "302", "file:///etc/passwd", "!another origin"},
		{"with a user", "GET", "302", "http://u:p@" + host + "/end", "!address with a user"},
		{"unreadable", "GET", "302", "http://[::1/", "!cannot be read"},
		{"in circles", "GET", "302", "/r/302/?to=/r/302/?to=/r/302/?to=/r/302/?to=/end", "!in circles"},
		{"three", "GET", "302", "/r/302/?to=/r/302/?to=/end", "GET"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := call(t, c, plan(row.method+" /r/"+row.code+"/?to="+row.to), `{}`)
			if words, refused := strings.CutPrefix(row.want, "!"); refused {
				says(t, err, words)
				if e, ok := errors.AsType[*StatusError](err); !ok || e.Status < 300 {
					t.Errorf("got %T", err)
				}
			} else if checktest.OK(t, err); string(got.Value) != `"`+row.want+`"` {
				t.Errorf("got %s", got.Value)
			}
			if !strings.Contains(a.last().URI, "api-key="+canary) || a.last().Header.Get("Cookie") != "" {
				t.Errorf("got %v", a.last())
			}
		})
	}
	if len(other.all()) > 0 {
		t.Errorf("another origin got %v", other.all())
	}
}

func TestRepeats(t *testing.T) {
	var fails atomic.Int32
	status, after := http.StatusTooManyRequests, "2"
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if fails.Add(-1) >= 0 {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader(status)
			return
		}
		answer(w, "1")
	})
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, row := range []struct {
		name, method, key, after string
		status, fails, requests  int
		ok                       bool
	}{
		{"GET after 429", "GET", "", "2", 429, 1, 2, true}, {"GET after 503", "GET", "", "0", 503, 3, 4, true},
		{"a date", "PUT", "", in(3 * time.Second), 429, 1, 2, true},
		{"a date that is over", "DELETE", "", in(-time.Hour), 429, 1, 2, true},
		{"at most three times", "GET", "", "2", 429, 9, 4, false}, {"at most a minute", "GET", "", "25", 429, 9, 3, false},
		{"a day", "GET", "", "86400", 429, 1, 1, false}, {"beyond the deadline", "GET", "", "21", 429, 1, 1, false},
		{"no time", "GET", "", "", 429, 1, 1, false}, {"no number", "GET", "", "soon", 429, 1, 1, false},
		{"another error", "GET", "", "1", 500, 1, 1, false},
		{"POST", "POST", "", "1", 429, 1, 1, false}, {"PATCH", "PATCH", "", "1", 503, 1, 1, false},
		{"POST with a key", "POST", "Idempotency-Key", "1", 429, 2, 3, true},
		{"a key of a description that lies", "POST", "Cookie", "1", 429, 0, 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := client(t, a.URL)
			status, after = row.status, row.after
			fails.Store(int32(row.fails))
			before := len(a.all())
			p := plan(row.method + " /x")
			p.RepeatKey = row.key
			times := 0
			limit := 20 * time.Second
			if row.name == "at most a minute" {
				limit = time.Hour
			}
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			_, err := c.Call(ctx, p, json.RawMessage(`{}`), func() { times++ })
			got := a.all()[before:]
			if (err == nil) != row.ok || len(got) != row.requests || row.requests > 0 && times != 1 {
				t.Errorf("got %v after %d requests, and sent %d times", err, len(got), times)
			}
			if e, ok := errors.AsType[*StatusError](err); ok && row.after == "86400" && e.RetryAfter != 24*time.Hour {
				t.Errorf("got %v", e)
			}
			for _, r := range got {
				if row.key != "" && (r.Header.Get(row.key) == "" || r.Header.Get(row.key) != got[0].Header.Get(row.key)) {
					t.Errorf("got the keys %v", r.Header)
				}
			}
		})
	}
}

func TestLostConnections(t *testing.T) {
	var lose atomic.Int32
	var middle atomic.Bool
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			w.Header().Set("Location", "/x")
			w.WriteHeader(http.StatusSeeOther)
			return
		}
		if lose.Add(-1) < 0 {
			answer(w, "1")
			return
		}
		if middle.Load() {
			w.Header().Set("Content-Length", "10")
			answer(w, "[1,")
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	})
	c := client(t, a.URL)
	for _, cut := range []bool{false, true} {
		middle.Store(cut)
		for _, row := range []struct {
			line     string
			losses   int32
			requests int
			unknown  bool
		}{{"GET /x", 1, 2, false}, {"GET /x", 2, 2, false}, {"POST /x", 1, 1, true}, {"PUT /x", 1, 1, true},
			{"DELETE /x", 1, 1, true}, {"PATCH /x", 1, 1, true}, {"POST /moved", 99, -1, true}} {
			c.Close() // net/http may repeat a read by itself on a connection that was used before
			lose.Store(row.losses)
			before := len(a.all())
			_, err := call(t, c, plan(row.line), `{}`)
			_, unknown := errors.AsType[*UnknownError](err)
			got := len(a.all()) - before
			if row.requests >= 0 && got != row.requests || unknown != row.unknown ||
				(err == nil) != (row.losses == 1 && !unknown) {
				t.Errorf("%s, lost %d times in the middle (%v): got %v after %d requests", row.line, row.losses, cut, err, got)
			}
		}
	}
	a.CloseClientConnections()
	a.Listener.Close()
	c.Close()
	_, err := call(t, c, plan("POST /x"), `{}`)
	says(t, err, "nothing was sent")
}

func TestAWriteThatIsCanceledIsUnknown(t *testing.T) {
	arrived, done := make(chan bool), make(chan bool)
	a := newAPI(t, func(http.ResponseWriter, *http.Request) { arrived <- true; <-done })
	defer close(done)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-arrived; cancel() }()
	_, err := client(t, a.URL).Call(ctx, plan("POST /x"), json.RawMessage(`{}`), nil)
	if _, ok := errors.AsType[*UnknownError](err); !ok || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func TestAnswers(t *testing.T) {
	var kind, encoding, text string
	status := 200
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = []string{kind}
		if encoding != "" {
			w.Header().Set("Content-Encoding", encoding)
		}
		w.WriteHeader(status)
		if status != 204 {
			_, _ = io.WriteString(w, text)
		}
	})
	c := client(t, a.URL, func(o *Options) { o.MaxAnswer = 1000 })
	long := strings.Repeat("1", 1001)
	for _, row := range []struct {
		name, kind, encoding, text string
		want                       string // the value, * and the type of the block, or ! and words of the error
	}{
		{"JSON", "application/json", "", ` {"n":12345678901234567890.10} `, `{"n":12345678901234567890.10}`},
		{"JSON of another kind", "application/vnd.api+json; charset=utf-8", "", "\ufeff[1]", `[1]`},
		{"half a surrogate pair", "application/json", "", `"\ud800"`, `"\ud800"`},
		{"two values", "application/json", "", `1 2`, "!says that it is JSON"},
		{"bytes that are not UTF-8", "application/json", "", "\"\xff\"", "!says that it is JSON"},
		{"HTML that says it is JSON", "application/json", "", "<html>", "!says that it is JSON"},
		{"JSON that says it is text", "text/plain", "", `{"a":1}`, `"{\"a\":1}"`},
		{"JSON that says it is HTML", "text/html", "", `[1]`, `"[1]"`},
		{"XML", "application/xml", "", `<a/>`, `"<a/>"`}, {"more XML", "image/svg+xml", "", `<a/>`, `"<a/>"`},
		{"a form", "application/x-www-form-urlencoded", "", `a=b`, `"a=b"`},
		{"text that is not UTF-8", "text/plain", "", "a\xff", `"a` + "\ufffd" + `"`},
		{"an image", "image/png", "", "\x89PNG", "*image"}, {"audio", "audio/mpeg", "", "\xff", "*audio"},
		{"bytes", "application/pdf", "", "%PDF", "*resource"}, {"no type, and no text", "", "", "\xff\x00", "*resource"},
		{"no type", "", "", `{"a":1}`, `"{\"a\":1}"`}, {"nothing", "application/json", "", "", `null`},
		{"too long", "application/json", "", long, "!longer than 1000 bytes"},
		{"too long bytes", "image/png", "", long, "!longer than 1000 bytes"},
		{"gzip", "application/json", "gzip", zipped("[1]"), `[1]`},
		{"a gzip bomb", "application/json", "gzip", zipped(strings.Repeat("1", 50<<20)), "!longer than 1000 bytes"},
		{"another encoding", "application/json", "br", "x", "!nobody asked for"},
		{"events", "text/event-stream", "", "data: 1\n\n", "!stream of events"},
	} {
		t.Run(row.name, func(t *testing.T) {
			kind, encoding, text = row.kind, row.encoding, row.text
			got, err := call(t, c, plan("POST /x"), `{}`)
			if words, refused := strings.CutPrefix(row.want, "!"); refused {
				says(t, err, words)
				if e, ok := errors.AsType[*AnswerError](err); !ok || e.Status != 200 {
					t.Errorf("got %T", err)
				}
				return
			}
			checktest.OK(t, err)
			if block, ok := strings.CutPrefix(row.want, "*"); ok {
				if got.Block["type"] != block || string(got.Value) != "null" {
					t.Errorf("got %v", got)
				}
			} else if string(got.Value) != row.want || got.Block != nil {
				t.Errorf("got %s, %v", got.Value, got.Block)
			}
		})
	}
	kind, encoding, text = "application/json", "", "1"
	for line, code := range map[string]int{"GET /x": 204, "HEAD /x": 200, "DELETE /x": 205} {
		status = code
		if got, err := call(t, c, plan(line), `{}`); err != nil || string(got.Value) != "null" || got.Status != code {
			t.Errorf("%s: got %v, %v", line, got, err)
		}
	}
}

func TestErrorsOfAnAPI(t *testing.T) {
	var kind, text string
	status := 404
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = []string{kind}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	})
	c := client(t, a.URL)
	for _, row := range []struct{ kind, text, message, body string }{
		{"application/problem+json", `{"type":"x","title":"Gone away.","detail":"It left"}`, "Gone away: It left", ""},
		{"application/json", `{"message":"No\nway","documentation_url":"x"}`, "No way", ""},
		{"application/json", `{"error":{"code":7,"message":"Deep"}}`, "Deep", ""},
		{"application/json", `{"errors":[{"detail":"First"},{"detail":"Second"}]}`, "First", ""},
		{"application/json", `{"ok":false,"error":"not_found"}`, "not_found", ""},
		{"application/json", `{"n":1.10}`, "Not Found", ""}, {"application/json", ``, "Not Found", ``},
		{"application/json", `<h1>x`, "<h1>x", `"<h1>x"`},
		{"text/plain", "plain \x1b[1m", `plain \u{1b}[1m`, `"plain \u001b[1m"`},
		{"text/html", `<html><title>Bad Gateway</title><script>a<b</script><h1>Sorry`, "Bad Gateway", `"Bad Gateway"`},
		{"application/json", `"` + strings.Repeat("a", 100<<10) + `"`, `"` + strings.Repeat("a", 299), `"\"`},
		{"image/png", "\x89", "Not Found", ""},
	} {
		kind, text = row.kind, row.text
		_, err := call(t, c, plan("POST /x"), `{}`)
		e, ok := errors.AsType[*StatusError](err)
		if !ok {
			t.Fatalf("%s: got %v", row.text, err)
		}
		want := row.body
		if want == "" && row.kind != "image/png" {
			want = row.text
		}
		if !strings.HasPrefix(e.Message, row.message) || !strings.HasPrefix(string(e.Body), want) ||
			len(e.Body) > errorMax+1000 || len(e.Body) > 0 && !json.Valid(e.Body) {
			t.Errorf("%.80s: got %.400s, %.80s", row.text, e, e.Body)
		}
	}
	status = 304
	if got, err := call(t, c, plan("GET /x"), `{}`); err != nil || got.Status != 304 {
		t.Errorf("got %v, %v", got, err)
	}
	status = 300
	_, err := call(t, c, plan("GET /x"), `{}`)
	says(t, err, "HTTP 300")
}

func TestFetch(t *testing.T) {
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/d.json", http.StatusFound)
		case r.URL.Path == "/away":
			http.Redirect(w, r, "http://evil.example/d.json", http.StatusFound)
		case r.URL.Path == "/none":
			http.Error(w, "no", http.StatusNotFound)
		case r.Header.Get("If-None-Match") == `"1"`:
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, zipped(strings.Repeat("x", 1000)))
		}
	})
	get := func(path, etag string, most int64) (*Fetched, string, error) {
		var out bytes.Buffer
		f, err := Fetch(context.Background(), FetchOptions{URL: parsed(a.URL + path), ETag: etag, Max: most,
			AllowPrivate: []string{"127.0.0.0/8"}, Headers: http.Header{"Authorization": {canary}}}, &out)
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Error(err)
		}
		return f, out.String(), err
	}
	f, text, err := get("/moved?a=b", "", 1000)
	checktest.OK(t, err)
	if f.ETag != `"1"` || f.Same || f.Bytes != 1000 || len(text) != 1000 {
		t.Errorf("got %v", f)
	}
	if f, text, err = get("/d.json", `"1"`, 0); err != nil || !f.Same || text != "" {
		t.Errorf("got %v, %q, %v", f, text, err)
	}
	_, _, err = get("/d.json", "", 999)
	says(t, err, "longer than 999 bytes")
	_, _, err = get("/away", "", 0)
	says(t, err, "evil.example")
	_, _, err = get("/none", "", 0)
	says(t, err, "HTTP 404")
}

// Send has the credentials that change, and may send twice.
func TestSend(t *testing.T) {
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new-"+canary {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer(w, `"`+r.Header.Get("Authorization")+`"`)
	})
	c := client(t, a.URL, func(o *Options) {
		o.Secrets = func() []string { return []string{"new-" + canary} }
		o.Send = func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
			if resp, err := base.RoundTrip(r); err != nil || resp.StatusCode != http.StatusUnauthorized {
				return resp, err
			}
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer new-"+canary)
			if r.GetBody != nil {
				r.Body, _ = r.GetBody()
			}
			return base.RoundTrip(r)
		}
	})
	p := plan("POST /x")
	p.Body = &openapi.Body{Media: "application/json", Members: []string{"a"}}
	got, err := call(t, c, p, `{"a":1}`)
	checktest.OK(t, err)
	if string(got.Value) != `"Bearer [redacted]"` || a.last().Body != `{"a":1}` {
		t.Errorf("got %s", got.Value)
	}
	c.o.Send = func(http.RoundTripper, *http.Request) (*http.Response, error) {
		return nil, &ArgumentError{"/login", "see https://login.example/" + canary + " with new-" + canary}
	}
	_, err = call(t, c, p, `{"a":1}`)
	says(t, err, "nothing was sent to "+strings.TrimPrefix(a.URL, "http://")+": argument /login: see https://login.example/…")
	if e, ok := errors.AsType[*ArgumentError](err); !ok || e.Path != "/login" || strings.Contains(err.Error(), canary) {
		t.Errorf("the error of Send is not found in %v", err)
	}
	c.o.Send = func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
		r.URL = parsed("http://127.0.0.1:1/")
		return base.RoundTrip(r)
	}
	_, err = call(t, c, p, `{"a":1}`)
	says(t, err, "another origin")
}

func TestCallsAtTheSameTime(t *testing.T) {
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) { answer(w, `"`+r.URL.Path+`"`) })
	c := client(t, a.URL)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for j := range 10 {
				id := fmt.Sprint(i, "-", j)
				got, err := call(t, c, plan("GET /{id}", "path simple id"), `{"id":"`+id+`"}`)
				if err != nil || string(got.Value) != `"/`+id+`"` {
					t.Errorf("got %v, %v", got, err)
				}
				if j == 5 {
					c.Close()
				}
			}
		})
	}
	all.Wait()
}
