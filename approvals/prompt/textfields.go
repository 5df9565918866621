package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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

// In a form about more calls than MaxDecisions, several calls share a decision. Next to the decisions is a text in
// which a person names calls to refuse anyway: "3, 7-9". The numbers are those of the rows.

// maxExceptions is the length limit of this text, in characters.
const maxExceptions = 1000

var (
	exceptionSeparator = regexp.MustCompile(` *(?:,| and ) *`)
	exceptionRange     = regexp.MustCompile(`^([0-9]{1,9})(?: *(?:-|–|to) *([0-9]{1,9}))?$`)
)

// exceptions returns the indexes of the calls that a text names. A number without a row is an error, and so is anything
// that is not a number or a range from one row to another: the person's intention is unknown then.
func exceptions(calls []*Request, text string) ([]int, error) {
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	which := numbered(calls)
	var all []int
	for _, part := range exceptionSeparator.Split(text, -1) {
		found := exceptionRange.FindStringSubmatch(part)
		if found == nil {
			return nil, fmt.Errorf("%s is neither a number nor a range", Quote(part))
		}
		from, _ := strconv.Atoi(found[1]) // nine digits fit
		to := from
		if found[2] != "" {
			to, _ = strconv.Atoi(found[2])
		}
		if from > to || !slices.Contains(which, from) || !slices.Contains(which, to) {
			return nil, fmt.Errorf("%s does not name calls of the form", Quote(part))
		}
		for i, n := range which {
			if from <= n && n <= to {
				all = append(all, i)
			}
		}
	}
	return all, nil
}

// takesExceptions reports whether a form has a yes that several calls share.
func takesExceptions(all []field) bool {
	return slices.ContainsFunc(all, func(f field) bool { return len(f.calls) > 1 && len(f.offered) > 1 })
}
