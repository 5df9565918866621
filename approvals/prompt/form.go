package prompt

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
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

const (
	denyValue  = "deny"
	allowValue = "allow_once"
	scopeValue = "allow_" // plus a scope: this once, and the calls of the grant
	planValue  = scopeValue + string(call.ForPlan)
)

// choices returns what a form offers about calls that share a decision: all of them, and those that it can allow. A
// refusal comes first, so that a client that takes the first value of a list for its default refuses. A choice of
// approval is missing where it would not count.
func choices(all int, calls []*Request) []choice {
	offered := []choice{{denyValue, "Refuse"}}
	switch {
	case len(calls) == 0:
		return offered
	case len(calls) < all:
		return append(offered, choice{allowValue, fmt.Sprintf("Allow %d of these %d calls, as said above", len(calls), all)})
	case all > 1:
		return append(offered, choice{allowValue, fmt.Sprintf("Allow these %d calls", all)})
	}
	return append(offered, allowed(calls)...)
}

// allowed are the choices for the offers of calls.
func allowed(calls []*Request) (all []choice) {
	for _, o := range Offers(calls, time.Now()) {
		all = append(all, choice{scopeValue + string(o.Scope), o.Text})
	}
	return all
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

// Names of the fields of a form.
const (
	decisionField = "decision"
	allField      = "same_for_all"
	refuseField   = "refuse"
	reasonField   = "reason"
)

// A field is one decision of a form.
type field struct {
	name    string
	calls   []int
	offered []choice
	partial []int // the calls that it can only refuse: they are not shown whole, or their risk is too high
}

// ErrPartial says that a form cannot allow the call: it does not show the call whole, or does not prove who answers. It
// is no answer, and another form about the call would not help: people answer in other places.
var ErrPartial = fmt.Errorf("%w: the form cannot allow the call", ErrUnclear)

func fields(calls []*Request, shown *View) []field {
	var all []field
	for i, share := range decisions(calls) {
		f := field{name: decisionField, calls: share}
		if len(calls) > 1 {
			f.name = fmt.Sprintf("%s_%d", decisionField, i+1)
		}
		var those []*Request
		for _, c := range share {
			if r := calls[c]; r.Inquiry == nil && r.Risk.FormSuffices() && shown.each[c] {
				those = append(those, r)
			} else {
				f.partial = append(f.partial, c)
			}
		}
		f.offered = choices(len(share), those)
		all = append(all, f)
	}
	if len(calls) > 1 && len(all) == 1 && len(all[0].offered) > 1 { // else the plan goes with the decision for all
		if g := planOf(calls, time.Now()); g != nil {
			all[0].offered = append(all[0].offered, choice{planValue, g.Text()})
		}
	}
	return all
}

// title names the calls that the field decides.
func (f *field) title(calls []*Request) string {
	title := Heading(calls[f.calls[0]])
	for _, c := range f.calls[1:] {
		if Heading(calls[c]) != title {
			title = "several tools"
			break
		}
	}
	if len(calls) > 1 {
		what := numbered(calls).names(f.calls)
		title = strings.ToUpper(what[:1]) + what[1:] + ": " + title
	}
	if code, _ := shorten(calls[f.calls[0]].Code); code != "" && len(f.calls) == 1 {
		title += ", code " + code
	}
	return title
}

// Form turns a round of calls into one elicitation for a client of a protocol version such as "2025-11-25": a message,
// and the schema of a form. The decision on a call is required and has no default. Several calls have a decision each,
// decision_1 and so on, and one decision for all. More than MaxDecisions calls share decisions, and a text field names
// the calls among them to refuse. [ReadForm] reads the client's reply.
func Form(calls []*Request, protocol string) (message string, schema json.RawMessage) {
	return formOf(calls, styleFor(protocol))
}

func formOf(calls []*Request, style formStyle) (message string, schema json.RawMessage) {
	message, properties, required := formParts(calls, style)
	return message, marshalForm(properties, required)
}

// formParts returns the parts of a form about calls.
func formParts(calls []*Request, style formStyle) (message string, properties properties, required []string) {
	shown := RenderAll(calls, RenderOptions{Markdown: true})
	message = shown.Text()
	if len(calls) == 1 && calls[0].Inquiry != nil {
		properties, required = calls[0].Inquiry.fields(style)
		return message, properties, required
	}
	all := fields(calls, &shown)
	yes := 0
	for _, f := range all {
		if len(f.partial) == 0 {
			yes++
		}
		message += f.remark(calls)
	}
	if len(all) > 1 {
		same := property{Type: "string", Title: "The same for all (instead of deciding each)"}
		offered := []choice{{denyValue, fmt.Sprintf("Refuse all %d calls", len(calls))}}
		if yes == len(all) {
			offered = append(offered, allowed(calls)...)
		}
		same.offer(offered, style)
		properties = append(properties, namedProperty{allField, same})
	}
	for _, f := range all {
		p := property{Type: "string", Title: f.title(calls)}
		p.offer(f.offered, style)
		if len(f.offered) > 1 || len(all) == 1 { // without a decision, the call is left to other places
			required = append(required, f.name)
		}
		properties = append(properties, namedProperty{f.name, p})
	}
	if takesExceptions(all) {
		properties = append(properties, namedProperty{refuseField, property{
			Type: "string", MaxLength: maxExceptions,
			Title: "Except these calls, which are refused: their numbers, such as 3, 7-9 (empty for none)",
		}})
	}
	if text, ok := editable(calls, all, &shown); ok {
		p := property{Type: "string", MaxLength: maxArguments,
			Title: "Other arguments for this call, as JSON (empty or unchanged: those above)"}
		if style == oneOf {
			p.Default = text
		}
		properties = append(properties, namedProperty{argumentsField, p})
	}
	properties = append(properties, namedProperty{reasonField, property{Type: "string",
		Title: "Reason if refused (the program sees it)", MaxLength: MaxWords}})
	return message, properties, required
}

func marshalForm(fields properties, required []string) json.RawMessage {
	schema, err := json.Marshal(formSchema{Type: "object", Required: required, Properties: fields})
	if err != nil {
		panic(err) // strings only
	}
	return schema
}

// remark says which calls a decision cannot allow, why, and where people can.
func (f *field) remark(calls []*Request) string {
	if len(f.partial) == 0 {
		return ""
	}
	r, what := calls[f.partial[0]], "This form can only refuse"
	if len(calls) > 1 {
		what += " " + numbered(calls).names(f.partial)
	}
	why := "the call is too large to be shown whole here"
	if !r.Risk.FormSuffices() {
		why = "a call of this risk is allowed only where it is known who answers"
	}
	if r.Elsewhere != "" {
		why += ". " + r.Elsewhere
	}
	return "\n" + what + ": " + why + ".\n"
}
