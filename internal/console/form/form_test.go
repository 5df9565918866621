package form

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// sketch writes fields as one line each.
func sketch(fields []*Field) string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%s %s", f.Pointer, f.Kind)
		for _, x := range []struct {
			is   bool
			word string
		}{{f.Required, "required"}, {f.Null, "null"}, {f.Whole, "whole"}} {
			if x.is {
				b.WriteString(" " + x.word)
			}
		}
		for _, o := range f.Options {
			b.WriteString(" " + o.Value)
		}
		if f.Item != nil {
			b.WriteString(" of " + f.Item.Kind)
		}
		if f.About != "" {
			b.WriteString(": " + f.About)
		}
		b.WriteString("\n" + sketch(f.Fields))
	}
	return b.String()
}

// The form has a field for each property that the schema describes, in its order, and its texts show all they hold.
func TestTheFormFollowsTheSchema(t *testing.T) {
	const want = `/title text required: What it is\u{202E} called · longest: 20
/body text
/amount object required: What it costs
/amount/value number required: at least 0
/amount/currency choice "EUR" "USD"
/draft choice true false
/priority choice "low" "high" 3
/labels list of text
/milestone number null whole
/kind choice "bug" "idea"
/parent text null
/when object
/when/day text: format date
/a~1b~0c number
/extra other
/either other
/rows other
/tree other
`
	issueSchema, err := os.ReadFile("testdata/issue.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := sketch(Fields(issueSchema)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, none := range []string{``, `true`, `{}`, `[]`, `{"type":"object"}`, `{"properties":7}`, `{"$ref":"#"}`,
		`{"$ref":"https://elsewhere.test/s"}`, `{"properties":`} {
		if got := Fields(json.RawMessage(none)); len(got) != 0 {
			t.Errorf("%s makes %s", none, sketch(got))
		}
	}
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf(`"p%d": {"type": ["string"], "required": true, "properties": {"a": {"$ref": "#"}}}`,
			i))
	}
	if got := Fields(json.RawMessage(`{"properties": {` + strings.Join(many, ",") + `}}`)); len(got) > maxFields {
		t.Errorf("%d fields", len(got))
	}
}

// A reference that is not a JSON Pointer, such as an anchor, leads nowhere.
func TestReferencesAreJSONPointers(t *testing.T) {
	const schema = `{"properties": {"a": {"$ref": "#money"}, "b": {"$ref": "#/$defs/mo~ney"}}, "$defs": {"mo~ney": {"type": "string"}}}`
	if got, want := sketch(Fields(json.RawMessage(schema))), "/a other\n/b other\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
