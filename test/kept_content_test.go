package codemode_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/store"
)

// film has more bytes than a chunk of the store.
var film = bytes.Repeat([]byte("\x00\xffa frame of a film\n"), 40_000)

// cinema is an upstream that answers with images, audio and files.
func cinema(t *testing.T) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "cinema", Version: "1"}, nil)
	file := func(uri, kind, text string, blob []byte) mcp.Content {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: kind, Text: text, Blob: blob}}
	}
	for name, content := range map[string]mcp.Content{
		"still":   &mcp.ImageContent{MIMEType: "image/png", Data: pixel},
		"sound":   &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFFwave")},
		"film":    file("film://one", "video/mp4", "", film),
		"script":  file("film://one/script", "text/markdown", "# Ein Ärger\nTwo lines, \U0001F3AC.\n", nil),
		"odd":     &mcp.ImageContent{MIMEType: "no type\x1b[31m", Data: pixel},
		"nothing": file("film://none", "video/mp4", "", []byte{}),
		"long":    &mcp.ImageContent{MIMEType: "image/tiff", Data: make([]byte, 7<<20)},
	} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{content}}, nil
			})
	}
	return mcptest.Serve(t, s)
}

func withCinema(t *testing.T, rest string, change ...func(*codemode.Options)) *codemode.Evaluator {
	t.Helper()
	return open(t, fmt.Sprintf(`{"mcpServers": {"cinema": {"url": %q}}, "evaluation": {"profiles": {
		"p": {"allowlist": ["*"]}, "other": {"allowlist": ["*"]}, "quiet": {"allowlist": ["*"], "keepResults": false}}}%s}`, cinema(t), rest), change...)
}

// keepsFilm keeps what a tool of the cinema answers, and returns its URI.
func keepsFilm(t *testing.T, e *codemode.Evaluator, tool string) string {
	t.Helper()
	r, err := forPrincipal(t, e, "anna", "p",
		fmt.Sprintf(`const [it] = await codemode.cinema__%s({}); return await codemode.keep(it)`, tool))
	var uri string
	if err != nil || json.Unmarshal(r.Value, &uri) != nil || len(uri) != len("codemode://results/")+26 ||
		len(r.Blocks) > 0 {
		t.Fatalf("%s: %s (%v)", tool, r.Value, err)
	}
	return uri
}

