package records

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// Kinds are the kinds of entries in each of the three records.
var Kinds = map[string][]string{
	"runs":   {audit.Run, audit.Call, audit.Approval, audit.Grant, audit.Keeping, audit.Session},
	"policy": {audit.Policy, audit.Notice},
	"access": {audit.Access},
}

// An Ago is a choice of how far back to look.
type Ago struct{ Length, Words string }

// Since are the choices of a page.
var Since = []Ago{{"", "any time"}, {"1h", "the last hour"}, {"24h", "the last day"}, {"168h", "the last week"}}

// mostValue is how long a value of a filter may be, in bytes.
const mostValue = 500

// ReadFilter reads what a person wants to see, from the parameters of a request:
//
//	record     runs, policy or access; "" is all three
//	run        the ID of a run
//	principal, profile, tool   tool has * for any characters
//	state      the state of an entry
//	since, until   a time of RFC 3339, or a length such as 1h before now; until is exclusive
//
// An error says which of them is wrong.
func ReadFilter(value func(name string) string, now time.Time) (q store.Query, err error) {
	for _, name := range []string{"record", "run", "principal", "profile", "tool", "state", "since", "until"} {
		if len(value(name)) > mostValue || strings.ContainsRune(value(name), 0) {
			return q, fmt.Errorf("%s is too long, or has a character that no value has", name)
		}
	}
	if record := value("record"); record != "" {
		if q.Kinds = Kinds[record]; q.Kinds == nil {
			return q, errors.New("record is runs, policy or access")
		}
	}
	q.Run, q.Principal, q.Profile, q.Tool = value("run"), value("principal"), value("profile"), value("tool")
	if state := value("state"); state != "" {
		q.States = []string{state}
	}
	for _, x := range []struct {
		name string
		to   *time.Time
	}{{"since", &q.Since}, {"until", &q.Until}} {
		text := value(x.name)
		if text == "" {
			continue
		}
		if *x.to, err = time.Parse(time.RFC3339, text); err == nil {
			continue
		}
		ago, err := time.ParseDuration(text)
		if err != nil || ago < 0 {
			return q, fmt.Errorf("%s is a time such as 2026-01-31T12:00:00Z, or a length before now such as 24h", x.name)
		}
		*x.to = now.Add(-ago)
	}
	return q, nil
}

// Only limits a query to the entries of principals; "" among them is everybody.
func Only(q *store.Query, principals []string) {
	if slices.Contains(principals, "") {
		return
	}
	q.Principals = principals
	if len(principals) == 0 {
		q.Principals = []string{"\x01"} // no principal has that name
	}
}
