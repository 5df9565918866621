package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/server"
)

// handleIn is the handle that a reply names.
func handleIn(t *testing.T, reply string) string {
	t.Helper()
	_, rest, ok := strings.Cut(reply, "codemode://results/")
	if !ok || len(rest) < 26 {
		t.Fatalf("the reply names no handle: %.300s", reply)
	}
	return rest[:26]
}

const keptRows = `return {rows: Array.from({length: 9000}, (_, i) => ({id: i})), text: "line é\n".repeat(20_000)}`

// readResult reads a result; the text of an error comes second.
func (c *client) readResult(uri string) (*mcp.ResourceContents, string) {
	c.t.Helper()
	r, err := c.ReadResource(c.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err.Error()
	}
	if len(r.Contents) != 1 {
		c.t.Fatalf("%s: %d contents", uri, len(r.Contents))
	}
	return r.Contents[0], ""
}

// TestClientsReadKeptResults over stdio and over HTTP, on both generations of the protocol.
func TestClientsReadKeptResults(t *testing.T) {
	h := open(t, `{"evaluation": {"profiles": {"p": {}}}}`, server.Options{Principal: "anna"})
	address := h.listen()
	for name, c := range map[string]*client{
		"a pipe":             h.connect(nil, ""),
		"HTTP, 2025-11-25":   h.connectHTTPOn(address, nil, "2025-11-25"),
		"HTTP, 2026-07-28":   h.connectHTTPOn(address, nil, "2026-07-28"),
		"a pipe, 2026-07-28": h.connect(nil, "2026-07-28"),
	} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			templates, err := c.ListResourceTemplates(t.Context(), nil)
			if err != nil || !slices.ContainsFunc(templates.ResourceTemplates, func(r *mcp.ResourceTemplate) bool {
				return r.URITemplate == "codemode://results/{handle}{?pointer,from,count,lines}"
			}) {
				t.Errorf("templates: %+v (%v)", templates, err)
			}
			if listed := c.resources(); strings.Contains(listed, "codemode://results") {
				t.Errorf("listed: %s", listed)
			}
			text, failed := c.eval("codemode_eval_p", keptRows)
			if failed {
				t.Fatal(text)
			}
			uri := "codemode://results/" + handleIn(t, text)
			for _, test := range []struct{ query, kind, want string }{
				{"?pointer=/rows&from=8998", "application/json", `[{"id":8998},{"id":8999}]`},
				{"?count=2&from=0&pointer=%2Frows", "application/json", `[{"id":0},{"id":1}]`},
				{"?pointer=/rows/17/id", "application/json", `17`},
				{"?pointer=/text&from=5&count=3", "text/plain", "é\nl"},
				{"?pointer=/text&lines=true&from=19999", "text/plain", "line é\n"},
				{"?pointer=/text&from=1000000", "text/plain", ""},
			} {
				got, problem := c.readResult(uri + test.query)
				if got == nil || got.MIMEType != test.kind || got.Text != test.want || got.URI != uri+test.query {
					t.Errorf("%s: got %+v %s, want %q", test.query, got, problem, test.want)
				}
			}
			var whole struct{ Rows []struct{ ID int } }
			if got, problem := c.readResult(uri); got == nil || json.Unmarshal([]byte(got.Text), &whole) != nil ||
				len(whole.Rows) != 9000 {
				t.Errorf("the whole: %s", problem)
			}
			for query, want := range map[string]string{
				"?pointer=/rows/9000":         "has 9,000 elements, got number 9000",
				"?pointer=rows":               "a JSON Pointer",
				"?from=-1":                    "a whole number from 0",
				"?from=1e3":                   "a whole number from 0",
				"?count=99999999999999999999": "a whole number from 0",
				"?from=1&from=2":              "one value",
				"?lines=yes":                  "true or false",
				"?handle=x":                   "the query has pointer, from, count and lines",
				"?pointer=%zz":                "not valid",
				"/../x":                       "no such resource",
				"#x":                          "no such resource",
				"?pointer=" + url.QueryEscape(strings.Repeat("/0", 9000)): "a JSON Pointer",
			} {
				if got, problem := c.readResult(uri + query); got != nil || !strings.Contains(problem, want) {
					t.Errorf("%.60s: got %+v %s, want %s", query, got, problem, want)
				}
			}
			for _, other := range []string{"file:///etc/passwd", "codemode://results/", "codemode://results/%2e%2e",
				"codemode://result/x", ""} {
				if got, problem := c.readResult(other); got != nil || problem == "" {
					t.Errorf("%s is read: %+v", other, got)
				}
			}
		})
	}
}

