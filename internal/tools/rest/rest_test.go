package rest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/tools/openapi"
)

const canary = "canary-7f3a9c" // every credential of the tests contains it

// A seen is a request as a server saw it.
type seen struct {
	Method, URI, Host, Body string
	Header                  http.Header
}

// An api is a server that notes what it sees.
type api struct {
	*httptest.Server
	mu   sync.Mutex
	list []seen
}

func newAPI(t testing.TB, h http.HandlerFunc) *api {
	a := &api{}
	a.Server = httptest.NewServer(a.note(h))
	t.Cleanup(a.Close)
	return a
}

func (a *api) note(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.mu.Lock()
		a.list = append(a.list, seen{r.Method, r.RequestURI, r.Host, string(body), r.Header})
		a.mu.Unlock()
		if h == nil {
			answer(w, `{}`)
			return
		}
		h(w, r)
	}
}

func (a *api) all() []seen {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.list)
}

func (a *api) last() seen {
	all := a.all()
	if len(all) == 0 {
		return seen{}
	}
	return all[len(all)-1]
}

func answer(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

func parsed(s string) *url.URL { return checktest.Must(url.Parse(s)) }

// client makes a client for a server on this machine that does not wait.
func client(t testing.TB, base string, change ...func(*Options)) *Client {
	t.Helper()
	o := Options{Base: parsed(base), AllowPrivate: []string{"127.0.0.1"}}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	checktest.OK(t, err)
	c.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	t.Cleanup(c.Close)
	return c
}

// plan makes a plan: "GET /a/{b}", and the parameters as "in style! name" with ! for explode.
func plan(line string, parameters ...string) *openapi.Plan {
	method, path, _ := strings.Cut(line, " ")
	p := &openapi.Plan{Method: method, Path: path}
	for _, text := range parameters {
		f := strings.Fields(text)
		style, explode := strings.CutSuffix(f[1], "!")
		p.Parameters = append(p.Parameters, openapi.Parameter{Argument: f[2], Name: f[2], In: f[0], Style: style,
			Explode: explode})
	}
	return p
}

func call(t testing.TB, c *Client, p *openapi.Plan, args string) (*Answer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return c.Call(ctx, p, json.RawMessage(args), nil)
}

// says reports an error without the words.
func says(t testing.TB, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("got error %v, want one that says %q", err, words)
	}
}

