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

// An OrderError says that a table decides calls one way or the other, depending on an order that nobody stated.
type OrderError struct {
	Tools []string // in a sentence each, which tools, and what decides them under both orders
}

func (e *OrderError) Error() string {
	return "the table decides these tools one way if its highest priority is tried first, and another way if its lowest is:\n  " +
		strings.Join(e.Tools, "\n  ")
}

// maxCompared is how many rules are told apart exactly. In a longer table a tool that two rules of different actions are about
// counts as one that depends on their order, whatever other rules say about it.
const maxCompared = 200

// orderMatters lists the tools whose verdict depends on which priority is tried first.
func orderMatters(rules []tableRule) []string {
	highest, lowest := HighestFirst.sorted(rules), LowestFirst.sorted(rules)
	var all []string
	for i := range highest {
		for j := range lowest {
			a, b := &highest[i], &lowest[j]
			if a.Action == b.Action || a.Priority <= b.Priority {
				continue // where a is first among the highest and b among the lowest, a has the higher priority
			}
			tools, ok := firstInBoth(highest[:i], a, lowest[:j], b)
			if ok {
				all = append(all, fmt.Sprintf("%s: %s with highest-first, by %s; %s with lowest-first, by %s", tools, a.Action, a.name(), b.Action, b.name()))
			}
		}
	}
	return all
}

// firstInBoth names the tools that both rules are about and that no rule above either decides. It reports false if there are none.
func firstInBoth(aboveA []tableRule, a *tableRule, aboveB []tableRule, b *tableRule) (string, bool) {
	if !a.area().meets(b.area()) {
		return "", false
	}
	shared := a.area().and(b.area())
	if shared == nil { // of patterns with several stars only their ends are compared
		return fmt.Sprintf("what both %s and %s are about", a.tools(), b.tools()), true
	}
	areas := shared
	if len(aboveA)+len(aboveB) <= 2*maxCompared {
		for _, above := range slices.Concat(aboveA, aboveB) {
			if left, ok := without(areas, above.area()); ok {
				areas = left
			}
		}
	}
	if len(areas) == 0 {
		return "", false
	}
	part := ""
	if !slices.EqualFunc(areas, shared, func(x, y area) bool { return x.pattern(true) == y.pattern(true) }) {
		part = "a part of "
	}
	var names []string
	for _, one := range shared {
		names = append(names, one.pattern(false))
	}
	return part + strings.Join(names, ", "), true
}

// and gives the tools that both areas have; nil if there are none, or if a pattern with several stars is in the way.
func (a area) and(b area) []area {
	if a.tool.pattern != "" || b.tool.pattern != "" {
		switch {
		case b.tool.all(), a.tool.pattern == b.tool.pattern:
		case a.tool.all():
			a.tool = b.tool
		default:
			return nil
		}
		b.tool = a.tool
	}
	var both []area
	for _, server := range a.server.and(b.server) {
		if a.tool.pattern != "" {
			both = append(both, area{server, a.tool})
			continue
		}
		for _, tool := range a.tool.and(b.tool) {
			both = append(both, area{server, tool})
		}
	}
	return both
}

// ties says which rules of the same priority stand in each other's way: only their order in the file tells which comes first.
func ties(rules []tableRule) []string {
	var notes []string
	for i := range rules {
		for j := range i {
			a, b := &rules[j], &rules[i]
			if a.Priority == b.Priority && a.Action != b.Action && a.area().meets(b.area()) {
				notes = append(notes, fmt.Sprintf("%s and %s have the same priority: the one that is first in the file is tried first", a.name(), b.name()))
			}
		}
	}
	return notes
}
