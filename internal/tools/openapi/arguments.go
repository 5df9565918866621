package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// parameters adds those of the path item, which the operation overrides by name and place, and those of its own. The
// names in the path are taken first: the path keeps its names.
func (c *compiler) parameters() error {
	if err := c.declare(); err != nil {
		return err
	}
	for _, m := range expansion.FindAllStringSubmatch(c.plan.Path, -1) {
		c.names[m[1]] = true
	}
	for _, p := range c.declared {
		if err := c.parameter(p); err != nil {
			return err
		}
	}
	c.undeclared()
	return nil
}

// declare lists what the description says of parameters, in its order. Those of Swagger's bodies are among them.
func (c *compiler) declare() error {
	at := map[string]int{}
	add := func(list strictjson.Value) error {
		for _, p := range list.Elements() {
			p, err := c.follow(p)
			if err != nil {
				return fmt.Errorf("a parameter is not described: %w", err)
			}
			key := word(p, "in") + " " + word(p, "name")
			if i, ok := at[key]; ok {
				c.declared[i] = p
				continue
			}
			at[key] = len(c.declared)
			c.declared = append(c.declared, p)
		}
		return nil
	}
	if shared := c.o.above.parameters.at; shared.len > 0 {
		v, err := c.doc.parse(shared)
		if err == nil {
			err = add(v)
		}
		if err != nil {
			return err
		}
	}
	own, _ := c.v.Member("parameters")
	return add(own)
}

// undeclared adds the parameters that only the path has.
func (c *compiler) undeclared() {
	for _, m := range expansion.FindAllStringSubmatch(c.plan.Path, -1) {
		has := slices.ContainsFunc(c.plan.Parameters, func(p Parameter) bool { return p.In == InPath && p.Name == m[1] })
		if has {
			continue
		}
		c.plan.Parameters = append(c.plan.Parameters,
			Parameter{Argument: m[1], Name: m[1], In: InPath, Style: "simple", Required: true})
		c.property(m[1], `{"type":"string"}`, true)
	}
}

// unsent are headers that are not for programs: ours, those of credentials, and those of the connection.
var unsent = []string{"authorization", "accept", "content-type", "cookie", "host", "user-agent", "content-length",
	"idempotency-key", "accept-encoding", "connection"}

func (c *compiler) parameter(p strictjson.Value) error {
	name, in := word(p, "name"), word(p, "in")
	required := is(p, "required") || in == InPath
	why := ""
	switch header := strings.ToLower(name); {
	case name == "": // nothing can be sent
		return nil
	case in == "body", in == "formData": // of Swagger 2
		return nil
	case in == InHeader && header == "idempotency-key":
		c.plan.RepeatKey = name
		return nil
	case in == InHeader && (slices.Contains(unsent, header) || strings.HasPrefix(header, "x-amz-")):
		return nil
	case in == InHeader && !required && header != "if-match":
		return nil
	case in != InPath && in != InQuery && in != InHeader:
		why = fmt.Sprintf("is in %.20q, which is not sent", in)
	case in == InPath && !strings.Contains(c.plan.Path, "{"+name+"}"):
		return nil
	}
	one := Parameter{Argument: name, Name: name, In: in, Required: required}
	if why == "" {
		why = c.style(&one, p)
	}
	if why == "" && in != InPath && c.names[name] {
		if one.Argument = in + "_" + name; c.names[one.Argument] {
			why = "has the name of another argument"
		}
	}
	if why != "" {
		if required {
			return fmt.Errorf("its parameter %.100q %s", name, why)
		}
		return nil
	}
	c.plan.Parameters = append(c.plan.Parameters, one)
	c.property(one.Argument, c.described(c.schemaIn(p), word(p, "description")), required)
	return nil
}

// style sets how a parameter is written. It says why it cannot be, "" if it can.
func (c *compiler) style(one *Parameter, p strictjson.Value) string {
	if content, ok := p.Member("content"); ok && content.Len() > 0 {
		return "has a content type of its own, which is not supported"
	}
	one.Style = word(p, "style")
	explode, said := p.Member("explode")
	one.Explode = explode.Kind() == strictjson.True
	switch {
	case c.doc.swagger:
		one.Style, one.Explode = collection(word(p, "collectionFormat"), one.In)
	case one.Style == "" && one.In == InQuery:
		one.Style, one.Explode = "form", !said || one.Explode
	case one.Style == "form":
		one.Explode = !said || one.Explode
	case one.Style == "":
		one.Style = "simple"
	}
	known := map[string][]string{InPath: {"simple", "label", "matrix"}, InHeader: {"simple"},
		InQuery: {"form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"}}
	switch schema := c.schemaIn(p); {
	case !slices.Contains(known[one.In], one.Style):
		return fmt.Sprintf("has the style %.20q, which does not fit its place", one.Style)
	case one.In == InPath && c.object(schema, 0):
		return "is an object in the path, which is not supported"
	case one.Style == "deepObject" && c.deep(schema):
		return "is an object with objects in it, which is not supported"
	}
	return ""
}

// object reports whether a schema is about objects. One that may also be a text or a list is not.
func (c *compiler) object(schema strictjson.Value, depth int) bool {
	schema, err := c.follow(schema)
	if err != nil || depth > refsMax {
		return false
	}
	kind, said := schema.Member("type")
	if said {
		kinds := []string{kind.Text()}
		for _, e := range kind.Elements() {
			kinds = append(kinds, e.Text())
		}
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "null" || k == "" })
		return len(kinds) == 1 && kinds[0] == "object"
	}
	if _, has := schema.Member("properties"); has {
		return true
	}
	parts, _ := schema.Member("allOf")
	for _, p := range parts.Elements() {
		if c.object(p, depth+1) {
			return true
		}
	}
	return false
}

// deep reports whether a property of an object is an object.
func (c *compiler) deep(schema strictjson.Value) bool {
	schema, _ = c.follow(schema)
	properties, _ := schema.Member("properties")
	for _, p := range properties.Members() {
		if c.object(p, 0) {
			return true
		}
	}
	return false
}

// collection is the style of a collectionFormat of Swagger 2. Outside of a query only one has a style that is sent.
func collection(format, in string) (style string, explode bool) {
	switch {
	case format == "ssv":
		return "spaceDelimited", false
	case format == "tsv":
		return "tabDelimited", false
	case format == "pipes":
		return "pipeDelimited", false
	case in != InQuery:
		return "simple", false
	}
	return "form", format == "multi"
}
