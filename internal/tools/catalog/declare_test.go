package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
)

// oddSchemas are inputs with the type that they shall become.
var oddSchemas = []struct{ name, schema, args string }{
	{"nothing is said", `{}`, `args?: { [key: string]: unknown }`},
	{"any object", `{"type":"object"}`, `args?: { [key: string]: unknown }`},
	{"no arguments", `{"type":"object","properties":{},"additionalProperties":false}`, `args?: {}`},
	{"true", `true`, `args?: { [key: string]: unknown }`},
	{"no JSON", `{`, `args?: { [key: string]: unknown }`},
	{"required and optional in the order they are written",
		`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"number"}},"required":["a"]}`,
		`args: { z?: string; a: number }`},
	{"all optional", `{"type":"object","properties":{"z":{"type":"string"}}}`, `args?: { z?: string }`},
	{"required but not described", `{"type":"object","required":["x"]}`, `args: { x: unknown }`},
	{"names that need quotes",
		`{"type":"object","properties":{"a-b":{"type":"string"},"1":{"type":"string"},"":{"type":"string"},"class":{"type":"string"},"ü":{"type":"null"}}}`,
		`args?: { "a-b"?: string; "1"?: string; ""?: string; class?: string; "ü"?: null }`},
	{"enum and const", `{"type":"object","properties":{"a":{"enum":["x","y\"z",1,null,true]},"b":{"const":"only"},"c":{"const":-1.50}}}`,
		`args?: { a?: "x" | "y\"z" | 1 | true | null; b?: "only"; c?: -1.50 }`},
	{"enum of objects", `{"type":"object","properties":{"a":{"enum":[{"k":[1,"x"]},[]]}}}`,
		`args?: { a?: { k: [1, "x"] } | [] }`},
	{"several types", `{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["integer","number"]}}}`,
		`args?: { a?: string | null; b?: number }`},
	{"nullable", `{"type":"object","properties":{"a":{"type":"string","nullable":true},"b":{"enum":["x"],"nullable":true}}}`, `args?: { a?: string | null; b?: "x" | null }`},
	{"anyOf and oneOf", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"oneOf":[{"type":"number"},{"type":"array","items":{"type":"number"}}]}}}`,
		`args?: { a?: string | null; b?: number | number[] }`},
	{"a union in an array", `{"type":"object","properties":{"a":{"type":"array","items":{"type":["string","number"]}}}}`,
		`args?: { a?: (string | number)[] }`},
	{"a union of described objects in an array",
		`{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"type":"object","properties":{"b":{"const":1,"description":"an odd \" and a {"}}},{"type":"null"}]}}}}`,
		"args?: {\n    a?: ({\n      /** an odd \" and a { */\n      b?: 1;\n    } | null)[];\n  }"},
	{"a string with a bar in an array", `{"type":"object","properties":{"a":{"type":"array","items":{"const":"x | y"}}}}`,
		`args?: { a?: "x | y"[] }`},
	{"allOf", `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}}}]}`,
		`args: { [key: string]: unknown } & { a: string } & { b?: string }`},
	{"anyOf beside properties",
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		`args: { a?: string; b?: string }`},
	{"tuples of both drafts", `{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"number"}]},"b":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"null"}}}}`,
		`args?: { a?: [string, number]; b?: [string, ...null[]] }`},
	{"maps", `{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}`,
		`args?: { [key: string]: string[] }`},
	{"maps with known keys", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"number"}}`, `args?: { a?: string } & { [key: string]: number }`},
	{"keys by pattern", `{"type":"object","patternProperties":{"^x":{"type":"string"},"^y":{"type":"number"}},"additionalProperties":false}`, `args?: { [key: string]: string | number }`},
	{"types that are not said",
		`{"properties":{"a":{"properties":{"b":{"items":{"minLength":1}}}},"c":{"items":{"minimum":1}}}}`,
		`args?: { a?: { b?: string[] }; c?: number[] }`},
	{"false and true inside", `{"type":"object","properties":{"a":true,"b":false}}`, `args?: { a?: unknown; b?: never }`},
	{"references to elsewhere",
		`{"type":"object","properties":{"a":{"$ref":"https://schemas.invalid/x"},"b":{"$ref":"#/$defs/none"}}}`,
		`args?: { a?: unknown; b?: unknown }`},
	{"unknown types", `{"type":"object","properties":{"a":{"type":"file"},"b":{"type":7}}}`,
		`args?: { a?: unknown; b?: unknown }`},
	{"a very long enum", `{"type":"object","properties":{"a":{"enum":[` + strings.TrimSuffix(strings.Repeat(`"x",1,`, 90),
		",") + `]}}}`, `args?: { a?: "x" | 1 | string | number }`},
}

