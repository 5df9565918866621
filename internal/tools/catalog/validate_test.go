package catalog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/tools/catalog"

	"github.com/codemode-project/codemode/call"
)

// tool makes a tool of its input schema.
func tool(t testing.TB, input string) *catalog.Tool {
	t.Helper()
	c := catalog.New()
	c.Replace("s", []catalog.Tool{{Raw: "t", Input: json.RawMessage(input)}})
	return c.Tools()[0]
}

const fileSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1},
		"head": {"type": "integer", "minimum": 1, "maximum": 100},
		"mode": {"enum": ["text", "bytes"]},
		"tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": true},
		"size": {"type": "object", "properties": {"w": {"type": "number"}, "h": {"type": "number"}}, "required": ["w", "h"], "additionalProperties": false},
		"id": {"type": ["integer", "string", "null"]},
		"a/b~c": {"type": "boolean"}
	},
	"required": ["path"], "additionalProperties": false
}`

const shapeSchema = `{
	"type": "object",
	"properties": {"shape": {"$ref": "#/$defs/shape"}},
	"$defs": {"shape": {"oneOf": [
		{"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number", "exclusiveMinimum": 0}}, "required": ["kind", "r"]},
		{"type": "object", "properties": {"kind": {"const": "group"}, "of": {"type": "array", "items": {"$ref": "#/$defs/shape"}}}, "required": ["kind", "of"]}
	]}}
}`

func TestTheFirstWrongPlaceIsNamed(t *testing.T) {
	for _, row := range []struct{ schema, args, path, want, got string }{
		{fileSchema, `{"path":"a"}`, "", "", ""},
		{fileSchema, `{"path":"a","head":3,"mode":"text","tags":["x"],"size":{"w":1,"h":2.5},"id":null,"a/b~c":true}`, "", "",
			""},
		{fileSchema, `{"path":1}`, "/path", "a string", "the number 1"},
		{fileSchema, `{}`, "/path", "a string", "nothing"},
		{fileSchema, `{"file":"a"}`, "/file", "no property of that name (there are a/b~c, head, id, mode, path, size, tags)",
			`the string "a"`},
		{fileSchema, `{"pth":"a"}`, "/pth", `no property of that name (did you mean "path"?)`, `the string "a"`},
		{fileSchema, `{"path":""}`, "/path", "a string of at least 1 characters", "one of 0"},
		{fileSchema, `{"path":"a","head":0}`, "/head", "a number of at least 1", "the number 0"},
		{fileSchema, `{"path":"a","head":1.5}`, "/head", "an integer, at least 1, at most 100", "the number 1.5"},
		{fileSchema, `{"path":"a","head":"3"}`, "/head", "an integer, at least 1, at most 100", `the string "3"`},
		{fileSchema, `{"path":"a","head":99999999999999999999999}`, "/head", "a number of at most 100",
			"the number 99999999999999999999999"},
		{fileSchema, `{"path":"a","head":1e400}`, "/head", "a number of at most 100", "the number 1e400"},
		{fileSchema, `{"path":"a","mode":"Text"}`, "/mode", `"text" or "bytes"`, `the string "Text"`},
		{fileSchema, `{"path":"a","tags":["x",2]}`, "/tags/1", "a string", "the number 2"},
		{fileSchema, `{"path":"a","tags":["x","y","z"]}`, "/tags", "at most 2 items", "an array of 3"},
		{fileSchema, `{"path":"a","tags":["x","x"]}`, "/tags/1", "items that differ", "the same as item 0"},
		{fileSchema, `{"path":"a","size":{"w":1}}`, "/size/h", "a number", "nothing"},
		{fileSchema, `{"path":"a","size":{"w":1,"h":2,"d":3}}`, "/size/d", "no property of that name", "the number 3"},
		{fileSchema, `{"path":"a","id":true}`, "/id", "an integer, a string or null", "true"},
		{fileSchema, `{"path":"a","a/b~c":1}`, "/a~1b~0c", "true or false", "the number 1"},
		{fileSchema, `{"path":"a","path":"b"}`, "", "one JSON object",
			"something that is no strict JSON: the same key twice in one object, at byte 12"},
		{fileSchema, `{"path":"a","size":{"w":1,"h":2,"w":3}}`, "", "one JSON object",
			"something that is no strict JSON: the same key twice in one object, at byte 32"},
		{fileSchema, `["a"]`, "", takesFile, "an array of 1"},
		{fileSchema, `"a"`, "", takesFile, `the string "a"`},
		{fileSchema, `null`, "/path", "a string", "nothing"},
		{fileSchema, `{"path":"a"} {}`, "", "one JSON object",
			"something that is no strict JSON: text after the end of the value, at byte 13"},
		{fileSchema, `{"path":"a"} nonsense`, "", "one JSON object",
			"something that is no strict JSON: text after the end of the value, at byte 13"},
		{shapeSchema, `{"shape":{"kind":"circle","r":2}}`, "", "", ""},
		{shapeSchema, `{"shape":{"kind":"group","of":[{"kind":"circle","r":1}]}}`, "", "", ""},
		{shapeSchema, `{"shape":{"kind":"circle","r":0}}`, "/shape/r", "a number of more than 0", "the number 0"},
		{shapeSchema, `{"shape":{"kind":"group","of":[{"kind":"circle","r":1},{"kind":"circle"}]}}`, "/shape/of/1/r",
			"a number, more than 0", "nothing"},
		{shapeSchema, `{"shape":"circle"}`, "/shape", "an object with kind, r or an object with kind, of",
			`the string "circle"`},
		{`{"type":"object","properties":{"n":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"n":1}`, "/n",
			"a string or null", "the number 1"},
		{`{"type":"object","properties":{"d":{"type":"string","pattern":"^[0-9]{4}$"}}}`, `{"d":"x"}`, "/d",
			`a string that matches "^[0-9]{4}$"`, `the string "x"`},
		{`{"type":"object","properties":{"n":{"multipleOf":0.1}}}`, `{"n":0.25}`, "/n", "a multiple of 0.1",
			"the number 0.25"},
		{`{"type":"object","properties":{"t":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}]}}}`,
			`{"t":["a","b"]}`, "/t/1", "a number", `the string "b"`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"t":{"type":"array","items":[{"type":"string"},{"type":"number"}]}}}`,
			`{"t":["a","b"]}`, "/t/1", "a number", `the string "b"`},
		{`{"type":"object","additionalProperties":{"type":"number"}}`, `{"a":1,"b":"x"}`, "/b", "a number", `the string "x"`},
		{`{"type":"object","patternProperties":{"^x_":{"type":"number"}},"additionalProperties":false}`, `{"x_a":"1"}`,
			"/x_a", "a number", `the string "1"`},
		{`{"type":"object","propertyNames":{"pattern":"^[a-z]+$"}}`, `{"A":1}`, "/A",
			`a key that is a string that matches "^[a-z]+$"`, `"A"`},
		{`{"type":"object","minProperties":1}`, `{}`, "", "at least 1 keys", "0"},
		{`{"type":"object","dependentRequired":{"a":["b"]}}`, `{"a":1}`, "/b", `a value, because there is "a"`, "nothing"},
		{`{"type":"object","not":{"required":["a"]}}`, `{"a":1}`, "", "anything but an object with a", "an object"},
		{`{"type":"object","if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "/b", "a value", "nothing"},
		{`{"type":"object","allOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1}`, "/b", "a value", "nothing"},
		{`{"type":"object","properties":{"a":{"const":{"x":[1,null]}}}}`, `{"a":{"x":[1.0,null]}}`, "", "", ""},
		{`{"type":"object","properties":{"big":{"const":9007199254740993}}}`, `{"big":9007199254740993}`, "", "", ""},
		{`{"type":"object","properties":{"big":{"const":9007199254740993}}}`, `{"big":9007199254740992}`, "/big",
			"9007199254740993", "the number 9007199254740992"},
		{`{"type":"object","dependentSchemas":{"a":{"properties":{"b":{"type":"string"}}}}}`, `{"a":1,"b":2}`, "/b",
			"a string", "the number 2"},
		{``, `{"anything":[1]}`, "", "", ""},
		{`true`, `{"anything":[1]}`, "", "", ""},
		{``, `[]`, "", "{ [key: string]: unknown }", "an array of 0"},
		{``, `"{\"a\":1}"`, "", "{ [key: string]: unknown }",
			"the text of an object: pass the object itself, without JSON.stringify and quotes"},
	} {
		err := tool(t, row.schema).Validate(t.Context(), call.Unread(json.RawMessage(row.args)))
		if row.want == "" {
			if err != nil {
				t.Errorf("%s: got %v, want it accepted", row.args, err)
			}
			continue
		}
		var e *catalog.ArgumentError
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, want an ArgumentError at %q", row.args, err, row.path)
			continue
		}
		exact := row.got != ""
		if e.Tool != "s__t" || e.Path != row.path || exact && (e.Want != row.want || e.Got != row.got) ||
			!strings.HasPrefix(e.Want, row.want) {
			t.Errorf("%s:\n got  %s | %s | %s\n want %s | %s | %s", row.args, e.Path, e.Want, e.Got, row.path, row.want, row.got)
		}
	}
}

