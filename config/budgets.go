package config

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/profiles/pattern"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Budget is an element of the key "budgets": what calls may use of a window of time, in all runs together.
//
//	"budgets": [
//	  { "id": "mails", "tool": "mail__send", "calls": 20, "every": "day" },
//	  { "id": "changes", "writes": 100, "every": "hour", "each": ["principal", "server"] },
//	  { "id": "all", "bytes": "1GiB", "every": "day", "each": [] }
//	]
//
// Windows begin with each minute, hour or day of UTC.
type Budget struct {
	ID      string
	Tool    *pattern.Pattern // the tools whose calls count; nil is every tool
	Profile string           // the profile under which calls count; "" is every profile
	Counts  string           // calls; writes: calls of tools that are not read-only; bytes: of arguments and answers
	Most    int64
	Every   time.Duration // a minute, an hour or a day
	Each    []string      // of principal, profile, server and tool: each value has a budget of its own
}

// maxBudgets bounds what one call may have to be counted for.
const maxBudgets = 100

// budgetWindows are the words for Every.
var budgetWindows = map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}

// Window is the word for a budget's window.
func (b *Budget) Window() string {
	for word, d := range budgetWindows {
		if d == b.Every {
			return word
		}
	}
	return b.Every.String()
}

// Budgets returns the key "budgets".
func (c *Config) Budgets() []Budget {
	if c == nil || c.budgets == nil {
		return nil
	}
	return *c.budgets
}

// Believes reports whether a server's annotations are believed.
func (c *Config) Believes(server string) bool {
	return slices.ContainsFunc(c.Servers, func(s Server) bool { return s.Name == server && s.TrustAnnotations })
}

func (b *builder) budgets(n strictjson.Value) (all []Budget) {
	lines := map[string]int{}
	for child := range b.Elements(n, `"budgets"`, true) {
		if len(all) == maxBudgets {
			b.Wrong(child, "remove some", `"budgets" has more than %d entries`, maxBudgets)
			return all
		}
		budget := b.budget(child)
		if line := lines[budget.ID]; line != 0 && budget.ID != "" {
			b.Wrong(settings.Member(child, "id"), fmt.Sprintf("it is on line %d already: choose another one", line),
				"two budgets have the id %q", budget.ID)
		}
		lines[budget.ID] = b.Position(child.Offset()).Line
		all = append(all, budget)
	}
	return all
}

func (b *builder) budget(n strictjson.Value) (budget Budget) {
	budget.Each = []string{"principal"}
	counts := func(word string, read func(n strictjson.Value) int64) settings.Field {
		return settings.Key(word, func(n strictjson.Value) {
			if budget.Counts != "" {
				b.WrongKey(n, "make it two budgets", "a budget counts one thing, and this one counts %s already", budget.Counts)
			}
			budget.Counts, budget.Most = word, read(n)
		})
	}
	whole := func(n strictjson.Value) int64 { return b.Whole(n, "what a budget allows", 0) }
	ok := b.Object(n, "a budget", []settings.Field{
		settings.Key("id", func(n strictjson.Value) {
			id, ok := b.Text(n, `"id"`)
			if ok && !validPrincipal(id) {
				b.Wrong(n, "it has letters, digits and ._:@+-", "%.40q is no id of a budget", id)
			}
			budget.ID = id
		}),
		settings.Key("tool", func(n strictjson.Value) { budget.Tool = pattern.Read(b.Reader, n, pattern.ParseName) }),
		settings.Key("profile", func(n strictjson.Value) {
			name, named := b.profileNamed(n, `"profile"`)
			if named.Kind() != strictjson.Missing {
				b.namedProfiles = append(b.namedProfiles, named)
			}
			budget.Profile = name
		}),
		counts("calls", whole), counts("writes", whole),
		counts("bytes", func(n strictjson.Value) int64 { return b.SizeUpTo(n, `"bytes"`, math.MaxInt64/2) }),
		settings.Key("every", func(n strictjson.Value) {
			word, _ := b.Word(n, `"every"`, "minute", "hour", "day")
			budget.Every = budgetWindows[word]
		}),
		settings.Key("each", func(n strictjson.Value) {
			if budget.Each = nil; n.Kind() != strictjson.Array || n.Len() > 0 {
				budget.Each = b.Words(n, `"each"`, "principal", "profile", "server", "tool")
			}
		}),
	})
	if !ok {
		return budget
	}
	for _, missing := range []struct {
		key  string
		lack bool
		hint string
	}{
		{`"id"`, budget.ID == "", `add "id": a name for messages`},
		{`"calls", "writes" or "bytes"`, budget.Counts == "", `add "calls": 100, for example`},
		{`"every"`, settings.Member(n, "every").Kind() == strictjson.Missing, `add "every": "hour", for example`},
	} {
		if missing.lack {
			b.Wrong(n, missing.hint, "the budget has no %s", missing.key)
		}
	}
	return budget
}
