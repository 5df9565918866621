package builtin

import (
	"context"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/jsonschema"
)

type level string

func (level) JSONSchema() string { return `{"type": "string", "enum": ["low", "high"]}` }

type color int

func (c color) MarshalText() ([]byte, error)     { return []byte("red"), nil }
func (c *color) UnmarshalText(text []byte) error { return nil }

type anything struct{ x int }

func (a anything) MarshalJSON() ([]byte, error) { return json.Marshal(a.x) }

type base struct {
	ID int64 `json:"id" jsonschema:"the number of the order"`
}

type tree struct {
	Kids []tree `json:"kids"`
}

type broken struct{}

func (broken) JSONSchema() string { return `{"type": ` }

type silent struct{}

func (silent) JSONSchema() string { return "" }

// everything is one of each type that a service would use.
type everything struct {
	base
	Text   string            `json:"text" jsonschema:"what it says"`
	Small  uint8             `json:"small"`
	Flag   *bool             `json:"flag,omitempty"`
	At     time.Time         `json:"at"`
	Later  *time.Time        `json:"later,omitzero"`
	Raw    json.RawMessage   `json:"raw"`
	Maybe  *json.RawMessage  `json:"maybe,omitempty"`
	Level  level             `json:"level" jsonschema:"how urgent"`
	Levels []level           `json:"levels"`
	Soon   *level            `json:"soon"`
	Color  color             `json:"color"`
	Hue    *color            `json:"hue"`
	Data   []byte            `json:"data"`
	Lines  []base            `json:"lines"`
	Perhap *[]string         `json:"perhap"`
	Tags   map[string]string `json:"tags"`
	Any    any               `json:"any"`
	Big    *big.Int          `json:"big"`
	Count  json.Number       `json:"count"`
	Made   anything          `json:"made"`
	//lint:ignore U1000 neither in the schema nor in the JSON
	secret string
	Hidden string `json:"-"`
}

// The TypeScript of a schema shows what a program may pass and gets.
func TestSchemas(t *testing.T) {
	t.Parallel()
	f := NewFunction("all", "", func(context.Context, everything) (everything, error) { return everything{}, nil })
	if f.err != nil {
		t.Fatal(f.err)
	}
	_, _, line := jsonschema.Declare("all", f.tool.Input, f.tool.Output, "", 64<<10)
	const want = `  all(args: {
    /** the number of the order (integer) */
    id: number;
    /** what it says */
    text: string;
    /** integer, >= 0, <= 255 */
    small: number;
    flag?: boolean | null;
    /** date-time */
    at: string;
    /** date-time */
    later?: string | null;
    raw: unknown;
    maybe?: unknown;
    /** how urgent */
    level: "low" | "high";
    levels: ("low" | "high")[];
    soon: "low" | "high" | null;
    color: string;
    hue: string | null;
    data: string;
    lines: {
      /** the number of the order (integer) */
      id: number;
    }[];
    perhap: string[] | null;
    tags: { [key: string]: string };
    any: unknown;
    big: number | null;
    count: number;
    made: unknown;
  }): Promise<`
	if !strings.HasPrefix(line, want) {
		t.Errorf("the declaration is\n%s\nwant\n%s", line, want)
	}
}

