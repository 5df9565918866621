package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A formStyle is the way in which a form gives titles to the values of a choice.
type formStyle int

const (
	enumNames formStyle = iota // enum and enumNames, known since MCP 2025-06-18
	oneOf                      // oneOf with const and title, since 2025-11-25
)

// styleFor returns the style for a protocol version such as "2025-11-25". An unknown one gets the older style.
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
	scopeValue = "allow_" // and a scope: this once and what the grant says
	planValue  = scopeValue + string(ForPlan)
)

// choices are what a form offers about calls that share a decision. A refusal comes first, so that a client that
// takes the first value of a list for its default refuses. An approval is left out where it would not count.
func choices(calls []*Request, shown []Rendering) []choice {
	offered := []choice{{denyValue, "Refuse"}}
	for i, r := range calls {
		if r.Inquiry != nil || !r.Risk.FormSuffices() || r.Risk.Grave() && !shown[i].Complete {
			return offered
		}
	}
	if len(calls) > 1 {
		return append(offered, choice{allowValue, fmt.Sprintf("Allow these %d calls", len(calls))})
	}
	offered = append(offered, choice{allowValue, calls[0].Yes()})
	for _, g := range Offers(calls[0], time.Now()) {
		offered = append(offered, choice{scopeValue + string(g.Scope), g.Text()})
	}
	return offered
}

// Offers are the grants that a person may give with a yes to r.
func Offers(r *Request, now time.Time) []*Grant {
	if r.Ahead || len(r.Terms.Scopes)+len(r.Plan) == 0 || !rememberable(r) {
		return nil
	}
	var all []*Grant
	for _, scope := range r.Terms.Scopes {
		if scope == Once {
			continue
		}
		if g, err := r.Draft(Wish{Scope: scope}, now); err == nil {
			all = append(all, g)
		}
	}
	if g, err := r.Draft(Wish{Scope: ForPlan}, now); err == nil {
		all = append(all, g)
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
	Items     *anyOf   `json:"items,omitempty"` // of a list
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

// properties are the fields of a form. Clients show them in the order in which they come.
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
}

func fields(calls []*Request, shown []Rendering) []field {
	var all []field
	for i, share := range decisions(calls) {
		f := field{name: decisionField, calls: share}
		if len(calls) > 1 {
			f.name = fmt.Sprintf("%s_%d", decisionField, i+1)
		}
		var those []*Request
		var seen []Rendering
		for _, c := range share {
			those, seen = append(those, calls[c]), append(seen, shown[c])
		}
		f.offered = choices(those, seen)
		all = append(all, f)
	}
	if len(calls) > 1 && len(all) == 1 && len(all[0].offered) > 1 { // else the plan goes with the decision for all
		if g := PlanOf(calls); g != nil {
			all[0].offered = append(all[0].offered, choice{planValue, g.Text()})
		}
	}
	return all
}

// title names what is decided.
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
	if code, _ := Shorten(calls[f.calls[0]].Code); code != "" && len(f.calls) == 1 {
		title += ", code " + code
	}
	return title
}

// Form is a round of calls as one elicitation for a client of a protocol version such as "2025-11-25": a message, and
// the schema of a form. The decision on a call is required and has no default. Several calls have a decision each,
// decision_1 and so on, and one that is the same for all. More than MaxDecisions share decisions, and a text names
// those of them to refuse. This pairs with ReadForm.
func Form(calls []*Request, protocol string) (message string, schema json.RawMessage) {
	return formOf(calls, styleFor(protocol))
}

func formOf(calls []*Request, style formStyle) (message string, schema json.RawMessage) {
	if len(calls) == 1 && calls[0].Inquiry != nil {
		return inquiryForm(calls[0], style)
	}
	whole, shown := renderAll(calls, RenderOptions{Markdown: true})
	message = whole.Text
	s := formSchema{Type: "object"}
	all := fields(calls, shown)
	yes := 0
	for _, f := range all {
		if len(f.offered) > 1 {
			yes++
		}
		message += f.remark(calls)
	}
	if len(all) > 1 {
		same := property{Type: "string", Title: "The same for all (instead of deciding each)"}
		offered := []choice{{denyValue, fmt.Sprintf("Refuse all %d calls", len(calls))}}
		if yes == len(all) {
			offered = append(offered, choice{allowValue, fmt.Sprintf("Allow all %d calls, once each", len(calls))})
			if g := PlanOf(calls); g != nil {
				offered = append(offered, choice{planValue, g.Text()})
			}
		}
		same.offer(offered, style)
		s.Properties = append(s.Properties, namedProperty{allField, same})
	}
	for _, f := range all {
		p := property{Type: "string", Title: f.title(calls)}
		p.offer(f.offered, style)
		s.Required = append(s.Required, f.name)
		s.Properties = append(s.Properties, namedProperty{f.name, p})
	}
	if takesExceptions(all) {
		s.Properties = append(s.Properties, namedProperty{refuseField, property{
			Type: "string", MaxLength: maxExceptions,
			Title: "Except these calls, which are refused: their numbers, such as 3, 7-9 (empty for none)",
		}})
	}
	s.Properties = append(s.Properties, namedProperty{reasonField, property{Type: "string", Title: "Reason if refused (the program sees it)", MaxLength: MaxWords}})
	schema, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings only
	}
	return message, schema
}

