package settings

import "testing"

// Whatever a text is, its escaped form gives it back, and refers to nothing.
func FuzzEscape(f *testing.F) {
	for _, text := range []string{"plain", "${X}", "$X", "a$X", "$${X}", "${env:X}", "{env:X}", "${X:-${Y}}", "${{ secrets.X }}",
		"${$}", "${{}", "${cmd:id}", "${file:/x}", "{{env:X}", "$", "{", "${", "${input:a}", "$A_B", "${$}{env:X}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		escaped := Escape(text)
		x := Expander{Env: func(name string) (string, bool) { return "VALUE OF " + name, true }}
		if got := x.ExpandValue(escaped); got != text || len(x.Missing) > 0 {
			t.Errorf("%q is escaped as %q, which gives %q, %q", text, escaped, got, x.Missing)
		}
		if got := x.Expand(escaped); got != text {
			t.Errorf("%q in an argument is escaped as %q, which gives %q", text, escaped, got)
		}
		if !Literal(escaped) || HasSource(escaped) {
			t.Errorf("%q refers to something", escaped)
		}
	})
}
