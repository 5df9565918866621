package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/tools/catalog"

	"github.com/codemode-project/codemode/call"
)

// FuzzSchemas gives schemas and values from strangers to everything that reads
// them. Nothing may panic, take long, or write what ends a comment or a line early.
func FuzzSchemas(f *testing.F) {
	for _, row := range oddSchemas {
		f.Add([]byte(row.schema), []byte(`{"a":[1,null,{"b":"x"}]}`))
	}
	for _, schema := range []string{
		`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`,
		`{"properties":{"*/":{"description":"*/ evil(); /*","enum":["*/\u2028","\ud800"]}}}`,
		`{"type":"array","items":[{"$ref":"#/items/0"}]}`,
	} {
		f.Add([]byte(schema), []byte(`{"*/":1,"a b":{"c d":[]}}`))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		defer time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("it takes too long: %q, %q", schema, value)) }).Stop()
		c := catalog.New()
		c.Replace("s", []catalog.Tool{{Raw: "in", Input: schema, Output: schema, Description: string(value)},
			{Raw: "learns", Title: string(schema)}})
		for _, tool := range c.Tools() {
			_ = tool.Validate(t.Context(), call.Unread(value))
			_ = tool.ValidateResult(t.Context(), value)
			_ = tool.Signature()
		}
		if tool, err := c.Find("s__learns"); err == nil {
			c.Learn(tool.Name, tool.Digest, value)
		}
		c.Search(string(value), 3, nil)
		text := catalog.Declarations(c.Tools())
		if again := catalog.Declarations(c.Tools()); again != text {
			t.Error("declared twice, and not the same")
		}
		if len(text) > 1<<20 {
			t.Errorf("%d bytes of declarations", len(text))
		}
		if !utf8.ValidString(text) && utf8.Valid(schema) && utf8.Valid(value) && json.Valid(schema) {
			t.Errorf("no UTF-8: %q", text)
		}
		if at := brokenAt(text); at != "" {
			t.Errorf("a comment or a string ends early, at %q:\n%s", at, text)
		}
		if strings.ContainsAny(text, "\u2028\u2029\r") {
			t.Errorf("a line ends where none should:\n%q", text)
		}
	})
}

// brokenAt reads strings and comments as TypeScript does, and returns where
// something is left open or closed twice, "" if nothing is.
func brokenAt(text string) string {
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case strings.HasPrefix(rest, "//"):
			i += strings.IndexByte(rest, '\n')
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return rest[:2]
			}
			i += n + 3
		case strings.HasPrefix(rest, "*/"):
			return rest[:2]
		case rest[0] == '"':
			n := 1
			for n < len(rest) && rest[n] != '"' && rest[n] != '\n' {
				if rest[n] == '\\' {
					n++
				}
				n++
			}
			if n >= len(rest) || rest[n] != '"' {
				return rest[:min(len(rest), 20)]
			}
			i += n
		}
	}
	return ""
}
