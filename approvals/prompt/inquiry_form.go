package prompt

import (
	"encoding/json"
	"fmt"
	"math"
)

// Names of the fields of a form that puts an Inquiry.
const (
	answerField  = "answer"  // one of the options
	answersField = "answers" // some of them; answer_1 and so on in the older style, which knows no lists
	textField    = "text"
)

// optionValue is what a form sends back for option i. The label is a program's words, so it is only the title.
func optionValue(i int) string { return fmt.Sprintf("option_%d", i+1) }

func optionField(i int) string { return fmt.Sprintf("%s_%d", answerField, i+1) }

// fields are those of the form for q.
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
		if !q.TakesText() {
			required = append(required, answerField)
		}
	case style == oneOf:
		fields = append(fields, namedProperty{answersField, property{Type: "array", Title: "Your answers", Items: &anyOf{offered}}})
		if !q.TakesText() {
			required = append(required, answersField)
		}
	default:
		for i, o := range offered {
			fields = append(fields, namedProperty{optionField(i), property{Type: "boolean", Title: o.Title}})
		}
	}
	if q.TakesText() {
		title := "In your own words"
		if len(offered) == 0 {
			title, required = "Your answer", append(required, textField)
		}
		fields = append(fields, namedProperty{textField, property{Type: "string", Title: title, MaxLength: MaxAnswer}})
	}
	return fields, required
}

// inquiryForm is the question of r as an elicitation. This pairs with readInquiry.
func inquiryForm(r *Request, style formStyle) (message string, schema json.RawMessage) {
	s := formSchema{Type: "object"}
	s.Properties, s.Required = r.Inquiry.fields(style)
	schema, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings only
	}
	return Text(r, RenderOptions{Markdown: true}), schema
}

// readInquiry reads what a client made of inquiryForm, in either style: a client may have changed its protocol's words.
func readInquiry(r *Request, action string, content map[string]any) Result {
	q := r.Inquiry
	unclear := func(what string) Result { return Result{Err: fmt.Errorf("%w: %s", ErrUnclear, what)} }
	switch action {
	case "accept":
	case "decline":
		return Result{Reply: Reply{Decision: Refuse}}
	case "cancel":
		return Result{Err: ErrDismissed}
	default:
		return unclear("unknown action " + Quote(action))
	}
	index := map[any]int{}
	field := map[string]int{}
	for i := range q.Options {
		index[optionValue(i)], field[optionField(i)] = i, i
	}
	reply := Reply{Decision: AllowOnce}
	choose := func(value any) bool {
		text, isText := value.(string)
		i, known := index[text]
		if known && isText {
			reply.Selected = append(reply.Selected, i)
		}
		return known && isText
	}
	chosen := make([]bool, len(q.Options))
	for name, value := range content {
		i, isOption := field[name]
		list, isList := value.([]any)
		text, isText := value.(string)
		on, isBool := value.(bool)
		switch {
		case value == nil: // left empty
		case name == textField && isText:
			reply.Text = text
		case name == answerField && isText && text == "": // left empty
		case name == answerField && choose(value):
		case name == answersField && isList && len(list) <= maxOptions:
			for _, v := range list {
				if !choose(v) {
					return unclear("an option was chosen that there is not")
				}
			}
		case isOption && isBool && q.Multiple:
			chosen[i] = on
		default:
			return unclear("the form came back with a field " + Quote(name) + " that it does not have, or with something else in it")
		}
	}
	for i, on := range chosen {
		if on {
			reply.Selected = append(reply.Selected, i)
		}
	}
	if err := q.CheckReply(&reply); err != nil {
		return Result{Err: err}
	}
	return Result{Reply: reply}
}

// shortened escapes a label for a place that has one line for it.
func shortened(label string, most int) (string, bool) {
	p := &printer{limits: limits{text: most}, oneLine: true, width: math.MaxInt32}
	p.text(characters(label), nil)
	return p.b.String(), p.cut
}
