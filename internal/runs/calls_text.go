package runs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/sandbox"
)

const (
	slowCall     = time.Second // the text shows the time of slower calls only
	groupDetails = 3           // of details about the calls of one group
	numberBytes  = 60          // of the numbers of one group
)

// callsText lists the calls, in about room bytes. Equal calls share a line. First come the calls that did not succeed,
// then those that may have changed something, then those that only read.
func (r *Response) callsText(err error, room int) string {
	if len(r.Calls) == 0 && r.Queued == 0 {
		if r.Run == "" {
			return ""
		}
		return "\ncalls: none\n" // always: a client that finds nothing but JSON may take it for its own
	}
	var b strings.Builder
	b.WriteString("\ncalls:")
	if len(r.Calls) > 0 {
		fmt.Fprintf(&b, " %d (%s)%s", len(r.Calls), tally(r.Calls), r.effects(err))
	}
	b.WriteString("\n")
	if r.everyCall {
		writeLines(&b, r.Calls, room, callText, func(hostfns.Report) int { return 1 })
	} else {
		numbered := err != nil || slices.ContainsFunc(r.Calls, func(c hostfns.Report) bool { return c.State != hostfns.Done })
		text := func(g callGroup) string { return g.text(numbered) }
		size := func(g callGroup) int { return len(g) }
		groups := groupCalls(r.Calls)
		first := slices.IndexFunc(groups, func(g callGroup) bool { return g[0].State == hostfns.Done })
		if first < 0 {
			first = len(groups)
		}
		writeLines(&b, groups[:first], room/2, text, size) // however many failed, there is room for those that did not
		writeLines(&b, groups[first:], room, text, size)
	}
	b.WriteString(r.warnings())
	if r.Queued > 0 {
		fmt.Fprintf(&b, "  (%d more waited for their turn and did not start)\n", r.Queued)
	}
	return b.String()
}

// A Failure says why a call was not done.
type Failure struct {
	ByTool bool   // its tool said so
	Text   string // a reason and a sentence; "" if no call failed
}

// OfOneCall is what the response to a program of one call says of it: its failure, and what its server did not say.
func (r *Response) OfOneCall() (failure Failure, remarks string) {
	if len(r.Calls) != 1 {
		return Failure{}, ""
	}
	c := &r.Calls[0]
	if c.Detail != "" {
		failure = Failure{c.Reason == hostfns.ToolErrorClass, cmp.Or(c.Reason, string(c.State)) + ": " + c.Detail}
	}
	if remarks = c.Warning; len(c.Changed) > 0 {
		remarks = strings.TrimSpace("A person changed these arguments: " + strings.Join(c.Changed, ", ") + ". " + remarks)
	}
	return failure, remarks
}

