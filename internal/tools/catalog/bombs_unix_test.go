//go:build unix

package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/tools/catalog"

	"github.com/codemode-project/codemode/call"
)

// processor is how much processor time this process has taken.
func processor(t *testing.T) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// costsLittle fails if f takes more than a few seconds of processor time. What it guards against takes minutes.
func costsLittle(t *testing.T, what string, f func()) {
	t.Helper()
	before := processor(t)
	f()
	took := processor(t) - before
	t.Logf("%s: %v", what, took.Round(time.Millisecond))
	most := 3 * time.Second
	if hostile.Raced() {
		most *= 10
	}
	if took > most {
		t.Errorf("%s took %v of processor time", what, took)
	}
}

// many joins f(0) to f(n-1) by commas.
func many(n int, f func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(f(i))
	}
	return b.String()
}

func same(s string) func(int) string { return func(int) string { return s } }

func objectOf(n int, key, value string) string {
	return "{" + many(n, func(i int) string { return fmt.Sprintf(`"%s%d":%s`, key, i, value) }) + "}"
}

// TestBombs gives schemas and values from strangers that are made to cost much. A check ends within its steps, with an
// error if that is not enough; nothing that reads a schema takes long.
func TestBombs(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	const kb = 1 << 10
	long := strings.Repeat("a", 500*kb)
	keys := objectOf(60_000, "k", "1")
	subs := func(n int, sub string) string { return `{"allOf":[` + many(n, same(sub)) + `]}` }
	nest := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	number := strings.Repeat("9", 900) + ".5"
	for _, row := range []struct {
		name, schema, value string
		refused             bool // because it is too costly
	}{
		{"many patterns and one long text", `{"additionalProperties":{"allOf":[` + many(900,
			func(i int) string { return fmt.Sprintf(`{"pattern":"(a+)+$|.*%d"}`, i) }) + `]}}`, `{"a":"` + long + `"}`, true},
		{"patterns for keys and many keys", `{"patternProperties":` + objectOf(2000, "(.*a){12}x|k", "true") + `}`, keys,
			true},
		{"patterns for keys and one long key", `{"patternProperties":` + objectOf(2000, "(.*a){12}x|k", "true") + `}`,
			`{"` + long + `":1}`, true},
		{"one pattern that is repeated a thousand times", `{"additionalProperties":{"pattern":"^(.*x.*){1000}$"}}`,
			`{"a":"` + long + `"}`, false},
		{"repeated patterns that are put together", `{"additionalProperties":` +
			subs(1, `{"pattern":"`+strings.Repeat("[a-z]{1000}", 300)+`"}`) + `}`, `{"a":"` + long + `"}`, false},
		{"a pattern of many letters of all alphabets", `{"additionalProperties":` + subs(100,
			`{"pattern":"`+strings.Repeat(`\\pL`, 900)+`"}`) + `}`, `{"a":"` + long + `"}`, true},
		{"names of keys that have patterns", `{"propertyNames":` + subs(2000, `{"pattern":"(.*a){12}x|k"}`) + `}`, keys,
			true},
		{"a pattern that only a reference leads to", `{"x":{"pattern":"(.*a){12}x|[^b]"},"additionalProperties":` +
			subs(20_000, `{"$ref":"#/x"}`) + `}`, `{"a":"` + long + `"}`, true},
		{"lengths of a long text again and again", `{"additionalProperties":` + subs(40_000, `{"minLength":1}`) + `}`,
			`{"a":"` + long + `"}`, true},
		{"unique items again and again", `{"additionalProperties":` + subs(30_000, `{"uniqueItems":true}`) + `}`,
			`{"a":[` + many(60_000, func(i int) string { return fmt.Sprint(i) }) + `]}`, true},
		{"unique items that are long and nested", `{"additionalProperties":` + subs(30_000,
			`{"items":{"uniqueItems":true}}`) + `}`, `{"a":[[` + nest("[", `"`+long+`"`, "]", 50) + `,1]]}`, true},
		{"a wide enum for many items", `{"additionalProperties":{"items":{"enum":[` + many(50_000,
			func(i int) string { return fmt.Sprintf(`"n%d"`, i) }) + `,1]}}}`, `{"a":[` + many(100_000, same("1")) + `]}`, true},
		{"an enum of long texts that are nearly equal", `{"additionalProperties":{"items":{"enum":[` +
			many(60, func(i int) string { return fmt.Sprintf(`"%s%02d"`, long[:16*kb], i) }) + `]}}}`,
			`{"a":[` + many(60, func(i int) string { return fmt.Sprintf(`"%s%02d"`, long[:16*kb], 59) }) + `]}`, false},
		{"a constant that is large", `{"additionalProperties":` + subs(5, `{"const":`+objectOf(8000, "k", "[1,2]")+`}`) + `}`,
			`{"a":` + objectOf(8000, "k", "[1,2]") + `}`, false},
		{"an enum of many, none of which fits", `{"properties":{"a":{"anyOf":[` + many(300,
			same(`{"enum":[`+many(700, func(i int) string { return fmt.Sprint(i) })+`]}`)) + `]}}}`, `{"a":"x"}`, false},
		{"many schemas for an object of many keys", subs(50_000, `{"properties":{}}`), keys, false},
		{"many closed schemas for an object of many keys", subs(20_000, `{"additionalProperties":true}`), keys, true},
		{"many required keys for many items", `{"additionalProperties":{"items":{"anyOf":[{"required":[` + many(50_000,
			same(`"a"`)) + `]},true]}}}`, `{"a":[` + many(40_000, same(`{"a":1}`)) + `]}`, true},
		{"keys that depend on others", subs(500, `{"dependentRequired":`+objectOf(100, "k", `["k1"]`)+`}`), keys, false},
		{"numbers of many digits", `{"additionalProperties":{"items":` + subs(300, `{"multipleOf":`+number+`}`) + `}}`,
			`{"a":[` + many(500, same(number)) + `]}`, true},
		{"numbers with exponents", `{"additionalProperties":{"items":` + subs(300, `{"multipleOf":1e-900,"minimum":-1e900}`) +
			`}}`, `{"a":[` + many(100_000, same("1e900")) + `]}`, true},
		{"a long key above many items", `{"additionalProperties":{"items":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
			`{"` + long + `":[` + many(100_000, same("1")) + `]}`, false},
		{"a long key above many that do not fit", `{"additionalProperties":{"items":{"not":{"type":"string"}}}}`,
			`{"` + long + `":[` + many(100_000, same("1")) + `]}`, false},
		{"a name that nearly is one of many long ones", `{"properties":` + objectOf(1, long[:200*kb], "true") +
			`,"additionalProperties":false}`, `{"` + long[:210*kb] + `":1}`, false},
		{"a name that is none of many", `{"properties":` + objectOf(30_000, "property_with_a_name_", "true") +
			`,"additionalProperties":false}`, `{"property_with_a_nme_x":1}`, false},
		{"forms of forms of forms", `{"additionalProperties":` + nest(`{"anyOf":[{"type":"string"},{"type":"null"},`,
			`{"enum":["x"]}`, "]}", 60) + `}`, `{"a":[` + many(100_000, same("1")) + `]}`, false},
		{"references that double", `{"$ref":"#/$defs/d0","$defs":{` + many(40, func(i int) string {
			return fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
		}) + `,"d40":true}}`, `{}`, true},
		{"forms that double over a nested value",
			`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"properties":{"x":{"$ref":"#/$defs/a"}},"required":["y"]},{"properties":{"x":{"$ref":"#/$defs/a"}},"required":["z"]}]}}}`, nest(`{"x":`, "1", "}", 60), true},
		{"references through long pointers", `{"additionalProperties":` + subs(1000,
			`{"$ref":"#/`+strings.Repeat("x/", 400)+`"}`) + `}`, keys, true},
		{"addresses that are long", `{"$id":"https://a.invalid/` + long + `","allOf":[` + many(20_000, same(`{"$ref":"#"}`)) +
			`]}`, `{}`, false}, // the circles are not checked
		{"addresses below one another", nest(`{"$id":"`+strings.Repeat("a", 900)+`/","allOf":[`,
			many(5000, same(`{"$ref":"b"}`)), "]}", 60), `{}`, false},
		{"what nobody looked at", subs(20_000, `{"properties":{"k1":true}}`)[:1] + `"unevaluatedProperties":true,` +
			subs(20_000, `{"additionalProperties":true}`)[1:], keys, true},
		{"items that were looked at", `{"additionalProperties":{"unevaluatedItems":true,` + subs(30_000,
			`{"contains":true}`)[1:] + `}`, `{"a":[` + many(60_000, same("1")) + `]}`, true},
		{"many types", `{"additionalProperties":{"items":{"type":[` + many(60_000, same(`"null"`)) + `]}}}`,
			`{"a":[` + many(60_000, same("1")) + `]}`, false},
		{"references to anchors", `{"properties":` + objectOf(4000, "p", `{"$ref":"#z"}`) + `,"$defs":{` + many(20_000,
			func(i int) string { return fmt.Sprintf(`"x%d":{}`, i) }) + `,"z":{"$anchor":"z"}}}`, keys, false},
		{"references whose types would be called the same", `{"properties":{` + many(8000, func(i int) string {
			return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/%s"}`, i, string(rune(0x4e00+i)))
		}) + `}}`, `{}`, false},
		{"properties in many forms", `{"type":"object","properties":` + objectOf(8000, "p", `{"type":"string"}`) +
			`,"anyOf":[` + many(100, same(`{"type":"object","anyOf":[{"$ref":"#"},{"$ref":"#"}]}`)) + `]}`, `{}`, false}, // likewise
		{"forms that inherit", `{"type":["object","array","string"],"minimum":1,"anyOf":[` + many(20_000,
			same(`{"title":"x","minimum":2}`)) + `]}`, `{}`, false},
		{"many keys without a meaning", objectOf(20_000, "nothing", `{"pattern":"a{1000}"}`), keys, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if len(row.schema) > 1<<20 || len(row.value) > 2<<20 {
				t.Fatalf("the schema has %d bytes, the value %d: too many to be let in", len(row.schema), len(row.value))
			}
			if !json.Valid([]byte(row.schema)) || !json.Valid([]byte(row.value)) {
				t.Fatalf("no JSON: %.200s", row.schema)
			}
			tools := []catalog.Tool{{Raw: "t", Input: json.RawMessage(row.schema), Output: json.RawMessage(row.schema)}}
			c := catalog.New()
			costsLittle(t, "reading it", func() { c.Replace("s", tools) })
			tool := c.Tools()[0]
			var err error
			costsLittle(t, "checking arguments",
				func() { err = tool.Validate(t.Context(), call.Unread(json.RawMessage(row.value))) })
			var misfit *catalog.ArgumentError
			if costly := errors.As(err, &misfit) && strings.Contains(misfit.Got, "too costly"); costly != row.refused {
				t.Errorf("refused for its cost: got %v (%.300v), want %v", costly, err, row.refused)
			}
			if err != nil && len(err.Error()) > 20_000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if len(row.value) < 1000 { // both go through the same check
				var wrong *catalog.ResultError
				err := tool.ValidateResult(t.Context(), json.RawMessage(row.value))
				if costly := errors.As(err, &wrong) && strings.Contains(wrong.Got, "too costly"); costly != row.refused {
					t.Errorf("a result refused for its cost: got %v (%.300v), want %v", costly, err, row.refused)
				}
			}
			costsLittle(t, "declaring it", func() { _ = catalog.Declarations([]*catalog.Tool{tool}) + tool.Signature() })
			costsLittle(t, "looking for it", func() { c.Search("property name", 10, nil); _, _ = c.Find("s__tt") })
		})
	}
}

