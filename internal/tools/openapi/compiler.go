package openapi

import (
	"errors"
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
	looked   int                // bytes of components that were looked at, see lookedMax
}

// lookedMax bounds the text that is looked at to find what the arguments of an operation are. A schema may refer to
// one many times, and that one to others: the work grows exponentially with the text.
const lookedMax = 16 << 20

var errLong = errors.New("its types are too long, or refer to each other too often")

// follow is [Document.follow] within lookedMax.
func (c *compiler) follow(v strictjson.Value) (strictjson.Value, error) {
	c.looked += 200 // about what a look costs
	if ref := word(v, "$ref"); ref != "" {
		c.looked += c.doc.length(ref)
	}
	if c.looked > lookedMax {
		return strictjson.Value{}, errLong
	}
	return c.doc.follow(v)
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
