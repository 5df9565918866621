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
	"github.com/codemode-project/codemode/registry"
	"github.com/codemode-project/codemode/upstream"
)

// terminalCaller is the person at the terminal as upstreams get to know them: what a server asks
// during a call is put there, field by field.
func terminalCaller(terminal approvals.Channel) *registry.Caller {
	ask := func(ctx context.Context, q *upstream.Question) (*upstream.Answer, error) {
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
	return &registry.Caller{Session: new(byte), Ask: ask}
}

// A formField is one value that a server wants: MCP's forms are flat.
type formField struct {
	name, title, description string
	kind                     string // string, integer, number, boolean or array
	required                 bool
	choices                  []string // the values to choose from; none for any
	labels                   []string // what they are called
}

// fieldSchema is what the protocol lets stand in the schema of a field.
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

// readForm gives the fields of a form in the order in which they are written.
func readForm(schema json.RawMessage) ([]formField, error) {
	if schema == nil {
		return nil, nil
	}
	var form struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &form); err != nil {
		return nil, fmt.Errorf("reading its form: %w", err)
	}
	if form.Properties == nil {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(form.Properties))
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("reading its form: %w", err)
	}
	var fields []formField
	for d.More() {
		name, err := d.Token()
		var s fieldSchema
		if err = errors.Join(err, d.Decode(&s)); err != nil {
			return nil, fmt.Errorf("reading its form: %w", err)
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

// leaveOut is what a person chooses for a field that nobody needs.
const leaveOut = "(leave it out)"

// maxTries is how often a field is asked for when what is typed does not fit.
const maxTries = 3

// ask puts one field, and returns its value, nil for one that is left out.
func (f *formField) ask(ctx context.Context, terminal approvals.Channel, q *upstream.Question, n, of int) (value any, action string, err error) {
	hint := ""
	for range maxTries {
		r := &prompt.Request{Name: prompt.InquiryTool, Tool: prompt.InquiryTool, Risk: call.Low, Inquiry: f.inquiry(q, n, of, hint)}
		if err := r.Inquiry.Check(); err != nil {
			return nil, "", fmt.Errorf("its question cannot be shown here: %w", err)
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

// inquiry words the field for a person.
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

// options are the labels to choose from, that for leaving the field out the last.
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

// value makes the field's value of a reply. The error says what would fit.
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
			return nil, fmt.Errorf("it has to be a whole number, not %s", prompt.Quote(r.Text))
		}
		return n, nil
	case "number":
		x, err := strconv.ParseFloat(r.Text, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return nil, fmt.Errorf("it has to be a number, not %s", prompt.Quote(r.Text))
		}
		return x, nil
	}
	return r.Text, nil
}
