package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/tools/openapi"
)

// items5 is what every paged API of these tests holds.
var items5 = []string{"a", "b", "c", "d", "e"}

// page is two items from an index, and the index of the next; 0 is none.
func page(from int) (list string, next int) {
	var texts []string
	for i := max(0, from); i < min(from+2, len(items5)); i++ {
		texts = append(texts, `{"id":"`+items5[i]+`"}`)
	}
	if from+2 < len(items5) {
		next = from + 2
	}
	return "[" + strings.Join(texts, ",") + "]", next
}

func number(r *http.Request, name string) int {
	n, _ := strconv.Atoi(r.URL.Query().Get(name))
	return n
}

// orNull writes a JSON text if there is a next page.
func orNull(next int, format string) string {
	if next == 0 {
		return "null"
	}
	return fmt.Sprintf(format, next)
}

// TestPages reads all pages of APIs that page in different ways.
func TestPages(t *testing.T) {
	for _, row := range []struct {
		name, args string
		plan       *openapi.Plan
		serve      func(w http.ResponseWriter, r *http.Request)
	}{
		{"OData, with what is not declared", `{"top":2}`, plan("GET /v1/x", "query form! top"),
			func(w http.ResponseWriter, r *http.Request) {
				list, next := page(number(r, "$skiptoken"))
				if next > 0 {
					list += fmt.Sprintf(`,"@odata.nextLink":"http://%s/v1/x?top=2&%%24skiptoken=%d"`, r.Host, next)
				}
				answer(w, `{"value":`+list+`}`)
			}},
		{"a next address without an origin, in links", `{"id":"a/b"}`,
			plan("GET /v1/{id}", "path simple id", "query form! after"),
			func(w http.ResponseWriter, r *http.Request) {
				list, next := page(number(r, "after"))
				answer(w, `{"items":`+list+`,"_links":{"next":{"href":`+orNull(next, `"/v1/a%%2Fb?after=%d"`)+`}},"page":1}`)
			}},
		{"Link", `{"q":["x","y"],"page":0}`, plan("GET /v1/x", "query form! q", "query form! page"),
			func(w http.ResponseWriter, r *http.Request) {
				list, next := page(number(r, "page"))
				if next > 0 {
					w.Header().Set("Link", fmt.Sprintf(`<?page=0>; rel="first", <?q=x&q=y&page=%d>; rel="next"`, next))
				} else {
					w.Header().Set("Link", `<?page=0>; rel=first`)
				}
				answer(w, list)
			}},
		{"Link with another path, as GitHub", `{"owner":"o"}`,
			plan("GET /v1/{owner}/x", "path simple owner", "query form! after"),
			func(w http.ResponseWriter, r *http.Request) {
				list, next := page(number(r, "after"))
				if next > 0 {
					w.Header().Set("Link", fmt.Sprintf(`<http://%s/v1/4711/x?after=%d&evil=1>; rel="next"`, r.Host, next))
				}
				if r.URL.Query().Has("evil") || r.URL.Path != "/v1/o/x" {
					w.WriteHeader(http.StatusTeapot)
				}
				answer(w, list)
			}},
		{"a token", `{}`, plan("GET /v1/x", "query form! pageToken"), func(w http.ResponseWriter, r *http.Request) {
			list, next := page(number(r, "pageToken"))
			answer(w, `{"files":`+list+`,"nextPageToken":`+orNull(next, `"%d"`)+`}`)
		}},
		{"a cursor, as Slack", `{"limit":2}`, plan("GET /v1/x", "query form! limit", "query form! cursor"),
			func(w http.ResponseWriter, r *http.Request) {
				list, next := page(number(r, "cursor"))
				cursor := strings.Trim(orNull(next, `"%d"`), `nul"`)
				answer(w, `{"ok":true,"members":`+list+`,"response_metadata":{"next_cursor":"`+cursor+`"}}`)
			}},
		{"a cursor in the body, as Notion", `{"query":"x"}`, &openapi.Plan{Method: "POST", Path: "/v1/x",
			Body: &openapi.Body{Media: "application/json", Members: []string{"query", "start_cursor"}}},
			func(w http.ResponseWriter, r *http.Request) {
				var body struct{ Cursor string }
				raw, _ := io.ReadAll(r.Body)
				_ = json.Unmarshal([]byte(strings.ReplaceAll(string(raw), "start_cursor", "Cursor")), &body)
				from, _ := strconv.Atoi(body.Cursor)
				list, next := page(from)
				answer(w, `{"results":`+list+`,"next_cursor":`+orNull(next, `"%d"`)+fmt.Sprintf(`,"has_more":%v}`, next > 0))
			}},
		{"the last id, as Stripe", `{"limit":2}`, plan("GET /v1/x", "query form! limit", "query form! starting_after"),
			func(w http.ResponseWriter, r *http.Request) {
				last := r.URL.Query().Get("starting_after")
				list, next := page(strings.Index("abcde", last) + len(last))
				answer(w, fmt.Sprintf(`{"object":"list","data":%s,"has_more":%v}`, list, next > 0))
			}},
		{"pages until one is empty", `{}`, plan("GET /v1/x", "query form! page"),
			func(w http.ResponseWriter, r *http.Request) {
				list, _ := page(2 * (max(1, number(r, "page")) - 1))
				answer(w, list)
			}},
		{"pages from zero that say their number", `{}`, plan("GET /v1/x", "query form! page"),
			func(w http.ResponseWriter, r *http.Request) {
				list, _ := page(2 * number(r, "page"))
				answer(w, fmt.Sprintf(`{"content":%s,"page":{"number":%d}}`, list, number(r, "page")))
			}},
		{"pages with their number", `{"page_number":"1"}`, plan("GET /v1/x", "query form! page_number"),
			func(w http.ResponseWriter, r *http.Request) {
				list, _ := page(2 * (number(r, "page_number") - 1))
				answer(w, `{"users":`+list+`,"meta":{"total_pages":3}}`)
			}},
		{"an offset that is a text, as Airtable", `{}`, plan("GET /v1/x", "query form! offset"),
			func(w http.ResponseWriter, r *http.Request) {
				from, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("offset"), "itr/"))
				list, next := page(from)
				if next > 0 {
					list += fmt.Sprintf(`,"offset":"itr/%d"`, next)
				}
				answer(w, `{"records":`+list+`}`)
			}},
		{"a start that the answer says", `{}`, plan("GET /v1/x", "query form! start"),
			func(w http.ResponseWriter, r *http.Request) {
				list, _ := page(number(r, "start"))
				answer(w, fmt.Sprintf(`{"results":%s,"start":%d}`, list, number(r, "start")))
			}},
		{"an offset", `{}`, plan("GET /v1/x", "query form! offset"), func(w http.ResponseWriter, r *http.Request) {
			list, _ := page(number(r, "offset"))
			answer(w, `{"values":`+list+`,"total":5}`)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := newAPI(t, nil)
			a.Config.Handler = http.HandlerFunc(row.serve)
			c := client(t, a.URL)
			args, got := row.args, ""
			for range 10 {
				answer, err := call(t, c, row.plan, args)
				checktest.OK(t, err)
				for _, text := range items5 {
					if strings.Contains(string(answer.Value), `"id":"`+text+`"`) {
						got += text
					}
				}
				if answer.Next == nil {
					break
				}
				args = string(answer.Next)
			}
			if got != "abcde" {
				t.Errorf("got %s, and last the arguments %s", got, args)
			}
		})
	}
}