func TestTypesOfSchemas(t *testing.T) {
	all := []string{}
	for i, row := range oddSchemas {
		c := catalog.New()
		c.Replace("s", []catalog.Tool{{Raw: fmt.Sprintf("t%d", i), Input: json.RawMessage(row.schema)}})
		tool := c.Tools()[0]
		want := fmt.Sprintf("s__t%d(%s): Promise<string | object | Block[]>;", i, row.args)
		if got := tool.Signature(); got != want {
			t.Errorf("%s:\n got  %s\n want %s", row.name, got, want)
		}
		all = append(all, fmt.Sprintf("t%d.d.ts", i), strings.ReplaceAll(catalog.Declarations(c.Tools()),
			"declare const codemode: Codemode;", ""))
	}
	compiles(t, all...)
}

func TestTypesThatReferToThemselves(t *testing.T) {
	c := catalog.New()
	c.Replace("1s", []catalog.Tool{
		{Raw: "tree", Input: json.RawMessage(`{"type":"object","properties":{"root":{"$ref":"#/$defs/node"}},"required":["root"],
			"$defs":{"node":{"description":"One node.","type":"object","properties":{"value":{"$ref":"#/$defs/value"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["value"]},
			"value":{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/$defs/value"}}]}}}`)},
		{Raw: "self", Input: json.RawMessage(`{"type":"object","properties":{"next":{"$ref":"#"}}}`),
			Output: json.RawMessage(`{"type":"object","properties":{"next":{"$ref":"#"}}}`)},
		{Raw: "circle", Input: json.RawMessage(`{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"string"}]}}}`)},
		{Raw: "map", Input: json.RawMessage(`{"type":"object","properties":{"m":{"$ref":"#/definitions/m"}},"definitions":{"m":{"type":"object","additionalProperties":{"$ref":"#/definitions/m"}}}}`)},
		{Raw: "deep", Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}},"c":{"$ref":"#/properties/a/properties/b"},"d":{"$ref":"#x"}},"$defs":{"e":{"$anchor":"x","type":"number"}}}`)},
	})
	want := `/** A tool without an output schema gives its text, parsed if that is a JSON object or array; else its content blocks. */
interface Block { type: string; text?: string }

type _1s__circle_a = unknown;

type _1s__deep_b = string;

type _1s__deep_x = number;

type _1s__map_m = { [key: string]: _1s__map_m };

type _1s__self_args = { next?: _1s__self_args };

type _1s__self_result = { next?: _1s__self_result };

/** One node. */
type _1s__tree_node = { value: _1s__tree_value; children?: _1s__tree_node[] };

type _1s__tree_value = string | _1s__tree_value[];

interface Codemode {
  // 1s
  "1s__circle"(args?: { x?: _1s__circle_a }): Promise<string | object | Block[]>;
  "1s__deep"(args?: { a?: { b?: string }; c?: _1s__deep_b; d?: _1s__deep_x }): Promise<string | object | Block[]>;
  "1s__map"(args?: { m?: _1s__map_m }): Promise<string | object | Block[]>;
  "1s__self"(args?: { next?: _1s__self_args }): Promise<{ next?: _1s__self_result }>;
  "1s__tree"(args: { root: _1s__tree_node }): Promise<string | object | Block[]>;
}

