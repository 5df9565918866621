package openapi

import (
	"strings"
	"testing"
)

func TestSwaggerIsReadAsOpenAPI(t *testing.T) {
	text := `"type":"string"`
	multi := `"type":"array","items":{"type":"string"},"collectionFormat":`
	consumes := func(media string) string { return `"consumes":["` + media + `"],` }
	for _, test := range []struct {
		is        string
		of        api
		plan      string
		arguments string
	}{
		{"collections", api{operation: takes(in("query", "a", multi+`"csv"`), in("query", "b", multi+`"ssv"`),
			in("query", "c", multi+`"tsv"`), in("query", "d", multi+`"pipes"`), in("query", "e", multi+`"multi"`))},
			"a query form; b query spaceDelimited; c query tabDelimited; d query pipeDelimited; e query form*", "a b c d e"},
		{"a collection in a path", api{path: "/{a}", operation: takes(in("path", "a", multi+`"csv"`))},
			"a! path simple", "a!"},
		{"a collection with pipes in a path", api{path: "/{a}", operation: takes(in("path", "a", multi+`"pipes"`))},
			`error: its parameter "a" has the style "pipeDelimited", which does not fit its place`, ""},
		{"a body", api{operation: takes(in("body", "thing", `"required":true,"schema":{"$ref":"#/definitions/A"}`)),
			components: `"definitions":{"A":{"required":["a"],"properties":{"a":{"type":"string"}}}}`},
			"body of application/json: a", "a!"},
		{"a body of the path", api{shared: in("body", "thing", `"schema":{"properties":{"a":{"type":"string"}}}`)},
			"body of application/json: a", "a"},
		{"a body by reference", api{operation: takes(`{"$ref":"#/parameters/B"}`),
			components: `"parameters":{"B":` + in("body", "b", `"schema":{"type":"array"}`) + `}`},
			"body of application/json: body", "body"},
		{"what is sent", api{operation: consumes(`application/xml","application/vnd.x+json`) +
			takes(in("body", "b", `"schema":{"properties":{"a":{}}}`))}, "body of application/vnd.x+json: a", "a"},
		{"what all operations send", api{operation: takes(in("body", "b", `"schema":{}`)),
			components: `"consumes":["text/plain"]`}, "body of text/plain: body", "body"},
		{"a form", api{operation: takes(in("formData", "a", text), in("formData", "b", `"required":true,`+text))},
			"body of application/x-www-form-urlencoded: a+b", "a b!"},
		{"a multipart form", api{operation: consumes("multipart/form-data") + takes(in("formData", "a", text))},
			"body of multipart/form-data: a", "a"},
		{"a file", api{operation: takes(in("formData", "a", `"type":"file"`), in("formData", "b", text))},
			"body of multipart/form-data: a+b", "a b"},
		{"a form that collides is whole", api{path: "/{a}", operation: takes(in("path", "a", `"required":true,`+text),
			in("formData", "a", `"required":true,`+text), in("formData", "b", text))},
			"a! path simple; body of application/x-www-form-urlencoded: body", "a! body!"},
	} {
		test.of.format = "2.0"
		o := test.of.op(t)
		if got := plan(t, o); got != test.plan {
			t.Errorf("%s:\n got %s\nwant %s", test.is, got, test.plan)
		}
		if got := arguments(t, o); !strings.HasPrefix(got, "error") && got != test.arguments {
			t.Errorf("%s: got the arguments %q, want %q", test.is, got, test.arguments)
		}
	}
}

func TestSchemasOfSwagger(t *testing.T) {
	o := api{format: "2.0", operation: `"produces":["application/json"],` +
		takes(in("query", "q", `"type":"integer","x-nullable":true,"minimum":1,"exclusiveMinimum":true,"description":"d"`),
			in("formData", "f", `"type":"file","description":"A picture"`)) +
		`,"responses":{"200":{"description":"","schema":{"$ref":"#/definitions/A"}}}`,
		components: `"definitions":{"A":{"type":"object","discriminator":"k"}}`}.op(t)
	in, err := o.Input()
	for _, want := range []string{`"type":["integer","null"]`, `"exclusiveMinimum":1`, `"description":"d"`,
		`A picture (a text, or`} {
		if err != nil || !strings.Contains(string(in), want) {
			t.Errorf("no %s in %s, %v", want, in, err)
		}
	}
	p, err := o.Plan()
	if err != nil || !p.Body.Parts["f"].Binary || strings.Join(p.Accept, " ") != "application/json" {
		t.Errorf("got %+v, %v", p, err)
	}
	out, err := o.Output()
	if want := `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object"}}}`; err != nil || string(out) != want {
		t.Errorf("got %s, %v, want %s", out, err, want)
	}
	file := api{format: "2.0", operation: `"responses":{"200":{"description":"","schema":{"type":"file"}}}`}.op(t)
	if out, err := file.Output(); out != nil || err != nil {
		t.Errorf("a file is no JSON: got %s, %v", out, err)
	}
}