// TestProgramsKeepContent: a later program has an image, audio or a file as a handle of its own, and reads ranges of
// its bytes. A text is a text.
func TestProgramsKeepContent(t *testing.T) {
	for name, change := range map[string]func(*codemode.Options){"in memory": func(*codemode.Options) {},
		"in the database": withRecord(t)} {
		t.Run(name, func(t *testing.T) {
			e := withCinema(t, "", change)
			range64 := func(from, to int) string { return `"` + base64.StdEncoding.EncodeToString(film[from:to]) + `"` }
			for _, test := range []struct {
				tool, code, want string
				block            string // MIME type of the content in the answer
			}{
				{"still", `const p = await codemode.load(U); await codemode.emit(p);
					return [p.type, p.mimeType, p.bytes, Object.keys(p).length]`,
					fmt.Sprintf(`["image","image/png",%d,4]`, len(pixel)), "image/png"},
				{"sound", `const p = await codemode.load(U.slice(19)); await codemode.emit(p);
					return [p.type, p.mimeType, p.bytes]`,
					`["audio","audio/wav",8]`, "audio/wav"},
				{"film", `const p = await codemode.load(U); await codemode.emit(p); return [p.type, p.uri, p.bytes]`,
					fmt.Sprintf(`["resource","film://one",%d]`, len(film)), "video/mp4"},
				{"film", `return await codemode.load(U, {from: 262_000, count: 300_000})`, range64(262_000, 562_000), ""},
				{"film", `return await codemode.load(U, {from: 0, count: 3})`, range64(0, 3), ""},
				{"film", fmt.Sprintf(`return await codemode.load(U, {from: %d})`, len(film)-2),
					range64(len(film)-2, len(film)), ""},
				{"film", `return [await codemode.load(U, {from: 1e9}), await codemode.load(U, {count: 0})]`, `["",""]`, ""},
				{"film", `return atob(await codemode.load(U, {from: 2, count: 7}))`, `"a frame"`, ""},
				{"film", `return await codemode.load(U, {pointer: "/0"}).catch(e => e.path + " " + e.expected)`,
					`"/pointer none, because it is video/mp4 of 800,000 bytes"`, ""},
				{"film", `return await codemode.load(U, {lines: true}).catch(e => e.path)`, `"/lines"`, ""},
				{"script", `return await codemode.load(U)`, `"# Ein Ärger\nTwo lines, 🎬.\n"`, ""},
				{"script", `return await codemode.load(U, {from: 23, count: 2})`, `"🎬."`, ""},
				{"script", `return await codemode.load(U, {lines: true, from: 1})`, `"Two lines, 🎬.\n"`, ""},
				{"nothing", `const p = await codemode.load(U); return [p.bytes, await codemode.load(U, {from: 0})]`, `[0,""]`, ""},
				{"odd", `return (await codemode.load(U)).mimeType`, `"application/octet-stream"`, ""},
				{"long", `return await codemode.load(U).catch(e => e.path + " " + e.expected)`,
					`"/count at most 6291453 bytes: read it in ranges, such as {from: 0, count: 6291453}"`, ""},
				{"long", `return (await codemode.load(U, {from: 7340030})).length`, `4`, ""},
			} {
				uri := keepsFilm(t, e, test.tool)
				for _, profile := range []string{"p", "other"} {
					r, err := forPrincipal(t, e, "anna", profile, fmt.Sprintf("const U = %q; %s", uri, test.code))
					if err != nil || string(r.Value) != test.want {
						t.Errorf("%s: %s: got %.200s (%v), want %.200s", test.tool, test.code, r.Value, err, test.want)
					}
					if shown := len(r.Blocks) == 1; shown != (test.block != "") ||
						shown && !strings.Contains(string(r.Blocks[0].JSON), `"mimeType":"`+test.block+`"`) {
						t.Errorf("%s: %d blocks, want %q", test.tool, len(r.Blocks), test.block)
					}
				}
			}
			// The bytes are what the server sent, and for everybody else there are none.
			uri := keepsFilm(t, e, "film")
			handle := strings.TrimPrefix(uri, "codemode://results/")
			got, err := e.Runs().ReadResult(t.Context(), &runs.Request{Principal: "anna"}, handle, &hostfns.Part{})
			if err != nil || got.Content == nil || !bytes.Equal(got.Content.Bytes, film) ||
				got.Content.MIMEType != "video/mp4" {
				t.Errorf("read back: %+v (%v)", got, err)
			}
			_, none := e.Runs().ReadResult(t.Context(), &runs.Request{Principal: "anna"}, strings.Repeat("A", 26),
				&hostfns.Part{})
			_, err = e.Runs().ReadResult(t.Context(), &runs.Request{Principal: "bert"}, handle, &hostfns.Part{})
			if err == nil || err.Error() != none.Error() {
				t.Errorf("another principal is told %v, want %v", err, none)
			}
		})
	}
}

