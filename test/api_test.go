package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// shelf describes an API with state.
const shelf = `openapi: 3.0.3
info: {title: Shelf, version: "1"}
servers: [{url: "https://elsewhere.example"}]
paths:
  /books:
    get:
      operationId: books/list
      summary: List the books
      parameters: [{name: page, in: query, schema: {type: integer}}]
      responses: {200: {description: the books, content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Book"}}}}}}
    post:
      operationId: books/create
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Book"}}}}
      responses: {201: {description: made}}
  /books/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    delete: {operationId: books/delete, responses: {204: {description: gone}}}
    get: {operationId: books/get, responses: {200: {description: one}}}
components:
  schemas:
    Book: {type: object, required: [title], properties: {title: {type: string}, id: {type: integer, readOnly: true}}}
`

// A bookServer is the server of the shelf. It counts what it is asked.
type bookServer struct {
	mu    sync.Mutex
	books []string
	seen  []string // method, path and credentials
}

func (l *bookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization")+r.Header.Get("X-Key"))
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Header.Get("Authorization")+r.Header.Get("X-Key") == "":
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"message": "who are you?"}`)
	case r.Method == http.MethodPost:
		var b struct{ Title string }
		_ = json.NewDecoder(r.Body).Decode(&b)
		l.books = append(l.books, b.Title)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id": %d, "title": %q}`, len(l.books), b.Title)
	case r.Method == http.MethodDelete:
		l.books = nil
		w.WriteHeader(http.StatusNoContent)
	case strings.HasPrefix(r.URL.Path, "/v1/books/"):
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"title": "No such book", "key": %q}`, r.Header.Get("Authorization")+r.Header.Get("X-Key"))
	default:
		_ = json.NewEncoder(w).Encode(l.books)
	}
}

// shelve starts the API and an Evaluator with it, under a profile as codemode init proposes it.
func shelve(t *testing.T, auth string) (e *codemode.Evaluator, l *bookServer, description, state string) {
	t.Helper()
	l = &bookServer{books: []string{"Emma"}}
	s := httptest.NewServer(l)
	t.Cleanup(s.Close)
	state = t.TempDir()
	description = filepath.Join(t.TempDir(), "shelf.yaml")
	must(t, os.WriteFile(description, []byte(shelf), 0o600))
	c, err := config.Parse("c.json", fmt.Appendf(nil, `{"mcpServers": {"shelf": {"openapi": %q, "baseURL": "%s/v1",
		"allowPrivate": ["127.0.0.1"], "auth": %s}},
		"evaluation": {"profiles": {"p": {
			"allowlist": [{"tool": "shelf__*", "annotations": {"readOnlyHint": true}}],
			"asklist": [{"tool": "shelf__*", "annotations": {"readOnlyHint": false}}],
			"denylist": [{"tool": "shelf__*", "annotations": {"destructiveHint": true}}]}}}}`, description, s.URL, auth))
	must(t, err)
	e, err = codemode.New(t.Context(), codemode.Options{Config: c, StateDir: state, RecordDir: state,
		CacheDir: cachetest.Dir()})
	must(t, err)
	t.Cleanup(func() { must(t, e.Close(context.Background())) }) // that of the test is over
	return e, l, description, state
}

const secret = "correct-horse-battery-staple"

// A program reads at once, a person is asked before it writes, and what destroys is denied. Credentials go to the API and
// are nowhere else: not in results, errors, the record or any file.
func TestProgramsUseAnHTTPAPI(t *testing.T) {
	for _, row := range []struct{ name, auth, sent string }{
		{"a bearer token", `{"bearer": "` + secret + `"}`, "Bearer " + secret},
		{"a key", `{"apiKey": {"name": "X-Key", "value": "` + secret + `"}}`, secret},
		{"a password", `{"basic": {"username": "me", "password": "` + secret + `"}}`,
			"Basic bWU6Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5LXN0YXBsZQ=="},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, l, _, state := shelve(t, row.auth)
			d := &desk{answer: allow}
			r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{d}, Code: `
				const before = await codemode.shelf.books_list()
				const made = await codemode.shelf.books_create({ title: "Persuasion" })
				const said = []
				for (const wrong of [() => codemode.shelf.books_get({ id: 7 }), () => codemode.shelf.books_delete({ id: 1 }),
					() => codemode.shelf.books_create({ titel: "x" }), () => codemode.shelf.book_list()]) {
					try { await wrong() } catch (e) { said.push([e.name, e.status ?? 0, e.message, e.problem?.title ?? ""]) }
				}
				return { before, made, said }`})
			if err != nil {
				t.Fatalf("%v\n%s", err, r.Text(err))
			}
			var got struct {
				Before []string
				Made   struct {
					ID    int
					Title string
				}
				Said [][]any
			}
			must(t, json.Unmarshal(r.Value, &got))
			if d := cmp.Diff([]string{"Emma"}, got.Before); d != "" || got.Made.ID != 2 || got.Made.Title != "Persuasion" {
				t.Errorf("got %s", r.Value)
			}
			for i, want := range []string{`[ToolError 404 shelf__books_get: HTTP 404: No such book`, `[ToolCallDeniedError 0 `,
				`did you mean "title"?`, `shelf__books_list`} {
				if said := fmt.Sprint(got.Said[i]); !strings.Contains(said, want) {
					t.Errorf("the error is %s, want %s", said, want)
				}
			}
			if len(d.forms) != 1 || !strings.Contains(d.forms[0][0], `books_create{"title":"Persuasion"}`) ||
				!strings.Contains(d.texts[0], "POST /books") {
				t.Errorf("a person was asked %v\n%s", d.forms, d.texts)
			}
			want := []string{"GET /v1/books " + row.sent, "POST /v1/books " + row.sent, "GET /v1/books/7 " + row.sent}
			if d := cmp.Diff(want, l.seen); d != "" {
				t.Errorf("the API saw (-want +got):\n%s", d)
			}
			must(t, e.Close(t.Context()))
			leaks(t, state, r.Text(nil)+string(r.Value))
		})
	}
}

// leaks reports the secret in a text, and in the files below a folder.
func leaks(t *testing.T, folder, text string) {
	t.Helper()
	found := func(s string) bool {
		return strings.Contains(s, secret) || strings.Contains(s, "bWU6Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5")
	}
	if found(text) {
		t.Errorf("the answer has the credential:\n%s", text)
	}
	must(t, filepath.WalkDir(folder, func(path string, f fs.DirEntry, err error) error {
		if err != nil || f.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if found(string(data)) {
			t.Errorf("%s has the credential", path)
		}
		return err
	}))
}

// What a description says of a tool is pinned: when it changes, also in a type that the operation refers to, a person is
// asked about the tool until one accepts it, and sees what has changed.
func TestAChangedDescriptionIsAskedAbout(t *testing.T) {
	e, _, description, _ := shelve(t, `{"bearer": "`+secret+`"}`)
	d := &desk{answer: allow}
	read := func() {
		r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{d},
			Code: `return codemode.shelf.books_list()`})
		if err != nil {
			t.Fatalf("%v\n%s", err, r.Text(err))
		}
	}
	read()
	if len(d.forms) > 0 {
		t.Fatalf("a person was asked %v", d.forms)
	}
	changed := strings.Replace(shelf, "title: {type: string}", "title: {type: string}, price: {type: number}", 1)
	must(t, os.WriteFile(description, []byte(changed), 0o600))
	testwait.Until(t, "the changed description", func() bool { return len(e.Rules().Pins.Changes()) > 0 })
	change := e.Rules().Pins.Changes()[0]
	if text := strings.Join(change.Diff, "\n"); !strings.Contains(text, "+ /arguments/properties/price/type: \"number\"") &&
		!strings.Contains(text, "+ /result/$defs/Book/properties/price/type: \"number\"") {
		t.Errorf("the difference is\n%s", text)
	}
	if read(); len(d.forms) != 1 {
		t.Errorf("a person was asked %v", d.forms)
	}
	for _, c := range e.Rules().Pins.Changes() {
		must(t, e.Rules().Pins.Accept(c.Name, c.Digest))
	}
	if read(); len(d.forms) != 1 {
		t.Errorf("a person was asked after the review: %v", d.forms)
	}
}
