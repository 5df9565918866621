package prompt

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A form about more calls than MaxDecisions has decisions that several calls share. Beside them stands a text in
// which a person names calls to refuse all the same: "3, 7-9". The numbers are those of the rows.

// maxExceptions is how long such a text may be, in characters.
const maxExceptions = 1000

var (
	exceptionSeparator = regexp.MustCompile(` *(?:,| and ) *`)
	exceptionRange     = regexp.MustCompile(`^([0-9]{1,9})(?: *(?:-|–|to) *([0-9]{1,9}))?$`)
)

// exceptions reads which of calls a text names, by their indexes. A number that no row has, and whatever is not a
// number or a range that begins and ends at a row, is an error: then nobody knows what was meant.
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