// TestOnlyContentOfTheRunIsKept: what is no handle of the run is not kept, nor anything where nothing is kept.
func TestOnlyContentOfTheRunIsKept(t *testing.T) {
	e := withCinema(t, `, "results": {"largest": "1MiB", "bytes": "1MiB"}`)
	for _, test := range []struct{ name, profile, code, want string }{
		{"nothing", "p", `codemode.keep()`, "expected a handle that a tool returned in this run"},
		{"a value", "p", `codemode.keep({a: 1})`, "expected a handle that a tool returned in this run"},
		{"an invented handle", "p", `codemode.keep({$block: "AAAAAAAAAAAAAAAA", type: "image"})`, "expected a handle"},
		{"several", "p", `codemode.cinema__still({}).then(codemode.keep)`, "expected a handle"},
		{"too large", "p", `codemode.cinema__long({}).then(([it]) => codemode.keep(it))`,
			"keep: it has 7340032 bytes, and results.largest in the configuration is 1048576"},
		{"where nothing is kept", "quiet", `codemode.cinema__still({}).then(([it]) => codemode.keep(it))`,
			"keep: nothing is kept here"},
	} {
		r, err := forPrincipal(t, e, "anna", test.profile, "return await "+test.code+`.then(() => "kept", e => e.message)`)
		if err != nil || !strings.Contains(string(r.Value), test.want) {
			t.Errorf("%s: got %s (%v), want %s", test.name, r.Value, err, test.want)
		}
	}
	// A handle is one of its run alone.
	r, err := forPrincipal(t, e, "anna", "p", `return (await codemode.cinema__still({}))[0]`)
	if err != nil {
		t.Fatal(err)
	}
	r, err = forPrincipal(t, e, "anna", "p", fmt.Sprintf(`return await codemode.keep(%s).catch(e => e.name)`, r.Value))
	if err != nil || string(r.Value) != `"InvalidArgumentsError"` {
		t.Errorf("a handle of another run: %s (%v)", r.Value, err)
	}
}

// TestKeptContentMakesWayAndEnds as other results do.
func TestKeptContentMakesWayAndEnds(t *testing.T) {
	e := withCinema(t, `, "results": {"keep": "1s", "largest": "1MiB", "bytes": "1MiB"}`, withRecord(t))
	here := func(uri string) bool {
		t.Helper()
		r, err := forPrincipal(t, e, "anna", "p",
			fmt.Sprintf(`return await codemode.load(%q).then(() => 1, e => e.path)`, uri))
		if err != nil || string(r.Value) != "1" && string(r.Value) != `"/handle"` {
			t.Fatalf("%s (%v)", r.Value, err)
		}
		return string(r.Value) == "1"
	}
	first, second := keepsFilm(t, e, "film"), keepsFilm(t, e, "film")
	if here(first) || !here(second) {
		t.Error("a film of 800 KB of a quota of 1 MiB does not make way for the next")
	}
	eventually(t, "the end of a kept film", func() bool { return !here(second) })
}

// TestKeptContentIsAsTrustedAsItsRun, and the record says what was kept, and who read it.
func TestKeptContentIsAsTrustedAsItsRun(t *testing.T) {
	e := open(t, fmt.Sprintf(`{"mcpServers": {"cinema": {"url": %q}},
		"evaluation": {"profiles": {"p": {"allowlist": ["*"], "raise": {"tainted": "deny"}}}}}`, cinema(t)), withRecord(t))
	uri := keepsFilm(t, e, "script")
	r, err := forPrincipal(t, e, "anna", "p", fmt.Sprintf(`const path = await codemode.load(%q);
		return await codemode.filesystem__read_text_file({path}).then(() => "read", e => e.detail)`, uri))
	if err != nil || !strings.Contains(string(r.Value), `what codemode.load answered (call 1), and the server`) {
		t.Errorf("the next run is not tainted: %s (%v)", r.Value, err)
	}
	if err := e.Record().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := e.Record().DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	err = audit.Entries(t.Context(), db, store.Query{Kinds: []string{audit.Keeping}}, func(en *audit.Entry) error {
		if !strings.Contains(en.Detail, strings.TrimPrefix(uri, "codemode://results/")) {
			return errors.New("an entry without the handle: " + en.Detail)
		}
		states = append(states, en.State)
		return nil
	})
	if err != nil || fmt.Sprint(states) != "[kept loaded]" {
		t.Errorf("the record has %v (%v)", states, err)
	}
	kept, err := db.Results(t.Context(), nil)
	if err != nil || len(kept) != 1 || kept[0].MIMEType != "text/markdown" || !kept[0].Untrusted ||
		kept[0].Expires.Before(time.Now()) {
		t.Errorf("kept %+v (%v)", kept, err)
	}
}
