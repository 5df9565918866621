package prompt

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

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
