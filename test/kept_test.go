package codemode_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
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

// forPrincipal runs a program for a principal.
func forPrincipal(t *testing.T, e *codemode.Evaluator, principal, profile, code string) (*codemode.Response, error) {
	t.Helper()
	r, err := e.Eval(t.Context(), codemode.Request{Principal: principal, Profile: profile, Code: code})
	if r.Run == "" {
		t.Fatalf("no run began: %v", err)
	}
	return r, err
}

const largeValue = `return {rows: Array.from({length: 5000}, (_, i) => ({id: i, name: "row " + i})), note: "é\n".repeat(50_000)}`

// TestTheExampleOfAReplyLoads runs what the replies name as an example of a part: it fits into a reply.
func TestTheExampleOfAReplyLoads(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {}}}}`)
	const rows = `Array.from({length: 5000}, (_, i) => ({id: i, name: "row " + i}))`
	for code, want := range map[string]string{
		`return ` + rows:                                                   `{pointer: "", from: 0, count: `,
		`return {rows: ` + rows + `, next: 2}`:                             `{pointer: "/rows", from: 0, count: `,
		`return {data: {"a/b": ` + rows + `}}`:                             `{pointer: "/data/a~1b", from: 0, count: `,
		`return {note: "x".repeat(50_000), rows: ` + rows + `}`:            `{pointer: "/rows", from: 0, count: `,
		`return "x".repeat(50_000)`:                                        `{pointer: "", from: 0, count: `,
		`return Object.fromEntries(` + rows + `.map(r => [r.name, r.id]))`: `{pointer: "", from: 0, count: `,
		largeValue: `{pointer: "/rows", from: 0, count: `,
	} {
		r, err := forPrincipal(t, e, "anna", "p", code)
		text := r.Text(err)
		example := regexp.MustCompile(`await codemode\.load\("\w+", \{[^}]*\}\)`).FindString(text)
		if !strings.HasPrefix(text, "(cut: ") || !strings.Contains(example, want) {
			t.Errorf("%s: the reply begins %.300s", code, text)
			continue
		}
		r, err = forPrincipal(t, e, "anna", "p", "return "+example)
		if text := r.Text(err); err != nil || len(r.Value) < 1000 || strings.Contains(text, "(cut: ") {
			t.Errorf("%s gives %d bytes, %v: %.300s", example, len(r.Value), err, text)
		}
	}
}

// withRecord gives an Evaluator a database.
func withRecord(t *testing.T) func(*codemode.Options) {
	dir := t.TempDir()
	return func(o *codemode.Options) { o.RecordDir = dir }
}

// TestWhatDoesNotFitIsKept: with a database and without.
func TestWhatDoesNotFitIsKept(t *testing.T) {
	for name, change := range map[string]func(*codemode.Options){"in memory": func(*codemode.Options) {},
		"in the database": withRecord(t)} {
		t.Run(name, func(t *testing.T) {
			e := open(t, `{"evaluation": {"profiles": {"p": {}, "other": {}}}}`, change)
			r, err := forPrincipal(t, e, "anna", "p", largeValue)
			if err != nil || len(r.Kept) != 1 || r.Kept[0].Bytes != len(r.Value) {
				t.Fatalf("kept %+v (%v)", r.Kept, err)
			}
			h := r.Kept[0].Handle
			text := r.Text(nil)
			for _, part := range []string{"It is an object with the keys rows, note", `codemode.load("` + h + `"`,
				"codemode://results/" + h, `"keys":["id","name"]`, `[0,"row 0"]`} {
				if !strings.Contains(text, part) {
					t.Errorf("the reply does not say %s:\n%.300s ... %s", part, text, text[len(text)-600:])
				}
			}
			if len(text) > runs.DefaultTextBytes {
				t.Errorf("the reply has %d bytes", len(text))
			}
			for _, test := range []struct{ code, want string }{
				{`(await codemode.load(H, {pointer: "/rows", from: 4990})).length`, `10`},
				{`await codemode.load(H, {pointer: "/rows/17"})`, `{"id":17,"name":"row 17"}`},
				{`await codemode.load(H, {pointer: "/note", from: 2, count: 3})`, `"é\né"`},
				{`await codemode.load(H, {pointer: "/note", from: 49_998, lines: true})`, `"é\né\n"`},
				{`Object.keys(await codemode.load(H, {from: 1})).join()`, `"note"`},
				{`Object.keys(await codemode.load(H)).length`, `2`},
				{`await (async () => { let sum = 0, from = 0; for (;;) { const page = await codemode.load(H, {pointer: "/rows", from, count: 700}); ` +
					`if (!page.length) return sum; for (const row of page) sum += row.id; from += page.length } })()`, `12497500`},
				{`await codemode.load(H, {pointer: "/rows", from: 9}).then(() => 0, e => e.name + ": " + e.path)`, `0`},
				{`await codemode.load(H, {pointer: "/row"}).catch(e => e.name + " " + e.path + " " + e.got)`,
					`"InvalidArgumentsError /pointer row"`},
				{`await codemode.load(H, {form: 1}).catch(e => e.path)`, `"/form"`},
				{`await codemode.load(H, {from: -1}).catch(e => e.path)`, `"/from"`},
				{`await codemode.load(H, {from: 1.5}).catch(e => e.path)`, `"/from"`},
				{`await codemode.load(H, 7).catch(e => e.name)`, `"InvalidArgumentsError"`},
				{`await codemode.load().catch(e => e.name)`, `"InvalidArgumentsError"`},
				{`await codemode.load([H, {}, 1]).catch(e => e.name)`, `"InvalidArgumentsError"`},
			} {
				code := strings.ReplaceAll("return "+test.code, "H", fmt.Sprintf("%q", h))
				for _, profile := range []string{"p", "other"} {
					if got, err := forPrincipal(t, e, "anna", profile, code); err != nil || string(got.Value) != test.want {
						t.Errorf("%s: got %.200s (%v), want %s", test.code, got.Value, err, test.want)
					}
				}
			}

			// For everybody else it is as if it did not exist.
			said := map[string]bool{}
			for _, of := range [][2]string{{"bert", h}, {"", h}, {"anna", "AAAAAAAAAAAAAAAAAAAAAAAAAA"}, {"anna",
				strings.ToLower(h)},
				{"anna", "../" + h}, {"anna", h[:25]}} {
				got, err := forPrincipal(t, e, of[0], "p", fmt.Sprintf(`return await codemode.load(%q).catch(e => e.message)`,
					of[1]))
				if err != nil || !strings.Contains(string(got.Value), "a result that is kept for you") {
					t.Errorf("%q: %s (%v)", of, got.Value, err)
				}
				said[string(got.Value)] = true
			}
			if len(said) != 1 {
				t.Errorf("the errors differ: %v", said)
			}
		})
	}
}

func TestTheConsoleIsKept(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {}, "short": {"limits": {"consoleBytes": "1KiB"}}}}}`)
	const talks = `for (let i = 0; i < 4000; i++) console.log("line " + i);`
	for name, end := range map[string]string{"returned": `return 1`, "thrown": `throw new Error("no")`} {
		r, err := forPrincipal(t, e, "anna", "p", talks+end)
		if len(r.Kept) != 1 || r.Kept[0].What != "console" {
			t.Fatalf("%s: kept %+v (%v)", name, r.Kept, err)
		}
		if text := r.Text(err); !strings.Contains(text,
			"It is an array of 4,000 objects with the keys level, text, kept until") {
			t.Errorf("%s: %s", name, text[len(text)-600:])
		}
		got, err := forPrincipal(t, e, "anna", "p", fmt.Sprintf(`return await codemode.load(%q, {pointer: "/3999/text"})`,
			r.Kept[0].Handle))
		if err != nil || string(got.Value) != `"line 3999"` {
			t.Errorf("%s: its last line is %s (%v)", name, got.Value, err)
		}
	}
	if r, _ := forPrincipal(t, e, "anna", "short", talks); len(r.Kept) > 0 || r.ConsoleDropped == 0 {
		t.Errorf("a console that a profile bounds is kept: %+v", r.Kept)
	}
}

func TestKeepingIsSwitchedOff(t *testing.T) {
	for name, rules := range map[string]string{
		"by the profile":       `{"evaluation": {"profiles": {"p": {"keepResults": false}}}}`,
		"by the floor":         `{"evaluation": {"floor": "f", "profiles": {"f": {"keepResults": false}, "p": {"keepResults": true}}}}`,
		"by what it extends":   `{"evaluation": {"profiles": {"f": {"keepResults": false}, "p": {"extends": ["f"], "keepResults": true}}}}`,
		"by the configuration": `{"results": false, "evaluation": {"profiles": {"p": {}}}}`,
	} {
		e := open(t, rules)
		r, err := forPrincipal(t, e, "anna", "p", `return "x".repeat(200_000)`)
		if text := r.Text(err); err != nil || len(r.Kept) > 0 || !strings.Contains(text,
			"return only the part that is needed") {
			t.Errorf("%s: kept %+v (%v)", name, r.Kept, err)
		}
		if r, err := forPrincipal(t, e, "anna", "p", `return "x".repeat(2_000_000)`); err == nil ||
			!strings.Contains(r.Text(err), "larger than 1048576 bytes") {
			t.Errorf("%s: more than a reply may ever take: %v", name, err)
		}
	}
	e := open(t, `{"results": {"largest": "1MiB", "bytes": "1MiB"}, "evaluation": {"profiles": {"p": {}}}}`)
	if _, err := forPrincipal(t, e, "anna", "p", `return "x".repeat(2_000_000)`); err == nil ||
		!strings.Contains(err.Error(), "larger than 1048576 bytes") {
		t.Errorf("more than results.largest: %v", err)
	}
}

// TestALoadedResultIsAsTrustedAsItsRun: what an untrusted server may have written stays that, and a run that loads it
// has read it.
func TestALoadedResultIsAsTrustedAsItsRun(t *testing.T) {
	s := newStranger(t)
	s.define("read", "reads mail")
	e := open(t, fmt.Sprintf(`{"mcpServers": {"s": {"type": "http", "url": %q}},
		"evaluation": {"profiles": {"p": {"allowlist": ["*"], "raise": {"tainted": "deny"}}}}}`, s.url), withRecord(t))
	handle := func(code string) string {
		t.Helper()
		r, err := forPrincipal(t, e, "anna", "p", code+`; return {path: "a.md", pad: "x".repeat(100_000)}`)
		if err != nil || len(r.Kept) != 1 {
			t.Fatalf("%s: kept %+v (%v)", code, r.Kept, err)
		}
		return r.Kept[0].Handle
	}
	clean := handle(`await codemode.time__now({})`)
	tainted := handle(`await codemode.s__read({})`)
	again := handle(fmt.Sprintf(`await codemode.load(%q, {pointer: "/path"})`, tainted))
	const use = `const path = await codemode.load("%s", {pointer: "/path"}); return await codemode.filesystem__read_text_file({path}).then(() => "read", e => e.reason + ": " + e.detail)`
	for _, test := range []struct{ name, code, want string }{
		{"clean", fmt.Sprintf(use, clean), `"read"`},
		{"tainted", fmt.Sprintf(use, tainted), "is not trusted"},
		{"kept by a run that loaded it", fmt.Sprintf(use, again), "is not trusted"},
		{"changed",
			fmt.Sprintf(`const p = await codemode.load("%s", {pointer: "/path"}); return await codemode.filesystem__read_text_file({path: "./" + p}).then(() => "read", e => e.detail)`, tainted),
			"which an untrusted server may have written in the run r_"},
		{"a literal after it",
			fmt.Sprintf(`await codemode.load("%s", {pointer: "/path"}); return await codemode.filesystem__read_text_file({path: "a.md"}).then(() => "read", e => e.detail)`, tainted), `"read"`},
	} {
		if r, err := forPrincipal(t, e, "anna", "p", test.code); err != nil || !strings.Contains(string(r.Value), test.want) {
			t.Errorf("%s: got %s (%v), want %s", test.name, r.Value, err, test.want)
		}
	}

	// The record says what was kept, and who loaded which part.
	must(t, e.Record().Flush(t.Context()))
	db, err := e.Record().DB(t.Context())
	must(t, err)
	said := map[string]int{}
	err = audit.Entries(t.Context(), db, store.Query{Kinds: []string{audit.Keeping}}, func(en *audit.Entry) error {
		for _, h := range []string{clean, tainted, again} {
			if strings.Contains(en.Detail, h) {
				said[en.State+" "+map[bool]string{true: "untrusted", false: "trusted"}[strings.Contains(en.Detail, "untrusted")]]++
			}
		}
		return nil
	})
	if err != nil || said["kept trusted"] != 3 || said["loaded trusted"] != 1 || said["loaded untrusted"] != 5 {
		t.Errorf("the record has %v (%v)", said, err)
	}
}

// TestTwentyMegabytes: a tool's answer of 20 MB is returned, kept, and paged by a second program and by a client; the
// reply stays under its limit.
func TestTwentyMegabytes(t *testing.T) {
	type row struct {
		ID   int    `json:"id"`
		Text string `json:"text"`
	}
	const rows = 160_000
	all := make([]row, rows)
	for i := range all {
		all[i] = row{i, strings.Repeat("0123456789", 11)}
	}
	answer, err := json.Marshal(map[string]any{"rows": all})
	if err != nil || len(answer) < 20_000_000 {
		t.Fatal(len(answer), err)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "big", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "dump", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(answer)}}}, nil
		})
	url := mcptest.Serve(t, s)
	for name, change := range map[string]func(*codemode.Options){"in memory": func(*codemode.Options) {},
		"in the database": withRecord(t)} {
		t.Run(name, func(t *testing.T) {
			e := open(t,
				fmt.Sprintf(`{"mcpServers": {"big": {"type": "http", "url": %q}}, "limits": {"memory": "256MiB", "cpu": "60s"},
				"evaluation": {"profiles": {"p": {"allowlist": ["*"]}}}}`, url), change)
			began := time.Now()
			r, err := forPrincipal(t, e, "anna", "p", `return await codemode.big__dump({})`)
			if err != nil || len(r.Kept) != 1 || r.Kept[0].Handle == "" || r.Kept[0].Bytes != len(answer) {
				t.Fatalf("kept %+v (%v)", r.Kept, err)
			}
			whole, h := time.Since(began), r.Kept[0].Handle
			began = time.Now()
			text := r.Text(nil)
			t.Logf("%d bytes: run and kept in %v with a guest of %d MiB, its reply of %d bytes in %v", len(answer), whole,
				r.Usage.Memory>>20, len(text), time.Since(began))
			if len(text) > runs.DefaultTextBytes || !strings.Contains(text, h) {
				t.Errorf("the reply has %d bytes", len(text))
			}
			r.Value, r = nil, nil
			began = time.Now()
			paged, err := forPrincipal(t, e, "anna", "p", fmt.Sprintf(`let n = 0, sum = 0, pages = 0;
				for (;;) { const page = await codemode.load(%q, {pointer: "/rows", from: n, count: 1000}); pages++;
					for (const row of page) sum += row.id; n += page.length; if (page.length < 1000) return {n, sum, pages} }`, h))
			if want := fmt.Sprintf(`{"n":%d,"sum":%d,"pages":%d}`, rows, rows*(rows-1)/2, rows/1000+1); err != nil ||
				string(paged.Value) != want {
				t.Fatalf("got %s (%v), want %s", paged.Value, err, want)
			}
			t.Logf("paged by a program in %d pages in %v, guest %d MiB", rows/1000+1, time.Since(began), paged.Usage.Memory>>20)

			whole1, err := forPrincipal(t, e, "anna", "p", fmt.Sprintf(`return await codemode.load(%q).catch(e => e.message)`,
				h))
			if err != nil || !strings.Contains(string(whole1.Value), "add it to the pointer, and read it in ranges") {
				t.Errorf("all at once: %s (%v)", whole1.Value, err)
			}

			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			began = time.Now()
			const pages = 100
			for i := range pages {
				from, count := int64(i*rows/pages), int64(100)
				got, err := e.Runs().ReadResult(t.Context(), &runs.Request{Principal: "anna"}, h,
					&hostfns.Part{Pointer: "/rows", From: &from, Count: &count})
				if err != nil || !strings.HasPrefix(string(got.JSON), fmt.Sprintf(`[{"id":%d,`, from)) {
					t.Fatalf("%v: %.100s", err, got.JSON)
				}
			}
			runtime.ReadMemStats(&after)
			perPage := (after.TotalAlloc - before.TotalAlloc) / pages
			t.Logf("a page of a client takes %v and allocates %d KiB", time.Since(began)/pages, perPage>>10)
			if perPage > 4<<20 {
				t.Errorf("a page allocates %d bytes: it reads too much", perPage)
			}
		})
	}
}

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
	must(t, err)
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
	must(t, e.Record().Flush(t.Context()))
	db, err := e.Record().DB(t.Context())
	must(t, err)
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
	kept, err := db.Results.Of(t.Context(), nil)
	if err != nil || len(kept) != 1 || kept[0].MIMEType != "text/markdown" || !kept[0].Untrusted ||
		kept[0].Expires.Before(time.Now()) {
		t.Errorf("kept %+v (%v)", kept, err)
	}
}