// TestManyTools is a server that lists ten thousand tools with long names and descriptions.
func TestManyTools(t *testing.T) {
	tools := make([]catalog.Tool, 10_000)
	for i := range tools {
		tools[i] = catalog.Tool{Raw: fmt.Sprintf("%s_%d", strings.Repeat("tool_", 40), i),
			Description: strings.Repeat("finds and lists things ", 40),
			Input:       json.RawMessage(fmt.Sprintf(`{"properties":{"p%d":{"pattern":"(a|b){%d}"}}}`, i, i%1000))}
	}
	c := catalog.New()
	costsLittle(t, "ten thousand tools", func() { c.Replace("s", tools) })
	costsLittle(t, "a hundred names that none of them has", func() {
		for i := range 100 {
			_, _ = c.Find(fmt.Sprintf("s__%s_%d_", strings.Repeat("tool_", 30), i))
		}
	})
}

// TestACheckEndsWithItsContext: nobody who waits for a check that costs much has to wait for its end.
func TestACheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := newCanceled(t)
	defer cancel()
	tool := tool(t, `{"additionalProperties":{"items":{"enum":[`+many(50_000,
		func(i int) string { return fmt.Sprintf(`"n%d"`, i) })+`,1]}}}`)
	value := json.RawMessage(`{"a":[` + many(100_000, same("1")) + `]}`)
	if err := tool.Validate(ctx, call.Unread(value)); !errors.Is(err, errGaveUp) {
		t.Errorf("got %.200v, want the cause of the end", err)
	}
}

var errGaveUp = errors.New("the caller gave up")

func newCanceled(t *testing.T) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGaveUp)
	return ctx, func() { cancel(nil) }
}
