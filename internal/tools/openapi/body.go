package openapi

import (
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// fileSchema is the schema of a file, a text or bytes that are none, or of a list of them.
func fileSchema(about string, many bool) string {
	text := `{"anyOf":[{"type":"string"},{"type":"object","properties":{"base64":{"type":"string"}},` +
		`"required":["base64"],"additionalProperties":false}],"description":`
	about = strings.TrimSpace(cut(about, describedText) + " (a text, or {base64} for bytes)")
	text += string(strictjson.AppendString(nil, about)) + "}"
	if many {
		return `{"type":"array","items":` + text + "}"
	}
	return text
}

const (
	jsonMedia = "application/json"
	formMedia = "application/x-www-form-urlencoded"
	partMedia = "multipart/form-data"
)

// body adds the arguments of the body, if there is one.
func (c *compiler) body() error {
	v, ok := c.v.Member("requestBody")
	if !ok {
		return nil
	}
	v, err := c.follow(v)
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
		case strings.Contains(bare, "xml"):
			return 8
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
		if len(members) > 0 || required { // else the server sets all of it
			c.plan.Body = b
		}
		for _, m := range members {
			text := ""
			if form {
				text = c.formText(b, m, encoding)
			} else {
				text = c.described(m.schema, "")
			}
			b.Members = append(b.Members, m.name)
			c.property(m.name, text, required && m.required)
		}
		return nil
	}
	text := `{"type":"string"}`
	switch {
	case form && schema.Kind() == strictjson.Missing:
		text = `{"type":"object"}`
	case structured:
		text = c.described(schema, "")
	case !strings.HasPrefix(media, "text/") && !strings.Contains(media, "xml"):
		text = fileSchema(word(schema, "description"), false)
	}
	c.wholeBody(b, text)
	return nil
}

// formText is the schema of a member of a form. It adds to b how the member is sent.
func (c *compiler) formText(b *Body, m field, encoding strictjson.Value) string {
	part, many := c.partOf(m, encoding)
	b.part(m.name, part)
	if part.Binary {
		return fileSchema(word(m.schema, "description"), many)
	}
	return c.described(m.schema, "")
}

func (b *Body) part(name string, p Part) {
	if p == (Part{}) {
		return
	}
	if b.Parts == nil {
		b.Parts = map[string]Part{}
	}
	b.Parts[name] = p
}

// wholeBody makes the body one argument.
func (c *compiler) wholeBody(b *Body, schema string) {
	b.Argument = "body"
	for c.names[b.Argument] {
		b.Argument = "request_" + b.Argument
	}
	c.plan.Body = b
	c.property(b.Argument, schema, b.Required)
}

// partOf says how a field of a form is sent, and whether it is a list.
func (c *compiler) partOf(f field, encoding strictjson.Value) (p Part, many bool) {
	schema, err := c.follow(f.schema)
	if err != nil {
		return Part{}, false
	}
	items, many := schema.Member("items")
	items, _ = c.follow(items)
	p.Binary = binary(schema) || many && binary(items)
	e, ok := encoding.Member(f.name)
	if !ok {
		return p, many
	}
	p.Media, _, _ = strings.Cut(word(e, "contentType"), ",")
	if strings.Contains(p.Media, "*") {
		p.Media = ""
	}
	p.Style = word(e, "style")
	explode, said := e.Member("explode")
	if said && p.Style == "" {
		p.Style = "form"
	}
	p.Explode = explode.Kind() == strictjson.True || !said && p.Style == "form"
	return p, many
}

// binary reports whether a schema is of bytes: format of 3.0, contentMediaType of 3.1.
func binary(schema strictjson.Value) bool {
	return word(schema, "format") == "binary" ||
		word(schema, "contentMediaType") != "" && word(schema, "contentEncoding") == ""
}
