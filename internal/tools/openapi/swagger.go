package openapi

import (
	"encoding/json"
	"slices"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// bodyOfSwagger adds the arguments of a parameter in: body, or of those in: formData.
func (c *compiler) bodyOfSwagger() error {
	consumes := c.doc.consumes
	if list, ok := c.v.Member("consumes"); ok {
		consumes = texts(list)
	}
	var form []strictjson.Value
	for _, p := range c.declared {
		switch word(p, "in") {
		case "body":
			media := jsonMedia
			if len(consumes) > 0 {
				media = sendable(preferred(consumes))
			}
			schema, _ := p.Member("schema")
			return c.bodyAs(media, schema, strictjson.Value{}, is(p, "required"))
		case "formData":
			if word(p, "name") != "" {
				form = append(form, p)
			}
		}
	}
	if len(form) > 0 {
		c.form(form, slices.Contains(consumes, partMedia) && !slices.Contains(consumes, formMedia))
	}
	return nil
}

// form adds the fields of a form as arguments, or the form as one if a field has the name of another argument.
func (c *compiler) form(fields []strictjson.Value, multipart bool) {
	b := &Body{Media: formMedia}
	if multipart {
		b.Media = partMedia
	}
	taken := slices.ContainsFunc(fields, func(p strictjson.Value) bool { return c.names[word(p, "name")] })
	properties, needed := map[string]json.RawMessage{}, []string{}
	for _, p := range fields {
		name, required := word(p, "name"), is(p, "required")
		schema := ""
		if word(p, "type") == "file" {
			b.Media, schema = partMedia, fileSchema(word(p, "description"), false)
			b.part(name, Part{Binary: true})
		} else if schema = c.described(p, ""); word(p, "type") == "array" {
			style, explode := collection(word(p, "collectionFormat"), InQuery)
			b.part(name, Part{Style: style, Explode: explode})
		}
		b.Required = b.Required || required
		if !taken {
			b.Members = append(b.Members, name)
			c.property(name, schema, required)
			continue
		}
		properties[name] = json.RawMessage(schema)
		if required {
			needed = append(needed, name)
		}
	}
	c.plan.Body = b
	if taken {
		whole, _ := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": needed,
			"additionalProperties": false}) // schemas are JSON
		c.wholeBody(b, string(whole))
	}
}