// TestClientsReadKeptContent: an image that a program kept comes with its bytes and MIME type, on both generations of
// the protocol, to its principal.
func TestClientsReadKeptContent(t *testing.T) {
	h := open(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["*"]}}}, "http": {"tokens": [
		{"token": "${ANNA}", "principal": "anna"}, {"token": "${BERT}", "principal": "bert"}]}}`,
		server.Options{Principal: "anna"})
	h.variables = map[string]string{"ANNA": "0123456789abcdef-anna", "BERT": "0123456789abcdef-bert"}
	png := bytes.Repeat([]byte("\x89PNG\r\n\x1a\n\x00\xff"), 40_000)
	if err := writeFile(h, "dot.png", png); err != nil {
		t.Fatal(err)
	}
	address := h.listen()
	bert := h.connectHTTPAs(address, h.variables["BERT"], "")
	_, invented := bert.readResult("codemode://results/AAAAAAAAAAAAAAAAAAAAAAAAAA")
	for name, c := range map[string]*client{
		"a pipe, 2025-11-25": h.connect(nil, "2025-11-25"),
		"a pipe, 2026-07-28": h.connect(nil, "2026-07-28"),
		"HTTP, 2025-11-25":   h.connectHTTPAs(address, h.variables["ANNA"], "2025-11-25"),
		"HTTP, 2026-07-28":   h.connectHTTPAs(address, h.variables["ANNA"], "2026-07-28"),
	} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			text, failed := c.eval("codemode_eval_p",
				`return await codemode.keep(await codemode.filesystem__read_media_file({path: "dot.png"}))`)
			if failed {
				t.Fatal(text)
			}
			uri := "codemode://results/" + handleIn(t, text)
			for _, test := range []struct {
				query string
				want  []byte
			}{
				{"", png}, {"?from=262140&count=10", png[262140:262150]}, {"?count=4", png[:4]},
				{"?from=399999", png[399999:]}, {"?from=400000&count=1", []byte{}},
			} {
				got, problem := c.readResult(uri + test.query)
				if got == nil || got.MIMEType != "image/png" || !bytes.Equal(got.Blob, test.want) || got.Text != "" ||
					got.URI != uri+test.query {
					t.Errorf("%q: %s, or not the %d bytes of the image", test.query, problem, len(test.want))
				}
			}
			for query, want := range map[string]string{"?pointer=/0": "none, because it is image/png of 400,000 bytes",
				"?lines=true": "expected a text"} {
				if got, problem := c.readResult(uri + query); got != nil || !strings.Contains(problem, want) {
					t.Errorf("%s: got %+v %s, want %s", query, got, problem, want)
				}
			}
			if got, problem := bert.readResult(uri); got != nil || problem != invented {
				t.Errorf("bert gets %+v %s, want %s", got, problem, invented)
			}
		})
	}
}

// TestResultsAreTheirPrincipals: another principal is told what somebody with an invented handle is told, and neither
// programs nor resources give away more.
func TestResultsAreTheirPrincipals(t *testing.T) {
	h := open(t, `{"evaluation": {"profiles": {"p": {}}}, "http": {"tokens": [
		{"token": "${ANNA}", "principal": "anna"}, {"token": "${BERT}", "principal": "bert"}, {"token": "${ALSO}",
			"principal": "anna"}]}}`,
		server.Options{})
	h.variables = map[string]string{"ANNA": "0123456789abcdef-anna", "BERT": "0123456789abcdef-bert",
		"ALSO": "0123456789abcdef-also"}
	address := h.listen()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		anna := h.connectHTTPAs(address, h.variables["ANNA"], version)
		also := h.connectHTTPAs(address, h.variables["ALSO"], version)
		bert := h.connectHTTPAs(address, h.variables["BERT"], version)
		text, _ := anna.eval("codemode_eval_p", keptRows)
		uri := "codemode://results/" + handleIn(t, text)
		for who, c := range map[string]*client{"anna": anna, "anna with another token": also} {
			if got, problem := c.readResult(uri + "?pointer=/rows/3"); got == nil || got.Text != `{"id":3}` {
				t.Errorf("%s, %s: %+v %s", version, who, got, problem)
			}
		}
		_, invented := bert.readResult("codemode://results/AAAAAAAAAAAAAAAAAAAAAAAAAA")
		if got, problem := bert.readResult(uri); got != nil || problem != invented {
			t.Errorf("%s: bert gets %+v %s, want %s", version, got, problem, invented)
		}
		load := `return await codemode.load("%s").catch(e => e.message)`
		_, foreign, _ := strings.Cut(uri, "results/")
		one, _ := bert.eval("codemode_eval_p", fmt.Sprintf(load, foreign))
		other, _ := bert.eval("codemode_eval_p", fmt.Sprintf(load, "AAAAAAAAAAAAAAAAAAAAAAAAAA"))
		if one != other || !strings.Contains(one, "a result that is kept for you") {
			t.Errorf("%s: bert's program gets %s and %s", version, one, other)
		}
	}
}

// TestResultsEnd after the time in the configuration, and are gone where it keeps none.
func TestResultsEnd(t *testing.T) {
	const kept = `{"results": {"keep": %q}, "evaluation": {"profiles": {"p": {}}}}`
	h := open(t, fmt.Sprintf(kept, "1s"), server.Options{})
	c := h.connect(nil, "")
	text, _ := c.eval("codemode_eval_p", keptRows)
	uri := "codemode://results/" + handleIn(t, text)
	if got, problem := c.readResult(uri + "?pointer=/rows/3"); got == nil {
		t.Fatal(problem)
	}
	time.Sleep(1100 * time.Millisecond) // the server's clock is the real one
	if got, problem := c.readResult(uri + "?pointer=/rows/3"); got != nil || !strings.Contains(problem, "may have ended") {
		t.Errorf("after its end: %+v %s", got, problem)
	}
	h = open(t, `{"results": false, "evaluation": {"profiles": {"p": {}}}}`, server.Options{})
	c = h.connect(nil, "")
	templates, err := c.ListResourceTemplates(t.Context(), nil)
	if err != nil || slices.ContainsFunc(templates.ResourceTemplates, func(r *mcp.ResourceTemplate) bool {
		return strings.Contains(r.URITemplate, "results")
	}) {
		t.Errorf("where nothing is kept there are results: %+v (%v)", templates, err)
	}
	if got, _ := c.readResult(uri); got != nil {
		t.Errorf("where nothing is kept it reads %+v", got)
	}
}
