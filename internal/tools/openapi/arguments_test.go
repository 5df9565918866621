package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/jsonschema"
)

// An api is a description of one operation in few words.
type api struct {
	format     string // "" is OpenAPI 3.0.3; "2.0" is Swagger
	path       string // "" is /x
	method     string // "" is post
	shared     string // the parameters of the path
	operation  string // members of the operation
	components string // members of components, or of the top of a Swagger
}

// op reads the operation of a description.
func (a api) op(t *testing.T) *Operation {
	t.Helper()
	version, components := `"openapi":"`+cmp.Or(a.format, "3.0.3")+`"`, `"components":{`+a.components+`}`
	if a.format == "2.0" {
		version, components = `"swagger":"2.0"`, cmp.Or(a.components, `"definitions":{}`)
	}
	operation := cmp.Or(a.operation, `"summary":"Acts"`)
	if !strings.Contains(operation, `"responses"`) {
		operation += `,"responses":{"204":{"description":"done"}}`
	}
	text := fmt.Sprintf(`{%s,"info":{"title":"t","version":"1"},"paths":{%q:{"parameters":[%s],%q:{%s}}},%s}`,
		version, cmp.Or(a.path, "/x"), a.shared, cmp.Or(a.method, "post"), operation, components)
	if !json.Valid([]byte(text)) {
		t.Fatalf("the description of the test is no JSON: %s", text)
	}
	d, err := Read(strings.NewReader(text), int64(len(text)))
	if err != nil || len(d.Operations) != 1 {
		t.Fatalf("Read: %v, of %s", err, text)
	}
	return d.Operations[0]
}

// plan shows what the arguments of an operation become: "id! in the path; media: body".
func plan(t *testing.T, o *Operation) string {
	t.Helper()
	p, err := o.Plan()
	if err != nil {
		return "error: " + err.Error()
	}
	var all []string
	for _, q := range p.Parameters {
		text := q.Argument
		if q.Required {
			text += "!"
		}
		if q.Argument != q.Name {
			text += " as " + q.Name
		}
		text += " " + q.In + " " + q.Style
		if q.Explode {
			text += "*"
		}
		all = append(all, text)
	}
	if b := p.Body; b != nil {
		all = append(all, "body of "+b.Media+": "+cmp.Or(b.Argument, strings.Join(b.Members, "+")))
	}
	return strings.Join(all, "; ")
}

// arguments shows the arguments of an operation, with "!" for those that are required, and checks the schema.
func arguments(t *testing.T, o *Operation) string {
	t.Helper()
	raw, err := o.Input()
	if err != nil {
		return "error: " + err.Error()
	}
	if note := jsonschema.CompileArguments(raw, jsonschema.NewRoom()).Note; note != "" {
		t.Errorf("the schema of the arguments has parts that cannot be used: %s", note)
	}
	var s struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(s.Properties))
	for i, name := range names {
		if slices.Contains(s.Required, name) {
			names[i] += "!"
		}
	}
	return strings.Join(names, " ")
}

