package rest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/openapi"
)

// An item is a text in an argument. For members of objects it has a name.
type item struct{ name, text, at string }

// items lists the texts of a text, an array of texts or an object of texts. Numbers keep their digits, nulls are left
// out.
func items(v strictjson.Value, at string) ([]item, error) {
	var list []item
	add := func(name string, v strictjson.Value, at string) error {
		switch v.Kind() {
		case strictjson.Null:
		case strictjson.String, strictjson.Number:
			list = append(list, item{name, v.Text(), at})
		case strictjson.True, strictjson.False:
			list = append(list, item{name, v.Source(), at})
		default:
			return &ArgumentError{at, fmt.Sprintf("%s cannot be sent here, only texts, numbers and booleans", v.Kind())}
		}
		return nil
	}
	for i, e := range v.Elements() {
		if err := add("", e, strictjson.AppendToken(at, strconv.Itoa(i))); err != nil {
			return nil, err
		}
	}
	for name, m := range v.Members() {
		if err := add(name, m, strictjson.AppendToken(at, name)); err != nil {
			return nil, err
		}
	}
	if v.Kind() == strictjson.Array || v.Kind() == strictjson.Object {
		return list, nil
	}
	return list, add("", v, at)
}

// inline writes items into a path or a header, as RFC 6570 does.
func inline(p openapi.Parameter, v strictjson.Value, list []item, escape func(string) string) string {
	object, matrix := v.Kind() == strictjson.Object, p.Style == "matrix"
	texts := make([]string, len(list))
	for i, it := range list {
		switch texts[i] = escape(it.text); {
		case object && p.Explode:
			texts[i] = escape(it.name) + "=" + texts[i]
		case object:
			texts[i] = escape(it.name) + "," + texts[i]
		case matrix && p.Explode:
			texts[i] = escape(p.Name) + "=" + texts[i]
		}
	}
	switch commas := strings.Join(texts, ","); {
	case matrix && p.Explode:
		return ";" + strings.Join(texts, ";")
	case matrix:
		return ";" + escape(p.Name) + "=" + commas
	case p.Style == "label" && p.Explode:
		return "." + strings.Join(texts, ".")
	case p.Style == "label":
		return "." + commas
	default:
		return commas
	}
}

// A pair is a name and its value in a query or a form, both escaped.
type pair struct{ name, value string }

func (p pair) String() string { return p.name + "=" + p.value }

// joinPairs writes a query or a form.
func joinPairs(list []pair) string {
	texts := make([]string, len(list))
	for i, p := range list {
		texts[i] = p.String()
	}
	return strings.Join(texts, "&")
}

// queryPairs reads a query. The escapes are ours.
func queryPairs(query string) []pair {
	var all []pair
	for text := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(strings.ReplaceAll(text, "+", " "), "="); text != "" {
			all = append(all, pair{escape(unescape(name)), escape(unescape(value))})
		}
	}
	return all
}

// pairs writes an argument for a query or a form. levels is how deep a deepObject may be.
func pairs(p openapi.Parameter, v strictjson.Value, at string, levels int) ([]pair, error) {
	name := escape(p.Name)
	if p.Style == "deepObject" {
		return deep(nil, name, v, at, levels)
	}
	list, err := items(v, at)
	if err != nil {
		return nil, err
	}
	var all []pair
	var texts []string
	for _, it := range list {
		text, object := escape(it.text), v.Kind() == strictjson.Object
		switch {
		case object && p.Explode:
			all = append(all, pair{escape(it.name), text})
		case p.Explode:
			all = append(all, pair{name, text})
		case object:
			texts = append(texts, escape(it.name), text)
		default:
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return all, nil
	}
	between := ","
	switch p.Style {
	case "spaceDelimited":
		between = "%20"
	case "pipeDelimited":
		between = "%7C"
	case "tabDelimited":
		between = "%09"
	}
	return []pair{{name, strings.Join(texts, between)}}, nil
}

// deep writes name[member][member]=text. The elements of an array are name[] if they are texts, else name[0].
func deep(all []pair, name string, v strictjson.Value, at string, levels int) ([]pair, error) {
	if v.Kind() != strictjson.Array && v.Kind() != strictjson.Object {
		list, err := items(v, at)
		for _, it := range list {
			all = append(all, pair{name, escape(it.text)})
		}
		return all, err
	}
	if levels == 0 {
		return nil, &ArgumentError{at, "it is nested more deeply than can be sent here"}
	}
	var err error
	for key, m := range v.Members() {
		if all, err = deep(all, name+"%5B"+escape(key)+"%5D", m, strictjson.AppendToken(at, key), levels-1); err != nil {
			return nil, err
		}
	}
	for i, e := range v.Elements() {
		index := ""
		if e.Kind() == strictjson.Array || e.Kind() == strictjson.Object {
			index = strconv.Itoa(i)
		}
		next := strictjson.AppendToken(at, strconv.Itoa(i))
		if all, err = deep(all, name+"%5B"+index+"%5D", e, next, levels-1); err != nil {
			return nil, err
		}
	}
	return all, nil
}
