package openapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// wide are types in levels, each of which refers to the next level so many times, by a format with %d.
func wide(levels, times int, format, last string) string {
	var all strings.Builder
	for i := range levels {
		refs := strings.Repeat(`{"$ref":"#/components/schemas/A`+fmt.Sprint(i+1)+`"},`, times)
		fmt.Fprintf(&all, `"A%d":`+format+`,`, i, strings.TrimSuffix(refs, ","))
	}
	fmt.Fprintf(&all, `"A%d":%s`, levels, last)
	return all.String()
}

func TestHostileTypesCostLittle(t *testing.T) {
	first := jsonBody(`{"$ref":"#/components/schemas/A0"}`)
	leaf, some := `{"properties":{"p":{"type":"string"}}}`, []string{}
	for i := range 5000 {
		some = append(some, fmt.Sprintf(`"p%d":{"$ref":"#/components/schemas/A0"}`, i))
	}
	many := `{"properties":{` + strings.Join(some, ",") + `}}`
	for _, test := range []struct {
		is         string
		operation  string
		components string
	}{
		{"types in types, 10^18 of them", first, schemas(wide(18, 10, `{"allOf":[%s]}`, leaf))},
		{"types in types that are no objects", first, schemas(wide(18, 10, `{"allOf":[%s]}`, `{"type":"string"}`))},
		{"5,000 members, many times", first, schemas(wide(3, 30, `{"allOf":[%s]}`, many))},
		{"an object in the path, in 10^18 ways", takes(in("query", "a", `"style":"deepObject","schema":{"properties":{"b":
			{"$ref":"#/components/schemas/A0"}}}`)), schemas(wide(18, 10, `{"allOf":[%s]}`, `{"description":"none"}`))},
		{"a type that consists of itself", first, schemas(`"A0":{"allOf":[{"$ref":"#/components/schemas/A0"}]}`)},
		{"a reference to itself", first, schemas(`"A0":{"$ref":"#/components/schemas/A0"}`)},
		{"5,000 types in a circle", first, schemas(wide(5000, 1, `{"properties":{"p":{"anyOf":[%s]}}}`,
			`{"$ref":"#/components/schemas/A0"}`))},
		{"900 levels", jsonBody(strings.Repeat(`{"not":`, 900) + `{}` + strings.Repeat(`}`, 900)), ""},
		{"two large types in turn", jsonBody(`{"anyOf":[` + strings.TrimSuffix(strings.Repeat(
			`{"$ref":"#/components/schemas/L"},{"$ref":"#/components/schemas/M"},`, 5000), ",") + `]}`),
			schemas(`"L":{"description":"` + strings.Repeat("x", 9<<20) + `"},"M":{"description":"` + strings.Repeat("y",
				9<<20) + `"}`)},
		{"nothing is what it has to be", `"parameters":{"a":1},"requestBody":[1],"responses":"none"`, `"schemas":[]`},
		{"parameters are odd", `"parameters":[1,null,"x",{},{"name":1,"in":2},{"name":"","in":"query"}]`, ""},
		{"a body is odd", `"requestBody":{"content":{"":{"schema":1},"application/json":[]}}`, ""},
		{"a schema is odd", jsonBody(`{"type":7,"properties":[],"required":"a","allOf":{},"enum":{},"items":3}`), ""},
	} {
		o := api{operation: test.operation, components: test.components}.op(t)
		start := time.Now()
		_, err := o.Plan()
		in, _ := o.Input()
		out, outErr := o.Output()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: took %s", test.is, took)
		}
		if err == nil && !json.Valid(in) || outErr == nil && out != nil && !json.Valid(out) {
			t.Errorf("%s: no JSON: %.200s %.200s", test.is, in, out)
		}
		if err != nil && len(err.Error()) < 20 {
			t.Errorf("%s: the error %q is no sentence", test.is, err)
		}
	}
}
