package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// codes are the successful answers, the most telling first.
var codes = []string{"200", "201", "202", "2XX", "2xx", "203", "206", "204"}

// An answer is one that an operation describes.
type answer struct {
	media  []string         // its types
	schema strictjson.Value // as JSON; none if it is not JSON
}

// answer returns the first successful answer with a schema of JSON; if there is none, the first. What the description
// calls default is an error, unless it describes no success.
func (o *Operation) answer(v strictjson.Value) (first answer) {
	responses, _ := v.Member("responses")
	known := false
	for _, code := range append(slices.Clone(codes), "default") {
		r, ok := responses.Member(code)
		if !ok || code == "default" && known {
			continue
		}
		if r, err := o.doc.follow(r); err == nil {
			a := o.answerOf(v, r)
			if a.schema.Kind() != strictjson.Missing {
				return a
			}
			if !known {
				first = a
			}
		}
		known = true
	}
	return first
}

// answerOf reads what the description says of an answer.
func (o *Operation) answerOf(v, response strictjson.Value) (a answer) {
	of := response // that has the schema
	if o.doc.swagger {
		a.media = o.doc.produces
		if list, ok := v.Member("produces"); ok {
			a.media = texts(list)
		}
		if len(a.media) > 0 && !slices.ContainsFunc(a.media, isJSON) {
			return a
		}
	} else {
		content, _ := response.Member("content")
		for m := range content.Members() {
			a.media = append(a.media, m)
		}
		i := slices.IndexFunc(a.media, isJSON)
		if i < 0 {
			return a
		}
		of, _ = content.Member(a.media[i])
	}
	if schema, _ := of.Member("schema"); word(schema, "type") != "file" {
		a.schema = schema
	}
	return a
}

// accept lists the types of answers that are asked for, JSON first.
func (o *Operation) accept(v strictjson.Value) []string {
	media := o.answer(v).media
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
	schema := o.answer(v).schema
	if schema.Kind() == strictjson.Missing {
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
