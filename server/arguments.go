package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
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
	all json.RawMessage // the whole object, without duplicate names

	Action      string          `json:"action"`
	As          string          `json:"as"`
	Ask         bool            `json:"ask"`
	Code        string          `json:"code"`
	Input       json.RawMessage `json:"input"`
	Limit       *int            `json:"limit"`
	ListCalls   bool            `json:"listCalls"`
	Name        string          `json:"name"`
	Names       names           `json:"names"`
	Preflight   string          `json:"preflight"`
	Profile     string          `json:"profile"`
	Query       string          `json:"query"`
	Role        string          `json:"role"`
	Script      string          `json:"script"`
	Session     string          `json:"session"`
	SessionWait bool            `json:"sessionWait"`
	Version     *int            `json:"version"`
}

// read reads the arguments of a call. It accepts only names in the schema: a client that passes a profile, or a session
// where there are none, must learn that it has no effect.
func (s *schema) read(raw json.RawMessage) (*arguments, error) {
	var given map[string]json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &given) != nil {
		return nil, errors.New("the arguments have to be an object")
	}
	given, err := s.meant(given)
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
	all, err := json.Marshal(given)
	if err != nil {
		return nil, err
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
