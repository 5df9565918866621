package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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

func unclear(format string, args ...any) call.Answer {
	return call.Answer{Err: fmt.Errorf("%w: "+format, append([]any{ErrUnclear}, args...)...)}
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
	excepted []int // the calls that the list of calls to refuse names
	// Holds an error when the form as a whole is invalid: then it contains no yes, but all refusals still count.
	wrong     call.Answer
	unknown   string          // a field that the form does not have
	listError error           // what is wrong with the list of calls to refuse
	args      json.RawMessage // that the person wrote for the call; nil for its own
	argsError error           // what is wrong with them
	yes       bool            // some decision is a yes, even if the list excepts all of its calls
}

func newFormReader(calls []*Request, content map[string]any) *formReader {
	_, shown := renderAll(calls, RenderOptions{Markdown: true})
	f := &formReader{calls: calls, content: content, fields: fields(calls, shown)}
	known := map[string]bool{reasonField: true, allField: len(f.fields) > 1, refuseField: takesExceptions(f.fields)}
	for _, x := range f.fields {
		known[x.name] = true
	}
	if _, known[argumentsField] = editable(calls, f.fields, shown); known[argumentsField] {
		f.readArguments()
	}
	for key := range content {
		if !known[key] && f.wrong.Err == nil {
			f.unknown, f.wrong = key, unclear("the form came back with a field %s that it does not have", Quote(key))
		}
	}
	if _, ok := f.text(reasonField, MaxWords); !ok && f.wrong.Err == nil {
		f.wrong = unclear("the reason is not a text of at most %d characters", MaxWords)
	}
	if !known[refuseField] {
		return f
	}
	list, ok := f.text(refuseField, maxExceptions)
	err := fmt.Errorf("it is not a text of at most %d characters", maxExceptions)
	if ok {
		f.excepted, err = exceptions(calls, list)
	}
	if f.listError = err; err != nil && f.wrong.Err == nil {
		f.wrong = unclear("the list of calls to refuse: %w", err)
	}
	return f
}

// readArguments reads the arguments that a person wrote. They count with a yes to this call alone.
func (f *formReader) readArguments() {
	text, ok := f.text(argumentsField, maxArguments)
	if !ok {
		f.argsError = fmt.Errorf("it is not a text of at most %d characters", maxArguments)
	} else if f.args, f.argsError = edited(f.calls[0], text); f.args != nil && f.content[decisionField] != allowValue {
		f.argsError = errors.New("other arguments go with a yes to this call alone")
	}
	if f.argsError != nil {
		f.wrong = unclear("the arguments: %s", Words(f.argsError.Error()))
	}
}

// text returns the value of a text field. It reports false for a value that is not text or too long.
func (f *formReader) text(name string, most int) (string, bool) {
	value, given := f.content[name]
	text, ok := value.(string)
	return text, !given || ok && utf8.RuneCountInString(text) <= most
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
	same, forAll := f.content[allField]
	forAll = forAll && len(f.fields) > 1
	plan := forAll && same == planValue
	if forAll && !says {
		if value = same; plan {
			value = allowValue
		}
	}
	text, isText := value.(string)
	switch {
	case forAll && same != denyValue && same != allowValue && (!plan || PlanOf(f.calls) == nil):
		return unclear("the decision for all is none of those offered")
	case text == denyValue, forAll && same == denyValue:
		return refusal(f.content)
	case len(x.offered) == 1 && (isText || !says):
		return call.Answer{Err: ErrPartial}
	case !isText:
		return unclear("the form came back without a decision")
	case !slices.ContainsFunc(x.offered, func(c choice) bool { return c.Const == text }):
		return unclear("the decision %s was not offered", Quote(text))
	case f.wrong.Err != nil:
		return f.wrong
	}
	f.yes = true
	a := call.Answer{Allowed: true, Reason: refusal(f.content).Reason, Args: f.args}
	if scope := strings.TrimPrefix(text, scopeValue); scope != call.Once {
		a.Scope = scope
	} else if plan {
		a.Scope = call.ForPlan
	}
	return a
}
