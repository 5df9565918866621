package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Names under which models send what has another name, or none, in the schemas. No schema advertises them.
var (
	// codeNames stand for code.
	codeNames = []string{"js", "javascript", "program", "script", "source", "ts", "typescript"}
	// remarks say nothing that a tool could obey.
	remarks = []string{"comment", "description", "explanation", "intent", "lang", "language", "purpose", "reasoning",
		"summary", "thought", "title"}
)

// meant reads arguments as they are meant, where that is clear: wrapped in another object, the program under another
// name or as a list of lines, an input that is JSON in text. It leaves what is not clear to [schema.read].
func (s *schema) meant(given map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	given = s.unwrapped(maps.Clone(given))
	if !slices.Contains(s.names, "code") {
		return given, nil
	}
	for _, name := range remarks {
		if !slices.Contains(s.names, name) {
			delete(given, name)
		}
	}
	for _, name := range codeNames {
		value, ok := given[name]
		if !ok || slices.Contains(s.names, name) && !isProgram(value) {
			continue
		}
		if code, twice := given["code"]; twice && string(code) != string(value) {
			return nil, fmt.Errorf("there is a program in \"code\" and one in %q; give only \"code\"", name)
		}
		given["code"] = value
		delete(given, name)
	}
	var lines []string
	if bytes.HasPrefix(bytes.TrimSpace(given["code"]), []byte("[")) && json.Unmarshal(given["code"], &lines) == nil {
		joined, err := json.Marshal(strings.Join(lines, "\n"))
		if err != nil {
			return nil, err
		}
		given["code"] = joined
	}
	if input, ok := given["input"]; ok && slices.Contains(s.names, "input") {
		given["input"] = parsedInput(input, string(given["code"]))
	}
	return given, nil
}

// unwrapped returns the arguments inside of arguments: {"arguments": {...}}, also with the name of the tool beside.
func (s *schema) unwrapped(given map[string]json.RawMessage) map[string]json.RawMessage {
	inner, ok := given["arguments"]
	if !ok || slices.Contains(s.names, "arguments") {
		return given
	}
	for name := range given {
		if name != "arguments" && (name != "name" && name != "tool" || slices.Contains(s.names, name)) {
			return given
		}
	}
	var text string
	if json.Unmarshal(inner, &text) == nil {
		inner = json.RawMessage(text)
	}
	var inside map[string]json.RawMessage
	if json.Unmarshal(inner, &inside) != nil || inside == nil {
		return given
	}
	return inside
}

// isProgram tells the text of a program from the name of a saved one.
func isProgram(value json.RawMessage) bool {
	var text string
	return json.Unmarshal(value, &text) == nil && strings.ContainsAny(text, "\n(;")
}

// parsesInput matches a program that reads its input as text.
var parsesInput = regexp.MustCompile(
	`JSON\.parse\(\s*\(?\s*input\b|\binput\.(split|match|replace|trim)\b|typeof input\b`)

// parsedInput reads an input that is the text of a JSON object or array, because a client could only send text, unless
// the program itself takes it as text.
func parsedInput(input json.RawMessage, code string) json.RawMessage {
	var text string
	if json.Unmarshal(input, &text) != nil || parsesInput.MatchString(code) {
		return input
	}
	text = strings.TrimSpace(text)
	if (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return input
}
