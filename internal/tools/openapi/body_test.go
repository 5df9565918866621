package openapi

import (
	"fmt"
	"strings"
	"testing"
)

// body is a request body of one media type.
func body(media, schema string) string {
	return fmt.Sprintf(`"requestBody":{"required":true,"content":{%q:{"schema":%s}}}`, media, schema)
}

func jsonBody(schema string) string { return body("application/json", schema) }

// schemas are components.
func schemas(members string) string { return `"schemas":{` + members + `}` }

func TestBodiesBecomeArguments(t *testing.T) {
	thing := `{"type":"object","required":["title"],"properties":{"title":{"type":"string"},"size":{"type":"integer"}}}`
	one, all := "body of application/json: body", "body of application/json: "
	for _, test := range []struct {
		is        string
		of        api
		plan      string
		arguments string
	}{
		{"an object is flat", api{operation: jsonBody(thing)}, all + "title+size", "size title!"},
		{"an optional body requires nothing", api{operation: strings.Replace(jsonBody(thing), "true", "false", 1)},
			all + "title+size", "size title"},
		{"a collision costs the flatness of all of it", api{path: "/{title}", operation: jsonBody(thing)},
			"title! path simple; " + one, "body! title!"},
		{"a parameter may be named body", api{path: "/{body}", operation: jsonBody(`{"type":"array"}`)},
			"body! path simple; body of application/json: request_body", "body! request_body!"},
		{"and request_body", api{path: "/{body}/{request_body}", operation: jsonBody(`{}`)},
			"body! path simple; request_body! path simple; body of application/json: request_request_body",
			"body! request_body! request_request_body!"},
		{"a member may be named body", api{operation: jsonBody(`{"properties":{"body":{"type":"string"}}}`)},
			all + "body", "body"},
		{"a list is whole", api{operation: jsonBody(`{"type":"array"}`)}, one, "body!"},
		{"a map is whole", api{operation: jsonBody(`{"type":"object","additionalProperties":{}}`)}, one, "body!"},
		{"an open object is whole", api{operation: jsonBody(`{"properties":{"a":{}},"additionalProperties":true}`)}, one,
			"body!"},
		{"alternatives are whole", api{operation: jsonBody(`{"properties":{"a":{}},"oneOf":[{"required":["a"]}]}`)}, one,
			"body!"},
		{"what may be null is whole", api{operation: jsonBody(`{"nullable":true,"properties":{"a":{}}}`)}, one, "body!"},
		{"an object of unknown members is whole", api{operation: jsonBody(`{"type":"object"}`)}, one, "body!"},
		{"no schema is whole", api{operation: `"requestBody":{"content":{"application/json":{}}}`}, one, "body"},
		{"parts are merged, in any order",
			api{operation: jsonBody(`{"allOf":[{"required":["a","c"]},{"$ref":"#/components/schemas/B"},
			{"properties":{"a":{"type":"string"}}}]}`),
				components: schemas(`"B":{"properties":{"b":{},"c":{}},"required":["b"]}`)},
			all + "a+c+b", "a! b! c!"},
		{"what is only required is a member", api{operation: jsonBody(`{"properties":{"a":{}},"required":["z"]}`)},
			all + "a+z", "a z!"},
		{"what the server sets is left out", api{path: "/{id}", operation: jsonBody(`{"required":["id","a"],"properties":
			{"id":{"type":"string","readOnly":true},"a":{}}}`)}, "id! path simple; " + all + "a", "a! id!"},
		{"what another part says the server sets", api{operation: jsonBody(`{"allOf":[{"$ref":"#/components/schemas/B"},
			{"required":["id"],"properties":{"a":{}}}]}`),
			components: schemas(`"B":{"properties":{"id":{"readOnly":true}}}`)}, all + "a", "a"},
		{"a required body without members is sent", api{operation: jsonBody(`{"type":"object","properties":{}}`)}, all, ""},
		{"an optional one is not",
			api{operation: `"requestBody":{"content":{"application/json":{"schema":{"properties":{}}}}}`},
			"", ""},
		{"JSON is preferred", api{operation: `"requestBody":{"content":{"text/xml":{},"multipart/form-data":{},
			"application/vnd.x+json; charset=utf-8":{"schema":` + thing + `}}}`},
			"body of application/vnd.x+json: title+size", "size title"},
		{"a form before a multipart before a text before bytes before XML", api{operation: `"requestBody":{"content":{
			"application/xml":{},"image/png":{}}}`}, "body of image/png: body", "body"},
		{"XML is a text", api{operation: `"requestBody":{"content":{"application/xml":{"schema":` + thing + `}}}`},
			"body of application/xml: body", "body"},
		{"a form", api{operation: body("application/x-www-form-urlencoded", thing)},
			"body of application/x-www-form-urlencoded: title+size", "size title!"},
		{"anything is JSON", api{operation: body("*/*", thing)}, all + "title+size", "size title!"},
		{"a GET keeps its body", api{method: "get", operation: jsonBody(thing)}, all + "title+size", "$next size title!"},
		{"a body by reference", api{operation: `"requestBody":{"$ref":"#/components/requestBodies/B"}`,
			components: `"requestBodies":{"B":{"content":{"application/json":{"schema":` + thing + `}}}}`},
			all + "title+size", "size title"},
		{"a body that is missing", api{operation: `"requestBody":{"$ref":"#/components/requestBodies/B"}`},
			`error: its body is not described: there is no "#/components/requestBodies/B"`, ""},
		{"a type that is missing", api{operation: jsonBody(`{"properties":{"a":{"$ref":"#/components/schemas/A"}}}`)},
			`error: its arguments are not described: there is no "#/components/schemas/A"`, ""},
		{"a type in another document", api{operation: jsonBody(`{"properties":{"a":{"$ref":"a.yaml#/A"}}}`)},
			`error: its arguments are not described: "a.yaml#/A" is in another document, or no component`, ""},
		{"a type that refers to itself", api{operation: jsonBody(`{"$ref":"#/components/schemas/A"}`),
			components: schemas(`"A":{"properties":{"a":{"$ref":"#/components/schemas/A"}}}`)}, all + "a", "a"},
	} {
		o := test.of.op(t)
		if got := plan(t, o); got != test.plan {
			t.Errorf("%s:\n got %s\nwant %s", test.is, got, test.plan)
		}
		if got := arguments(t, o); !strings.HasPrefix(got, "error") && got != test.arguments {
			t.Errorf("%s: got the arguments %q, want %q", test.is, got, test.arguments)
		}
	}
}