func TestPathsAndQueries(t *testing.T) {
	a := newAPI(t, nil)
	c := client(t, a.URL+"/v1/", func(o *Options) { o.Slashes = []string{"file"} })
	id, q := "path simple id", "query form! q"
	for _, row := range []struct {
		name string
		plan *openapi.Plan
		args string
		want string // the request line, or the words of the refusal behind !
	}{
		{"a plain value", plan("GET /u/{id}", id), `{"id":"abc"}`, "/v1/u/abc"},
		{"a slash is no segment", plan("GET /u/{id}/x", id), `{"id":"a/b"}`, "/v1/u/a%2Fb/x"},
		{"nor is a backslash", plan("GET /u/{id}", id), `{"id":"a\\b"}`, "/v1/u/a%5Cb"},
		{"signs that mean something are escaped", plan("GET /u/{id}", id), `{"id":"a?b#c;d=e&f%20:@+ é"}`,
			"/v1/u/a%3Fb%23c%3Bd%3De%26f%2520%3A%40%2B%20%C3%A9"},
		{"..", plan("GET /u/{id}", id), `{"id":".."}`, "!argument /id"},
		{".", plan("GET /u/{id}", id), `{"id":"."}`, "!argument /id"},
		{"escaped dots", plan("GET /u/{id}", id), `{"id":"%2e%2E"}`, "!argument /id"},
		{"dots escaped twice", plan("GET /u/{id}", id), `{"id":"%252e."}`, "!argument /id"},
		{"dots behind a slash", plan("GET /u/{id}", id), `{"id":"a/../../b"}`, "!argument /id"},
		{"dots behind a backslash", plan("GET /u/{id}", id), `{"id":"..\\b"}`, "!argument /id"},
		{"dots behind an escaped slash", plan("GET /u/{id}", id), `{"id":"a%2f.."}`, "!argument /id"},
		{"dots before a semicolon", plan("GET /u/{id}", id), `{"id":"..;x"}`, "!argument /id"},
		{"dots in a word", plan("GET /u/{id}", id), `{"id":"main...next"}`, "/v1/u/main...next"},
		{"empty", plan("GET /u/{id}", id), `{"id":""}`, "!argument /id"},
		{"missing", plan("GET /u/{id}", id), `{}`, "!argument /id"},
		{"null", plan("GET /u/{id}", id), `{"id":null}`, "!argument /id"},
		{"NUL", plan("GET /u/{id}", id), `{"id":"a\u0000"}`, "!argument /id"},
		{"a line end", plan("GET /u/{id}", id), `{"id":"a\r\nHost: x"}`, "!argument /id"},
		{"an escaped line end", plan("GET /u/{id}", id), `{"id":"a%0d%0aHost: x"}`, "!argument /id"},
		{"an object in an array", plan("GET /u/{id}", id), `{"id":[1,{"a":2}]}`, "!argument /id/1"},
		{"several segments", plan("GET /u/{file}/x", "path simple file"), `{"file":"a/b c/d"}`, "/v1/u/a/b%20c/d/x"},
		{"several segments with ..", plan("GET /u/{file}", "path simple file"), `{"file":"a/../b"}`, "!argument /file"},
		{"several segments with an empty one", plan("GET /u/{file}", "path simple file"), `{"file":"a//b"}`,
			"!argument /file"},
		{"several segments from the root", plan("GET /u/{file}", "path simple file"), `{"file":"/b"}`, "!argument /file"},
		{"two parameters in a segment", plan("GET /u/{id}.{file}:go", id, "path simple file"),
			`{"id":"a:b","file":"c.d"}`, "/v1/u/a%3Ab.c.d:go"},
		{"two parameters cannot make dots", plan("GET /{id}.{file}", id, "path simple file"), `{"id":"%","file":"2e"}`,
			"/v1/%25.2e"},
		{"a value that makes dots of the description", plan("GET /{id}2e.", id), `{"id":"%"}`, "!may lead elsewhere"},
		{"an array and an object", plan("GET /u/{id}/{file}", id, "path simple! file"),
			`{"id":["a,b","c"],"file":{"k":1,"l":true}}`, "/v1/u/a%2Cb,c/k=1,l=true"},
		{"label", plan("GET /u{id}{file}", "path label id", "path label! file"), `{"id":[1,2],"file":[1,2]}`,
			"/v1/u.1,2.1.2"},
		{"matrix", plan("GET /u{id}{file}", "path matrix id", "path matrix! file"), `{"id":[1,2],"file":[1,2]}`,
			"/v1/u;id=1,2;file=1;file=2"},
		{"the path of the description leads up", plan("GET /../x"), `{}`, "!may lead elsewhere"},
		{"and escaped", plan("GET /%2e%2e/x"), `{}`, "!may lead elsewhere"},
		{"the path of the description is another host", plan("GET //evil.example/x"), `{}`, "/v1//evil.example/x"},
		{"the description has strange signs", plan("GET /a b\r\n#x\\"), `{}`, "/v1/a%20b%0D%0A%23x%5C"},
		{"a query in the description", plan("GET /x?Action=List&v={id}", id, q), `{"id":"a&b","q":1}`,
			"/v1/x?Action=List&v=a%26b&q=1"},
		{"a parameter that nobody declares", plan("GET /u/{other}", id), `{}`, "!not declared"},
		{"numbers keep their digits", plan("GET /x", q), `{"q":12345678901234567890.10}`, "/v1/x?q=12345678901234567890.10"},
		{"booleans", plan("GET /x", q), `{"q":[true,false]}`, "/v1/x?q=true&q=false"},
		{"null is left out", plan("GET /x", q), `{"q":null}`, "/v1/x"},
		{"a query in a value", plan("GET /x", q), `{"q":"a&b=c#d+e%20\r\n"}`, "/v1/x?q=a%26b%3Dc%23d%2Be%2520%0D%0A"},
		{"form", plan("GET /x", "query form q"), `{"q":["a,b","c"]}`, "/v1/x?q=a%2Cb,c"},
		{"form of an object", plan("GET /x", "query form q"), `{"q":{"a":1,"b":2}}`, "/v1/x?q=a,1,b,2"},
		{"exploded object", plan("GET /x", q), `{"q":{"a&x":1,"b":2}}`, "/v1/x?a%26x=1&b=2"},
		{"an exploded object sets another parameter", plan("GET /x", q, "query form! page"), `{"q":{"PAGE":1}}`,
			"!argument /q"},
		{"an exploded object sets the description's", plan("GET /x?Action=List", q), `{"q":{"Action":"Delete"}}`,
			"!argument /q"},
		{"a parameter sets the description's", plan("GET /x?Action=List", "query form! Action"), `{"Action":"Delete"}`,
			"!argument /Action"},
		{"spaces", plan("GET /x", "query spaceDelimited q"), `{"q":["a","b"]}`, "/v1/x?q=a%20b"},
		{"pipes", plan("GET /x", "query pipeDelimited q"), `{"q":["a","b"]}`, "/v1/x?q=a%7Cb"},
		{"tabs", plan("GET /x", "query tabDelimited q"), `{"q":["a","b"]}`, "/v1/x?q=a%09b"},
		{"deepObject", plan("GET /x", "query deepObject! q"), `{"q":{"a]":1,"b":"x"}}`, "/v1/x?q%5Ba%5D%5D=1&q%5Bb%5D=x"},
		{"deepObject of two levels", plan("GET /x", "query deepObject! q"), `{"q":{"a":{"b":1}}}`, "!argument /q/a"},
		{"an argument that is none", plan("GET /x", q), `{"dry":true}`, "!argument /dry"},
		{"$next that nobody made", plan("GET /x", q), `{"$next":{"query":"a=b","seal":"x"}}`, "!argument /$next"},
		{"arguments that are none", plan("GET /x", q), `[1]`, "!not an object"},
		{"a method that is none", plan("CONNECT /x"), `{}`, "!not supported"},
		{"a method with a line end", plan("GET\r\nX: /x"), `{}`, "!not supported"},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := len(a.all())
			_, err := call(t, c, row.plan, row.args)
			if words, refused := strings.CutPrefix(row.want, "!"); refused {
				says(t, err, words)
				if len(a.all()) != before {
					t.Errorf("sent %s", a.last().URI)
				}
				return
			}
			checktest.OK(t, err)
			if got := a.last().URI; got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	a := newAPI(t, nil)
	c := client(t, a.URL, func(o *Options) {
		o.Headers = http.Header{"X-Tenant": {"ours"}, "Authorization": {"Bearer " + canary}}
		o.Key = &Key{In: openapi.InHeader, Name: "X-Api-Key", Value: canary}
	})
	for _, row := range []struct{ name, value, want string }{
		{"If-Match", `"\"abc\""`, `"abc"`},
		{"X-List", `["a","b",3]`, "a,b,3"},
		{"X-Tenant", `"theirs"`, "ours"}, {"x_tenant", `"theirs"`, ""}, {"X-Api-Key", `"theirs"`, canary},
		{"X-Line", `"a\r\nX-Evil: 1"`, "!cannot have"}, {"X-Nul", `"a\u0000"`, "!cannot have"},
		{"X-Umlaut", `"ä"`, "!cannot have"}, {"X Bad", `"a"`, "!no argument can set"},
		{"X-Bad\r\nX-Evil", `"a"`, "!no argument can set"}, {"Accept", `"a"`, "!no argument can set"},
	} {
		_, err := call(t, c, &openapi.Plan{Method: "GET", Path: "/x", Parameters: []openapi.Parameter{
			{Argument: "h", Name: row.name, In: openapi.InHeader, Style: "simple"}}}, `{"h":`+row.value+`}`)
		if words, refused := strings.CutPrefix(row.want, "!"); refused {
			says(t, err, words)
			continue
		}
		checktest.OK(t, err)
		if got := a.last().Header.Get(row.name); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
	for _, name := range []string{"Host", "Content-Length", "content_length", "Transfer-Encoding", "Connection", "Cookie",
		"Proxy-Authorization", "Proxy-X", "Forwarded", "X-Forwarded-For", "X_Forwarded_Host", "Upgrade", "TE", "Trailer",
		"Keep-Alive", "Expect", "X-HTTP-Method-Override", "Accept-Encoding", "Content-Type"} {
		before := len(a.all())
		_, err := call(t, c, plan("GET /x", "header simple "+name), `{"`+name+`":"x"}`)
		says(t, err, "no argument can set")
		if len(a.all()) != before {
			t.Errorf("%s was sent", name)
		}
	}
	if h := a.last().Header; h.Get("Authorization") != "Bearer "+canary || h.Get("User-Agent") != "codemode" ||
		h.Get("X-Evil") != "" || h.Get("Accept") != "application/json, */*;q=0.5" {
		t.Errorf("got %v", h)
	}
}

func TestBodies(t *testing.T) {
	a := newAPI(t, nil)
	c := client(t, a.URL)
	members := func(media string, names ...string) *openapi.Body { return &openapi.Body{Media: media, Members: names} }
	whole := func(media string) *openapi.Body {
		return &openapi.Body{Media: media, Argument: "body", Required: true}
	}
	stripe := members("application/x-www-form-urlencoded", "meta", "items", "n")
	stripe.Parts = map[string]openapi.Part{"meta": {Style: "deepObject", Explode: true},
		"items": {Style: "deepObject", Explode: true}}
	for _, row := range []struct {
		name, method     string
		body             *openapi.Body
		args, want, kind string
	}{
		{"JSON keeps its digits", "POST", members("application/json", "a", "b"), `{ "b" : 1.50, "a":{"x": 1e2} }`,
			`{"b":1.50,"a":{"x":1e2}}`, "application/json"},
		{"JSON as a whole", "PUT", whole("application/merge-patch+json"), `{"body":[1, 2]}`, `[1,2]`,
			"application/merge-patch+json"},
		{"nothing is given", "POST", members("application/json", "a"), `{}`, ``, ""},
		{"a body that has to be given", "POST", whole("application/json"), `{}`, "!argument /body", ""},
		{"GET with a body", "GET", members("application/json", "a"), `{"a":1}`, `{"a":1}`, "application/json"},
		{"a form", "POST", members("application/x-www-form-urlencoded", "a", "b", "c"), `{"a":"x&y","b":[1,2],"c":{"d":1}}`,
			"a=x%26y&b=1&b=2&c=%7B%22d%22%3A1%7D", "application/x-www-form-urlencoded"},
		{"a deep form", "POST", stripe, `{"meta":{"a":{"b":1}},"items":[{"p":1},2],"n":null}`,
			"meta%5Ba%5D%5Bb%5D=1&items%5B0%5D%5Bp%5D=1&items%5B%5D=2", "application/x-www-form-urlencoded"},
		{"text", "POST", whole("text/plain; charset=utf-8"), `{"body":"ä\n"}`, "ä\n", "text/plain; charset=utf-8"},
		{"XML", "POST", whole("application/xml"), `{"body":"<a/>"}`, "<a/>", "application/xml"},
		{"bytes", "POST", whole("application/octet-stream"), `{"body":{"base64":"AAEC"}}`, "\x00\x01\x02",
			"application/octet-stream"},
		{"no base64", "POST", whole("application/octet-stream"), `{"body":{"base64":"?"}}`, "!argument /body/base64", ""},
		{"bytes that are a number", "POST", whole("application/octet-stream"), `{"body":1}`, "!argument /body", ""},
		{"any media type", "POST", whole("*/*"), `{"body":"x"}`, "x", "application/octet-stream"},
		{"a media type that is none", "POST", whole("text/plain\r\nX-Evil: 1"), `{"body":"x"}`, "!which is none", ""},
		{"XML of members", "POST", members("application/xml", "a"), `{"a":1}`, "!cannot be made", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := call(t, c, &openapi.Plan{Method: row.method, Path: "/x", Body: row.body}, row.args)
			if words, refused := strings.CutPrefix(row.want, "!"); refused {
				says(t, err, words)
				return
			}
			checktest.OK(t, err)
			got := a.last()
			if got.Body != row.want || got.Header.Get("Content-Type") != row.kind {
				t.Errorf("got  %q (%s)\nwant %q", got.Body, got.Header.Get("Content-Type"), row.want)
			}
		})
	}
}

func TestMultipart(t *testing.T) {
	var got []string
	a := newAPI(t, nil)
	a.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts, err := r.MultipartReader()
		for err == nil {
			part, next := parts.NextPart()
			if err = next; err == nil {
				raw, _ := io.ReadAll(part)
				got = append(got, strings.Join([]string{part.FormName(), part.FileName(), part.Header.Get("Content-Type"),
					string(raw)}, "|"))
			}
		}
		answer(w, "{}")
	})
	evil := "e\"\r\nX-Evil: 1"
	p := &openapi.Plan{Method: "POST", Path: "/x", Body: &openapi.Body{Media: "multipart/form-data; boundary=x",
		Members: []string{"file", "files", "note", "tags", evil, "meta", "none"},
		Parts:   map[string]openapi.Part{"file": {Binary: true, Media: "image/png"}, "files": {Binary: true}}}}
	_, err := call(t, client(t, a.URL), p, `{"file":{"base64":"AAE="},"files":["a","b"],"note":"n\r\n--x",`+
		`"tags":[1,true],"e\"\r\nX-Evil: 1":"v","meta":{"a":1.0},"none":null}`)
	checktest.OK(t, err)
	want := []string{"file|file|image/png|\x00\x01", "files|file|application/octet-stream|a",
		"files|file|application/octet-stream|b", "note|||n\r\n--x", "tags|||1", "tags|||true", "e\"%0D%0AX-Evil: 1|||v",
		`meta||application/json|{"a":1.0}`}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	p.Body.Parts["note"] = openapi.Part{Media: "text/plain\r\nX-Evil: 1"}
	_, err = call(t, client(t, a.URL), p, `{"note":"n"}`)
	says(t, err, "which is none")
}

