package approvals

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// A FormStyle is the way in which a form gives titles to the values of a choice.
type FormStyle int

const (
	EnumNames FormStyle = iota // enum and enumNames, known since MCP 2025-06-18
	OneOf                      // oneOf with const and title, since 2025-11-25
)

// StyleFor returns the style for a protocol version such as "2025-11-25". An unknown one gets the older style.
func StyleFor(protocol string) FormStyle {
	if len(protocol) == len("2025-11-25") && protocol >= "2025-11-25" {
		return OneOf
	}
	return EnumNames
}

// A choice is a value of the form's decision.
type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

const (
	denyValue  = "deny"
	allowValue = "allow_once"
)

// choices are what a form about r offers. A refusal comes first, so that a client that takes the first value of a list for its
// default refuses. An approval is left out where it would not count.
func choices(r *Request, shown Rendering) []choice {
	offered := []choice{{denyValue, "Refuse"}}
	if formSuffices(r.Risk) && (shown.Complete || !grave(r.Risk)) {
		offered = append(offered, choice{allowValue, "Allow this call"})
	}
	return offered
}

// formSuffices reports whether a form, which any program can send back, may approve a call of this risk.
func formSuffices(risk string) bool { return !grave(risk) || risk == High }

func formRendering(r *Request) Rendering { return Render(r, RenderOptions{Markdown: true}) }

type property struct {
	Type      string   `json:"type"`
	Title     string   `json:"title"`
	Enum      []string `json:"enum,omitempty"`
	EnumNames []string `json:"enumNames,omitempty"`
	OneOf     []choice `json:"oneOf,omitempty"`
	MaxLength int      `json:"maxLength,omitempty"`
}

// The fields are structs because clients show them in the order in which they come.
type formSchema struct {
	Type       string         `json:"type"`
	Required   []string       `json:"required"`
	Properties formProperties `json:"properties"`
}

type formProperties struct {
	Decision property `json:"decision"`
	Reason   property `json:"reason"`
}

// Form is r as an elicitation: a message, and the schema of a form whose decision is required and has no default. This pairs
// with ReadForm.
func Form(r *Request, style FormStyle) (message string, schema json.RawMessage) {
	shown := formRendering(r)
	offered := choices(r, shown)
	message = shown.Text
	switch {
	case len(offered) > 1:
	case !formSuffices(r.Risk):
		message += "\nThis form can only refuse: a call of this risk is approved on a terminal or another channel that knows who answers.\n"
	default:
		message += "\nThis form can only refuse: the call is too large to be shown whole, as its risk demands. Approve it on a terminal.\n"
	}
	decision := property{Type: "string", Title: Heading(r)}
	if r.Code != "" {
		code, _ := shorten(r.Code)
		decision.Title += ", code " + code
	}
	for _, c := range offered {
		if style == OneOf {
			decision.OneOf = append(decision.OneOf, c)
		} else {
			decision.Enum, decision.EnumNames = append(decision.Enum, c.Const), append(decision.EnumNames, c.Title)
		}
	}
	schema, err := json.Marshal(formSchema{
		Type: "object", Required: []string{"decision"},
		Properties: formProperties{
			Decision: decision,
			Reason:   property{Type: "string", Title: "Reason if refused (the program sees it)", MaxLength: MaxWords},
		},
	})
	if err != nil {
		panic(err) // strings only
	}
	return message, schema
}

// ReadForm reads what a client made of the Form of r. Only the action accept with the exact value allow_once, where that was
// offered, and nothing that was not asked for is a yes. The action decline and the value deny are a no; cancel is ErrDismissed;
// everything else is ErrUnclear.
func ReadForm(r *Request, action string, content map[string]any) (Reply, error) {
	switch action {
	case "accept":
	case "decline":
		return refusal(content), nil
	case "cancel":
		return Reply{}, ErrDismissed
	default:
		return Reply{}, fmt.Errorf("%w: unknown action %s", ErrUnclear, Quote(action))
	}
	decision, ok := content["decision"].(string)
	switch {
	case len(content) == 0:
		return Reply{}, fmt.Errorf("%w: the form came back empty", ErrUnclear)
	case !ok:
		return Reply{}, fmt.Errorf("%w: the form came back without a decision", ErrUnclear)
	case decision == denyValue:
		return refusal(content), nil
	case decision != allowValue:
		return Reply{}, fmt.Errorf("%w: unknown decision %s", ErrUnclear, Quote(decision))
	case grave(r.Risk) && len(choices(r, formRendering(r))) == 1:
		return Reply{}, fmt.Errorf("%w: the form did not offer to allow", ErrUnclear)
	}
	for key := range content {
		if key != "decision" && key != "reason" {
			return Reply{}, fmt.Errorf("%w: the form came back with a field %s that it does not have", ErrUnclear, Quote(key))
		}
	}
	reason, given := content["reason"]
	words, ok := reason.(string)
	if given && (!ok || utf8.RuneCountInString(words) > MaxWords) {
		return Reply{}, fmt.Errorf("%w: the reason is not a text of at most %d characters", ErrUnclear, MaxWords)
	}
	return Reply{Decision: AllowOnce, Reason: words}, nil
}

// refusal is a no with whatever reason came along.
func refusal(content map[string]any) Reply {
	reason, _ := content["reason"].(string)
	return Reply{Decision: Refuse, Reason: reason}
}
