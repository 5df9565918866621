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

// Declare returns the named types of a tool, its description as a comment, and its member of the interface. What is
// longer than most bytes leaves out the type of the result first, then what the arguments are made of: a caller needs
// their names.
func Declare(name string, input, output json.RawMessage, about string, most int) (named, comment, line string) {
	most = min(most, declarationMax)
	named, line, ok := declare(name, input, output, most)
	if !ok && len(output) > 0 {
		named, line, ok = declare(name, input, json.RawMessage("true"), most)
		line = strings.TrimSuffix(line, "\n") + " // the type of its result is too long to be shown\n"
	}
	if !ok {
		result := json.RawMessage("true")
		if len(output) == 0 {
			result = nil
		}
		named, line, ok = declare(name, shallow(input), result, declarationMax)
		line = strings.TrimSuffix(line, "\n") + " // what is unknown is too long to be shown\n"
	}
	if !ok {
		named, line = "", fmt.Sprintf("  %s(args: { [key: string]: unknown }): Promise<any>; "+
			"// its schema is too long to be shown\n", PropertyName(name))
	}
	return named, DocComment(about, "  "), line
}

// declare reports false if the declaration is too long.
func declare(name string, input, output json.RawMessage, most int) (named, line string, ok bool) {
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
	return w.types.String(), text, len(text)+w.types.Len() <= most && w.work <= workMax
}

// shallow is a schema of arguments without what objects and lists in them are made of.
func shallow(input json.RawMessage) json.RawMessage {
	var whole struct {
		Type       string                    `json:"type"`
		Properties map[string]map[string]any `json:"properties"`
		Required   []string                  `json:"required,omitempty"`
	}
	if json.Unmarshal(input, &whole) != nil {
		return nil
	}
	for name, p := range whole.Properties {
		plain := map[string]any{}
		if kind, ok := p["type"].(string); ok && kind != "object" && kind != "array" {
			plain["type"] = kind
		}
		if text, ok := p["description"].(string); ok {
			plain["description"] = cut(text, 120)
		}
		whole.Properties[name] = plain
	}
	short, _ := json.Marshal(whole)
	return short
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