// remark says why a decision has no yes.
func (f *field) remark(calls []*Request) string {
	what := "This form can only refuse"
	if len(calls) > 1 {
		what += " " + numbered(calls).names(f.calls)
	}
	for _, c := range f.calls {
		if len(f.offered) == 1 && !calls[c].Risk.FormSuffices() {
			return "\n" + what + ": a call of this risk is approved on a terminal or another channel that knows who answers.\n"
		}
	}
	if len(f.offered) == 1 {
		return "\n" + what + ": the call is too large to be shown whole, as its risk demands. Approve it on a terminal.\n"
	}
	return ""
}

// ReadForm reads what a client made of a Form, with a result for each call. Only the action accept with the exact
// value of a choice that was offered, and nothing that was not asked for is a yes. The action decline and the value
// deny are a no; cancel is ErrDismissed; everything else is ErrUnclear. Where a decision, the one for all and the
// list of calls to refuse differ, the refusal counts.
func ReadForm(calls []*Request, action string, content map[string]any) []Result {
	if len(calls) == 1 && calls[0].Inquiry != nil {
		return []Result{readInquiry(calls[0], action, content)}
	}
	results := make([]Result, len(calls))
	each := func(x Result) []Result {
		for i := range results {
			results[i] = x
		}
		return results
	}
	unclear := func(format string, args ...any) Result {
		return Result{Err: fmt.Errorf("%w: "+format, append([]any{ErrUnclear}, args...)...)}
	}
	refusal := Result{Reply: refusal(content)}
	switch action {
	case "accept":
	case "decline":
		return each(refusal)
	case "cancel":
		return each(Result{Err: ErrDismissed})
	default:
		return each(unclear("unknown action %s", Quote(action)))
	}
	if len(content) == 0 {
		return each(unclear("the form came back empty"))
	}
	_, shown := renderAll(calls, RenderOptions{Markdown: true})
	all := fields(calls, shown)
	known := map[string]bool{reasonField: true, allField: len(all) > 1, refuseField: takesExceptions(all)}
	for _, f := range all {
		known[f.name] = true
	}
	// What is wrong with the form as a whole leaves no yes in it, but no fewer refusals.
	var wrong error
	for key := range content {
		if !known[key] && wrong == nil {
			wrong = unclear("the form came back with a field %s that it does not have", Quote(key)).Err
		}
	}
	reason, given := content[reasonField]
	words, ok := reason.(string)
	if given && (!ok || utf8.RuneCountInString(words) > MaxWords) && wrong == nil {
		wrong = unclear("the reason is not a text of at most %d characters", MaxWords).Err
	}
	var excepted []int
	if list, given := content[refuseField]; given && known[refuseField] {
		text, isText := list.(string)
		var err error
		if !isText || utf8.RuneCountInString(text) > maxExceptions {
			err = fmt.Errorf("it is not a text of at most %d characters", maxExceptions)
		} else {
			excepted, err = exceptions(calls, text)
		}
		if err != nil && wrong == nil {
			wrong = unclear("the list of calls to refuse: %w", err).Err
		}
	}
	said := false // yes, to anything
	for _, f := range all {
		var x Result
		value, says := content[f.name]
		same, forAll := content[allField]
		if forAll = forAll && len(all) > 1; !says && forAll {
			value = same
			if same == planValue {
				value = allowValue
			}
		}
		text, isText := value.(string)
		switch {
		case forAll && same != denyValue && same != allowValue && (same != planValue || PlanOf(calls) == nil):
			x = unclear("the decision for all is none of those offered")
		case !isText:
			x = unclear("the form came back without a decision")
		case text == denyValue, forAll && same == denyValue:
			x = refusal
		case !offers(f.offered, text):
			x = unclear("the decision %s was not offered", Quote(text))
		case wrong != nil:
			x = Result{Err: wrong}
		default:
			said = true
			x.Reply = Reply{Decision: AllowOnce, Reason: words}
			if scope := Scope(strings.TrimPrefix(text, scopeValue)); scope != Once {
				x.Reply.Scope = scope
			} else if forAll && same == planValue {
				x.Reply.Scope = ForPlan
			}
		}
		for _, c := range f.calls {
			results[c] = x
			if slices.Contains(excepted, c) {
				results[c] = refusal
			}
		}
	}
	refuses := func(x Result) bool { return x.Err == nil && x.Reply.Decision == Refuse }
	no := slices.ContainsFunc(results, refuses)
	for i := range results {
		results[i].Reply.Typed = said && refuses(results[i]) // whoever says yes to one call and no to another has looked at both
		if no && !refuses(results[i]) {
			results[i].Reply.Reason = "" // the words are about what was refused
		}
	}
	return results
}

func offers(offered []choice, value string) bool {
	for _, c := range offered {
		if c.Const == value {
			return true
		}
	}
	return false
}

// refusal is a no with whatever reason came along.
func refusal(content map[string]any) Reply {
	reason, _ := content[reasonField].(string)
	return Reply{Decision: Refuse, Reason: reason}
}
