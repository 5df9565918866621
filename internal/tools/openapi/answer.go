package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// answer returns the successful answer of an operation, and its types.
func (o *Operation) answer(v strictjson.Value) (of strictjson.Value, media []string) {
	responses, _ := v.Member("responses")
	var found strictjson.Value
	for _, code := range []string{"200", "201", "202", "203", "2XX", "2xx", "206", "204", "default"} {
		if r, ok := responses.Member(code); ok && found.Kind() == strictjson.Missing {
			if r, err := o.doc.follow(r); err == nil {
				found = r
			}
		}
	}
	if !o.doc.swagger {
		content, _ := found.Member("content")
		for m := range content.Members() {
			media = append(media, m)
		}
		return content, media
	}
	list, ok := v.Member("produces")
	if !ok {
		return found, o.doc.produces
	}
	for _, e := range list.Elements() {
		media = append(media, e.Text())
	}
	return found, media
}

// accept lists the types of answers that are asked for, JSON first.
func (o *Operation) accept(v strictjson.Value) []string {
	_, media := o.answer(v)
	var all []string
	for _, m := range media {
		if isJSON(m) {
			all = append(all, m)
		}
	}
	for _, m := range media[:min(len(media), 10)] {
		if !isJSON(m) {
			all = append(all, m)
		}
	}
	return all
}

func isJSON(media string) bool {
	bare, _, _ := strings.Cut(strings.ToLower(media), ";")
	return strings.HasSuffix(bare, "/json") || strings.HasSuffix(bare, "+json")
}

// Output is a JSON Schema of the successful answer; nil if there is none, or none of JSON.
func (o *Operation) Output() (json.RawMessage, error) {
	v, err := o.doc.parse(o.at)
	if err != nil {
		return nil, err
	}
	of, media := o.answer(v)
	i := slices.IndexFunc(media, isJSON)
	if !o.doc.swagger && i >= 0 {
		of, _ = of.Member(media[i])
	} else if i < 0 && !(o.doc.swagger && len(media) == 0) {
		return nil, nil
	}
	schema, ok := of.Member("schema")
	if !ok {
		return nil, nil
	}
	t := &translator{doc: o.doc}
	t.schema(schema, 0)
	if len(t.refs) == 0 {
		return t.out, nil
	}
	var out []byte
	for depth := outputDepth; depth > 0; depth-- {
		out, _ = o.doc.definitions(slices.Clip(t.out[:len(t.out)-1]), t.refs, depth) // what is missing is unknown
		if len(out) <= shortOutput {
			break
		}
	}
	return append(out, '}'), nil
}
