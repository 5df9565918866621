package secrets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/strictjson"
)

func parse(t *testing.T, text string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Parse(text, strictjson.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRedaction(t *testing.T) {
	d := NewRedactor(Rules{Keys: []string{"iban"}, Pointers: []string{"/headers/*", "/rows/*/x"}},
		Known([]string{"s3cr3t-of-the-config", "short"}, Mask))
	for _, row := range []struct{ in, want string }{
		{`{"password":"hunter2","user":"anna"}`, `{"password":"[redacted]","user":"anna"}`},
		{`{"api_key":1234567,"API-Key":"x","apiKey":true}`,
			`{"API-Key":"[redacted]","apiKey":"[redacted]","api_key":"[redacted]"}`},
		{`{"a":{"b":[{"Authorization":"Bearer abc"}]}}`, `{"a":{"b":[{"Authorization":"[redacted]"}]}}`},
		{`{"token":null,"secret":"","tokens":["a",["b"]],"credentials":{"id":"x","n":1}}`,
			`{"credentials":{"id":"[redacted]","n":"[redacted]"},"secret":"","token":null,"tokens":["[redacted]",["[redacted]"]]}`},
		{`{"IBAN":"DE00"}`, `{"IBAN":"[redacted]"}`},
		{`{"headers":{"X-Odd":"v"},"rows":[{"x":1,"y":2}]}`,
			`{"headers":{"X-Odd":"[redacted]"},"rows":[{"x":"[redacted]","y":2}]}`},
		{`{"note":"use s3cr3t-of-the-config here"}`, `{"note":"use [redacted] here"}`},
		{`{"s3cr3t-of-the-config":1}`, `{"[redacted]":1}`},
		{`{"note":"s3cr3t-of-the-config in base64 czNjcjN0LW9mLXRoZS1jb25maWc="}`,
			`{"note":"[redacted] in base64 [redacted]"}`},
		{`"curl -H 'Authorization: Bearer eyJhbGciOi.eyJzdWIi.sig' https://u:p4ssw0rd@example.com/"`,
			`"curl -H 'Authorization: [redacted]' https://[redacted]@example.com/"`},
		{`"https://example.com/?token=abcdef&page=2"`, `"https://example.com/?token=[redacted]&page=2"`},
		{`"ghp_abcdefghij0123456789 and AKIAABCDEFGHIJKLMNOP"`, `"[redacted] and [redacted]"`},
		{`"-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\nrest"`, `"[redacted]\nrest"`},
		{`{"path":"/home/x/token/file","url":"https://example.com/a"}`,
			`{"path":"/home/x/token/file","url":"https://example.com/a"}`},
		{`{"list":[{"name":"Authorization","value":"abc"},{"name":"Accept","value":"text/plain"}]}`,
			`{"list":[{"name":"Authorization","value":"[redacted]"},{"name":"Accept","value":"text/plain"}]}`},
		{`"whsec_abcdefghij0123456789 SG.abcdefghijklmnop.abcdefghijklmnop"`, `"[redacted] [redacted]"`},
		{`"password=hunter2; Cookie: a=b; c=d\nsk-abcdefghijkl"`, `"password=[redacted]; Cookie: [redacted]\n[redacted]"`},
		{`{"a":"short"}`, `{"a":"short"}`}, // too short to be looked for everywhere
	} {
		got, whole := d.JSON(parse(t, (row.in)))
		if string(got) != row.want || whole == strings.Contains(row.want, Mask) {
			t.Errorf("%s\n got %s\nwant %s", row.in, got, row.want)
		}
	}
	long, whole := d.JSON(parse(t, (`{"a":"` + strings.Repeat("x", 5000) + `"}`)))
	if whole || len(long) > 3000 || !strings.Contains(string(long), "3000 bytes more") {
		t.Errorf("a long text: %d bytes, whole %v", len(long), whole)
	}
	if huge, whole := d.JSON(parse(t, (`[` + strings.Repeat(`"`+strings.Repeat("y", 1000)+`",`, 100) + `1]`))); whole ||
		huge != nil {
		t.Errorf("a large value: %d bytes", len(huge))
	}
}

// Of an object of many keys that are secrets themselves, those that are kept can be told apart.
func TestKeysThatMaskingMakesEqual(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"[redacted] 2":1`)
	for i := range 25_000 {
		fmt.Fprintf(&b, `,"sk-%015d":1`, i)
	}
	for _, in := range []string{b.String() + "}", `{"secret":` + b.String() + "}}"} {
		out, whole := NewRedactor(Rules{}, nil).JSON(parse(t, (in)))
		kept := parse(t, string(out))
		if inner, ok := kept.Member("secret"); ok {
			kept = inner
		}
		if _, ok := kept.Member("…"); whole || !ok || kept.Len() != maxItems+1 {
			t.Errorf("%d members are kept in %.200s", kept.Len(), out)
		}
	}
}

func TestKeyPatterns(t *testing.T) {
	tests := []struct {
		pattern, key string
		want         bool
	}{
		{"token", "token", true}, {"token", "tokens", false}, {"*token*", "mytokens", true}, {"*token", "mytoken", true},
		{"*token", "tokens", false},
		{"token*", "tokens", true}, {"*", "", true}, {"a*b*c", "aXbYc", true}, {"a*b*c", "acb", false}, {"a*a", "a", false},
		{"**", "x", true},
	}
	for _, test := range tests {
		if got := like(test.pattern, test.key); got != test.want {
			t.Errorf("like(%q, %q) = %v", test.pattern, test.key, got)
		}
	}
}

// TestStrictness holds that what a person sees leaves out less than what is stored: never a path, an address or a
// command.
func TestStrictness(t *testing.T) {
	mild, strict := New(Rules{}, Mild), New(Rules{}, Strict)
	jwt := "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
	for _, row := range []struct {
		text         string
		level        Level
		mild, strict string // what is left
	}{
		{"hunter2", Token, "", ""},
		{"/home/x", Token, "/home/x", ""},
		{"rm -rf /", Phrase, "rm -rf /", ""},
		{"two words", Token, "two words", ""},
		{"two words", Phrase, "", ""},
		{"Bearer abcdefgh", Token, "Bearer ", ""},
		{"password=abcdef", Open, "password=abcdef", "password="},
		{"https://u:p@example.com/", Open, "https://u:p@example.com/", "https://@example.com/"},
		{"x " + jwt + " y", Open, "x  y", "x  y"},
		{"https://" + jwt + ".example/", Open, "https://" + jwt + ".example/", "https:///"},
	} {
		for f, want := range map[*Finder]string{mild: row.mild, strict: row.strict} {
			left, last := "", 0
			for _, s := range f.Spans(row.text, row.level) {
				left, last = left+row.text[last:s.From], s.To
			}
			if left += row.text[last:]; left != want {
				t.Errorf("%q at level %d, strictness %d: %q is left, want %q", row.text, row.level, f.strictness, left, want)
			}
		}
	}
}

// A key that a profile names hides as much as a key that everybody knows, in questions too.
func TestKeysOfAProfile(t *testing.T) {
	for _, strictness := range []Strictness{Mild, Strict} {
		f := New(Rules{Keys: []string{"iban*", "token"}}, strictness)
		for key, want := range map[string]Level{"IBAN": Phrase, "iban_of": Phrase, "token": Phrase, "name": Open} {
			if got := f.Key(key); got != want {
				t.Errorf("%s at strictness %d has level %d, want %d", key, strictness, got, want)
			}
		}
	}
}

func TestVariables(t *testing.T) {
	for name, want := range map[string]bool{
		"GITHUB_TOKEN": true, "API_KEY": true, "DB_DSN": true, "Authorization": true, "Proxy-Authorization": true,
		"MYSQL_PWD": true,
		"AUTHOR":    false, "GIT_AUTHOR_NAME": false, "GIT_AUTHOR_TOKEN": true, "HOME": false, "Accept": false,
	} {
		if IsVariable(name) != want {
			t.Errorf("IsVariable(%q) is not %v", name, want)
		}
	}
}
