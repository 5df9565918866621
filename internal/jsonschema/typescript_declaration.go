package jsonschema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// declarationMax bounds the declaration of one tool. A longer one is replaced by a short one without the schema.
const declarationMax = 64 << 10

// UnknownResult ends the declaration of a tool without an output schema, and ContentTypes declares its Block.
const (
	UnknownResult = "Promise<" + contentType + ">;\n"
	contentType   = "string | object | Block[]"
	ContentTypes  = "/** A tool without an output schema gives its text, parsed if that is a JSON object or array; " +
		"else its content blocks. */\n" +
		"interface Block { type: string; text?: string }\n\n"
)

// Declare returns the named types of a tool, its description as a comment, and its member of the interface.
func Declare(name string, input, output json.RawMessage, about string) (named, comment, line string) {
	w := &typeWriter{tool: name, names: map[string]string{}, taken: map[string]int{}, anchors: map[string]map[string]any{}}
	args := w.arguments(input)
	result := contentType
	if len(output) > 0 {
		result = "any" // the schema may be unusable
		if root, order, err := decodeOrdered(output); err == nil {
			root, _ = repair(root, false)
			w.root, w.order, w.part = root, order, "result"
			result = w.render(root, 1)
		}
	}
	w.finish()
	text := fmt.Sprintf("  %s(%s): Promise<%s>;\n", PropertyName(name), args, result)
	if len(text)+w.types.Len() > declarationMax || w.work > workMax {
		w.types.Reset()
		text = fmt.Sprintf("  %s(args: { [key: string]: unknown }): Promise<any>; // its schema is too long to be shown\n",
			PropertyName(name))
	}
	return w.types.String(), DocComment(about, "  "), text
}

// takesMax bounds what Takes returns.
const takesMax = 400

// Takes returns the type of a tool's arguments on one line, without comments, shortened.
func Takes(input json.RawMessage) string {
	w := &typeWriter{tool: "tool", brief: true, names: map[string]string{}, taken: map[string]int{},
		anchors: map[string]map[string]any{}}
	text := strings.TrimPrefix(strings.TrimPrefix(w.arguments(input), "args?: "), "args: ")
	return cut(strings.Join(strings.Fields(text), " "), takesMax)
}

// arguments returns the parameter list of a tool.
func (w *typeWriter) arguments(input json.RawMessage) string {
	root, order, err := decodeOrdered(input)
	root, _ = repair(root, true)
	schema, ok := root.(map[string]any)
	if err != nil || !ok {
		return "args?: { [key: string]: unknown }"
	}
	w.root, w.order, w.part = root, order, "args"
	text := w.render(root, 1)
	if text == "unknown" {
		text = "{ [key: string]: unknown }"
	}
	if required, _ := schema["required"].([]any); len(required) == 0 && !needsArguments(schema) {
		return "args?: " + text
	}
	return "args: " + text
}

// needsArguments reports whether a schema without "required" may still require properties.
func needsArguments(s map[string]any) bool {
	for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf", "minProperties"} {
		if s[key] != nil {
			return true
		}
	}
	return false
}
