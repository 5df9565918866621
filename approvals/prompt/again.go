package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/call"
)

// A Second is the form to show after a reply that was not clear: the fields at fault, each with what is wrong with it.
// What the person said in the other fields is kept.
type Second struct {
	Message string
	Schema  json.RawMessage

	calls []*Request
	kept  map[string]any
	asks  map[string]bool // the fields of Schema
}

// Again returns the second form about calls; nil if the reply was clear. protocol is that of [Form].
func Again(calls []*Request, protocol, action string, content map[string]any) *Second {
	answers := ReadForm(calls, action, content)
	if !slices.ContainsFunc(answers, func(a call.Answer) bool {
		return errors.Is(a.Err, ErrUnclear) && !errors.Is(a.Err, ErrPartial)
	}) {
		return nil
	}
	wrong, faults, style := "", map[string]string{}, styleFor(protocol)
	if action != "accept" {
		wrong = fmt.Sprintf("the reply %s is neither accept, decline nor cancel", QuoteWords(action))
		content = nil
	}
	if calls[0].Inquiry != nil {
		wrong = strings.TrimPrefix(answers[0].Err.Error(), ErrUnclear.Error()+": ")
	} else if wrong == "" {
		f := newFormReader(calls, content)
		f.answers()
		if faults, wrong = f.faults, f.faults[""]; wrong != "" {
			faults = nil
		}
	}
	message, properties, required := formParts(calls, style)
	s := &Second{calls: calls, kept: map[string]any{}, asks: map[string]bool{}}
	var fields, said []string
	var shown []namedProperty
	for _, p := range properties {
		fault, at := faults[p.name]
		// Where several decisions are missing, one for all may replace them.
		if !at && wrong == "" && (p.name != allField || len(faults) < 2) {
			if value, ok := content[p.name]; ok {
				s.kept[p.name] = value
				said = append(said, p.said(value)...)
			}
			continue
		}
		if at {
			fields = append(fields, p.Title+": "+fault)
			p.Title = "Please answer again (" + fault + "): " + p.Title
		}
		p.suggest(content[p.name], style)
		s.asks[p.name], shown = true, append(shown, p)
	}
	required = slices.DeleteFunc(required, func(name string) bool { return !s.asks[name] })
	s.Schema, s.Message = marshalForm(shown, required), secondMessage(wrong, fields, said)+"\n\n"+message
	return s
}

func secondMessage(wrong string, fields, said []string) string {
	message := "Your answer was not clear, so nothing has happened yet. Please answer once more."
	if wrong != "" {
		message += "\n- " + wrong
	}
	for _, f := range fields {
		message += "\n- " + f
	}
	if len(said) > 0 {
		message += "\nWhat you said otherwise is kept:"
	}
	for _, text := range said {
		message += "\n- " + text
	}
	return message
}

// said describes the value of a field.
func (p *namedProperty) said(value any) []string {
	text, _ := value.(string)
	if text == "" {
		return nil
	}
	for i, v := range p.Enum {
		if v == text {
			return []string{p.Title + ": " + p.EnumNames[i]}
		}
	}
	for _, c := range p.OneOf {
		if c.Const == text {
			return []string{p.Title + ": " + c.Title}
		}
	}
	return []string{p.Title + ": " + QuoteWords(text)}
}

// suggest offers a person's own words once more. It never offers a decision.
func (p *namedProperty) suggest(value any, style formStyle) {
	text, ok := value.(string)
	if ok && style == oneOf && len(p.OneOf) == 0 && utf8.RuneCountInString(text) <= p.MaxLength {
		p.Default = text
	}
}

// Read returns an answer for each call, like [ReadForm]. A reply that is not clear once more is no answer.
func (s *Second) Read(action string, content map[string]any) []call.Answer {
	if action != "accept" || s.calls[0].Inquiry != nil {
		return ReadForm(s.calls, action, content)
	}
	all := maps.Clone(s.kept)
	for name, value := range content {
		if !s.asks[name] {
			name = "another " + name // it is in no form
		}
		all[name] = value
	}
	return ReadForm(s.calls, action, all)
}