func TestASchemaThatCannotBeUsedLeavesTheToolUsable(t *testing.T) {
	nested := func(open, close string, n int) string {
		return strings.Repeat(open, n) + "true" + strings.Repeat(close, n)
	}
	for _, row := range []struct{ name, schema, args, note, wrong string }{
		{"no JSON", `{"type":`, `{"a":1}`, "not JSON", ""},
		{"a string", `"object"`, `{"a":1}`, "neither an object", ""},
		{"nested too deep", nested(`{"not":`, `}`, 100), `{"a":1}`, "nested more than", ""},
		{"nested far too deep", nested(`{"not":`, `}`, 50000), `{"a":1}`, "not JSON", ""},
		{"too long", `{"type":"object","description":"` + strings.Repeat("x", 2<<20) + `"}`, `{"a":1}`, "bytes long", ""},
		{"a pattern of another syntax", `{"type":"object","properties":{"a":{"type":"string","pattern":"(?=x)y"}}}`,
			`{"a":"z"}`, "RE2", `{"a":1}`},
		{"a pattern for keys of another syntax",
			`{"type":"object","patternProperties":{"(?<!x)y":{"type":"string"}},"additionalProperties":false,"required":["a"]}`,
			`{"a":"z"}`, "RE2", `{"b":1}`},
		{"a reference to elsewhere",
			`{"type":"object","properties":{"a":{"$ref":"https://schemas.invalid/a.json"},"b":{"type":"string"}}}`, `{"a":1}`,
			"$ref", `{"b":1}`},
		{"a reference to a file", `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"},"b":{"type":"string"}}}`,
			`{"a":1}`, "$ref", `{"b":1}`},
		{"a reference to nothing", `{"type":"object","properties":{"a":{"$ref":"#/$defs/none"},"b":{"type":"string"}}}`,
			`{"a":1}`, "$ref", `{"b":1}`},
		{"an old version", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true}}}`,
			`{"a":1}`, "draft-04", `{"a":"x"}`},
		{"an unknown version", `{"$schema":"https://schemas.invalid/mine","type":"object","required":["a"]}`, `{"a":1}`,
			"mine", `{}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := catalog.New()
			problems := c.Replace("s", []catalog.Tool{{Raw: "t", Input: json.RawMessage(row.schema)}})
			if len(problems) != 1 || problems[0].Code != "bad_schema" || !strings.Contains(problems[0].Message, row.note) {
				t.Errorf("problems: got %v, want one about %q", problems, row.note)
			}
			tool := c.Tools()[0]
			if err := tool.Validate(t.Context(), call.Unread(json.RawMessage(row.args))); err != nil {
				t.Errorf("%s: got %v, want it accepted", row.args, err)
			}
			if err := tool.Validate(t.Context(), call.Unread(json.RawMessage(`[]`))); err == nil {
				t.Error("arguments that are no object are accepted")
			}
			if row.wrong != "" && tool.Validate(t.Context(), call.Unread(json.RawMessage(row.wrong))) == nil {
				t.Errorf("what can be checked is not checked: %s is accepted", row.wrong)
			}
			catalog.Declarations(c.Tools())
		})
	}
}