func TestNextPagesThatAreNotFollowed(t *testing.T) {
	next, links := "", ""
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if links != "" {
			w.Header().Set("Link", links)
		}
		answer(w, `{"next":`+strconv.Quote(next)+`}`)
	})
	c := client(t, a.URL+"/v1", func(o *Options) { o.Key = &Key{openapi.InQuery, "key", canary} })
	p := plan("GET /x/{id}", "path simple id", "query form! top", "query form! key", "query form! f")
	args := `{"id":"1","top":10,"f":true}`
	host := strings.TrimPrefix(a.URL, "http://")
	for _, row := range []struct{ name, address, want string }{
		{"its own path", a.URL + "/v1/x/1?top=10&f=true&more=a%26b&more=c&key=evil",
			`{"$next":{"query":"more=a%26b\u0026more=c","seal":"*"},"f":true,"id":"1","top":10}`},
		{"numbers and booleans keep their types", a.URL + "/v1/x/1?top=20&f=false", `{"f":false,"id":"1","top":20}`},
		{"nothing changes", a.URL + "/v1/x/1?top=10&f=true", ``},
		{"another origin", "http://evil.example/v1/x/1?top=20", ``},
		{"another scheme", "https://" + host + "/v1/x/1?top=20", ``},
		{"another port", "http://127.0.0.1:1/v1/x/1?top=20", ``},
		{"a user", "http://u:p@" + host + "/v1/x/1?top=20", ``}, {"above the base path", a.URL + "/x/1?top=20", ``},
		{"dots", a.URL + "/v1/%2e%2e/v1/x/1?top=20", ``}, {"another argument in the path", a.URL + "/v1/x/2?top=20", ``},
		{"another operation", a.URL + "/v1/y?top=20", ``}, {"a credential", a.URL + "/v1/x/1?top=20&c=" + canary, ``},
	} {
		for _, next = range []string{row.address, ""} {
			if links = ""; next == "" {
				next, links = "x", `<`+row.address+`>; rel="next"`
			}
			got, err := call(t, c, p, args)
			checktest.OK(t, err)
			text := string(got.Next)
			if _, seal, ok := strings.Cut(text, `"seal":"`); ok {
				seal, _, _ = strings.Cut(seal, `"`)
				text = strings.Replace(text, seal, "*", 1)
			}
			if text != row.want {
				t.Errorf("%s: got %s, want %s", row.name, text, row.want)
			}
		}
	}
	next, links = a.URL+"/v1/x/1?secret=1", ""
	got, err := call(t, c, p, args)
	checktest.OK(t, err)
	again := string(got.Next)
	_, err = call(t, c, p, again)
	checktest.OK(t, err)
	if uri := a.last().URI; uri != "/v1/x/1?secret=1&key="+canary {
		t.Errorf("got %s", uri)
	}
	for name, changed := range map[string]string{
		"another query":              strings.Replace(again, "secret=1", "secret=2", 1),
		"another path":               strings.Replace(again, `"id":"1"`, `"id":"2"`, 1),
		"another member":             strings.Replace(again, `"query"`, `"x":"y","query"`, 1),
		"without a seal":             `{"id":"1","$next":{"query":"secret=1"}}`,
		"something else than a seal": `{"id":"1","$next":"secret=1"}`,
	} {
		_, err := call(t, c, p, changed)
		if e, ok := errors.AsType[*ArgumentError](err); !ok || e.Path != "/$next" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err = call(t, client(t, a.URL+"/v1"), p, again)
	says(t, err, "/$next")
	_, err = call(t, c, &openapi.Plan{Method: "DELETE", Path: p.Path, Parameters: p.Parameters}, again)
	says(t, err, "/$next")
}

