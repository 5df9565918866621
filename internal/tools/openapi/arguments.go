package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// parameters adds those of the path item, which the operation overrides by name and place, and those of its own.
func (c *compiler) parameters() error {
	var all []strictjson.Value
	at := map[string]int{}
	add := func(list strictjson.Value) error {
		for _, p := range list.Elements() {
			p, err := c.doc.follow(p)
			if err != nil {
				return fmt.Errorf("a parameter is not described: %w", err)
			}
			key := word(p, "in") + " " + word(p, "name")
			if i, ok := at[key]; ok {
				all[i] = p
				continue
			}
			at[key] = len(all)
			all = append(all, p)
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
	if err := add(own); err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b strictjson.Value) int { // the path keeps its names
		return strings.Compare(order(word(a, "in")), order(word(b, "in")))
	})
	for _, p := range all {
		if err := c.parameter(p); err != nil {
			return err
		}
	}
	return c.undeclared()
}

func order(in string) string {
	if in == InPath {
		return ""
	}
	return "x"
}

// undeclared adds the parameters that only the path has.
func (c *compiler) undeclared() error {
	for _, m := range expansion.FindAllStringSubmatch(c.plan.Path, -1) {
		has := slices.ContainsFunc(c.plan.Parameters, func(p Parameter) bool { return p.In == InPath && p.Name == m[1] })
		if has {
			continue
		}
		c.plan.Parameters = append(c.plan.Parameters,
			Parameter{Argument: m[1], Name: m[1], In: InPath, Style: "simple", Required: true})
		c.property(m[1], `{"type":"string"}`, true)
	}
	return nil
}

// unsent are headers that are not for programs: ours, those of credentials, and those of the connection.
var unsent = []string{"authorization", "accept", "content-type", "cookie", "host", "user-agent", "content-length",
	"idempotency-key", "accept-encoding", "connection"}

func (c *compiler) parameter(p strictjson.Value) error {
	name, in := word(p, "name"), word(p, "in")
	required := is(p, "required") || in == InPath
	why := ""
	switch header := strings.ToLower(name); {
	case name == "":
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
	schema, err := c.doc.follow(c.schemaIn(p))
	if err != nil {
		schema = strictjson.Value{}
	}
	if why == "" {
		why = c.style(&one, p, schema)
	}
	if why != "" {
		if required {
			return fmt.Errorf("its parameter %.100q %s", name, why)
		}
		return nil
	}
	if c.names[name] {
		if one.Argument = in + "_" + name; c.names[one.Argument] {
			return nil
		}
	}
	c.plan.Parameters = append(c.plan.Parameters, one)
	c.property(one.Argument, c.described(c.schemaIn(p), word(p, "description")), required)
	return nil
}

// style sets how a parameter is written. It says why it cannot be, "" if it can.
func (c *compiler) style(one *Parameter, p, schema strictjson.Value) string {
	if content, ok := p.Member("content"); ok && content.Len() > 0 {
		return "has a content type of its own, which is not supported"
	}
	kind := word(schema, "type")
	_, hasProperties := schema.Member("properties")
	object := kind == "object" || kind == "" && hasProperties
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
	known := []string{"form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"}
	if one.In != InQuery {
		known = []string{"simple", "label", "matrix"}
	}
	switch {
	case !slices.Contains(known, one.Style):
		return fmt.Sprintf("has the style %.20q, which does not fit its place", one.Style)
	case object && one.In == InPath:
		return "is an object in the path, which is not supported"
	case object && one.Style == "deepObject" && c.deep(schema):
		return "is an object with objects in it, which is not supported"
	}
	return ""
}

// deep reports whether a property of an object is an object or a list.
func (c *compiler) deep(schema strictjson.Value) bool {
	properties, _ := schema.Member("properties")
	for _, p := range properties.Members() {
		p, err := c.doc.follow(p)
		if kind := word(p, "type"); err != nil || kind == "object" {
			return true
		}
	}
	return false
}

// collection is the style of a collectionFormat of Swagger 2.
func collection(format, in string) (style string, explode bool) {
	switch {
	case in != InQuery:
		return "simple", false
	case format == "ssv":
		return "spaceDelimited", false
	case format == "tsv":
		return "tabDelimited", false
	case format == "pipes":
		return "pipeDelimited", false
	}
	return "form", format == "multi"
}
