package upstream

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"
)

func (p *entry) duration(key string, unit time.Duration) time.Duration {
	p.used[key] = true
	raw := p.keys[key]
	if raw == nil {
		return 0
	}
	var n float64
	if json.Unmarshal(raw, &n) != nil {
		p.fail(key, "%q must be a number", key)
	}
	return p.span([]string{key}, n, unit)
}

func (p *entry) span(path []string, n float64, unit time.Duration) time.Duration {
	const most = 24 * time.Hour
	if n < 0 {
		p.failAt(path, "%q must not be negative", path[0])
		return 0
	}
	if n > float64(most/unit) {
		return most
	}
	return time.Duration(n * float64(unit))
}

func (p *entry) flag(key string) bool {
	p.used[key] = true
	raw := p.keys[key]
	if raw == nil {
		return false
	}
	var b bool
	if json.Unmarshal(raw, &b) != nil {
		p.fail(key, "%q must be true or false", key)
	}
	return b
}

func (p *entry) text(key string) string {
	p.used[key] = true
	raw := p.keys[key]
	if raw == nil {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		p.fail(key, "%q must be a string", key)
	}
	return s
}

func (p *entry) oneOf(keys ...string) string {
	found := ""
	for _, k := range keys {
		if s := p.text(k); found == "" {
			found = s
		}
	}
	return found
}

func (p *entry) list(key string) []string {
	p.used[key] = true
	raw := p.keys[key]
	if raw == nil {
		return nil
	}
	var l []string
	if json.Unmarshal(raw, &l) != nil {
		p.fail(key, "%q must be a list of strings", key)
	}
	return l
}

// names reads a list of tools under the first of the keys that is there.
func (p *entry) names(keys ...string) []string {
	var found []string
	for _, k := range keys {
		if l := p.list(k); found == nil {
			found = l
		}
	}
	return found
}

// strings reads an object of strings; numbers and booleans, which people write
// there, become what they look like.
func (p *entry) strings(key string) map[string]string {
	p.used[key] = true
	raw := p.keys[key]
	if raw == nil {
		return nil
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		p.fail(key, "%q must be an object of strings", key)
		return nil
	}
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		v := values[k]
		var s string
		switch {
		case json.Unmarshal(v, &s) == nil && string(v) != "null":
			out[k] = s
		case len(v) > 0 && (v[0] == '-' || '0' <= v[0] && v[0] <= '9') || string(v) == "true" || string(v) == "false":
			out[k] = string(v)
		default:
			p.failAt([]string{key, k}, "%q: the value of %q must be a string", key, k)
		}
	}
	return out
}

// inOrder ranges over the keys in order, so that messages do not change from run to run.
func inOrder(m map[string]string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

func (p *entry) expandAll(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, p.expand(s))
	}
	return out
}

// warn notes something about the value of a key that has no effect, or another one than it seems.
func (p *entry) warn(key, format string, args ...any) {
	p.doubts = append(p.doubts, Mistake{[]string{key}, true, fmt.Sprintf(format, args...), ""})
}

// fail notes that the value of a key is wrong.
func (p *entry) fail(key, format string, args ...any) { p.failAt([]string{key}, format, args...) }

func (p *entry) failAt(path []string, format string, args ...any) {
	p.wrong = append(p.wrong, Mistake{path, false, fmt.Sprintf(format, args...), ""})
}

// failed reports whether the value of a key is known to be wrong.
func (p *entry) failed(key string) bool {
	return slices.ContainsFunc(p.wrong, func(m Mistake) bool { return len(m.Path) > 0 && m.Path[0] == key })
}