// No credential is in anything that a call returns, whatever the API does with it.
func TestNoCredentialIsShown(t *testing.T) {
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		var all strings.Builder
		all.WriteString(r.RequestURI + " ")
		for name, values := range r.Header {
			all.WriteString(name + " " + strings.Join(values, " ") + " ")
		}
		if user, password, ok := r.BasicAuth(); ok {
			all.WriteString(user + " " + password)
		}
		quoted, _ := json.Marshal(all.String())
		w.Header().Set("Link", `<http://`+r.Host+r.RequestURI+`&x=`+url.QueryEscape(all.String())+`>; rel=next`)
		switch r.URL.Path {
		case "/next":
			answer(w, `{"next":"http://`+r.Host+r.RequestURI+`&page=2","next_cursor":`+string(quoted)+`}`)
		case "/error":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"message":` + string(quoted) + `}`))
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte("<title>" + all.String()))
		case "/bytes":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("\xff" + all.String()))
		case "/encoding":
			w.Header().Set("Content-Encoding", canary)
		case "/redirect":
			w.Header().Set("Location", "http://evil.example/"+all.String())
			w.WriteHeader(http.StatusFound)
		case "/redirecthost":
			w.Header().Set("Location", "http://"+canary+".example/")
			w.WriteHeader(http.StatusFound)
		case "/lost":
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("Content-Type", strings.TrimPrefix(r.URL.Path, "/"))
			_, _ = w.Write(quoted)
		}
	})
	closed := newAPI(t, nil)
	closed.Close()
	const basic = "dTpjYW5hcnktN2YzYTlj" // u:canary-7f3a9c
	const odd = "oddly-7f3a9c"           // a credential with signs behind it
	shown := 0
	for kind, change := range map[string]func(*Options){
		"an odd key in the query": func(o *Options) { o.Key = &Key{openapi.InQuery, "key", odd + "&/"} },
		"an odd key in a header":  func(o *Options) { o.Key = &Key{openapi.InHeader, "X-Odd", odd + ` "\`} },
		"a key in the query":      func(o *Options) { o.Key = &Key{openapi.InQuery, "key", canary} },
		"a bearer":                func(o *Options) { o.Headers = http.Header{"Authorization": {"Bearer " + canary}} },
		"a user and password":     func(o *Options) { o.Headers = http.Header{"Authorization": {"Basic " + basic}} },
		"a token":                 func(o *Options) { o.Headers = http.Header{"X-Vault-Token": {canary}} },
		"a cookie":                func(o *Options) { o.Headers = http.Header{"Cookie": {canary}} },
		"a login": func(o *Options) {
			o.Secrets = func() []string { return []string{canary} }
			o.Send = func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
				r.Header.Set("Authorization", "Bearer "+canary)
				if r.URL.Path == "/send" {
					return nil, errors.New("cannot renew " + canary)
				}
				return base.RoundTrip(r)
			}
		},
	} {
		for _, base := range []string{a.URL, closed.URL} {
			c := client(t, base, change)
			for _, path := range []string{"next", "error", "html", "bytes", "encoding", "redirect", "redirecthost", "lost",
				"send", "application/json", "text/plain", "application/octet-stream"} {
				p := plan("GET /"+path+"?a=b", "query form! cursor", "query form! page", "header simple X-Args")
				got, err := call(t, c, p, `{"X-Args":"`+canary[:3]+`"}`)
				var text []byte
				if err == nil {
					text, _ = json.Marshal(got)
				}
				for at := err; at != nil; at = errors.Unwrap(at) {
					text = fmt.Appendf(text, "%v %+v %#v", at, at, at)
				}
				if e, ok := errors.AsType[*StatusError](err); ok {
					text = append(text, e.Body...)
				}
				if strings.Contains(string(text), "[redacted]") {
					shown++
				}
				hidden := []string{canary, basic}
				if strings.Contains(kind, "odd") {
					hidden = []string{odd}
				}
				if slices.ContainsFunc(hidden, func(s string) bool { return strings.Contains(string(text), s) }) {
					t.Errorf("%s, /%s: %s", kind, path, text)
				}
			}
		}
	}
	if shown < 20 {
		t.Errorf("only %d texts would have shown a credential: the test tests little", shown)
	}
}