func TestTLS(t *testing.T) {
	a := &api{}
	a.Server = httptest.NewUnstartedServer(a.note(nil))
	a.EnableHTTP2 = true
	a.StartTLS()
	t.Cleanup(a.Close)
	trusting := &tls.Config{RootCAs: a.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	_, err := call(t, client(t, a.URL, func(o *Options) { o.TLS = trusting }), plan("GET /x"), `{}`)
	checktest.OK(t, err)
	sent := false
	_, err = client(t, a.URL).Call(context.Background(), plan("POST /x"), json.RawMessage(`{}`), func() { sent = true })
	says(t, err, "nothing was sent")
	if sent || len(a.all()) != 1 {
		t.Error("something was sent to a server without a certificate that counts")
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	ok := Options{Base: parsed("https://api.example/v1")}
	for name, change := range map[string]func(*Options){
		"no base":             func(o *Options) { o.Base = nil },
		"another scheme":      func(o *Options) { o.Base = parsed("ftp://h/") },
		"userinfo":            func(o *Options) { o.Base = parsed("https://u:" + canary + "@h/") },
		"a query":             func(o *Options) { o.Base = parsed("https://h/?key=" + canary) },
		"dots":                func(o *Options) { o.Base = parsed("https://h/a/%2e%2e/") },
		"a line in a header":  func(o *Options) { o.Headers = http.Header{"X": {canary + "\n"}} },
		"a host header":       func(o *Options) { o.Headers = http.Header{"Host": {canary}} },
		"a line in a key":     func(o *Options) { o.Key = &Key{openapi.InHeader, "X", canary + "\n"} },
		"a key in the path":   func(o *Options) { o.Key = &Key{openapi.InPath, "X", canary} },
		"a range that is not": func(o *Options) { o.AllowPrivate = []string{"10.0.0.0/99"} },
		"a pattern":           func(o *Options) { o.AllowPrivate = []string{"*"} },
	} {
		o := ok
		change(&o)
		if _, err := New(o); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := New(ok); err != nil {
		t.Error(err)
	}
}
