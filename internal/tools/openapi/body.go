package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// bytesSchema is the schema of a file: a text, or bytes that are none.
const bytesSchema = `{"anyOf":[{"type":"string"},{"type":"object","properties":{"base64":{"type":"string"}},` +
	`"required":["base64"],"additionalProperties":false}],"description":"a text, or {base64} for bytes"}`

const (
	jsonMedia = "application/json"
	formMedia = "application/x-www-form-urlencoded"
	partMedia = "multipart/form-data"
)

// body adds the arguments of the body, if there is one.
func (c *compiler) body() error {
	if c.doc.swagger {
		return c.bodyOfSwagger()
	}
	v, ok := c.v.Member("requestBody")
	if !ok {
		return nil
	}
	v, err := c.doc.follow(v)
	if err != nil {
		return fmt.Errorf("its body is not described: %w", err)
	}
	content, _ := v.Member("content")
	var all []string
	for media := range content.Members() {
		all = append(all, media)
	}
	if len(all) == 0 {
		return nil
	}
	media := preferred(all)
	of, _ := content.Member(media)
	schema, _ := of.Member("schema")
	encoding, _ := of.Member("encoding")
	return c.bodyAs(sendable(media), schema, encoding, is(v, "required"))
}

// bodyOfSwagger adds the arguments of a parameter in: body, or of those in: formData.
func (c *compiler) bodyOfSwagger() error {
	own, _ := c.v.Member("parameters")
	consumes := c.doc.consumes
	if list, ok := c.v.Member("consumes"); ok {
		consumes = nil
		for _, e := range list.Elements() {
			consumes = append(consumes, e.Text())
		}
	}
	var form []strictjson.Value
	for _, p := range own.Elements() {
		p, err := c.doc.follow(p)
		if err != nil {
			return fmt.Errorf("a parameter is not described: %w", err)
		}
		switch word(p, "in") {
		case "body":
			media := jsonMedia
			if len(consumes) > 0 {
				media = sendable(preferred(consumes))
			}
			schema, _ := p.Member("schema")
			return c.bodyAs(media, schema, strictjson.Value{}, is(p, "required"))
		case "formData":
			form = append(form, p)
		}
	}
	if len(form) == 0 {
		return nil
	}
	b := &Body{Media: formMedia, Parts: map[string]Part{}}
	if slices.Contains(consumes, partMedia) && !slices.Contains(consumes, formMedia) {
		b.Media = partMedia
	}
	for _, p := range form {
		name := word(p, "name")
		if c.names[name] || name == "" {
			continue
		}
		schema := c.described(p, word(p, "description"))
		if word(p, "type") == "file" {
			b.Media, b.Parts[name], schema = partMedia, Part{Binary: true}, bytesSchema
		} else if word(p, "type") == "array" {
			style, explode := collection(word(p, "collectionFormat"), InQuery)
			b.Parts[name] = Part{Style: style, Explode: explode}
		}
		b.Members, b.Required = append(b.Members, name), b.Required || is(p, "required")
		c.property(name, schema, is(p, "required"))
	}
	c.plan.Body = b
	return nil
}

// preferred is the type of a body that is sent, of those that the description offers.
func preferred(all []string) string {
	rank := func(media string) int {
		bare, _, _ := strings.Cut(strings.ToLower(media), ";")
		switch {
		case bare == jsonMedia:
			return 0
		case strings.HasSuffix(bare, "+json"), strings.HasSuffix(bare, "/json"):
			return 1
		case strings.Contains(bare, "json"):
			return 2
		case bare == formMedia:
			return 3
		case bare == partMedia:
			return 4
		case strings.HasPrefix(bare, "text/"):
			return 5
		case bare == "*/*":
			return 6
		}
		return 7
	}
	best := all[0]
	for _, media := range all[1:] {
		if rank(media) < rank(best) {
			best = media
		}
	}
	return best
}

// sendable is a type without wildcards.
func sendable(media string) string {
	bare, _, _ := strings.Cut(media, ";")
	switch bare = strings.TrimSpace(bare); {
	case bare == "*/*", bare == "application/*":
		return jsonMedia
	case bare == "text/*":
		return "text/plain"
	case strings.Contains(bare, "*"):
		return "application/octet-stream"
	}
	return bare
}

