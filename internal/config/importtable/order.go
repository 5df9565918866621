package importtable

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An Order says which rule of a table with priorities comes first. The zero value means unspecified.
type Order int

const (
	_            Order = iota
	HighestFirst       // the rule with the highest number
	LowestFirst        // the rule with the lowest number
)

func (o Order) String() string {
	return [...]string{"no order", "highest-first", "lowest-first"}[o]
}

// ParseOrder reads an order as [Order.String] writes it; "" means unspecified.
func ParseOrder(word string) (Order, error) {
	switch word {
	case "":
		return 0, nil
	case HighestFirst.String():
		return HighestFirst, nil
	case LowestFirst.String():
		return LowestFirst, nil
	}
	return 0, fmt.Errorf("the order %q must be highest-first or lowest-first", word)
}

// sorted returns the rules in the order of evaluation.
func (o Order) sorted(rules []tableRule) []tableRule {
	rules = slices.Clone(rules)
	slices.SortStableFunc(rules, func(a, b tableRule) int {
		if o == LowestFirst {
			a, b = b, a
		}
		return cmp.Compare(b.Priority, a.Priority)
	})
	return rules
}

// An OrderError says that the table's decisions depend on an order that nobody specified.
type OrderError struct {
	Tools []string // in a sentence each, which tools, and what decides them under both orders
}

func (e *OrderError) Error() string {
	return "the table decides these tools one way if its highest priority is tried first, and another way if its " +
		"lowest is: " + strings.Join(e.Tools, "; ")
}

// orderMatters lists the tools with a verdict that depends on which priority comes first. It may list some that several
// rules together decide the same way in both orders, but omits none.
func orderMatters(rules []tableRule) []string {
	highest, lowest := HighestFirst.sorted(rules), LowestFirst.sorted(rules)
	var all []string
	for i := range highest {
		for j := range lowest {
			a, b := &highest[i], &lowest[j]
			if a.Action == b.Action || a.Priority <= b.Priority || !a.meets(b) {
				continue // if a comes first under "highest" and b under "lowest", a has the higher priority
			}
			tools := fmt.Sprintf("what both %s and %s are about", a.tools(), b.tools())
			both, named := a.and(b)
			if named {
				tools = both.pattern(false)
			}
			decides := func(above tableRule) bool { return above.covers(a) || above.covers(b) || named && above.covers(&both) }
			if !slices.ContainsFunc(highest[:i], decides) && !slices.ContainsFunc(lowest[:j], decides) {
				all = append(all, fmt.Sprintf("%s: %s with highest-first, by %s; %s with lowest-first, by %s", tools, a.Action,
					a.name(), b.Action, b.name()))
			}
		}
	}
	return all
}

// ties reports conflicting rules of the same priority: only their order in the file determines which comes first.
func ties(rules []tableRule) []string {
	var notes []string
	for i := range rules {
		for j := range i {
			a, b := &rules[j], &rules[i]
			if a.Priority == b.Priority && a.Action != b.Action && a.meets(b) {
				notes = append(notes, fmt.Sprintf("%s and %s have the same priority: the one that is first in the file is tried first", a.name(), b.name()))
			}
		}
	}
	return notes
}
