package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Values are secrets that are known, wherever they stand.
type Values struct{ replacer *strings.Replacer }

// shortestValue is how long a value has to be to be looked for: shorter ones are in half of all texts.
const shortestValue = 6

// Known returns values, in the forms in which they usually travel, and what stands for them in texts. It is nil if
// none is long enough.
func Known(values []string, mask string) *Values {
	var pairs []string
	seen := map[string]bool{}
	values = slices.Clone(values)
	slices.SortStableFunc(values, func(a, b string) int { return len(b) - len(a) }) // of two that overlap the longer
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

// shortest is how long a part of a base64 text has to be to say by itself what it is part of.
const shortest = 8

// forms returns a value, the whole before its parts, as it is and as it stands in JSON, in the path and the query of
// a URL, in hexadecimal digits, and in base64 of both alphabets, also of a longer text of which it is a part. What is
// cut in pieces it cannot find.
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
	quoted, _ := json.Marshal(value) // a string always can be
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
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		add(e.EncodeToString([]byte(value))) // the whole first, so that nothing of it is left
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

// inside is what of the base64 of a text depends on the value alone, which stands in it behind a number of bytes that
// leaves the remainder before when it is divided by three.
func inside(e *base64.Encoding, value string, before int) string {
	text := e.EncodeToString(append(make([]byte, before), value...))
	first := [...]int{0, 2, 3}[before] // digits that depend on what is before
	last := len(text)
	if (before+len(value))%3 != 0 {
		last-- // which depends on what is behind
	}
	if first >= last {
		return ""
	}
	return text[first:last]
}
