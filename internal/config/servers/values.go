package servers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// An entry reads its keys one by one. Reading continues after a problem: the person who repairs the file wants to see
// all of them.
type entry struct {
	*settings.Reader
	name    string
	within  string // the current object below the entry, such as `"oauth": `; "" is the entry itself
	value   strictjson.Value
	used    map[string]bool // the keys that mean something here
	bad     map[string]bool // the keys with a wrong value
	lost    bool            // it is unknown how to reach the server, and so which keys matter
	without bool            // because no key says it
	settings.Expander
}

// get returns the value of a key, and marks the key as meaningful.
func (e *entry) get(key string) strictjson.Value {
	e.used[key] = true
	return settings.Member(e.value, key)
}

func (e *entry) has(key string) bool {
	return settings.Member(e.value, key).Kind() != strictjson.Missing
}

// absent reports whether a value is empty: other clients write null for absent values.
func absent(n strictjson.Value) bool {
	return n.Kind() == strictjson.Missing || n.Kind() == strictjson.Null
}

func (e *entry) duration(key string, unit time.Duration) time.Duration {
	return e.span(key, e.get(key), unit)
}

// span reads a number of units, at the key or in its object.
func (e *entry) span(key string, n strictjson.Value, unit time.Duration) time.Duration {
	const most = 24 * time.Hour
	if absent(n) {
		return 0
	}
	if n.Kind() != strictjson.Number {
		hint := "write a number"
		switch unit {
		case time.Millisecond:
			hint = "write milliseconds, without quotes: 30000"
		case time.Second:
			hint = "write seconds, without quotes: 30"
		}
		e.failAt(key, n, hint, "%q must be a number, this is %s", n.Key(), n.Kind())
		return 0
	}
	number, _ := strconv.ParseFloat(n.Text(), 64) // a number out of range is infinite
	if number < 0 {
		e.failAt(key, n, "remove it for the usual time", "%q must not be negative", n.Key())
		return 0
	}
	if number > float64(most/unit) {
		return most
	}
	return time.Duration(number * float64(unit))
}

func (e *entry) flag(key string) bool {
	n := e.get(key)
	switch n.Kind() {
	case strictjson.True:
		return true
	case strictjson.False, strictjson.Missing, strictjson.Null:
		return false
	case strictjson.String:
		e.fail(key, "write true or false without quotes", "%q must be true or false, this is %s", key, n.Kind())
	default:
		e.fail(key, "", "%q must be true or false, this is %s", key, n.Kind())
	}
	return false
}

func (e *entry) text(key string) string {
	n := e.get(key)
	if !absent(n) && n.Kind() != strictjson.String {
		e.fail(key, "", "%q must be a string, this is %s", key, n.Kind())
		return ""
	}
	return n.Text()
}

func (e *entry) oneOf(keys ...string) string {
	found := ""
	for _, k := range keys {
		found = cmp.Or(found, e.text(k))
	}
	return found
}

func (e *entry) list(key string) []string {
	n := e.get(key)
	if absent(n) {
		return nil
	}
	if n.Kind() != strictjson.Array {
		hint := ""
		if n.Kind() == strictjson.String {
			hint = `write it as a list: ["..."]`
		}
		e.fail(key, hint, "%q must be a list of strings, this is %s", key, n.Kind())
		return nil
	}
	list := []string{}
	for _, child := range n.Elements() {
		if child.Kind() != strictjson.String {
			hint := "remove it"
			if child.Kind() == strictjson.Number {
				hint = "write it in quotes: \"" + child.Text() + "\""
			}
			e.failAt(key, child, hint, "%q must be a list of strings, this is %s", key, child.Kind())
			continue
		}
		list = append(list, child.Text())
	}
	return list
}

// names reads a list of tools under the first existing key.
func (e *entry) names(keys ...string) []string {
	var found []string
	for _, k := range keys {
		if l := e.list(k); found == nil {
			found = l
		}
	}
	return found
}

// A member is one string of an object.
type member struct {
	key, text string
	at        strictjson.Value
}

// strings reads an object of strings, sorted by keys. Numbers and booleans, which people also write there, become their
// text.
func (e *entry) strings(key string) []member {
	n := e.get(key)
	if absent(n) {
		return nil
	}
	if n.Kind() != strictjson.Object {
		e.fail(key, `write {"NAME": "value"}`, "%q must be an object of strings, this is %s", key, n.Kind())
		return nil
	}
	var all []member
	for k, v := range n.Members() {
		switch v.Kind() {
		case strictjson.String:
			all = append(all, member{k, v.Text(), v})
		case strictjson.Number, strictjson.True, strictjson.False:
			all = append(all, member{k, v.Source(), v})
		default:
			e.failAt(key, v, "", "%q: the value of %q must be a string, this is %s", key, k, v.Kind())
		}
	}
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	return all
}

func (e *entry) expandAll(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, e.Expand(s))
	}
	return out
}

// doubt warns of a key that has no effect, or an unexpected one.
func (e *entry) doubt(key, format string, args ...any) { e.doubtHint(key, "", format, args...) }

func (e *entry) doubtHint(key, hint, format string, args ...any) {
	n := settings.Member(e.value, key)
	e.Warn(e.Position(n.KeyOffset()), n.KeyEnd()-n.KeyOffset(), hint, "%s", e.sentence(format, args...))
}

// fail reports that the value of a key is wrong.
func (e *entry) fail(key, hint, format string, args ...any) {
	e.failAt(key, settings.Member(e.value, key), hint, format, args...)
}

// failAt reports that the value of a key is wrong at one place in it.
func (e *entry) failAt(key string, at strictjson.Value, hint, format string, args ...any) {
	e.bad[key] = true
	e.Wrong(at, hint, "%s", e.sentence(format, args...))
}

// sentence is a message about the server.
func (e *entry) sentence(format string, args ...any) string {
	return fmt.Sprintf("server %q: %s%s", e.name, e.within, fmt.Sprintf(format, args...))
}