func TestHostileSchemasCostLittle(t *testing.T) {
	wide := `{"type":"object","properties":{"a":{"enum":[` + strings.Repeat(`"x",`, 50000) + `"y"]}}}`
	loop := `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"}]},"b":{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}}}}}`
	circle := `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"type":"object","properties":{"x":{"$ref":"#/$defs/a"}}}`
	doubling := `{"type":"object","properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{`
	for i := range 30 {
		next := string(rune('a' + i))
		if i > 0 {
			doubling += ","
		}
		_ = next
		doubling += `"d` + itoa(i) + `":{"allOf":[{"$ref":"#/$defs/d` + itoa(i+1) + `"},{"$ref":"#/$defs/d` + itoa(i+1) +
			`"}]}`
	}
	doubling += `,"d30":{"type":"string"}}}`
	redos := `{"type":"object","properties":{"x":{"type":"string","pattern":"^(a+)+$"}}}`
	for name, schema := range map[string]string{"wide": wide, "loop": loop, "redos": redos, "circle": circle} {
		tool := tool(t, schema)
		// either way: that it ends is the point
		_ = tool.Validate(t.Context(), call.Unread(json.RawMessage(`{"x":{"x":{"x":1}},"a":"z"}`)))
		_ = tool.Validate(t.Context(), call.Unread(json.RawMessage(`{"x":"`+strings.Repeat("a", 10000)+`!"}`)))
		if text := catalog.Declarations([]*catalog.Tool{tool}); len(text) > 100<<10 {
			t.Errorf("%s: %d bytes of declarations", name, len(text))
		}
	}
	if text := catalog.Declarations([]*catalog.Tool{{Server: "s", Name: "s__t",
		Input: json.RawMessage(doubling)}}); len(text) > 100<<10 {
		t.Errorf("doubling: %d bytes of declarations", len(text))
	}
}

