package analysis

import (
	"strings"
	"testing"
)

// esbuild puts a member of an enum in wherever it is used, so what becomes of
// these texts has hundreds of megabytes and more. The first words hide them from our lexer.
func TestMembersOfEnumsThatAreUsedOftenAreTooMuch(t *testing.T) {
	for name, text := range map[string]string{
		"a long member": "enum a{b='" + strings.Repeat("x", 57_000) + "'}" + strings.Repeat("a.b;", 1900),
		"a member that doubles": "enum a{b='" + strings.Repeat("x", 6000) + "'," + doubling(10) + "}" +
			strings.Repeat("a.c10;", 1900),
		"templates that double": "enum a{b='" + strings.Repeat("x", 6000) + "',c=`${b}${b}`,d=`${c}${c}`,e=`${d}${d}`}" +
			strings.Repeat("a.e;", 1900),
		"uses inside of an enum": "enum a{b='" + strings.Repeat("x", 57_000) + "',c=f(" + strings.Repeat("b,", 3000) + ")}",
	} {
		if exceeds("x as void /1;"+text) == nil {
			t.Errorf("%s, %d bytes: would be read in this process", name, len(text))
		}
	}
	for name, text := range map[string]string{
		"an enum in a program": "enum Level { Low = 'low', High = 'high' }\n" +
			strings.Repeat("const n = items.filter((x) => x.level === Level.High)\n", 25) +
			"return `${n.length} of ${items.length} are ` + Level.High + ' now'",
		"a word that holds it": strings.Repeat("const enumerated = a + b + c; ", 300),
	} {
		if f := exceeds(text); f != nil {
			t.Errorf("%s, %d bytes: %s", name, len(text), f.message)
		}
	}
}
