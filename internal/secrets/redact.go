package secrets

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// The sizes above which a Redactor cuts.
const (
	maxString   = 2_000  // characters of one string
	maxItems    = 200    // members of one list or object
	maxRedacted = 16_000 // bytes of one redacted value
)

// A Redactor writes values and texts without their secrets. It is for one goroutine.
type Redactor struct {
	Run   *Values  // the secrets of the run so far
	Found []string // the values that were masked for their place and look like secrets elsewhere too

	find  *Finder
	known *Values
	whole bool // nothing was masked or cut
}

// NewRedactor returns a Redactor that also masks known values.
func NewRedactor(r Rules, known *Values) *Redactor {
	return &Redactor{find: New(r, Strict), known: known}
}

// Text masks secrets in a text.
func (d *Redactor) Text(s string) string {
	s = d.Run.Hide(d.known.Hide(s))
	spans := d.find.Spans(s, Open)
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	last := 0
	for _, span := range spans {
		b.WriteString(s[last:span.From])
		b.WriteString(Mask)
		last = span.To
	}
	b.WriteString(s[last:])
	return b.String()
}

// JSON returns a value without its secrets, in canonical form; nil if it is missing or too large. whole says that
// nothing is missing.
func (d *Redactor) JSON(v strictjson.Value) (redacted json.RawMessage, whole bool) {
	if v.Kind() == strictjson.Missing {
		return nil, false
	}
	d.whole = true
	redacted = d.append(make([]byte, 0, v.End()-v.Offset()+64), v, d.find.Root())
	if len(redacted) > maxRedacted {
		return nil, false
	}
	return redacted, d.whole
}

// append writes a value. The record shows that there is a secret; null and the empty string are no secrets.
func (d *Redactor) append(b []byte, v strictjson.Value, at Place) []byte {
	secret := at.Level > Open
	switch kind := v.Kind(); {
	case kind == strictjson.Object:
		return d.object(b, v, at)
	case kind == strictjson.Array:
		return d.array(b, v, at)
	case kind == strictjson.Null, secret && kind == strictjson.String && v.Text() == "":
	case secret:
		d.findIn(v.Text())
		d.whole = false
		return strictjson.AppendString(b, Mask)
	case kind == strictjson.String:
		if s := Cut(d.Text(v.Text()), maxString); s != v.Text() {
			d.whole = false
			return strictjson.AppendString(b, s)
		}
	}
	return v.AppendCanonical(b)
}

func (d *Redactor) array(b []byte, v strictjson.Value, at Place) []byte {
	b = append(b, '[')
	i := 0
	for place, e := range d.find.Children(v, at) {
		if i > 0 {
			b = append(b, ',')
		}
		if i == maxItems {
			d.whole = false
			b = strictjson.AppendString(b, fmt.Sprintf("… %d more", v.Len()-i))
			break
		}
		b = d.append(b, e, place)
		i++
	}
	return append(b, ']')
}

// A member is a member of an object.
type member struct {
	key   string           // masked
	value strictjson.Value // missing if the member stands for those that were cut
	at    Place
}

func (d *Redactor) object(b []byte, v strictjson.Value, at Place) []byte {
	members, changed := make([]member, 0, min(v.Len(), maxItems+1)), false
	for place, value := range d.find.Children(v, at) {
		if len(members) == maxItems {
			changed = true
			members = append(members, member{key: "…"})
			break
		}
		m := member{Cut(d.Text(place.Step), maxString), value, place}
		members, changed = append(members, m), changed || m.key != place.Step
	}
	if changed {
		d.whole = false
		unique(members)
	}
	slices.SortFunc(members, func(a, b member) int { return strictjson.CompareKeys(a.key, b.key) })
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strictjson.AppendString(b, m.key), ':')
		if m.value.Kind() == strictjson.Missing {
			b = strictjson.AppendString(b, fmt.Sprintf("%d more", v.Len()-maxItems))
			continue
		}
		b = d.append(b, m.value, m.at)
	}
	return append(b, '}')
}

// unique numbers the keys that masking has made equal.
func unique(members []member) {
	seen := make(map[string]int, len(members)) // by key: the last number that was tried
	for i := range members {
		m := &members[i]
		for key := m.key; seen[m.key] > 0; {
			seen[key]++
			m.key = fmt.Sprintf("%s %d", key, seen[key])
		}
		seen[m.key] = 1
	}
}

// findIn adds a secret to Found, and its parts that are secrets themselves: the token behind Bearer, or each of several
// cookies.
func (d *Redactor) findIn(secret string) {
	if secret == Mask {
		return
	}
	d.note(secret)
	for word := range strings.FieldsSeq(secret) {
		if len(word) >= longSecret {
			d.note(strings.TrimRight(word, ";,"))
		}
	}
}

// longSecret is the length below which a part of a secret is no secret itself.
const longSecret = 12

func (d *Redactor) note(s string) {
	if len(s) < shortestValue || len(s) > learnedLongest || len(d.Found) >= learnedMost {
		return
	}
	if spans := d.find.Spans(s, Open); random(s) || len(spans) == 1 && spans[0].To-spans[0].From == len(s) {
		d.Found = append(d.Found, s)
	}
}

// Cut returns the first characters of a text, that many, and says how much is missing.
func Cut(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	at := 0
	for range most {
		_, n := utf8.DecodeRuneInString(s[at:])
		at += n
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:at], len(s)-at)
}
