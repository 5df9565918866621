package rest

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/tools/openapi"
)

// FuzzRequests checks that no argument adds a segment, a parameter or a header to a request, as a server reads it.
func FuzzRequests(f *testing.F) {
	for _, text := range []string{"a", "..", "%2e%2e", "a/b", `a\..\b`, "a\r\nX-Evil: 1", "?x=1#y", "\x00", "ä\u2028",
		"..;/", "%", "%25%32%65", "http://evil.example", "@evil.example", "//evil", "a&key=1", "+ ;=:,"} {
		f.Add(text, text, text, text)
	}
	f.Fuzz(func(t *testing.T, a, b, q, h string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || !utf8.ValidString(q) || !utf8.ValidString(h) {
			return // no JSON has it
		}
		var got *http.Request
		c, err := New(Options{Base: parsed("https://api.example/v1"), Key: &Key{openapi.InQuery, "key", canary},
			Headers: http.Header{"X-Ours": {"ours"}}, Slashes: []string{"never"},
			Send: func(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
				var wire strings.Builder
				if err := r.Write(&wire); err != nil {
					t.Fatalf("%q cannot be written: %v", r.URL, err)
				}
				var err error
				if got, err = http.ReadRequest(bufio.NewReader(strings.NewReader(wire.String()))); err != nil {
					t.Fatalf("%q: %v", wire.String(), err)
				}
				return httptest.NewRecorder().Result(), nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		for _, style := range []string{"simple", "label", "matrix"} {
			got = nil
			p := plan("GET /u/{a}/x/{b}.{a}?fixed=1", "path "+style+" a", "path "+style+"! b", "query form! q",
				"query deepObject! d", "header simple X-H")
			args, _ := json.Marshal(map[string]any{"a": a, "b": []string{b, a}, "q": []string{q, a},
				"d": map[string]string{q: h}, "X-H": h})
			if _, err := c.Call(context.Background(), p, args, nil); err != nil {
				if got != nil {
					t.Errorf("sent %v, and %v", got.URL, err)
				}
				continue
			}
			segments := strings.Split(got.URL.EscapedPath(), "/")
			if len(segments) != 6 || strings.Join([]string{segments[1], segments[2], segments[4]}, "/") != "v1/u/x" ||
				got.Host != "api.example" || strings.ContainsAny(got.RequestURI, "#\\ ") {
				t.Errorf("%s: got %s", args, got.RequestURI)
			}
			for _, s := range segments {
				if climbs(s) {
					t.Errorf("%s: got %s", args, got.RequestURI)
				}
			}
			if v := got.URL.Query(); v.Get("fixed") != "1" || len(v["fixed"]) != 1 || v.Get("key") != canary ||
				len(v["key"]) != 1 || len(v) != 4 || len(v["q"]) != 2 || v["q"][0] != q {
				t.Errorf("%s: got %s", args, got.RequestURI)
			}
			if got.Header.Get("X-H") != strings.TrimSpace(h) || len(got.Header) > 4 || got.Header.Get("X-Ours") != "ours" {
				t.Errorf("%s: got %v", args, got.Header)
			}
		}
	})
}