// A service learns at its start what a type lacks, and how to mend it.
func TestWhatHasNoSchema(t *testing.T) {
	t.Parallel()
	type none = struct{}
	for _, row := range []struct {
		why  string
		f    Function
		want string
	}{
		{"arguments that are no object",
			NewFunction("f", "", func(context.Context, string) (none, error) { return none{}, nil }),
			`the function "f": its arguments are a string, and programs call a tool with one object: use a struct`},
		{"a channel", NewFunction("f", "", func(context.Context, struct{ C chan int }) (none, error) { return none{}, nil }),
			`type chan int is unsupported by jsonschema; give the type a method JSONSchema() string, or use another one`},
		{"a function in a result", NewFunction("f", "", func(context.Context, none) ([]func(), error) { return nil, nil }),
			`its result has no schema: ForType(func()): type func() is unsupported`},
		{"a type within itself", NewFunction("f", "", func(context.Context, tree) (none, error) { return none{}, nil }),
			`cycle detected for type builtin.tree; give the type a method JSONSchema() string, or use another one`},
		{"a number as a string", NewFunction("f", "", func(context.Context, struct {
			N int `json:"n,string"`
		}) (none, error) {
			return none{}, nil
		}), `.N: the option "string" of its tag is not supported: use another type`},
		{"an embedded field with a name", NewFunction("f", "", func(context.Context, struct {
			base `json:"base"`
		}) (none, error) {
			return none{}, nil
		}), `.base: it is embedded and has a name in JSON: give the field a name in Go too`},
		{"an embedded text",
			NewFunction("f", "", func(context.Context, struct{ level }) (none, error) { return none{}, nil }),
			`its arguments are a struct`},
		{"two fields of one name", NewFunction("f", "", func(context.Context, struct {
			In []struct {
				A int `json:"B"`
				B int
			}
		}) (none, error) {
			return none{}, nil
		}), `Go struct fields A and B conflict over JSON object name "B"`},
		{"an interface in arguments", NewFunction("f", "", func(context.Context, struct{ R error }) (none, error) {
			return none{}, nil
		}), `.R: no JSON says which type is meant by the interface error`},
		{"a schema that is no JSON",
			NewFunction("f", "", func(context.Context, none) (broken, error) { return broken{}, nil }),
			`the method JSONSchema of builtin.broken gives no schema: unexpected end of JSON input`},
		{"an empty schema", NewFunction("f", "", func(context.Context, none) (silent, error) { return silent{}, nil }),
			`the method JSONSchema of builtin.silent gives no schema`},
		{"no function", NewFunction[none, none]("f", "", nil), `the function "f": it is nil`},
		{"no name", NewFunction("", "", func(context.Context, none) (none, error) { return none{}, nil }), `it needs a name`},
		{"a name with a space", NewFunction("a b", "", func(context.Context, none) (none, error) { return none{}, nil }),
			`its name must have only letters, digits and _-. of ASCII`},
		{"two hints of one kind", NewFunction("f", "", func(context.Context, none) (none, error) { return none{}, nil },
			Destructive, Additive), `two hints say "destructiveHint": remove one`},
		{"a hint that is no JSON", NewFunction("f", "", func(context.Context, none) (none, error) { return none{}, nil },
			Hint("readOnlyHint")), `the hint "readOnlyHint" is no member of a JSON object`},
		{"an empty function", Function{}, `the server "s": a function is empty: make it with Func`},
	} {
		t.Run(row.why, func(t *testing.T) {
			if _, err := OfFunctions("s", "", []Function{row.f}); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("the error is %v\nwant %s", err, row.want)
			}
		})
	}
}

func TestNamesOfServers(t *testing.T) {
	t.Parallel()
	type none = struct{}
	f := func(name string) Function {
		return NewFunction(name, "", func(context.Context, none) (none, error) { return none{}, nil })
	}
	for _, row := range []struct {
		server string
		all    []Function
		want   string // "" for no error
	}{
		{"shop", []Function{f("a"), f("b")}, ""},
		{"my-shop", []Function{f("a.b")}, ""},
		{"", []Function{f("a")}, "the server has no name: give it a name"},
		{"a__b", []Function{f("a")}, `"__" separates the server from the tool`},
		{"a_", []Function{f("a")}, `remove the "_" at the end`},
		{strings.Repeat("a", 65), []Function{f("a")}, "longer than 64 bytes: choose a shorter one"},
		{"shop", nil, `the server "shop" has no functions`},
		{"shop", []Function{f("a.b"), f("a-b")},
			`the server "shop": the functions "a.b" and "a-b" have the same name for programs: rename one of them`},
	} {
		switch _, err := OfFunctions(row.server, "", row.all); {
		case row.want == "" && err != nil:
			t.Errorf("%s: %v", row.server, err)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("%s: the error is %v, want %s", row.server, err, row.want)
		}
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	f := NewFunction("f", "what it does", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil },
		ReadOnly, ClosedWorld, Title(`The "F"`))
	const want = `{"openWorldHint":false,"readOnlyHint":true,"title":"The \"F\""}`
	if got := string(f.tool.Annotations); got != want {
		t.Errorf("the annotations are %s, want %s", got, want)
	}
	if f.tool.Title != `The "F"` || f.tool.Description != "what it does" {
		t.Errorf("the title is %q, the description %q", f.tool.Title, f.tool.Description)
	}
}
