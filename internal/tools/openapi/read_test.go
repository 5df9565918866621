package openapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// read reads a description.
func read(t testing.TB, text string) *Document {
	t.Helper()
	d, err := Read(strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return d
}

// shown is what a document has, as lines.
func shown(d *Document) (lines []string) {
	for _, o := range d.Operations {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s: %s", o.Method, o.Path, o.ID, o.Summary)))
	}
	for _, l := range d.Left {
		left := fmt.Sprintf("left %s %s %s: %s", l.Method, l.Path, l.ID, l.Why)
		lines = append(lines, strings.Join(strings.Fields(left), " "))
	}
	for _, n := range d.Notes {
		lines = append(lines, "note "+n)
	}
	return lines
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// of3 is a description of OpenAPI 3 with members beside its version.
func of3(members string) string { return `{"openapi":"3.0.3",` + members + `}` }

func TestReadSaysWhatAnAPIIs(t *testing.T) {
	d := read(t, of3(`"info":{"title":"Notes","version":1.0,"description":"Keeps notes."},
		"servers":[{"url":"https://{region}.example/{v}","variables":{"region":{"default":"eu"},"v":{"default":"v1"}}},
			{"url":"/v2"}],
		"paths":{},"components":{"securitySchemes":{
			"key":{"type":"apiKey","in":"header","name":"X-Key"},
			"login":{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"https://a","tokenUrl":"https://t",
				"scopes":{"write":"","read":""}}}}}}`))
	expect(t, []string{d.Title, d.Version, d.About, d.Format}, "Notes", "1.0", "Keeps notes.", "OpenAPI 3.0.3")
	expect(t, d.Servers, "https://eu.example/v1", "/v2")
	expect(t, []string{fmt.Sprint(d.Schemes)},
		"[{key apiKey header X-Key    []} {login oauth2    https://a https://t [read write]}]")

	d = read(t, `{"paths":{},"basePath":"/v1","host":"a.example","schemes":["http"],
		"securityDefinitions":{"b":{"type":"basic"}},
		"swagger":"2.0"}`)
	expect(t, append(d.Servers, d.Format, fmt.Sprint(d.Schemes)),
		"http://a.example/v1", "Swagger 2.0", "[{b http   basic   []}]")
}

func TestWhatCannotBeCalledIsLeft(t *testing.T) {
	long := strings.Repeat("x", operationMax)
	for name, c := range map[string]struct {
		members string
		want    []string
	}{
		"members in any order, and methods only": {`"paths":{"/a":{"summary":"no","x-get":{},"post":{"summary":" To \n a "},
			"get":{"description":"Of a","operationId":"a"}}},"x":[{"paths":1}]`,
			[]string{"POST /a : To a", "GET /a a: Of a"}},
		"what is no object": {`"paths":{"/a":null,"/b":{"get":"x"},"/c":[],"/d":{"put":{}}},"components":[],"info":7,
			"servers":{}`,
			[]string{"PUT /d :", "left GET /b : it is no object"}},
		"what is twice": {`"paths":{"/a":{"get":{"operationId":"1"},"get":{}},"/a":{"put":{}}},
			"components":{"schemas":{"A":{},"A":1}}`,
			[]string{"GET /a 1:", "note it has #/components/schemas/A twice: the first one counts",
				"note it has GET /a twice: the first one counts", `note it has the path "/a" twice: the first one counts`}},
		"what is long": {`"paths":{"/a":{"get":{"x":"` + long + `"},"put":{"operationId":"` + long[:2000] + `"}}}`,
			[]string{"PUT /a " + long[:idMax] + ":", "left GET /a : its description has more than 1048576 bytes"}},
		"a path that refers to another": {`"paths":{"/a":{"$ref":"#/paths/~1b%7Bid%7D"},
			"/b{id}":{"get":{"operationId":"b"}}}`,
			[]string{"GET /b{id} b:", "GET /a b:"}},
		"a path with its own operations too": {`"paths":{"/a":{"$ref":"#/components/pathItems/P",
			"get":{"operationId":"own"}}},
			"components":{"pathItems":{"P":{"get":{"operationId":"P"},"put":{"operationId":"P"}}}}`,
			[]string{"GET /a own:", "PUT /a P:", "note it has GET /a twice: the first one counts"}},
		"paths in a circle": {`"paths":{"/a":{"$ref":"#/paths/~1b"},"/b":{"$ref":"#/paths/~1a"},"/c":{"$ref":"#/paths/~1c"}}`,
			[]string{`left * /a : the path refers to "#/paths/~1b", which has no operations`,
				`left * /b : the path refers to "#/paths/~1a", which has no operations`,
				`left * /c : the path refers to "#/paths/~1c", which has no operations`}},
		"paths elsewhere": {`"paths":{"/a":{"$ref":"http://127.0.0.1/a.json"},"/b":{"$ref":"/etc/passwd"},
			"/c":{"$ref":"#/paths"}}`,
			[]string{`left * /a : the path refers to "http://127.0.0.1/a.json", which is not followed`,
				`left * /b : the path refers to "/etc/passwd", which is not followed`,
				`left * /c : the path refers to "#/paths", which is not followed`}},
		"servers of operations and paths": {`"servers":[{"url":"https://a.example/"}],"paths":{
			"/a":{"get":{"servers":[{"url":"http://a.example"}]},"put":{"servers":[{"url":"https://b.example"}]}},
			"/b":{"get":{"operationId":"b"},"servers":[{"url":"https://up.a.example"}],
				"put":{"servers":[{"url":"https://a.example"}]}}}`,
			[]string{"GET /a :", "PUT /b :", `left PUT /a : it has a server of its own, "https://b.example"`,
				`left GET /b b: it has a server of its own, "https://up.a.example"`}},
		"servers of operations only": {`"paths":{"/a":{"get":{"servers":[{"url":"https://a.example"}]}}}`,
			[]string{"GET /a :"}},
	} {
		t.Run(name, func(t *testing.T) { expect(t, shown(read(t, of3(c.members))), c.want...) })
	}
}

func TestParametersOfAPathThatRefersAreThoseOfTheOther(t *testing.T) {
	d := read(t, of3(`"paths":{"/a":{"$ref":"#/paths/~1b"},"/b":{"get":{},"parameters":[{"name":"q","in":"query"}]}}`))
	for _, o := range d.Operations {
		if p, err := o.Plan(); err != nil || len(p.Parameters) != 1 || p.Parameters[0].Name != "q" {
			t.Errorf("%s: %+v, %v; want the parameter q", o.Path, p, err)
		}
		if string(o.Text()) != "{}" {
			t.Errorf("%s: the text is %s, want {}", o.Path, o.Text())
		}
	}
}

func TestWhatIsNoDescriptionIsAnErrorThatSaysWhy(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "its text is no object",
		"[]":                              "its text is no object",
		"<html>":                          "its text is no object",
		"{}":                              `neither "openapi": "3..." nor "swagger": "2.0"`,
		`{"openapi":"4.0.0"}`:             `neither "openapi": "3..." nor "swagger": "2.0"`,
		`{"openapi":"3.0.0","paths":{"/a`: `/paths`,
		`{"openapi":"3.0.0","paths":{"/a":{"get":{"x":}}}}`: `at byte 45, /paths/~1a/get/x`,
		strings.Repeat(`{"a":`, 200_000):                    "depth",
		"openapi: [\n":                                      "neither JSON nor YAML",
		"\x00":                                              "neither JSON nor YAML",
	} {
		_, err := Read(strings.NewReader(text), int64(len(text)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v; want an error with %q", text, err, want)
		}
	}
	if _, err := Read(strings.NewReader(""), documentMax+1); err == nil {
		t.Error("a text that is too long is read")
	}
}

// A hostile document costs little more time than its length asks for.
func TestHostileDocumentsEndSoon(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	chain := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"A%d":{"$ref":"#/components/schemas/A%d"},`, i, (i+1)%n)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for name, text := range map[string]string{
		"references to many": of3(`"components":{"schemas":{"A":[` +
			many(200_000, `{"$ref":"#/definitions/a%d"},`) + `]}}`),
		"references to too many": of3(`"components":{"schemas":{"A":[` +
			many(300_000, `{"$ref":"#/definitions/a%d"},`) + `]}}`),
		"a long circle": of3(`"paths":{"/a":{"get":{"$ref":"#/components/schemas/A0"}}},
			"components":{"schemas":{` + chain(100_000) + `}}`),
		"a long chain": of3(`"paths":{"/a":{"get":{"$ref":"#/components/schemas/A0"}}},
			"components":{"schemas":{` + chain(100_000) + `,"A99999":1}}`),
		"many paths":               of3(`"paths":{` + many(300_000, `"/%d":{},`) + `}`),
		"many operations":          of3(`"paths":{` + many(60_000, `"/%d":{"get":{}},`) + `}`),
		"many that are no objects": of3(`"paths":{` + many(60_000, `"/%d":{"get":1},`) + `}`),
		"many that refer to a long": of3(`"paths":{"/a":{"get":{"x":"` + strings.Repeat("x", 900_000) + `"}},` +
			many(20_000, `"/%d":{"$ref":"#/paths/~1a"},`) + `}`),
		"one name for all": of3(`"paths":{` + many(20_000, `"/%d":{"get":{"operationId":"same"}},`) + `}`),
		"a long reference": of3(`"components":{"schemas":{"A":{"$ref":"#/` + strings.Repeat("a/", 1<<20) + `"}}}`),
		"aliases of aliases": "openapi: 3.0.0\na: &a [x,x,x,x,x,x,x,x,x]\n" +
			many(9, "b%[1]d: &b%[1]d [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n") + "c: &c {a: [*c,*c]}\n",
		"merges of merges": "openapi: 3.0.0\na: &a\n  - *a\n  - *a\nb:\n  <<: *a\n",
		"deep YAML":        "openapi: 3.0.0\nx: " + strings.Repeat("[", 100_000),
		"deep blocks":      "openapi: 3.0.0\nx:\n " + strings.Repeat("- ", 100_000),
		"many keys":        "openapi: 3.0.0\nx: {" + strings.Repeat("? a : b, ", 100_000) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			d, err := Read(strings.NewReader(text), int64(len(text)))
			if err == nil {
				for _, o := range d.Operations {
					o.Digest()
				}
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%d bytes take %v", len(text), took)
			} else {
				t.Logf("%d bytes, %v, error: %.100v", len(text), took, err)
			}
		})
	}
}

// synthetic is a description with many operations and types.
func synthetic(operations int) string {
	var b strings.Builder
	b.WriteString(`{"openapi":"3.0.3","info":{"title":"Many"},"paths":{`)
	for i := range operations {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"/things/%[1]d/{id}":{"parameters":[{"name":"id","in":"path","required":true,
			"schema":{"type":"string"}}],
			"get":{"operationId":"things.get%[1]d","summary":"Gets thing %[1]d","description":"%[2]s","responses":{"200":{
			"description":"It","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing%[3]d"}}}}}}}`,
			i, strings.Repeat("Words of it. ", 60), i/2)
	}
	b.WriteString(`},"components":{"schemas":{`)
	for i := range operations / 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"Thing%d":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/Thing%d"}}}`, i, i/3)
	}
	b.WriteString(`}}}`)
	return b.String()
}

func BenchmarkRead(b *testing.B) {
	text := synthetic(10_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		d := read(b, text)
		d.Operations[0].Digest()
	}
}
