package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// terminalAsk puts the questions of upstream servers during a call to the person at the terminal, field by field.
func terminalAsk(terminal approvals.Channel) func(context.Context, *upstream.Question) (*upstream.Answer, error) {
	return func(ctx context.Context, q *upstream.Question) (*upstream.Answer, error) {
		fields, err := readForm(q.Schema)
		if err != nil {
			return nil, err
		}
		if len(fields) == 0 {
			fields = []formField{{kind: "boolean", required: true}}
		}
		content := map[string]any{}
		for i := range fields {
			f := &fields[i]
			value, action, err := f.ask(ctx, terminal, q, i+1, len(fields))
			if err != nil || action != upstream.Accepted {
				return &upstream.Answer{Action: action}, err
			}
			switch {
			case f.name == "" && value != true:
				return &upstream.Answer{Action: upstream.Declined}, nil
			case f.name != "" && value != nil:
				content[f.name] = value
			}
		}
		return &upstream.Answer{Action: upstream.Accepted, Content: content}, nil
	}
}

// A formField is one value that a server asks for. The forms of MCP are flat.
type formField struct {
	name, title, description string
	kind                     string // string, integer, number, boolean or array
	required                 bool
	choices                  []string // the values to choose from; none allows any value
	labels                   []string // the names of the choices
}

// fieldSchema is what the protocol allows in the schema of a field.
type fieldSchema struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []struct {
		Const string `json:"const"`
		Title string `json:"title"`
	} `json:"oneOf"`
	AnyOf []struct {
		Const string `json:"const"`
		Title string `json:"title"`
	} `json:"anyOf"`
	Items *fieldSchema `json:"items"`
}

// readForm returns the fields of a form in their written order.
func readForm(schema json.RawMessage) ([]formField, error) {
	if schema == nil {
		return nil, nil
	}
	var form struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &form); err != nil {
		return nil, fmt.Errorf("reading the form of the server: %w", err)
	}
	if form.Properties == nil {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(form.Properties))
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("reading the form of the server: %w", err)
	}
	var fields []formField
	for d.More() {
		name, err := d.Token()
		var s fieldSchema
		if err = errors.Join(err, d.Decode(&s)); err != nil {
			return nil, fmt.Errorf("reading the form of the server: %w", err)
		}
		f := formField{name: fmt.Sprint(name), title: s.Title, description: s.Description, kind: s.Type}
		f.required = slices.Contains(form.Required, f.name)
		if s.Type == "array" && s.Items != nil {
			s = *s.Items
		}
		f.choices, f.labels = s.Enum, s.EnumNames
		for _, one := range append(s.OneOf, s.AnyOf...) {
			f.choices, f.labels = append(f.choices, one.Const), append(f.labels, one.Title)
		}
		if len(f.labels) != len(f.choices) {
			f.labels = f.choices
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// leaveOut is the choice that omits an optional field.
const leaveOut = "(leave it out)"

// maxTries is how often we ask for a field if the answers are invalid.
const maxTries = 3

// ask asks for one field and returns its value, nil if the person omits it.
func (f *formField) ask(ctx context.Context, terminal approvals.Channel, q *upstream.Question, n, of int) (value any,
	action string, err error) {
	hint := ""
	for range maxTries {
		r := &prompt.Request{Name: prompt.InquiryTool, Tool: prompt.InquiryTool, Risk: call.Low,
			Inquiry: f.inquiry(q, n, of, hint)}
		if err := r.Inquiry.Check(); err != nil {
			return nil, "", fmt.Errorf("the question of the server cannot be shown here: %w", err)
		}
		reply, err := terminal.Ask(ctx, &approvals.Showing{Request: r})
		if err != nil {
			return nil, "", err
		}
		if !reply.Allowed {
			return nil, upstream.Declined, nil
		}
		value, err := f.value(r.Inquiry, &reply)
		if err == nil {
			return value, upstream.Accepted, nil
		}
		hint = err.Error()
	}
	return nil, upstream.Dismissed, nil
}

// inquiry writes the field as a question.
func (f *formField) inquiry(q *upstream.Question, n, of int, hint string) *prompt.Inquiry {
	var b strings.Builder
	b.WriteString(q.Message)
	if f.name != "" {
		fmt.Fprintf(&b, "\n%s", f.name)
	}
	for _, text := range []string{f.title, f.description} {
		if text != "" && text != f.name {
			fmt.Fprintf(&b, ": %s", text)
		}
	}
	if hint != "" {
		fmt.Fprintf(&b, "\n(%s)", hint)
	}
	i := &prompt.Inquiry{Server: q.Server, Question: strings.TrimSpace(b.String())}
	if of > 1 {
		i.Header = fmt.Sprintf("%d of %d", n, of)
	}
	for _, label := range f.options() {
		i.Options = append(i.Options, prompt.Option{Label: label})
	}
	i.Multiple = f.kind == "array"
	i.FreeText = len(f.options()) == 0 || len(f.choices) == 0 && f.kind != "boolean"
	return i
}

// options are the labels to choose from; the last one omits an optional field.
func (f *formField) options() []string {
	labels := slices.Clone(f.labels)
	if f.kind == "boolean" {
		labels = []string{"yes", "no"}
	}
	if !f.required {
		labels = append(labels, leaveOut)
	}
	return labels
}

// value reads the field's value from a reply. The error says which values are valid.
func (f *formField) value(i *prompt.Inquiry, r *call.Answer) (any, error) {
	if slices.ContainsFunc(r.Selected, func(n int) bool { return i.Options[n].Label == leaveOut && n >= len(f.labels) }) {
		return nil, nil
	}
	switch {
	case f.kind == "boolean" && len(r.Selected) == 1:
		return r.Selected[0] == 0, nil
	case f.kind == "array":
		chosen := []any{}
		for _, n := range r.Selected {
			chosen = append(chosen, f.choices[n])
		}
		return chosen, nil
	case len(r.Selected) == 1:
		return f.choices[r.Selected[0]], nil
	}
	switch f.kind {
	case "integer":
		n, err := strconv.ParseInt(r.Text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("write a whole number, not %s", prompt.Quote(r.Text))
		}
		return n, nil
	case "number":
		x, err := strconv.ParseFloat(r.Text, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return nil, fmt.Errorf("write a number, not %s", prompt.Quote(r.Text))
		}
		return x, nil
	}
	return r.Text, nil
}
