package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
)

func TestValidateKnown(t *testing.T) {
	c := New()
	c.Replace("s", []Tool{{Server: "s", Raw: "t", Input: json.RawMessage(`{
		"type": "object",
		"properties": {
			"path": {"type": "string", "pattern": "^/"},
			"n": {"type": "integer", "minimum": 1},
			"mode": {"enum": ["r", "w"]},
			"list": {"type": "array", "items": {"type": "string"}, "uniqueItems": true, "minItems": 2},
			"o": {"type": "object", "properties": {"k": {"type": "string"}, "l": {"type": "string"}}, "required": ["k"], "minProperties": 2},
			"either": {"oneOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]},
			"never": {"not": {"type": "object", "properties": {"x": {"const": 1}}}},
			"cond": {"if": {"type": "object", "properties": {"x": {"const": 1}}}, "then": {"required": ["y"]}},
			"fixed": {"const": {"x": 1}},
			"some": {"type": "array", "contains": {"const": 1}, "maxContains": 1},
			"needs": {"type": "object", "dependentRequired": {"x": ["y"]}, "maxProperties": 1},
			"tight": {"type": "object", "allOf": [{"properties": {"x": true}}], "unevaluatedProperties": false}
		},
		"required": ["path"], "additionalProperties": false
	}`)}})
	tool, err := c.Find("s__t")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, args    string
		unknown, open []string
		want          string // part of the error, "" for none
	}{
		{"nothing known", `null`, []string{""}, nil, ""},
		{"one unknown", `{"path":null,"n":2}`, []string{"/path"}, nil, ""},
		{"a known value beside it is wrong", `{"path":null,"n":"2"}`, []string{"/path"}, nil, "/n"},
		{"a known member that does not exist", `{"path":null,"pth":"x"}`, []string{"/path"}, nil, "/pth"},
		{"an unknown member that does not exist", `{"path":"/a","pth":null}`, []string{"/pth"}, nil, "/pth"},
		{"a required one is missing", `{"n":null}`, []string{"/n"}, nil, "/path"},
		{"unless a spread may bring it", `{"n":1}`, nil, []string{""}, ""},
		{"known beside a spread", `{"n":0}`, nil, []string{""}, "/n"},
		{"an unknown item", `{"path":"/a","list":["x",null]}`, []string{"/list/1"}, nil, ""},
		{"two unknown items are not equal", `{"path":"/a","list":[null,null]}`, []string{"/list/0", "/list/1"}, nil, ""},
		{"too few items", `{"path":"/a","list":[null]}`, []string{"/list/0"}, nil, "/list"},
		{"a wrong item", `{"path":"/a","list":[1,null]}`, []string{"/list/1"}, nil, "/list/0"},
		{"open inside", `{"path":"/a","o":{"l":"x"}}`, nil, []string{"/o"}, ""},
		{"known inside", `{"path":"/a","o":{"k":1}}`, nil, []string{"/o"}, "/o/k"},
		{"one form or the other", `{"path":"/a","either":{}}`, nil, []string{"/either"}, ""},
		{"both forms for now", `{"path":"/a","either":{"a":null,"b":null}}`, []string{"/either/a", "/either/b"}, nil, ""},
		{"neither form", `{"path":"/a","either":{"c":null}}`, []string{"/either/c"}, nil, "/either"},
		{"not", `{"path":"/a","never":{"x":null}}`, []string{"/never/x"}, nil, ""},
		{"if", `{"path":"/a","cond":{"x":null}}`, []string{"/cond/x"}, nil, ""},
		{"a constant", `{"path":"/a","fixed":{"x":null}}`, []string{"/fixed/x"}, nil, ""},
		{"an enumeration", `{"path":"/a","mode":"x","n":null}`, []string{"/n"}, nil, "/mode"},
		{"contains", `{"path":"/a","some":[null,null]}`, []string{"/some/0", "/some/1"}, nil, ""},
		{"what a member needs", `{"path":"/a","needs":{"x":null,"z":null}}`, []string{"/needs/x", "/needs/z"}, nil, ""},
		{"unevaluated", `{"path":"/a","tight":{"x":null}}`, []string{"/tight/x"}, nil, ""},
		{"everything known", `{"path":"a"}`, nil, nil, "/path"},
	} {
		err := tool.ValidateKnown(t.Context(), call.Unread(json.RawMessage(tt.args)), tt.unknown, tt.open)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want something about %s", tt.name, err, tt.want)
		}
	}
}
