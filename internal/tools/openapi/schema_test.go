package openapi

import (
	"strings"
	"testing"
)

// translated is the schema of the property p of a body that is one argument.
func translated(t *testing.T, format, schema, components string) string {
	t.Helper()
	o := api{format: format, operation: jsonBody(`{"properties":{"p":` + schema + `}}`), components: components}.op(t)
	in, err := o.Input()
	if err != nil {
		return "error: " + err.Error()
	}
	text := strings.TrimPrefix(string(in), `{"type":"object","properties":{"p":`)
	before, defs, found := strings.Cut(text, `,"additionalProperties":false,"$defs":`)
	if !found {
		return strings.TrimSuffix(text, `},"additionalProperties":false}`)
	}
	return strings.TrimSuffix(before, "}") + " with " + strings.TrimSuffix(defs, "}")
}

func TestSchemasBecomeThoseOf2020(t *testing.T) {
	a := `"A":{"type":"string"}`
	for _, test := range []struct{ is, format, schema, components, want string }{
		{"nullable", "", `{"type":"string","nullable":true}`, "", `{"type":["string","null"]}`},
		{"nullable values", "", `{"type":"string","nullable":true,"enum":["a"]}`, "",
			`{"type":["string","null"],"enum":["a",null]}`},
		{"nullable without a type", "", `{"nullable":true,"allOf":[{"$ref":"#/components/schemas/A"}]}`, schemas(a),
			`{"anyOf":[{"allOf":[{"$ref":"#/$defs/A"}]},{"type":"null"}]} with {"A":{"type":"string"}}`},
		{"exclusive bounds of 3.0", "", `{"minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}`, "",
			`{"exclusiveMinimum":1,"maximum":9}`},
		{"exclusive bounds of 3.1", "3.1.0", `{"exclusiveMinimum":1}`, "", `{"exclusiveMinimum":1}`},
		{"what is about documents", "", `{"type":"string","example":"a","xml":{},"discriminator":{},"externalDocs":{},
			"x-a":1,"deprecated":true}`, "", `{"type":"string"}`},
		{"3.1 stays", "3.1.0",
			`{"type":["string","null"],"const":"a","prefixItems":[{}],"if":{},"then":{},"contains":{}}`, "",
			`{"type":["string","null"],"const":"a","prefixItems":[{}],"if":{},"then":{},"contains":{}}`},
		{"beside a reference of 3.0 a description counts", "",
			`{"$ref":"#/components/schemas/A","description":"d","minLength":2}`,
			schemas(a), `{"$ref":"#/$defs/A","description":"d"} with {"A":{"type":"string"}}`},
		{"beside a reference of 3.1 all counts", "3.1.0", `{"$ref":"#/components/schemas/A","description":"d","minLength":2}`,
			schemas(a), `{"$ref":"#/$defs/A","description":"d","minLength":2} with {"A":{"type":"string"}}`},
		{"definitions within a type of 3.1", "3.1.0", `{"$ref":"#/components/schemas/A/$defs/B"}`,
			schemas(`"A":{"$defs":{"B":{"type":"integer"}}}`),
			`{"$ref":"#/$defs/A__defs_B_c65803"} with {"A__defs_B_c65803":{"type":"integer"}}`},
		{"a property of a type", "", `{"$ref":"#/components/schemas/A/properties/b"}`,
			schemas(`"A":{"properties":{"b":{"type":"integer"}}}`),
			`{"$ref":"#/$defs/A_properties_b_b827b8"} with {"A_properties_b_b827b8":{"type":"integer"}}`},
		{"a bad field costs that keyword", "",
			`{"type":"integer","minimum":"five","maxLength":-1,"minItems":1.5,"multipleOf":0,
			"required":true,"enum":[],"properties":7,"allOf":[],"pattern":3}`, "", `{"type":"integer"}`},
		{"a type that is none", "", `{"type":"thing","maximum":3}`, "", `{"maximum":3}`},
		{"a list of items is that of 3.1", "", `{"type":"array","items":[{"type":"string"}]}`, "",
			`{"type":"array","prefixItems":[{"type":"string"}]}`},
		{"a key that is twice", "", `{"type":"string","type":"integer"}`, "", `{"type":"string"}`},
		{"an object that others extend is not closed", "",
			`{"allOf":[{"$ref":"#/components/schemas/A"}],"additionalProperties":false}`,
			schemas(a), `{"allOf":[{"$ref":"#/$defs/A"}]} with {"A":{"type":"string"}}`},
		{"one that none extends is", "",
			`{"properties":{"a":{}},"allOf":[{"required":["a"]}],"additionalProperties":false}`, "",
			`{"properties":{"a":{}},"allOf":[{"required":["a"]}],"additionalProperties":false}`},
		{"what the server sets is not an argument", "",
			`{"properties":{"id":{"readOnly":true},"a":{}},"required":["id","a"]}`, "",
			`{"properties":{"a":{}},"required":["a"]}`},
		{"nor required by another part", "", `{"allOf":[{"$ref":"#/components/schemas/B"},{"required":["id","a"],
			"properties":{"in":{"required":["id"]}}}]}`, schemas(`"B":{"properties":{"id":{"readOnly":true}}}`),
			`{"allOf":[{"$ref":"#/$defs/B"},{"required":["a"],"properties":{"in":{"required":["id"]}}}]} with {"B":{"properties":{}}}`},
		{"what the server does not tell is one", "", `{"properties":{"key":{"writeOnly":true}}}`, "",
			`{"properties":{"key":{}}}`},
		{"types that refer to each other", "", `{"$ref":"#/components/schemas/A"}`, schemas(
			`"A":{"items":{"$ref":"#/components/schemas/B"}},"B":{"items":{"$ref":"#/components/schemas/A"}}`),
			`{"$ref":"#/$defs/A"} with {"A":{"items":{"$ref":"#/$defs/B"}},"B":{"items":{"$ref":"#/$defs/A"}}}`},
		{"a name with signs", "", `{"$ref":"#/components/schemas/A%20b"}`, schemas(`"A b":{"type":"string"}`),
			`{"$ref":"#/$defs/A_20b_a2757b"} with {"A_20b_a2757b":{"type":"string"}}`},
		{"a type that is missing", "", `{"items":{"$ref":"#/components/schemas/A"}}`, "",
			`error: its arguments are not described: there is no "#/components/schemas/A"`},
		{"a part of a type that is missing", "", `{"$ref":"#/components/schemas/A/properties/x"}`, schemas(a),
			`error: its arguments are not described: there is no "#/components/schemas/A/properties/x"`},
		{"a file of this machine", "", `{"$ref":"file:///etc/passwd"}`, "",
			`error: its arguments are not described: "file:///etc/passwd" is in another document, or no component`},
	} {
		if got := translated(t, test.format, test.schema, test.components); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.is, got, test.want)
		}
	}
}

