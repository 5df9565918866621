package prompt

import (
	"fmt"
	"math"

	"github.com/codemode-project/codemode/call"
)

// Names of the fields of a form that asks an Inquiry.
const (
	answerField  = "answer"  // one of the options
	answersField = "answers" // some of them; in the older style, which has no lists, answer_1 and so on
	textField    = "text"
)

// optionValue is the value that a form returns for option i. The label is the program's text, so it is only the title.
func optionValue(i int) string { return fmt.Sprintf("option_%d", i+1) }

func optionField(i int) string { return fmt.Sprintf("%s_%d", answerField, i+1) }

// fields returns the fields of the form for q.
func (q *Inquiry) fields(style formStyle) (fields properties, required []string) {
	var offered []choice
	for i, o := range q.Options {
		label, _ := shortened(o.Label, maxLabel)
		offered = append(offered, choice{optionValue(i), label})
	}
	switch {
	case len(offered) == 0:
	case !q.Multiple:
		p := property{Type: "string", Title: "Your answer"}
		p.offer(offered, style)
		fields = append(fields, namedProperty{answerField, p})
		if !q.takesText() {
			required = append(required, answerField)
		}
	case style == oneOf:
		fields = append(fields, namedProperty{answersField, property{Type: "array", Title: "Your answers",
			Items: &anyOf{offered}}})
		if !q.takesText() {
			required = append(required, answersField)
		}
	default:
		for i, o := range offered {
			fields = append(fields, namedProperty{optionField(i), property{Type: "boolean", Title: o.Title}})
		}
	}
	if q.takesText() {
		title := "In your own words"
		if len(offered) == 0 {
			title, required = "Your answer", append(required, textField)
		}
		fields = append(fields, namedProperty{textField, property{Type: "string", Title: title, MaxLength: MaxAnswer}})
	}
	return fields, required
}

// read parses the answer in a form for q, in either style: a client may have changed its protocol version.
func (q *Inquiry) read(content map[string]any) call.Answer {
	answer := call.Answer{Allowed: true}
	chosen := make([]bool, len(q.Options)) // from the fields of the older style
	named := func(name func(int) string, value any) int {
		for i := range q.Options {
			if value == name(i) {
				return i
			}
		}
		return -1
	}
	choose := func(value any) bool {
		i := named(optionValue, value)
		if i >= 0 {
			answer.Selected = append(answer.Selected, i)
		}
		return i >= 0
	}
	for name, value := range content {
		list, isList := value.([]any)
		text, isText := value.(string)
		on, isBool := value.(bool)
		option := named(optionField, name)
		switch {
		case value == nil: // left empty
		case name == textField && isText:
			answer.Text = text
		case name == answerField && isText && text == "": // left empty
		case name == answerField && choose(value):
		case name == answersField && isList && len(list) <= maxOptions:
			for _, v := range list {
				if !choose(v) {
					return unclear("an option was chosen that there is not")
				}
			}
		case option >= 0 && isBool && q.Multiple:
			chosen[option] = on
		default:
			return unclear("the form came back with a field %s that it does not have, or with something else in it", Quote(name))
		}
	}
	for i, on := range chosen {
		if on {
			answer.Selected = append(answer.Selected, i)
		}
	}
	if err := q.CheckAnswer(&answer); err != nil {
		return call.Answer{Err: err}
	}
	return answer
}

// shortened escapes a label for a place with room for one line.
func shortened(label string, most int) (string, bool) {
	p := &printer{limits: limits{text: most}, oneLine: true, width: math.MaxInt32}
	p.text(characters(label), nil)
	return p.b.String(), p.cut
}
