package importtable

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An Order says which rule of a table with priorities is tried first. The zero value is that nobody said.
type Order int

const (
	_            Order = iota
	HighestFirst       // the rule with the highest number
	LowestFirst        // the rule with the lowest number
)

func (o Order) String() string {
	return [...]string{"no order", "highest-first", "lowest-first"}[o]
}

// ParseOrder reads an order as [Order.String] writes it; "" is that nobody said.
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

// sorted gives the rules in the order in which they are tried.
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

// An OrderError says that a table may decide calls one way or the other, depending on an order that nobody stated.
type OrderError struct {
	Tools []string // in a sentence each, which tools, and what decides them under both orders
}

func (e *OrderError) Error() string {
	return "the table decides these tools one way if its highest priority is tried first, and another way if its lowest is:\n  " +
		strings.Join(e.Tools, "\n  ")
}

// orderMatters lists the tools whose verdict depends on which priority is tried first. It may list some that several
// rules together decide in both orders, and leaves none out.
func orderMatters(rules []tableRule) []string {
	highest, lowest := HighestFirst.sorted(rules), LowestFirst.sorted(rules)
	var all []string
	for i := range highest {
		for j := range lowest {
			a, b := &highest[i], &lowest[j]
			if a.Action == b.Action || a.Priority <= b.Priority || !a.meets(b) {
				continue // where a is first among the highest and b among the lowest, a has the higher priority
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

// ties says which rules of the same priority stand in each other's way: only their order in the file tells which comes
// first.
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
