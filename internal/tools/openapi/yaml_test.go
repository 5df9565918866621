package openapi

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
)

// traps are what YAML has that JSON has not, each with the JSON that it means.
var traps = []struct{ what, yaml, json string }{
	{"keys that are numbers", "200: a\n2XX: b\n1.5: c\n", `{"200":"a","2XX":"b","1.5":"c"}`},
	{"words that YAML 1.1 takes for true", "on: yes\noff: no\ny: On\ntrue: true\n",
		`{"on":"yes","off":"no","y":"On","true":true}`},
	{"dates", "a: 2026-01-01\nb: 2026-01-01T00:00:00Z\n", `{"a":"2026-01-01","b":"2026-01-01T00:00:00Z"}`},
	{"numbers", "a: 0x10\nb: 1e3\nc: .inf\nd: +1\ne: 1.0\nf: 12345678901234567890\n",
		`{"a":16,"b":1e3,"c":".inf","d":1,"e":1.0,"f":12345678901234567890}`},
	{"nothing", "a:\nb: ~\nc: null\nd: ''\n", `{"a":null,"b":null,"c":null,"d":""}`},
	{"quoted keys", "\"a: b\": 1\n'it''s': 2\n\"q\\\"\": 3\n/a/{b}: 4\n", `{"a: b":1,"it's":2,"q\"":3,"/a/{b}":4}`},
	{"lists at their key", "a:\n- 1\n- b: 2\n  c: 3\nd: [4]\n", `{"a":[1,{"b":2,"c":3}],"d":[4]}`},
	{"a text that looks like keys", "a: |\n  get:\n    b: c\n  # no comment\n\n  ---x\nb: >-\n    x\n    y\n\n",
		`{"a":"get:\n  b: c\n# no comment\n\n---x\n","b":"x y"}`},
	{"a text with indentation of its own", "a: |2\n   x\n  y\n", `{"a":" x\ny\n"}`},
	{"a text over lines", "a: x\n  y\nb: 'p\n\n  q'\n", `{"a":"x y","b":"p\nq"}`},
	{"comments", "# first\na: 1 # of a\n# before b\nb: # below\n# at the left\n  c: '#2'\n  # end\n",
		`{"a":1,"b":{"c":"#2"}}`},
	{"flow style in a value", "a: {b: [1, {c: d}],\n  e: f\n}\ng: []\n", `{"a":{"b":[1,{"c":"d"}],"e":"f"},"g":[]}`},
	{"several documents", "%YAML 1.1\n--- # one\na: 1\n---\nb: 2\n", `{"a":1}`},
	{"a document that ends", "---\na: 1\n...\nb: : :\n", `{"a":1}`},
	{"aliases and merges in a part", "a:\n  x: &x {p: 1, q: 2}\n  y: {<<: *x, q: 3}\n  z: *x\n",
		`{"a":{"x":{"p":1,"q":2},"y":{"q":3,"p":1},"z":{"p":1,"q":2}}}`},
	{"merges of lists", "a:\n  - &x {p: 1}\n  - &y {p: 2, q: 2}\n  - <<: [*x, *y]\n",
		`{"a":[{"p":1},{"p":2,"q":2},{"p":1,"q":2}]}`},
	{"ends of lines of Windows", "a:\r\n  - b\r\n  - |\r\n    c\r\n", `{"a":["b","c\n"]}`},
	{"another indentation", "a:\n     b:\n      c: 1\n", `{"a":{"b":{"c":1}}}`},
	{"a tag", "a: !!str 5\nb: !x y\n", `{"a":"5","b":"y"}`},
}

func TestYAMLMeansWhatAuthorsOfDescriptionsMean(t *testing.T) {
	for _, c := range traps {
		left := roomFor(int64(len(c.yaml)))
		got, err := yamlToJSON([]byte(c.yaml), &left)
		if err != nil || string(got) != c.json {
			t.Errorf("%s: %s, %v; want %s", c.what, got, err, c.json)
		}
	}
}

// Cut at the indentation, YAML means the same as a whole, at each depth where it is cut.
func TestYAMLInPartsMeansTheSame(t *testing.T) {
	for _, c := range traps {
		if strings.Contains(c.what, "document") {
			continue // marks stand at the left
		}
		for _, in := range []struct{ yaml, json string }{
			{"info:\n", `{"info":`}, {"paths:\n", `{"paths":`}, {"components:\n", `{"components":`},
			{"components:\n  schemas:\n", `{"components":{"schemas":`},
		} {
			if in.json == `{"components":` && strings.Contains(c.yaml, "&") {
				continue // aliases of other parts
			}
			depth := strings.Count(in.json, "{")
			text, want := in.yaml, in.json+c.json+strings.Repeat("}", depth)
			for l := range strings.Lines(c.yaml) {
				text += strings.Repeat("  ", depth) + l
			}
			var out bytes.Buffer
			faults, err := cutYAML(section(text), &out)
			if err != nil || len(faults) > 0 || !sameJSON(out.Bytes(), []byte(want)) {
				t.Errorf("%s in %s: %s, %v, %v; want %s", c.what, in.json, &out, faults, err, want)
			}
		}
	}
}