func TestAnswersWithoutANextPage(t *testing.T) {
	text := ""
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) { answer(w, text) })
	for _, row := range []struct {
		name, line, parameter, args, text string
	}{
		{"a start that is a time", "GET /x", "query form! start", `{"start":"2026-01-01"}`, `{"data":[1,2]}`},
		{"a start that may be a time", "GET /x", "query form! start", `{}`, `{"data":[1,2]}`},
		{"an offset that is a text", "GET /x", "query form! offset", `{"offset":"itr1"}`, `{"data":[1,2]}`},
		{"no more", "GET /x", "query form! page", `{}`, `{"data":[1],"has_more":false}`},
		{"no list", "GET /x", "query form! page", `{}`, `{"a":1}`},
		{"two lists", "GET /x", "query form! page", `{}`, `{"a":[1],"b":[2]}`},
		{"the same cursor", "GET /x", "query form! cursor", `{"cursor":"c"}`, `{"data":[1],"cursor":"c"}`},
		{"a next page that is null", "GET /x", "query form! page", `{}`, `{"results":[1],"next":null}`},
		{"the last of its pages", "GET /x", "query form! page", `{"page":3}`,
			`{"results":[1],"pagination":{"total_pages":3}}`},
		{"a write", "POST /x", "query form! page", `{}`, `[1]`}, {"a number", "GET /x", "query form! page", `{}`, `1`},
		{"another write", "DELETE /x", "query form! cursor", `{}`, `{"next_cursor":"c"}`},
	} {
		text = row.text
		got, err := call(t, client(t, a.URL), plan(row.line, row.parameter), row.args)
		checktest.OK(t, err)
		if got.Next != nil {
			t.Errorf("%s: got %s", row.name, got.Next)
		}
	}
}
