package openapi

import (
	"regexp"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// A compiler makes the plan of an operation and the schema of its arguments.
type compiler struct {
	*translator
	o      *Operation
	v      strictjson.Value
	plan   *Plan
	schema []byte          // the properties, with a comma after each
	needed []string        // those that are required
	names  map[string]bool // arguments, and the names in the path

	declared []strictjson.Value // the parameters, also those of Swagger that are a body
}

// next is the argument with what an answer said of the next page, see package rest.
const next = "$next"

// expansion is a parameter in a path. Google writes {+name} for one that may have slashes.
var expansion = regexp.MustCompile(`\{[+#./;?&]?([^{}*]+)\*?\}`)

// property adds an argument.
func (c *compiler) property(name, schema string, required bool) {
	c.names[name] = true
	c.schema = append(strictjson.AppendString(c.schema, name), ':')
	c.schema = append(append(c.schema, schema...), ',')
	if required {
		c.needed = append(c.needed, name)
	}
}

// described translates a schema, with the description of what has it.
func (c *compiler) described(v strictjson.Value, about string) string {
	out := c.out
	c.out = nil
	c.translator.schema(v, 0)
	text := c.out
	c.out = out
	if about != "" && word(v, "description") == "" && len(text) >= 2 && text[0] == '{' {
		more := strictjson.AppendString([]byte(`{"description":`), cut(about, describedText))
		if len(text) > 2 {
			more = append(more, ',')
		}
		text = append(more, text[1:]...)
	}
	return string(text)
}

// schemaIn is the schema of a parameter. In Swagger 2 the parameter itself is one.
func (c *compiler) schemaIn(p strictjson.Value) strictjson.Value {
	if s, ok := p.Member("schema"); ok || !c.doc.swagger {
		return s
	}
	return p
}