func section(text string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))
}

func sameJSON(a, b []byte) bool {
	var v, w any
	return json.Unmarshal(a, &v) == nil && json.Unmarshal(b, &w) == nil && reflect.DeepEqual(v, w)
}

const notes = `openapi: 3.1 # without quotes
info:
  title: Notes
  version: 2026-01-01
servers:
- url: https://a.example
paths:
  '/notes':
    get:
      operationId: list_notes
      summary: |
        Lists notes:
         get: no operation
      responses:
        200:
          $ref: '#/components/responses/Notes'
  /notes/{id}:
    parameters: [{$ref: '#/components/parameters/id'}]
    delete: {operationId: delete_note}
components:
  parameters:
    id: {name: id, in: path, required: true, schema: {type: string}}
  responses:
    Notes:
      description: ok
`

func TestReadOfYAMLIsReadOfJSON(t *testing.T) {
	for what, text := range map[string]string{
		"as it is":               notes,
		"with a byte order mark": "\ufeff" + notes,
		"with ends of Windows":   strings.ReplaceAll(notes, "\n", "\r\n"),
		"with comments before":   "# " + strings.Repeat("x", 5000) + "\n---\n" + notes,
		"longer than a whole":    notes + "x-more:\n" + strings.Repeat("  "+strings.Repeat("y", 100)+"\n", wholeYAML/100),
		"and another document":   notes + "---\npaths: 7\n",
	} {
		if len(text) > wholeYAML {
			text = strings.Replace(text, "x-more:\n", "x-more: |\n", 1)
		}
		d := read(t, text)
		expect(t, append(shown(d), d.Format, d.Title, d.Version, d.Servers[0]),
			"GET /notes list_notes: Lists notes: get: no operation", "DELETE /notes/{id} delete_note:",
			"OpenAPI 3.1", "Notes", "2026-01-01", "https://a.example")
		if p, err := d.Operations[1].Plan(); err != nil || len(p.Parameters) != 1 {
			t.Errorf("%s: %+v, %v; want the parameter id", what, p, err)
		}
		if v, err := d.component("#/components/responses/Notes"); err != nil || string(v.Source()) != `{"description":"ok"}` {
			t.Errorf("%s: a component is %s, %v", what, v.Source(), err)
		}
		if o := d.Operations[0]; !json.Valid(o.Text()) || len(o.Digest()) != 64 {
			t.Errorf("%s: the text of an operation is %s", what, o.Text())
		}
	}
}

func TestAFaultInYAMLCostsItsPart(t *testing.T) {
	d := read(t, strings.Replace(notes, "    delete: {", "    delete: {{", 1))
	expect(t, shown(d), "GET /notes list_notes: Lists notes: get: no operation",
		"left * /notes/{id} : the path cannot be read: near line 18: did not find expected ',' or '}'")
	d = read(t, strings.Replace(notes, "description: ok", "description: o: k", 1))
	expect(t, d.Notes,
		`components "Notes" cannot be read: near line 25: mapping values are not allowed in this context`)
	if _, err := d.component("#/components/responses/Notes"); err == nil {
		t.Error("a component that cannot be read is there")
	}
}

func TestLongYAMLHasToBeInBlockStyle(t *testing.T) {
	for text, want := range map[string]string{
		"paths: {/a: {get: {}}}\nx: 1\n":                 "",
		"paths:\n  /a:\n    get: {}\n /b: {}\n":          "line is no key",
		"{paths: {}}\n":                                  "line is no key",
		"info: &a 1\nservers: *a\n":                      "unknown anchor",
		"definitions:\n  a: 1\n  - a\n":                  "did not find expected key",
		"info: " + strings.Repeat("a", wholeYAML) + "\n": "more than",
	} {
		_, err := cutYAML(section(text), io.Discard)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.50q: %v, want %q", text, err, want)
		}
	}
	// What parts repeat is bounded for all of them together.
	bomb := "  p%: {a: &a [x,x,x,x,x,x,x,x], b: &b [*a,*a,*a,*a,*a,*a,*a,*a]" +
		", c: &c [*b,*b,*b,*b,*b,*b,*b,*b], d: [*c,*c,*c]}\n"
	if _, err := cutYAML(section("paths:\n"+strings.Repeat(bomb, 500)), io.Discard); err == nil {
		t.Error("500 small bombs are written")
	}
}

func TestTheFileOfLongYAMLIsGone(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	read(t, notes+strings.Repeat("# comment\n", wholeYAML/10))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", left, err)
	}
}