// Unsuccessful is the text above the value of a program that finished although calls of it did not succeed: a program
// that catches every error may return whatever it likes.
func (r *Response) Unsuccessful(err error) string {
	var bad []hostfns.Report
	for _, c := range r.Calls {
		if c.State != hostfns.Done {
			bad = append(bad, c)
		}
	}
	if err != nil || len(bad) == 0 {
		return ""
	}
	var names []string
	for _, g := range groupCalls(bad) {
		name := fmt.Sprintf("%s %s", visible.Short(g[0].Tool, 80), g[0].State)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	const most = 5
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%d of %d calls did not succeed: %s; why is below\n", len(bad), len(r.Calls), strings.Join(names, ", "))
}

const (
	warningLines = 10  // warnings about the answers to calls
	detailRunes  = 300 // of details about one call
)

// writeLines writes lines for the list until b has room bytes, and then how many calls are left out.
func writeLines[T any](b *strings.Builder, list []T, room int, text func(T) string, calls func(T) int) {
	for i, one := range list {
		line := text(one)
		if b.Len()+len(line) > room {
			n := 0
			for _, left := range list[i:] {
				n += calls(left)
			}
			fmt.Fprintf(b, "  (%d more are not listed)\n", n)
			return
		}
		b.WriteString(line)
	}
}

// effects says what an unfinished program leaves behind.
func (r *Response) effects(err error) string {
	if _, ended := errors.AsType[*sandbox.Error](err); !ended {
		return ""
	}
	happened, changed := false, false
	for _, c := range r.Calls {
		if c.State == hostfns.Done || c.State == hostfns.Unknown || c.State == hostfns.Failed && c.Took > 0 {
			happened, changed = true, changed || !c.Reads
		}
	}
	switch {
	case changed:
		return "; what is done is not undone"
	case happened:
		return "; they only read, as their servers say"
	}
	return ""
}

// A callGroup is calls of one tool with the same outcome, in the order of the program.
type callGroup []hostfns.Report

// groupCalls sorts the groups by importance: unknown outcomes, failures, then calls that may have changed something.
func groupCalls(calls []hostfns.Report) []callGroup {
	type key struct {
		tool, reason, approved, changed string
		state                           hostfns.State
	}
	at := map[key]int{}
	var groups []callGroup
	for _, c := range calls {
		k := key{c.Tool, c.Reason, c.Approved, strings.Join(c.Changed, " "), c.State}
		i, known := at[k]
		if !known {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	slices.SortStableFunc(groups, func(a, b callGroup) int { return cmp.Compare(a.rank(), b.rank()) })
	return groups
}

func (g callGroup) rank() int {
	rank := slices.Index([]hostfns.State{hostfns.Unknown, hostfns.Failed, hostfns.Refused, hostfns.NotStarted,
		hostfns.Done}, g[0].State)
	if g[0].State == hostfns.Done && g[0].Reads {
		rank++
	}
	return rank
}

// text is the line of a group, with further lines where its calls need different remarks.
func (g callGroup) text(numbered bool) string {
	c := g[0]
	var b strings.Builder
	b.WriteString("  ")
	if numbered {
		b.WriteString(g.numbers() + ". ")
	}
	b.WriteString(visible.Short(c.Tool, 80))
	if len(g) > 1 {
		fmt.Fprintf(&b, " x%d", len(g))
	}
	fmt.Fprintf(&b, " %s", c.State)
	slowest := c.Took
	details := map[string]callGroup{}
	var order []string
	for _, c := range g {
		slowest = max(slowest, c.Took)
		detail := strings.TrimPrefix(c.Detail, c.Tool+": ")
		if details[detail] == nil {
			order = append(order, detail)
		}
		details[detail] = append(details[detail], c)
	}
	switch {
	case slowest < slowCall:
	case len(g) > 1:
		fmt.Fprintf(&b, ", the slowest in %v", roughly(slowest))
	default:
		fmt.Fprintf(&b, " in %v", roughly(slowest))
	}
	b.WriteString(remarks(c))
	if len(order) == 1 {
		if order[0] != "" {
			b.WriteString(": " + visible.Short(order[0], detailRunes))
		}
		return b.String() + "\n"
	}
	b.WriteString(":\n")
	for i, detail := range order {
		if i == groupDetails {
			fmt.Fprintf(&b, "    (%d more that differ)\n", len(order)-i)
			break
		}
		fmt.Fprintf(&b, "    %s. %s\n", details[detail].numbers(), visible.Short(cmp.Or(detail, "nothing is known"),
			detailRunes))
	}
	return b.String()
}

// numbers lists the calls by their numbers, such as "1-9, 12".
func (g callGroup) numbers() string {
	var b strings.Builder
	for i := 0; i < len(g); {
		last := i
		for last+1 < len(g) && g[last+1].Call == g[last].Call+1 {
			last++
		}
		text := fmt.Sprint(g[i].Call)
		if last > i {
			text += fmt.Sprintf("-%d", g[last].Call)
		}
		if i > 0 {
			text = ", " + text
		}
		if b.Len()+len(text) > numberBytes {
			b.WriteString(", …")
			break
		}
		b.WriteString(text)
		i = last + 1
	}
	return b.String()
}

// remarks says who approved a call, and why it failed.
func remarks(c hostfns.Report) string {
	text := ""
	if c.Approved != "" {
		text += fmt.Sprintf(", approved (%s)", visible.Short(c.Approved, 80))
	}
	if len(c.Changed) > 0 {
		text += fmt.Sprintf(", with arguments that a person changed: %s", visible.Short(strings.Join(c.Changed, ", "), 120))
	}
	if c.Reason != "" {
		text += fmt.Sprintf(" (%s)", visible.Short(c.Reason, 80))
	}
	return text
}

// callText describes in one line how a call ended.
func callText(c hostfns.Report) string {
	text := fmt.Sprintf("  %d. %s %s", c.Call, visible.Short(c.Tool, 80), c.State)
	if c.Took > 0 {
		text += fmt.Sprintf(" in %v", roughly(c.Took))
	}
	text += remarks(c)
	if c.Detail != "" {
		text += ": " + visible.Short(strings.TrimPrefix(c.Detail, c.Tool+": "), detailRunes)
	}
	return text + "\n"
}

// warnings says once for each tool what was odd about its answers.
func (r *Response) warnings() string {
	var b strings.Builder
	seen := map[string]int{} // tool and warning to the number of calls with it
	for _, c := range r.Calls {
		if c.Warning != "" {
			seen[c.Tool+"\n"+c.Warning]++
		}
	}
	keys := slices.Sorted(maps.Keys(seen))
	for i, key := range keys {
		if i == warningLines {
			fmt.Fprintf(&b, "  (%d more warnings)\n", len(keys)-i)
			break
		}
		tool, warning, _ := strings.Cut(key, "\n")
		times := ""
		if n := seen[key]; n > 1 {
			times = fmt.Sprintf(" (%d calls)", n)
		}
		fmt.Fprintf(&b, "  warning: %s%s: %s\n", visible.Short(tool, 80), times, visible.Short(warning, detailRunes))
	}
	return b.String()
}

// tally counts calls by outcome: "2 done, 1 refused".
func tally(calls []hostfns.Report) string {
	var parts []string
	for _, s := range []hostfns.State{hostfns.Done, hostfns.Refused, hostfns.Failed, hostfns.Unknown, hostfns.NotStarted} {
		n := 0
		for _, c := range calls {
			if c.State == s {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func roughly(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second)
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}