func TestPartsOfForms(t *testing.T) {
	binary := `{"type":"string","format":"binary"}`
	encoding := `,"encoding":{"meta":{"contentType":"application/json"},"tags":{"explode":false},
		"any":{"contentType":"image/*"},"one":{"contentType":"image/png, image/jpeg"}}`
	op := api{operation: body("multipart/form-data", `{"properties":{"one":{"$ref":"#/components/schemas/F"},
		"many":{"$ref":"#/components/schemas/L"},"meta":{"type":"object"},"tags":{"type":"array","items":{"type":"string"}},
		"any":{},"new":{"contentMediaType":"image/png"}}}`+encoding),
		components: schemas(`"F":` + binary + `,"L":{"type":"array","items":{"$ref":"#/components/schemas/F"}}`)}.op(t)
	p, err := op.Plan()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Part{"one": {Media: "image/png", Binary: true}, "many": {Binary: true}, "new": {Binary: true},
		"meta": {Media: "application/json"}, "tags": {Style: "form"}}
	for _, name := range p.Body.Members {
		if p.Body.Parts[name] != want[name] {
			t.Errorf("%s: got %+v, want %+v", name, p.Body.Parts[name], want[name])
		}
	}
	input, _ := op.Input()
	if !strings.Contains(string(input), `"many":{"type":"array","items":{"anyOf":[{"type":"string"}`) {
		t.Errorf("a list of files is a list of texts or bytes, got %s", input)
	}
}
