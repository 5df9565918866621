package prompt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/codemode-project/codemode/call"
)

// ReadForm reads a client's reply to a Form, and returns an answer for each call. A yes needs the action accept and the
// exact value of an offered choice, with no field that was not asked for. The action decline and the value deny are a
// no; cancel is ErrDismissed; a yes to a call that the form can only refuse is ErrPartial, and so is no decision about it;
// everything else is ErrUnclear. Where a decision, the decision for all and the list of
// calls to refuse differ, the refusal counts.
func ReadForm(calls []*Request, action string, content map[string]any) []call.Answer {
	each := func(a call.Answer) []call.Answer { return slices.Repeat([]call.Answer{a}, len(calls)) }
	switch {
	case action == "decline":
		return each(refusal(content))
	case action == "cancel":
		return each(call.Answer{Err: ErrDismissed})
	case action != "accept":
		return each(unclear("unknown action %s", Quote(action)))
	case len(calls) == 1 && calls[0].Inquiry != nil:
		return each(calls[0].Inquiry.read(content))
	case len(content) == 0:
		return each(unclear("the form came back empty"))
	}
	form := newFormReader(calls, content)
	answers := form.answers()
	refuses := func(a call.Answer) bool { return a.Err == nil && !a.Allowed }
	no := slices.ContainsFunc(answers, refuses)
	for i := range answers {
		// A person who allows one call and refuses another has looked at both.
		answers[i].Typed = refuses(answers[i]) && (form.yes || answers[i].Typed)
		if no && !refuses(answers[i]) {
			answers[i].Reason = "" // the words explain the refusals
		}
	}
	return answers
}

// refusal is a no with the reason that came along, if any.
func refusal(content map[string]any) call.Answer {
	reason, _ := content[reasonField].(string)
	return call.Answer{Reason: reason, Typed: strings.TrimSpace(reason) != ""} // no program fills in words
}

// A formReader reads the completed form of a round of calls.
type formReader struct {
	calls    []*Request
	content  map[string]any
	fields   []field
	excepted []int             // the calls that the list of calls to refuse names
	faults   map[string]string // what is wrong, by field, as far as it is read; "" is the reply as a whole
	// Set when a fault is in no decision: then the form contains no yes, but all refusals still count.
	wrong error
	args  json.RawMessage // that the person wrote for the call; nil for its own
	yes   bool            // some decision is a yes, even if the list excepts all of its calls
}

func newFormReader(calls []*Request, content map[string]any) *formReader {
	shown := RenderAll(calls, RenderOptions{Markdown: true})
	f := &formReader{calls: calls, content: content, fields: fields(calls, &shown), faults: map[string]string{}}
	known := map[string]bool{reasonField: true, allField: len(f.fields) > 1, refuseField: takesExceptions(f.fields)}
	for _, x := range f.fields {
		known[x.name] = true
	}
	if _, known[argumentsField] = editable(calls, f.fields, &shown); known[argumentsField] {
		args, err := edited(calls[0], f.text(argumentsField, maxArguments))
		if f.args = args; err != nil {
			f.fault(argumentsField, Words(err.Error()))
		} else if args != nil && content[decisionField] != allowValue {
			f.fault(argumentsField, "other arguments go with a yes to this call alone")
		}
		if f.faults[argumentsField] != "" { // a yes to the call as it was is another answer
			f.fault(decisionField, "the arguments were not accepted")
		}
	}
	for key := range content {
		if !known[key] {
			f.fault("", "the answer had a field "+QuoteWords(key)+" that the form does not have")
		}
	}
	f.text(reasonField, MaxWords)
	if known[refuseField] {
		var err error
		if f.excepted, err = exceptions(calls, f.text(refuseField, maxExceptions)); err != nil {
			f.fault(refuseField, err.Error())
		}
	}
	return f
}

// fault records what is wrong with a field. Only the first fault of a field counts.
func (f *formReader) fault(name, what string) {
	if f.wrong == nil {
		f.wrong = unclear("%s: %s", cmp.Or(name, "the form"), what).Err
	}
	f.faults[name] = cmp.Or(f.faults[name], what)
}

// text returns the value of a text field; "" if it is no text or too long.
func (f *formReader) text(name string, most int) string {
	value, given := f.content[name]
	text, ok := value.(string)
	if given && (!ok || utf8.RuneCountInString(text) > most) {
		f.fault(name, fmt.Sprintf("it is not a text of at most %d characters", most))
		return ""
	}
	return text
}

// answers reads each decision, and applies it to the calls that share it.
func (f *formReader) answers() []call.Answer {
	answers := make([]call.Answer, len(f.calls))
	for _, x := range f.fields {
		a := f.decision(&x)
		for _, c := range x.calls {
			answers[c] = a
			if a.Allowed && slices.Contains(x.partial, c) {
				answers[c] = call.Answer{Err: ErrPartial}
			}
			if slices.Contains(f.excepted, c) {
				answers[c] = refusal(f.content)
			}
		}
	}
	return answers
}

// decision reads the decision of one field. Where it is missing, the decision for all applies.
func (f *formReader) decision(x *field) call.Answer {
	value, says := f.content[x.name]
	text, isText := value.(string)
	same, forAll := f.content[allField]
	forAll = forAll && len(f.fields) > 1
	plan := forAll && same == planValue && planOf(f.calls, time.Now()) != nil
	if forAll && same != denyValue && same != allowValue && !plan {
		f.faults[allField], forAll = "it is none of the decisions offered", false
	}
	fault := ""
	switch partial := len(x.offered) == 1; {
	case partial && (isText || !says), slices.ContainsFunc(x.offered, func(c choice) bool { return c.Const == value }),
		!says && forAll && (same == denyValue || !partial):
	case !says:
		fault = "there was no decision"
	default:
		fault = QuoteWords(fmt.Sprint(value)) + " was not offered"
	}
	if fault != "" {
		f.faults[x.name] = cmp.Or(f.faults[x.name], fault)
	}
	switch {
	case f.faults[allField] != "":
		return unclear("the decision for all is none of those offered")
	case value == denyValue, forAll && same == denyValue:
		return refusal(f.content)
	case len(x.offered) == 1 && (isText || !says):
		return call.Answer{Err: ErrPartial}
	case fault != "" && !isText:
		return unclear("the form came back without a decision")
	case fault != "":
		return unclear("the decision %s was not offered", Quote(text))
	case f.wrong != nil:
		return call.Answer{Err: f.wrong}
	}
	f.yes = true
	a := call.Answer{Allowed: true, Reason: refusal(f.content).Reason, Args: f.args}
	if scope := strings.TrimPrefix(text, scopeValue); says && text != allowValue {
		a.Scope = scope
	} else if plan {
		a.Scope = call.ForPlan
	}
	return a
}
