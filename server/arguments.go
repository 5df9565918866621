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
}

func newSchema(text string) *schema {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic("server: the schema of a tool is not JSON: " + err.Error())
	}
	return &schema{json.RawMessage(text), slices.Sorted(maps.Keys(s.Properties)), s.Required}
}

// arguments are the arguments of one call to any tool.
type arguments struct {
	all json.RawMessage // the whole object, without duplicate names

	Ask       bool            `json:"ask"`
	Code      string          `json:"code"`
	Input     json.RawMessage `json:"input"`
	Limit     *int            `json:"limit"`
	ListCalls bool            `json:"listCalls"`
	Names     names           `json:"names"`
	Preflight string          `json:"preflight"`
	Profile   string          `json:"profile"`
	Query     string          `json:"query"`
	Role      string          `json:"role"`
	Script    string          `json:"script"`
}

// read reads the arguments of a call. It accepts only names in the schema: a client that passes a profile or a session
// must learn that it has no effect.
func (s *schema) read(raw json.RawMessage) (*arguments, error) {
	var given map[string]json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &given) != nil {
		return nil, errors.New("the arguments have to be an object")
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch {
		case slices.Contains(s.names, name):
		case len(s.names) == 0:
			return nil, fmt.Errorf("there is no argument %.80q: this tool takes none", name)
		case name == "profile":
			return nil, fmt.Errorf("there is no argument %q: a program runs under the profile of the tool that it is given to; "+
				"there are %s", name, s.quoted())
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
	if err == nil && a.Limit != nil && *a.Limit < 1 {
		err = mustBe("limit", forms[reflect.Int])
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
