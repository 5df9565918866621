package prompt

import (
	"encoding/json"
	"fmt"
)

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
