package catalog_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/tools/catalog"
)

// samples are a value of each kind.
var samples = []string{`null`, `true`, `1`, `"x"`, `"y"`, `[]`, `{}`}

// accepted are the samples that the check of a tool accepts as its argument d.
func accepted(t *testing.T, tool *catalog.Tool) string {
	t.Helper()
	var out []string
	for _, s := range samples {
		if tool.Validate(t.Context(), call.Unread([]byte(`{"d":`+s+`}`))) == nil {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

var declaredD = regexp.MustCompile(`(?s)args\??: \{\s*(?:/\*\*.*?\*/\s*)?d(\??): (.*?);?\s*\}\)?: Promise`)

// declares are the samples of the type that the declaration gives d. It knows the types of this test.
func declares(t *testing.T, tool *catalog.Tool) string {
	t.Helper()
	all := catalog.Declarations([]*catalog.Tool{tool})
	text := "unknown"
	if m := declaredD.FindStringSubmatch(all); m != nil {
		text = m[2]
	}
	for range 5 { // named types
		for _, m := range regexp.MustCompile(`type (\w+) = (.*?);\n`).FindAllStringSubmatch(all, -1) {
			text = regexp.MustCompile(`\b`+m[1]+`\b`).ReplaceAllString(text, m[2])
		}
	}
	var out []string
	for _, s := range samples {
		if slices.ContainsFunc(strings.Split(text, " | "), func(one string) bool {
			switch {
			case one == "unknown", one == s:
				return true
			case one == "string":
				return s[0] == '"'
			case one == "number":
				return s == "1"
			case one == "boolean":
				return s == "true"
			case strings.HasSuffix(one, "[]"):
				return s == "[]"
			}
			return one[0] == '{' && s == "{}"
		}) {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

func odd(t *testing.T, input string) (*catalog.Tool, []catalog.Problem) {
	t.Helper()
	c := catalog.New()
	problems := c.Replace("s", []catalog.Tool{{Raw: "t", Input: json.RawMessage(input)}})
	return c.Tools()[0], problems
}

const everything = `null true 1 "x" "y" [] {}`

// TestOddSchemas: the check and the declaration read them alike; what no value can satisfy is not checked, and said once.
func TestOddSchemas(t *testing.T) {
	for _, row := range []struct{ d, want, noted string }{
		{`{"type": "date"}`, everything, `"date"`},
		{`{"type": "file"}`, everything, `"file"`},
		{`{"type": "any"}`, everything, ""},
		{`{"type": ""}`, everything, `""`},
		{`{"type": null}`, everything, "null"},
		{`{"type": {"a": 1}}`, everything, `{"a":1}`},
		{`{"type": []}`, everything, "[]"},
		{`{"type": ["string", "file"]}`, everything, `"file"`},
		{`{"type": "float"}`, `1`, ""},
		{`{"type": "int"}`, `1`, ""},
		{`{"type": "str"}`, `"x" "y"`, ""},
		{`{"type": "bool"}`, `true`, ""},
		{`{"type": "list"}`, `[]`, ""},
		{`{"type": "dict"}`, `{}`, ""},
		{`{"type": "String"}`, `"x" "y"`, ""},
		{`{"type": "STRING"}`, `"x" "y"`, ""},
		{`{"type": "ARRAY", "items": {"type": "OBJECT"}}`, `[]`, ""},
		{`{"type": ["string", "number", "None"]}`, `null 1 "x" "y"`, ""},
		{`{"type": ["string", null]}`, `null "x" "y"`, ""},
		{`{"type": "string", "enum": []}`, `"x" "y"`, "enum []"},
		{`{"type": "string", "enum": null}`, `"x" "y"`, ""},
		{`{"type": "string", "enum": {"x": "y"}}`, `"x" "y"`, "enum"},
		{`{"type": "number", "enum": ["x"]}`, `"x"`, `"number"`},
		{`{"type": "number", "const": "x"}`, `"x"`, `"number"`},
		{`{"type": "string", "nullable": true}`, `null "x" "y"`, ""},
		{`{"type": "string", "nullable": true, "enum": ["x"]}`, `null "x"`, ""},
		{`{"const": "x", "nullable": true}`, `null "x"`, ""},
		{`{"anyOf": [{"type": "string"}, {"type": "boolean"}], "nullable": true}`, `null true "x" "y"`, ""},
		{`{"oneOf": [{"type": "string"}, {"type": "boolean"}], "nullable": true}`, `null true "x" "y"`, ""},
		{`{"$ref": "#/$defs/S", "nullable": true}`, `null "x" "y"`, ""},
		{`{"type": "string", "default": null}`, `null "x" "y"`, ""},
		{`{"type": "integer", "enum": [1], "default": null}`, `null 1`, ""},
		{`{"type": "string", "nullable": false}`, `"x" "y"`, ""},
		{`"string"`, `"x" "y"`, ""},
		{`"the name of the thing"`, everything, ""},
		{`null`, everything, ""},
		{`7`, everything, "7"},
		{`true`, everything, ""},
		{`{"type": "string", "minLength": "1", "maxLength": "x"}`, `"x" "y"`, "maxLength"},
		{`{"type": "string", "minLength": 5, "maxLength": 2}`, `"x" "y"`, "minLength"},
		{`{"type": "string", "maxLength": -1}`, `"x" "y"`, "maxLength"},
		{`{"type": "integer", "format": "int64", "minimum": "0"}`, `1`, ""},
		{`{"type": "integer", "minimum": 5, "maximum": 2}`, `1`, "minimum"},
		{`{"type": "integer", "minimum": 1, "exclusiveMaximum": 1}`, `1`, "minimum"},
		{`{"type": "integer", "minimum": 0, "exclusiveMinimum": true}`, `1`, ""},
		{`{"type": "integer", "minimum": 0, "exclusiveMinimum": false}`, `1`, ""},
		{`{"type": "integer", "multipleOf": 0}`, `1`, "multipleOf"},
		{`{"type": "string", "pattern": "(?<=a)["}`, `"x" "y"`, "pattern"},
		{`{"type": "object", "properties": []}`, `{}`, ""},
		{`{"type": "object", "properties": "x"}`, `{}`, "properties"},
		{`{"type": "object", "required": "ghost", "additionalProperties": false}`, `{}`, "ghost"},
		{`{"type": "object", "required": true}`, `{}`, ""},
		{`{"required": true}`, everything, ""},
		{`{"type": "object", "required": {"a": 1}}`, `{}`, "required"},
		{`{"type": "object", "additionalProperties": null}`, `{}`, ""},
		{`{"type": "object", "additionalProperties": "false"}`, `{}`, ""},
		{`{"type": "object", "additionalProperties": ["x"]}`, `{}`, "additionalProperties"},
		{`{"type": "array", "items": "string"}`, `[]`, ""},
		{`{"type": "array", "items": null}`, `[]`, ""},
		{`{"oneOf": [{"type": "string"}, {"type": "string", "format": "uri"}]}`, `"x" "y"`, ""},
		{`{"anyOf": {"type": "string"}}`, everything, "anyOf"},
		{`{"$ref": "#/nowhere"}`, everything, "nowhere"},
		{`{"$ref": "#/components/schemas/X", "type": "string"}`, `"x" "y"`, "components"},
		{`{"$ref": "https://example.com/s.json"}`, everything, "example.com"},
		{`{"$ref": "#/properties/d"}`, everything, "refers to itself"},
		{`{"$ref": "#/$defs/A"}`, everything, "refers to itself"},
		{`{"allOf": [{"$ref": "#/properties/d"}]}`, everything, "refers to itself"},
		{`{"$ref": "#/$defs/S", "description": "x", "default": "y"}`, `"x" "y"`, ""},
		{`{"$ref": "#/$defs/a~1b"}`, `"x" "y"`, ""},
		{`{"$ref": "#/$defs/Foo%5BBar%5D"}`, `"x" "y"`, ""},
		{`{"$ref": "#/$defs/Foo[Bar]"}`, `"x" "y"`, ""},
	} {
		circle := ""
		if strings.Contains(row.d, "$defs/A") {
			circle = `, "A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}`
		}
		tool, problems := odd(t, `{"type": "object", "properties": {"d": `+row.d+`}, "$defs": {"S": {"type": "string"},
			"a/b": {"type": "string"}, "Foo[Bar]": {"type": "STRING"}`+circle+`}}`)
		got := accepted(t, tool)
		if got != row.want {
			t.Errorf("%s: the check accepts %s, want %s", row.d, got, row.want)
		}
		if said := declares(t, tool); said != row.want {
			t.Errorf("%s: declared are %s, want %s\n%s", row.d, said, row.want, tool.Signature())
		}
		if said := fmt.Sprint(problems); len(problems) > 1 || (len(problems) == 1) != (row.noted != "") ||
			!strings.Contains(said, row.noted) {
			t.Errorf("%s: got the problems %v", row.d, problems)
		}
	}
	for _, row := range []struct{ input, arguments string }{
		{`{"type": "STRING"}`, `{"a": 1}`},
		{`{"type": "OBJECT", "properties": {"d": {"type": "STRING"}}}`, `{"d": "x"}`},
		{`{"d": {"type": "string"}}`, `{"d": "x"}`},
		{`{"jsonSchema": {"type": "object", "properties": {"d": {"type": "string"}}}}`, `{"d": "x"}`},
		{`{"type": "object", "properties": {"d": {"type": "string"}}, "required": ["d", "ghost"],
			"additionalProperties": false}`, `{"d": "x"}`},
		{`{"type": "object", "properties": {"d": false}, "required": ["d"]}`, `{"d": "x"}`},
		{`{"type": "object", "minProperties": 3, "maxProperties": 1}`, `{}`},
	} {
		tool, _ := odd(t, row.input)
		if err := tool.Validate(t.Context(), call.Unread([]byte(row.arguments))); err != nil {
			t.Errorf("%s refuses %s: %v", row.input, row.arguments, err)
		}
		if strings.Contains(row.arguments, `"d"`) && !strings.Contains(row.input, "false}, ") &&
			!strings.Contains(tool.Signature(), "string") {
			t.Errorf("%s is declared as %s", row.input, tool.Signature())
		}
	}
}

// TestTheCheckAndTheDeclarationAgree: of schemas of odd parts, both accept the same values.
func TestTheCheckAndTheDeclarationAgree(t *testing.T) {
	m := rand.New(rand.NewPCG(7, 7))
	pick := func(all ...string) string { return all[m.IntN(len(all))] }
	types := []string{`"string"`, `"STRING"`, `"int"`, `"number"`, `"bool"`, `"date"`, `"any"`, `""`, `null`, `["str", "null"]`,
		`["array", "file"]`, `"list"`, `"dict"`, `"None"`, `{"a": 1}`, `[]`}
	var schema func(depth int) string
	schema = func(depth int) string {
		var parts []string
		for range m.IntN(4) {
			parts = append(parts, pick(`"nullable": true`, `"default": null`, `"description": "x"`, `"enum": []`,
				`"enum": ["x"]`, `"enum": ["x", 1]`, `"enum": null`, `"const": "x"`, `"required": true`, `"additionalProperties": null`,
				`"minLength": "0"`, `"properties": []`, `"optional": true`, `"maximum": "x"`, `"exclusiveMinimum": false`))
		}
		if m.IntN(4) > 0 {
			parts = append(parts, `"type": `+pick(types...))
		} else if depth < 2 {
			parts = []string{fmt.Sprintf(`"anyOf": [%s, %s]`, schema(depth+1), schema(depth+1))}
			if m.IntN(2) == 0 {
				parts = append(parts, `"nullable": true`)
			}
		}
		keys := map[string]bool{} // each once
		parts = slices.DeleteFunc(parts, func(p string) bool {
			key, _, _ := strings.Cut(p, ":")
			twice := keys[key]
			keys[key] = true
			return twice
		})
		return "{" + strings.Join(parts, ", ") + "}"
	}
	for range 3000 {
		d := schema(0)
		tool, _ := odd(t, `{"type": "object", "properties": {"d": `+d+`}}`)
		checked, declared := accepted(t, tool), declares(t, tool)
		if checked == "" {
			t.Fatalf("%s accepts nothing, and is declared as %s", d, tool.Signature())
		}
		if checked != declared {
			t.Fatalf("%s: the check accepts %s, declared are %s\n%s", d, checked, declared, tool.Signature())
		}
	}
}