// in is a parameter.
func in(place, name, more string) string {
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"name":%q,"in":%q%s}`, name, place, more)
}

// takes is the parameters of an operation.
func takes(parameters ...string) string {
	return `"parameters":[` + strings.Join(parameters, ",") + `]`
}

const (
	aText   = `"schema":{"type":"string"}`
	anArray = `"schema":{"type":"array","items":{"type":"string"}}`
	needed  = `"required":true,` + aText
)

func TestParametersBecomeArguments(t *testing.T) {
	object := `"schema":{"type":"object","properties":{"a":{"type":"string"}}}`
	for _, test := range []struct {
		is   string
		of   api
		want string
	}{
		{"a query is exploded, unless it says otherwise", api{operation: takes(in("query", "a", anArray),
			in("query", "b", `"explode":false,`+anArray))}, "a query form*; b query form"},
		{"styles", api{path: "/{l}/{m}", operation: takes(in("path", "l", `"style":"label",`+aText),
			in("path", "m", `"style":"matrix","explode":true,`+aText), in("query", "p", `"style":"pipeDelimited",`+anArray),
			in("query", "d", `"style":"deepObject","explode":true,`+object))},
			"l! path label; m! path matrix*; p query pipeDelimited; d query deepObject*"},
		{"the order is that of the description", api{path: "/{id}", operation: takes(in("query", "q", aText),
			in("path", "id", needed))}, "q query form*; id! path simple"},
		{"a path keeps its name, wherever it is said", api{path: "/{id}", operation: takes(in("query", "id", aText),
			in("path", "id", needed))}, "query_id as id query form*; id! path simple"},
		{"a path keeps its name, said or not", api{path: "/{id}", operation: takes(in("query", "id", aText))},
			"query_id as id query form*; id! path simple"},
		{"what only the path has is a required text", api{path: "/{a}/{b}", operation: takes(in("path", "a", needed))},
			"a! path simple; b! path simple"},
		{"what the path does not have is left out", api{operation: takes(in("path", "a", needed))}, ""},
		{"no name is left", api{path: "/{id}/{query_id}", operation: takes(in("query", "id", needed))},
			`error: its parameter "id" has the name of another argument`},
		{"the name that is left is taken", api{path: "/{id}", operation: takes(in("query", "id", aText),
			in("query", "query_id", aText))},
			"query_id as id query form*; query_query_id as query_id query form*; id! path simple"},
		{"a required header is an argument, an optional one is not, but for If-Match", api{operation: takes(
			in("header", "X-A", needed), in("header", "X-B", aText), in("header", "If-Match", aText))},
			"X-A! header simple; If-Match header simple"},
		{"headers of the connection and of credentials are ours", api{operation: takes(in("header", "Authorization", needed),
			in("header", "accept", needed), in("header", "X-Amz-Date", needed), in("header", "Cookie", needed))}, ""},
		{"an optional cookie is left out", api{operation: takes(in("cookie", "a", aText))}, ""},
		{"a required cookie", api{operation: takes(in("cookie", "a", needed))},
			`error: its parameter "a" is in "cookie", which is not sent`},
		{"an optional content is left out", api{operation: takes(in("query", "a", `"content":{"application/json":{}}`))}, ""},
		{"a required content", api{operation: takes(in("query", "a", `"required":true,"content":{"application/json":{}}`))},
			`error: its parameter "a" has a content type of its own, which is not supported`},
		{"an object in the path", api{path: "/{a}", operation: takes(in("path", "a", object))},
			`error: its parameter "a" is an object in the path, which is not supported`},
		{"an object in the path, in many ways", api{path: "/{a}", format: "3.1.0", operation: takes(in("path", "a",
			`"schema":{"allOf":[{"type":["object","null"]}]}`))},
			`error: its parameter "a" is an object in the path, which is not supported`},
		{"an optional object of objects is left out", api{operation: takes(in("query", "a",
			`"style":"deepObject","schema":{"type":"object","properties":{"b":{"properties":{"c":{}}}}}`))}, ""},
		{"a header with a style of paths", api{operation: takes(in("header", "a", `"style":"label",`+needed))},
			`error: its parameter "a" has the style "label", which does not fit its place`},
		{"a style that is none", api{operation: takes(in("query", "a", `"style":"loud",`+aText))}, ""},
		{"an operation overrides its path", api{path: "/{id}", shared: in("path", "id", aText) + "," +
			in("query", "q", aText), operation: takes(in("query", "q", `"explode":false,`+needed))},
			"id! path simple; q! query form"},
		{"by reference", api{operation: takes(`{"$ref":"#/components/parameters/p"}`),
			components: `"parameters":{"p":{"$ref":"#/components/parameters/q"},"q":` + in("query", "q", aText) + `}`},
			"q query form*"},
		{"a reference that leads nowhere", api{operation: takes(`{"$ref":"#/components/parameters/p"}`)},
			`error: a parameter is not described: there is no "#/components/parameters/p"`},
		{"a reference to itself", api{operation: takes(`{"$ref":"#/components/parameters/p"}`),
			components: `"parameters":{"p":{"$ref":"#/components/parameters/p"}}`},
			"error: a parameter is not described: a reference refers to itself"},
		{"a template of Google", api{path: "/{+name}:go", operation: takes(in("path", "name", needed))}, "name! path simple"},
	} {
		o := test.of.op(t)
		if got := plan(t, o); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.is, got, test.want)
		}
		arguments(t, o)
	}
}

func TestNextAndRepeats(t *testing.T) {
	for _, test := range []struct {
		is   string
		of   api
		want string
	}{
		{"a GET has pages", api{method: "get", operation: takes(in("query", "q", aText))}, "$next q"},
		{"a POST that reads has pages", api{path: "/things/search", operation: `"operationId":"searchThings"`}, "$next"},
		{"a POST that writes has none", api{path: "/things", operation: `"operationId":"createThing"`}, ""},
	} {
		if got := arguments(t, test.of.op(t)); got != test.want {
			t.Errorf("%s: got %q, want %q", test.is, got, test.want)
		}
	}
	p, err := api{operation: takes(in("header", "idempotency-key", needed))}.op(t).Plan()
	if err != nil || p.RepeatKey != "idempotency-key" || len(p.Parameters) != 0 {
		t.Errorf("the header that knows repetitions is ours: got %+v, %v", p, err)
	}
}
