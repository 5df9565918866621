package openapi

import (
	"strings"
	"testing"
)

const digested = `{"openapi":"3.0.3","paths":{
	"/other":{"get":{"operationId":"other","responses":{"default":{"$ref":"#/components/responses/R"}}}},
	"/a":{"parameters":[{"$ref":"#/components/parameters/P"}],
		"get":{"operationId":"a","x":{"$ref":"#/components/schemas/A"}}},
	"/c":{"get":{"operationId":"c","x":{"$ref":"#/components/schemas/C/properties/d"}}}},
	"components":{"schemas":{
		"A":{"p":[{"$ref":"#/components/schemas/B"},{"$ref":"#/components/schemas/L"}]},
		"B":{"b":{"$ref":"#/components/schemas/A"}},
		"C":{"properties":{"d":{"$ref":"#/paths/~1other/get/responses"}}},
		"L":{"leaf":1}},
	"responses":{"R":{"description":"R"}},"parameters":{"P":{"name":"q","in":"query"}}}}`

// digestOf is the digest of the operation with an id.
func digestOf(t *testing.T, text, id string) string {
	t.Helper()
	for _, o := range read(t, text).Operations {
		if o.ID == id {
			return o.Digest()
		}
	}
	t.Fatalf("there is no operation %q", id)
	return ""
}

func TestADigestChangesWithWhatTheOperationReaches(t *testing.T) {
	for _, c := range []struct {
		what, old, new string
		changes        string // ids
	}{
		{"the operation", `"operationId":"a"`, `"operationId":"a","deprecated":true`, "a"},
		{"its path", `"/a":`, `"/a2":`, "a"},
		{"its method", `"get":{"operationId":"a"`, `"put":{"operationId":"a"`, "a"},
		{"a type in a circle", `"B":{"b"`, `"B":{"new":1,"b"`, "a"},
		{"the end of a chain", `"leaf":1`, `"leaf":2`, "a"},
		{"the component of a parameter of the path", `"name":"q"`, `"name":"r"`, "a"},
		{"an operation that is referred to in a component", `"operationId":"other"`, `"operationId":"other","x":1`, "c"},
		{"what that reaches", `"description":"R"`, `"description":"S"`, "c"},
		{"a component that goes", `"L":{"leaf":1}`, `"M":{"leaf":1}`, "a"},
		{"another operation", `"/c":{`,
			`"/b":{"get":{"x":[{"$ref":"#/components/schemas/L"},{"$ref":"#/components/schemas/B"}]}},"/c":{`, ""},
		{"an operation before, so that a circle is entered elsewhere", `"paths":{`,
			`"paths":{"/0":{"get":{"x":{"$ref":"#/components/schemas/B"}}},`, ""},
		{"white space elsewhere", `"components":{`, `"components": {`, ""},
		{"the order of components", `"L":{"leaf":1}},`, `"L":{"leaf":1},"Z":{"$ref":"#/components/schemas/B"}},`, ""},
	} {
		now := strings.Replace(digested, c.old, c.new, 1)
		if now == digested {
			t.Fatalf("%s: nothing was replaced", c.what)
		}
		for _, id := range []string{"a", "c"} {
			changed := digestOf(t, digested, id) != digestOf(t, now, id)
			if changed != strings.Contains(c.changes, id) {
				t.Errorf("%s: the digest of %q changed: %v, want %v", c.what, id, changed, !changed)
			}
		}
	}
}

func TestComponentsAndWhatIsInThem(t *testing.T) {
	d := read(t, digested)
	for ref, want := range map[string]string{
		"#/components/schemas/L":                `{"leaf":1}`,
		"#/components/schemas/L/leaf":           `1`,
		"#/components/schemas/%4C":              `{"leaf":1}`,
		"#/paths/~1other/get/operationId":       `"other"`,
		"#/components/schemas/None":             "",
		"#/components/schemas/L/none":           "",
		"#/components":                          "",
		"#":                                     "",
		"other.json#/components/schemas/L":      "",
		"http://127.0.0.1/#/components/schemas": "",
	} {
		v, err := d.component(ref)
		if got := string(v.Source()); err == nil && got != want || err != nil && want != "" {
			t.Errorf("%s: %s, %v; want %q", ref, got, err, want)
		}
	}
}