func itoa(i int) string { return string(mustJSON(i)) }

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Whatever the schema and the arguments: nothing panics, and an error has a place.
func FuzzValidate(f *testing.F) {
	for _, s := range []string{fileSchema, shapeSchema} {
		f.Add(s, `{"path":"a","head":0,"shape":{"kind":"group","of":[1]}}`)
		f.Add(s, `{"shape":{"kind":"circle","r":-1}}`)
	}
	f.Fuzz(func(t *testing.T, schema, args string) {
		c := catalog.New()
		c.Replace("s", []catalog.Tool{{Raw: "t", Input: json.RawMessage(schema), Output: json.RawMessage(schema)}})
		tool := c.Tools()[0]
		var e *catalog.ArgumentError
		if err := tool.Validate(t.Context(), call.Unread(json.RawMessage(args))); err != nil &&
			(!errors.As(err, &e) || e.Want == "" || e.Got == "") {
			t.Errorf("an error without a place: %v", err)
		}
		if catalog.Declarations(c.Tools()) != catalog.Declarations([]*catalog.Tool{{Server: "s", Raw: "t", Name: tool.Name,
			Input: tool.Input, Output: tool.Output}}) {
			t.Error("the same tool gives different declarations")
		}
	})
}

// takesFile is what a tool with fileSchema takes, as errors show it.
const takesFile = `{ path: string; head?: number; mode?: "text" | "bytes"; tags?: string[]; ` +
	`size?: { w: number; h: number }; id?: number | string | null; "a/b~c"?: boolean }`

// Every place that does not match is named, with the names that are near, however deep.
func TestAllWrongPlacesAreNamed(t *testing.T) {
	schema := `{"type":"object","required":["to","subject"],"additionalProperties":false,"properties":{
		"to":{"type":"string"},"subject":{"type":"string"},"body":{"type":"string"},
		"lines":{"type":"array","items":{"type":"object","properties":{"articleNumber":{"type":"string"}},"additionalProperties":false}},
		"either":{"anyOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},{"type":"number"}]}}}`
	for _, row := range []struct {
		args string
		want []string
	}{
		{`{"To":"x","body":3}`, []string{"/body: expected a string, got the number 3", `/To: expected no property of that name (did you mean "to"?)`,
			"/subject: expected a string, got nothing", "/to: expected a string, got nothing",
			"it takes { to: string; subject: string; body?: string; lines?: { articleNumber?: string }[];"}},
		{`{"to":"x","subject":"y","lines":[{"article_number":"A"},{},{"articlenumber":1}]}`, []string{
			`/lines/0/article_number: expected no property of that name (did you mean "articleNumber"?)`,
			`/lines/2/articlenumber: expected no property of that name (did you mean "articleNumber"?)`}},
		{`{"to":1,"subject":2,"either":{"a":1}}`, []string{"/to:", "/subject:", "/either/a: expected a string"}},
		{`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1}`, []string{"/a:", "/h:"}},
	} {
		err := tool(t, schema).Validate(t.Context(), call.Unread(json.RawMessage(row.args)))
		for _, want := range row.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", row.args, err, want)
			}
		}
	}
}

// A null that stands for a property that is not given is left out, and no other.
func TestNullsOfOptionalPropertiesAreLeftOut(t *testing.T) {
	schema := `{"type":"object","required":["id"],"$defs":{"o":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":["string","null"]}}}},
		"properties":{"id":{"type":"integer"},"page":{"type":"integer"},"any":{},"either":{"type":["integer","null"]},"o":{"$ref":"#/$defs/o"},
		"list":{"type":"array","items":{"$ref":"#/$defs/o"}}}}`
	for _, row := range []struct{ args, want string }{
		{`{"id":1,"page":null}`, `{"id":1}`},
		{`{"id":null,"page":null}`, `{"id":null}`},
		{`{"id":1,"any":null,"either":null,"other":null}`, ""},
		{`{"id":1,"o":{"x":null,"y":null}}`, `{"id":1,"o":{"y":null}}`},
		{`{"id":1.50,"list":[{"x":null},null,{"x":"\u00e9 null"}]}`, `{"id":1.50,"list":[{},null,{"x":"\u00e9 null"}]}`},
		{`{"id":1,"o":{"x":"null"}}`, ""},
		{`{"page":null,"page":1}`, ""},
		{`null`, ""},
		{`[null]`, ""},
	} {
		got, changed := tool(t, schema).WithoutNulls(t.Context(), call.Unread(json.RawMessage(row.args)), nil)
		if changed != (row.want != "") || changed && string(got) != row.want {
			t.Errorf("%s: got %s, %v, want %s", row.args, got, changed, row.want)
		}
	}
	unread := call.Unread(json.RawMessage(`{"id":1,"page":null}`))
	if got, changed := tool(t, schema).WithoutNulls(t.Context(), unread, []string{"/page"}); changed {
		t.Errorf("what is not known yet was left out: %s", got)
	}
}
