package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// A schema says which arguments a tool takes. Schemas are written by hand: what SDKs generate is not portable.
type schema struct {
	text            json.RawMessage
	names, required []string
	noSessions      bool // it would have the arguments for sessions if there were any
}

func newSchema(text string) *schema {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic("server: the schema of a tool is not JSON: " + err.Error())
	}
	return &schema{text: json.RawMessage(text), names: slices.Sorted(maps.Keys(s.Properties)), required: s.Required}
}

// newSchemas makes two of a text: without sessions, and with them. In the text, %s is the place of their arguments.
func newSchemas(text, arguments string) (without, with *schema) {
	without, with = newSchema(fmt.Sprintf(text, "")), newSchema(fmt.Sprintf(text, arguments))
	without.noSessions = true
	return without, with
}

// arguments are the arguments of one call to any tool.
type arguments struct {
	all json.RawMessage // the whole object; without duplicate names, unless it has a program

	Action      string          `json:"action"`
	As          string          `json:"as"`
	Ask         bool            `json:"ask"`
	Code        string          `json:"code"`
	Input       json.RawMessage `json:"input"`
	Arguments   json.RawMessage `json:"arguments"`
	Limit       *int            `json:"limit"`
	ListCalls   bool            `json:"listCalls"`
	Name        string          `json:"name"`
	Names       names           `json:"names"`
	Preflight   string          `json:"preflight"`
	Profile     string          `json:"profile"`
	Query       string          `json:"query"`
	Role        string          `json:"role"`
	Run         string          `json:"run"`
	Script      string          `json:"script"`
	Session     string          `json:"session"`
	SessionWait bool            `json:"sessionWait"`
	Version     *int            `json:"version"`
	Wait        *int            `json:"wait"`
}

// read reads the arguments of a call. It accepts only names in the schema: a client that passes a profile, or a session
// where there are none, must learn that it has no effect.
func (s *schema) read(raw json.RawMessage) (*arguments, error) {
	var given map[string]json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &given) != nil {
		return nil, errors.New("the arguments have to be an object")
	}
	wrote := given
	given, err := s.meant(wrote)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch {
		case slices.Contains(s.names, name):
		case len(s.names) == 0:
			return nil, fmt.Errorf("there is no argument %.80q: this tool takes none", name)
		case name == "profile":
			return nil, fmt.Errorf("there is no argument %q: a program runs under the profile of the tool that it is given to; "+
				"there are %s", name, s.quoted())
		case s.noSessions && (name == "session" || name == "sessionWait"):
			return nil, fmt.Errorf("there is no argument %q: the configuration offers clients no sessions, \"sessions\": true in it "+
				"does; there are %s", name, s.quoted())
		default:
			return nil, fmt.Errorf("there is no argument %.80q; there are %s", name, s.quoted())
		}
	}
	for _, name := range s.required {
		if value, ok := given[name]; !ok || string(value) == "null" {
			return nil, fmt.Errorf("the argument %q is missing", name)
		}
	}
	all, same := raw, maps.EqualFunc(wrote, given, slices.Equal[json.RawMessage])
	if !same || len(raw) == 0 || !slices.Contains(s.names, "code") {
		if all, err = json.Marshal(given); err != nil {
			return nil, err
		}
	}
	a := &arguments{all: all}
	err = json.Unmarshal(all, a)
	a.Input = given["input"] // as the client wrote it
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, mustBe(wrong.Field, forms[wrong.Type.Kind()])
	}
	for name, n := range map[string]*int{"limit": a.Limit, "version": a.Version} {
		if err == nil && n != nil && *n < 1 {
			err = mustBe(name, forms[reflect.Int])
		}
	}
	return a, err
}

// forms describes the valid values of an argument, by its kind.
var forms = map[reflect.Kind]string{
	reflect.Bool: "true or false", reflect.Int: "a whole number above 0",
	reflect.String: "text", reflect.Slice: "a list of names",
}

func mustBe(name, form string) error { return fmt.Errorf("the argument %q has to be %s", name, form) }

func (s *schema) quoted() string {
	all := make([]string, len(s.names))
	for i, name := range s.names {
		all[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(all, ", ")
}

// names reads a list of names. It also accepts a single name.
type names []string

func (n *names) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, (*[]string)(n)) == nil {
		return nil
	}
	var one string
	if json.Unmarshal(raw, &one) != nil {
		return mustBe("names", forms[reflect.Slice])
	}
	*n = names{one}
	return nil
}

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