declare const codemode: Codemode;
`
	got := catalog.Declarations(c.Tools())
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("declarations (-want +got):\n%s", d)
	}
	compiles(t, "all.d.ts", got)
}

func TestCommentsCannotBeLeft(t *testing.T) {
	c := catalog.New()
	c.Replace("s", []catalog.Tool{{
		Raw:         "t",
		Description: "Ends here */ evil(); /* and \u202eturns\u202c around.\r\nSecond\u2028line\x1b[31m\x00 **/ é 漢",
		Input:       json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","description":"one */ two\nthree","minimum":1,"default":3}}}`),
	}, {Raw: "u", Title: "Only a title"}})
	want := `/** A tool without an output schema gives its text, parsed if that is a JSON object or array; else its content blocks. */
interface Block { type: string; text?: string }

interface Codemode {
  // s
  /**
   * Ends here *\/ evil(); /* and \u{202E}turns\u{202C} around.
   * Second\u{2028}line\u{1B}[31m\u{0} **\/ é 漢
   */
  s__t(args?: {
    /**
     * one *\/ two
     * three (integer, >= 1, default 3)
     */
    a?: number;
  }): Promise<string | object | Block[]>;
  /** Only a title */
  s__u(args?: { [key: string]: unknown }): Promise<string | object | Block[]>;
}

declare const codemode: Codemode;
`
	got := catalog.Declarations(c.Tools())
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("declarations (-want +got):\n%s", d)
	}
	compiles(t, "all.d.ts", got)
}

func TestDeclarationsAreDeterministic(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	text := catalog.Declarations(realCatalog(t).Tools())
	for range 5 {
		if catalog.Declarations(realCatalog(t).Tools()) != text {
			t.Fatal("another time, other bytes")
		}
	}
	if got := catalog.Declarations(nil); got != "interface Codemode {\n}\n\ndeclare const codemode: Codemode;\n" {
		t.Errorf("no tools: %q", got)
	}
}

// example makes a value that fits the schema: as little as possible, or all of it.
func example(root, schema any, all bool, depth int) any {
	s, ok := schema.(map[string]any)
	if !ok || depth > 6 {
		return "x"
	}
	if ref, ok := s["$ref"].(string); ok {
		at := root
		for _, part := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			at = at.(map[string]any)[part]
		}
		return example(root, at, all, depth+1)
	}
	if c, ok := s["const"]; ok {
		return c
	}
	if enum, ok := s["enum"].([]any); ok {
		return enum[len(enum)-1]
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok && s["properties"] == nil {
			return example(root, list[0], all, depth+1)
		}
	}
	if d, ok := s["default"]; ok {
		return d
	}
	kind, _ := s["type"].(string)
	if list, ok := s["type"].([]any); ok {
		kind, _ = list[0].(string)
	}
	switch kind {
	case "object", "":
		out := map[string]any{}
		properties, _ := s["properties"].(map[string]any)
		required, _ := json.Marshal(s["required"])
		for k, sub := range properties {
			if name, _ := json.Marshal(k); all && depth < 4 || strings.Contains(string(required), string(name)) {
				out[k] = example(root, sub, all, depth+1)
			}
		}
		return out
	case "array":
		if all || s["minItems"] != nil {
			return []any{example(root, s["items"], all, depth+1)}
		}
		return []any{}
	case "integer", "number":
		if n, ok := s["minimum"].(float64); ok {
			return n
		}
		if n, ok := s["exclusiveMinimum"].(float64); ok {
			return n + 1
		}
		return 1
	case "boolean":
		return true
	case "null":
		return nil
	}
	return "2026-11-20T00:00:00Z"
}

// TestExamplesFitOnBothSides makes arguments of the real schemas: what our
// check accepts, the compiler must accept too.
func TestExamplesFitOnBothSides(t *testing.T) {
	c := realCatalog(t)
	var program strings.Builder
	for _, tool := range c.Tools() {
		var schema any
		checktest.OK(t, json.Unmarshal(tool.Input, &schema))
		for _, all := range []bool{false, true} {
			args, err := json.Marshal(example(schema, schema, all, 0))
			checktest.OK(t, err)
			if err := tool.Validate(t.Context(), call.Unread(args)); err != nil {
				if !strings.Contains(err.Error(), "matches") { // a pattern is too much to ask of the examples
					t.Errorf("%s does not fit: %v", args, err)
				}
				continue
			}
			fmt.Fprintf(&program, "codemode.%s(%s);\n", tool.Name, args)
		}
	}
	compiles(t, "codemode.d.ts", catalog.Declarations(c.Tools()), "use.ts", program.String())
}
