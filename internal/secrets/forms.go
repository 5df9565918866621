package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Values are known secrets.
type Values struct{ replacer *strings.Replacer }

// shortestValue is the length below which a value is not masked: shorter ones are in half of all texts.
const shortestValue = 6

// Known returns Values that mask values in their usual forms. It is nil if none is long enough.
func Known(values []string, mask string) *Values {
	var pairs []string
	seen := map[string]bool{}
	values = slices.Clone(values)
	slices.SortStableFunc(values, func(a, b string) int { return len(b) - len(a) }) // of two that overlap, the longer wins
	for _, v := range values {
		if len(v) < shortestValue {
			continue
		}
		for _, form := range forms(v) {
			if !seen[form] {
				seen[form] = true
				pairs = append(pairs, form, mask)
			}
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	return &Values{strings.NewReplacer(pairs...)}
}

// Hide masks the values in a text.
func (v *Values) Hide(text string) string {
	if v == nil {
		return text
	}
	return v.replacer.Replace(text)
}

// Within reports whether a text contains a value in one of the forms that Values mask, in any case.
func Within(value, text string) bool { return FormsOf(value).Within(text) }

// Forms are the forms of a value, in lower case.
type Forms []string

// FormsOf returns the forms of a value that Values mask.
func FormsOf(value string) Forms {
	all := forms(value)
	for i := range all {
		all[i] = strings.ToLower(all[i])
	}
	return all
}

// Within reports whether a text contains one of the forms, in any case.
func (f Forms) Within(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(f, func(form string) bool { return strings.Contains(text, form) })
}

// shortest is the length below which a part of a base64 text does not identify its value.
const shortest = 8

// forms returns the forms of a value, the whole before its parts: as it is, in JSON, in the path and the query of a
// URL, in hexadecimal digits, and in base64 of both alphabets, also inside a longer text. A value that was cut in
// pieces has none of these forms.
func forms(value string) []string {
	var all []string
	seen := map[string]bool{"": true}
	add := func(form string) {
		if !seen[form] {
			seen[form] = true
			all = append(all, form)
		}
	}
	add(value)
	quoted, _ := json.Marshal(value) // a string is always encodable
	add(string(quoted[1 : len(quoted)-1]))
	var plain strings.Builder
	js := json.NewEncoder(&plain)
	js.SetEscapeHTML(false)
	_ = js.Encode(value)
	add(strings.Trim(strings.TrimSpace(plain.String()), `"`))
	add(url.QueryEscape(value))
	add(url.PathEscape(value))
	add(strings.ReplaceAll(url.QueryEscape(value), "+", "%20"))
	add(hex.EncodeToString([]byte(value)))
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding,
		base64.RawURLEncoding} {
		add(e.EncodeToString([]byte(value))) // the whole first, so that no part of it remains
	}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			if form := inside(e, value, before); len(form) >= shortest {
				add(form)
			}
		}
	}
	return all
}

// inside returns the part of a text's base64 that depends on the value alone. The number of bytes of the text in front
// of the value is before modulo three.
func inside(e *base64.Encoding, value string, before int) string {
	text := e.EncodeToString(append(make([]byte, before), value...))
	first := [...]int{0, 2, 3}[before] // digits that depend on the bytes in front
	last := len(text)
	if (before+len(value))%3 != 0 {
		last-- // it depends on the bytes behind
	}
	if first >= last {
		return ""
	}
	return text[first:last]
}
