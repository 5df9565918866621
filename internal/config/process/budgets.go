package process

import (
	"fmt"
	"time"

	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Budget is an element of the key "budgets": what calls may use of a window of time, in all runs together.
type Budget struct {
	ID string `key:"id" form:"budget" need:"add 'id': a name for messages"` // Its name in messages and in the record.
	// Which calls count: a pattern over tool names. Every call if left out.
	Tool    *match.Pattern `key:"tool" schema:"{'type': 'string'}"`
	Profile string         `key:"profile" form:"profile"` // Only calls under this profile count.
	Calls   int64          `key:"calls" min:"0"`          // How many calls there may be.
	// How many calls there may be of tools that are not read-only. Only a server with trustAnnotations is believed that a
	// tool is.
	Writes int64 `key:"writes" min:"0"`
	// How many bytes arguments and answers may have together. The answer that goes beyond it is still given.
	Bytes int64 `key:"bytes" form:"size" max:"4611686018427387903"`
	// The window. It begins with each minute, hour or day of UTC.
	Every string `key:"every" words:"minute hour day" need:"add 'every': 'hour', for example"`
	// Each value of these has a budget of its own; ["principal"] if left out, and [] is one budget for all.
	Each []string `key:"each" words:"principal profile server tool" usual:"principal"`

	Counts string // which of calls, writes and bytes it has
	Most   int64  // of them
}

// budgetWindows are the words for Every.
var budgetWindows = map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}

// Window is how long a budget's window lasts.
func (x *Budget) Window() time.Duration { return budgetWindows[x.Every] }

// Check finds the one thing that the budget counts.
func (x *Budget) Check(r *settings.Reader, n strictjson.Value, what string) {
	for name, child := range n.Members() {
		most, counts := map[string]int64{"calls": x.Calls, "writes": x.Writes, "bytes": x.Bytes}[name]
		switch {
		case counts && x.Counts != "" && x.Counts != name:
			r.WrongKey(child, "make it two budgets", "a budget counts one thing, and this one counts %s already", x.Counts)
		case counts:
			x.Counts, x.Most = name, most
		}
	}
	if x.Counts == "" {
		r.Wrong(n, `add "calls": 100, for example`, `%s has no "calls", "writes" or "bytes"`, what)
	}
}

type budgets []Budget

// Check reports an id that two of them have.
func (all *budgets) Check(r *settings.Reader, n strictjson.Value, _ string) {
	lines := map[string]int{}
	for _, child := range n.Elements() {
		id := settings.Member(child, "id")
		if line := lines[id.Text()]; line != 0 && id.Text() != "" {
			r.Wrong(id, fmt.Sprintf("it is on line %d already: choose another one", line), "two budgets have the id %q",
				id.Text())
		}
		lines[id.Text()] = r.Position(child.Offset()).Line
	}
}