func TestTypesBeyondTheLimitsAreUnknown(t *testing.T) {
	long := strings.Repeat("x", 1500)
	o := api{operation: jsonBody(`{"properties":{"p":{"$ref":"#/components/schemas/A0"}}}`),
		components: schemas(wide(2500, 1, `{"description":"`+long+`","anyOf":[%s]}`, `{"type":"string"}`))}.op(t)
	in, err := o.Input()
	if err != nil || len(in) > inputMax+100 || !strings.Contains(string(in), `"not shown"`) {
		t.Errorf("got %d bytes, %v", len(in), err)
	}
	if arguments(t, o) != "p" {
		t.Error("the argument is lost")
	}
}

func TestDescriptionsAreKeptAndCut(t *testing.T) {
	o := api{operation: takes(in("query", "a", `"description":"`+strings.Repeat("é", 3000)+`",`+aText),
		in("query", "b", `"description":"of the parameter","schema":{"type":"string","description":"of the schema"}`))}.op(t)
	raw, err := o.Input()
	text := string(raw)
	if err != nil || len(text) > 2500 || strings.ToValidUTF8(text, "") != text ||
		!strings.Contains(text, `"a":{"description":"éé`) || !strings.Contains(text, "of the schema") {
		t.Errorf("got %d bytes, %v: %.100s", len(text), err, text)
	}
}

func TestOutputs(t *testing.T) {
	ok := func(media string) string { return `{"content":{"` + media + `":{"schema":{"type":"integer"}}}}` }
	for _, test := range []struct{ is, responses, want, accept string }{
		{"the first success", `"201":` + ok("application/json") + `,"200":` + ok("text/json"), `{"type":"integer"}`,
			"text/json"},
		{"the first with JSON", `"200":` + ok("text/plain") + `,"201":` + ok("application/vnd.x+json"), `{"type":"integer"}`,
			"application/vnd.x+json"},
		{"a range", `"2XX":` + ok("application/json"), `{"type":"integer"}`, "application/json"},
		{"default, if it is all", `"default":` + ok("application/json"), `{"type":"integer"}`, "application/json"},
		{"default is an error beside a success", `"204":{},"default":` + ok("application/json"), "", ""},
		{"no JSON", `"200":` + ok("text/csv"), "", "text/csv"},
		{"JSON first", `"200":{"content":{"text/csv":{},"application/json":{"schema":{}}}}`, "{}",
			"application/json text/csv"},
		{"a type that is missing is unknown", `"200":{"content":{"application/json":{"schema":{"items":
			{"$ref":"#/components/schemas/A"}}}}}`, `{"items":{}}`, "application/json"},
		{"an answer that is missing is none", `"200":{"$ref":"#/components/responses/A"}`, "", ""},
		{"what is only sent", `"200":{"content":{"application/json":{"schema":{"required":["a","b"],"properties":
			{"a":{"writeOnly":true},"b":{"readOnly":true}}}}}}`, `{"required":["b"],"properties":{"b":{}}}`, "application/json"},
	} {
		o := api{operation: `"responses":{` + test.responses + `}`}.op(t)
		out, err := o.Output()
		p, planErr := o.Plan()
		if err != nil || planErr != nil {
			t.Fatal(test.is, err, planErr)
		}
		if got := strings.Join(p.Accept, " "); string(out) != test.want || got != test.accept {
			t.Errorf("%s: got %s of %q, want %s of %q", test.is, out, got, test.want, test.accept)
		}
	}
}