// bodyAs adds the arguments of a body of that type: its members, or the body as a whole.
func (c *compiler) bodyAs(media string, schema, encoding strictjson.Value, required bool) error {
	b := &Body{Media: media, Required: required}
	form := media == formMedia || media == partMedia
	structured := form || strings.Contains(media, "json")
	if members := c.members(schema); structured && members != nil {
		if len(members) == 0 { // the server sets all of it
			return nil
		}
		c.plan.Body = b
		for _, m := range members {
			text := c.described(m.schema, "")
			if form {
				part := c.partOf(m, encoding)
				if part.Binary && strings.Contains(text, `"items":`) {
					text = `{"type":"array","items":` + bytesSchema + "}"
				} else if part.Binary {
					text = bytesSchema
				}
				if b.Parts == nil {
					b.Parts = map[string]Part{}
				}
				if part != (Part{}) {
					b.Parts[m.name] = part
				}
			}
			b.Members = append(b.Members, m.name)
			c.property(m.name, text, required && m.required)
		}
		return nil
	}
	if b.Argument = "body"; c.names["body"] {
		b.Argument = "request_body"
	}
	text := `{"type":"string"}`
	switch {
	case form && schema.Kind() == strictjson.Missing:
		text = `{"type":"object"}`
	case structured:
		text = c.described(schema, "")
	case !strings.HasPrefix(media, "text/") && !strings.Contains(media, "xml"):
		text = bytesSchema
	}
	c.plan.Body = b
	c.property(b.Argument, text, required)
	return nil
}

// A field is a member of a body.
type field struct {
	name     string
	schema   strictjson.Value
	required bool
}

// members returns the members of a body, without those that the server sets; nil if they are not all known, or if one
// has the name of another argument.
func (c *compiler) members(schema strictjson.Value) []field {
	fields, ok := c.fieldsOf(schema, 0)
	if !ok {
		return nil
	}
	kept := []field{}
	for _, f := range fields {
		if c.names[f.name] {
			return nil
		}
		if !c.hides(f.schema) {
			kept = append(kept, f)
		}
	}
	return kept
}

func (c *compiler) fieldsOf(schema strictjson.Value, depth int) (all []field, ok bool) {
	schema, err := c.doc.follow(schema)
	if err != nil || depth > refsMax {
		return nil, false
	}
	for _, key := range []string{"oneOf", "anyOf", "not", "if", "patternProperties"} {
		if _, open := schema.Member(key); open {
			return nil, false
		}
	}
	if more, ok := schema.Member("additionalProperties"); ok && more.Kind() != strictjson.False {
		return nil, false
	}
	if kind, has := schema.Member("type"); has && kind.Text() != "object" || is(schema, "nullable") {
		return nil, false
	}
	at := map[string]int{}
	add := func(f field) {
		if i, twice := at[f.name]; twice {
			all[i].required = all[i].required || f.required
			return
		}
		at[f.name] = len(all)
		all = append(all, f)
	}
	parts, _ := schema.Member("allOf")
	for _, p := range parts.Elements() {
		inner, ok := c.fieldsOf(p, depth+1)
		if !ok {
			return nil, false
		}
		for _, f := range inner {
			add(f)
		}
	}
	properties, _ := schema.Member("properties")
	for name, p := range properties.Members() {
		add(field{name: name, schema: p})
	}
	required, _ := schema.Member("required")
	for _, e := range required.Elements() {
		if i, known := at[e.Text()]; known {
			all[i].required = true
		}
	}
	_, known := schema.Member("properties")
	return all, known || len(all) > 0 || depth > 0
}

// partOf says how a field of a form is sent.
func (c *compiler) partOf(f field, encoding strictjson.Value) Part {
	schema, err := c.doc.follow(f.schema)
	if err != nil {
		return Part{}
	}
	items, _ := schema.Member("items")
	media := word(schema, "contentMediaType")
	p := Part{Binary: word(schema, "format") == "binary" || media != "" && word(schema, "contentEncoding") == "" ||
		word(items, "format") == "binary"}
	e, ok := encoding.Member(f.name)
	if !ok {
		return p
	}
	p.Media, _, _ = strings.Cut(word(e, "contentType"), ",")
	if strings.Contains(p.Media, "*") {
		p.Media = ""
	}
	p.Style = word(e, "style")
	explode, said := e.Member("explode")
	p.Explode = explode.Kind() == strictjson.True || !said && (p.Style == "" || p.Style == "form")
	return p
}
