package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/strictjson"
	spelling "github.com/codemode-project/codemode/internal/visible" // visible is a table here
)

// argumentsField is the text field of a form about one call in which a person may change the arguments. maxArguments
// is how long they may be, in characters; longer ones are changed on the page or in a terminal.
const (
	argumentsField = "arguments"
	maxArguments   = 4000
)

// editable returns the arguments as the field shows them, and whether the form has the field: where a person may change
// the arguments of one call, allow it here, and nothing in them is cut or masked.
func editable(calls []*Request, all []field, shown *View) (text string, ok bool) {
	if len(calls) != 1 || calls[0].Edit == nil || calls[0].Ahead || len(all[0].offered) < 2 ||
		shown.Cut || shown.Masked > 0 {
		return "", false
	}
	var indented bytes.Buffer
	if json.Indent(&indented, calls[0].Args, "", "  ") != nil {
		return "", false
	}
	text = spelling.JSON(indented.String())
	return text, utf8.RuneCountInString(text) <= maxArguments
}

// edited returns the arguments that a person wrote, nil if they are those of the call. An empty text changes nothing.
func edited(r *Request, text string) (json.RawMessage, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	after, err := strictjson.Canonical(text)
	if err != nil {
		if at, ok := errors.AsType[*strictjson.SyntaxError](err); ok {
			return nil, errors.New("this is not JSON: " + at.Message)
		}
		return nil, err
	}
	if before, err := strictjson.Canonical(r.Args); err == nil && bytes.Equal(before, after) {
		return nil, nil
	}
	if err := r.Edit(json.RawMessage(text)); err != nil {
		return nil, err
	}
	return json.RawMessage(text), nil
}
