package prompt

import (
	"encoding/json"
	"fmt"
)

// A formStyle is how a form gives titles to the values of a choice.
type formStyle int

const (
	enumNames formStyle = iota // enum and enumNames, known since MCP 2025-06-18
	oneOf                      // oneOf with const and title, since 2025-11-25
)

// styleFor returns the style for a protocol version such as "2025-11-25". An unknown version gets the older style.
func styleFor(protocol string) formStyle {
	if len(protocol) == len("2025-11-25") && protocol >= "2025-11-25" {
		return oneOf
	}
	return enumNames
}

// A choice is a value of a decision.
type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

type property struct {
	Type      string   `json:"type"`
	Title     string   `json:"title"`
	Enum      []string `json:"enum,omitempty"`
	EnumNames []string `json:"enumNames,omitempty"`
	OneOf     []choice `json:"oneOf,omitempty"`
	MaxLength int      `json:"maxLength,omitempty"`
	Items     *anyOf   `json:"items,omitempty"`   // of a list
	Default   string   `json:"default,omitempty"` // the person's own words, in a second form; the arguments to change
}

type anyOf struct {
	AnyOf []choice `json:"anyOf"`
}

func (p *property) offer(all []choice, style formStyle) {
	for _, c := range all {
		if style == oneOf {
			p.OneOf = append(p.OneOf, c)
		} else {
			p.Enum, p.EnumNames = append(p.Enum, c.Const), append(p.EnumNames, c.Title)
		}
	}
}

// properties are the fields of a form. Clients show them in this order.
type properties []namedProperty

type namedProperty struct {
	name string
	property
}

func (ps properties) MarshalJSON() ([]byte, error) {
	to := []byte{'{'}
	for i, p := range ps {
		if i > 0 {
			to = append(to, ',')
		}
		js, err := json.Marshal(p.property)
		if err != nil {
			return nil, err
		}
		to = append(fmt.Appendf(to, "%q:", p.name), js...)
	}
	return append(to, '}'), nil
}

type formSchema struct {
	Type       string     `json:"type"`
	Required   []string   `json:"required,omitempty"`
	Properties properties `json:"properties"`
}

func marshalForm(fields properties, required []string) json.RawMessage {
	schema, err := json.Marshal(formSchema{Type: "object", Required: required, Properties: fields})
	if err != nil {
		panic(err) // strings only
	}
	return schema
}
