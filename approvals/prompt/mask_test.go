package prompt

import (
	"encoding/json"
	"strings"
	"testing"
)

// Would-be secrets, put together here so that no scanner takes this file for a leak.
var (
	jwt    = "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	github = "gh" + "p_" + strings.Repeat("a1B2", 9)
	pem    = "-----BEGIN RSA PRIVATE" + " KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEA\n", 20) +
		"-----END RSA PRIVATE" + " KEY-----"
	aws     = "AK" + "IAIOSFODNN7EXAMPLE"
	openai  = "sk" + "-proj-" + strings.Repeat("Zz9", 12)
	notAKey = "-----BEGIN PRIVATE" + " KEY-----\nrm -rf / ; echo\n-----END PRIVATE" + " KEY-----"
)

func TestMasking(t *testing.T) {
	object := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	tests := []struct {
		why     string
		args    any
		display Display
		hidden  string // must not be seen; "" if everything is
		want    string // must be seen
	}{
		{"a password", object("password", "hunter22"), Display{}, "hunter22", "password: (hidden: 8 characters)\n"},
		{"a short secret has no digest, which would give it away", object("pwd", "1234"), Display{}, "1234",
			"pwd: (hidden: 4 characters)\n"},
		{"a long one has", object("api_key", "0123456789abcdef"), Display{}, "0123456789abcdef",
			"api_key: (hidden: 16 characters, sha256 9f9f5111)\n"},
		{"any spelling of the key", object("X-API-Key", "abcdefgh"), Display{}, "abcdefgh",
			`X-API-Key: (hidden: 8 characters)`},
		{"any case", object("accessTOKEN", "abcdefgh"), Display{}, "abcdefgh", `accessTOKEN: (hidden: 8 characters)`},
		{"a key inside a longer one", object("github_token_prod", "abcdefgh"), Display{}, "abcdefgh",
			`(hidden: 8 characters)`},
		{"authorization, but not its scheme", object("headers", object("Authorization", "Bearer abcdefgh")), Display{},
			"abcdefgh", `Authorization: "Bearer " (hidden: 8 characters)`},
		{"a nested token", object("a", object("b", []any{object("token", "abcdefgh")})), Display{}, "abcdefgh",
			`token: (hidden: 8 characters)`},
		{"everything under a secret key", object("credentials", object("user", "anna-k", "list", []any{"abcdefgh"})),
			Display{}, "abcdefgh", `user: (hidden: 6 characters)`},
		{"a header as name and value", object("headers", []any{object("name", "Authorization", "value", "abcdefgh")}),
			Display{}, "abcdefgh", `value: (hidden: 8 characters)`},
		{"another header", object("headers", []any{object("name", "Accept", "value", "text/plain")}), Display{}, "",
			`"text/plain"`},
		{"cookies", object("Cookie", "sid=abcdefgh; theme=dark"), Display{}, "abcdefgh", `Cookie: (hidden: 24 characters`},
		{"a passphrase of words", object("password", "correct horse battery staple"), Display{}, "horse",
			`(hidden: 28 characters`},
		{"a PIN", object("password", 1234), Display{}, "1234", `password: (hidden: a number, 4 characters)`},
		{"a count of tokens is no secret", object("max_tokens", 4096), Display{}, "", `max_tokens: 4096`},
		{"true is no secret", object("password", true), Display{}, "", `password: true`},
		{"nor is an empty text", object("password", ""), Display{}, "", `password: ""`},

		{"a path is never masked", object("token", "/home/x/token/file"), Display{}, "", `token: "/home/x/token/file"`},
		{"nor is a relative path", object("secret", "../x/y"), Display{}, "", `"../x/y"`},
		{"nor a file in a folder", object("token_file", "secrets/token.txt"), Display{}, "", `"secrets/token.txt"`},
		{"nor a Windows path", object("secret", `C:\keys\id`), Display{}, "", `"C:\\keys\\id"`},
		{"nor a URL", object("password", "https://evil.example/x"), Display{}, "", `"https://evil.example/x"`},
		{"nor shell text", object("password", "rm -rf /home"), Display{}, "", `"rm -rf /home"`},
		{"nor shell text without spaces", object("password", "rm${IFS}-rf${IFS}/"), Display{}, "", `"rm${IFS}-rf${IFS}/"`},
		{"nor an assignment before a command", object("token", "A=1 ./run now"), Display{}, "", `"A=1 ./run now"`},
		{"nor a script", object("password", "#!/bin/sh\n"+strings.Repeat("echo hi\n", 2)), Display{}, "", `"#!/bin/sh\n`},
		{"not even when the profile points at it", object("x", "/etc/passwd"), Display{Pointers: []string{"/x"}}, "",
			`"/etc/passwd"`},

		{"a JWT inside a text", object("body", "curl -H 'X: "+jwt+"' now"), Display{}, jwt,
			`body: "curl -H 'X: " (hidden: JWT, 92 characters, sha256 `},
		{"what follows a JWT is seen", object("body", "curl -H 'X: "+jwt+"' now"), Display{}, jwt, `"' now"`},
		{"a GitHub token", object("x", "use "+github+" please"), Display{}, github,
			`(hidden: GitHub token, 40 characters, sha256 `},
		{"two secrets", object("x", github+" "+aws), Display{}, aws, `(hidden: AWS key, 20 characters, sha256 `},
		{"an API key", object("x", openai), Display{}, openai, `(hidden: API key, 44 characters`},
		{"a private key", object("x", pem), Display{}, "MIIE", `x: (hidden: private key, 401 characters`},
		{"a script dressed up as a private key", object("x", notAKey), Display{}, "", `rm -rf / ; echo`},
		{"a secret in a query", object("url", "https://x.example/?t="+github+"&y=1"), Display{}, github,
			`"https://x.example/?t=" (hidden: GitHub token`},
		{"a secret that is a part of the path of a URL", object("url", "https://x.example/"+github+"/y"), Display{}, "",
			github},
		{"a secret that is a host name", object("url", "https://"+jwt+".evil.example/"), Display{}, "", ".evil.example"},
		{"a host name that looks like a secret, without a scheme", object("host", jwt+".evil.example"), Display{}, "", jwt},
		{"a folder that looks like a secret", object("path", "/home/"+github+"/x"), Display{}, "", github},
		{"no detection", object("x", github), Display{NoDetect: true}, "", github},
		{"keys work without detection", object("token", github), Display{NoDetect: true}, github, `(hidden: 40 characters`},
		{"a word that is no secret", object("x", "ask-a-question-of-somebody-else-now"), Display{}, "", "ask-a-question"},

		{"a key of the profile's", object("ssn", "078-05-1120"), Display{Keys: []string{"ss?", "SSN"}}, "078-05",
			`ssn: (hidden: 11 characters)`},
		{"a pattern of the profile's", object("home_address", "Elm"), Display{Keys: []string{"*address"}}, "Elm",
			`(hidden: 3 characters)`},
		{"a pointer of the profile's", object("headers", object("a", "x1", "b", "y2")),
			Display{Pointers: []string{"/headers/*"}}, "x1", `b: (hidden: 2 characters)`},
		{"a pointer into a list", object("l", []any{object("v", "abc"), object("v", "def")}),
			Display{Pointers: []string{"/l/1/v"}}, "def", `v: "abc"`},
		{"an escaped pointer", object("a/b", "abc"), Display{Pointers: []string{"/a~1b"}}, "abc", `(hidden: 3 characters)`},
		{"a pointer elsewhere", object("a", "abc"), Display{Pointers: []string{"/b", "/a/b"}}, "", `a: "abc"`},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			args, err := json.Marshal(test.args)
			if err != nil {
				t.Fatal(err)
			}
			r := &Request{Name: "s__t", Args: args, Display: test.display}
			shown := Render(r, RenderOptions{Width: 1000})
			whole := strings.ReplaceAll(shown.Text(), "\n        | ", "")
			if !strings.Contains(whole, test.want) {
				t.Errorf("want %s in\n%s", test.want, whole)
			}
			if (shown.Masked > 0) != (test.hidden != "") {
				t.Errorf("%d values are masked", shown.Masked)
			}
			if test.hidden == "" {
				return
			}
			if strings.Contains(whole, test.hidden) || strings.Contains(Summary(r), test.hidden) {
				t.Errorf("%s is seen in\n%s\n%s", test.hidden, whole, Summary(r))
			}
			if !strings.Contains(whole, "! 1 value is hidden") &&
				!strings.Contains(whole, "values are hidden") {
				t.Errorf("nothing warns of what is hidden:\n%s", whole)
			}
			if revealed := Render(r, RenderOptions{Whole: true, Width: 1000}); revealed.Masked > 0 ||
				!strings.Contains(bar.ReplaceAllString(revealed.Text(), ""), strings.ReplaceAll(test.hidden, "\n", `\n`)) {
				t.Errorf("%s is not revealed in\n%s", test.hidden, revealed.Text())
			}
		})
	}
}

// A secret whose end would be shown after a cut is hidden as a whole.
func TestASecretAcrossACut(t *testing.T) {
	for lead := 0; lead < 1200; lead += 7 {
		args, _ := json.Marshal(map[string]string{"x": strings.Repeat("lorem ", 200)[:lead] + " " + github + " " +
			strings.Repeat("ipsum ", 200)[:1200-lead]})
		shown := bar.ReplaceAllString(Text(&Request{Args: args}, RenderOptions{}), "")
		if strings.Contains(shown, "a1B2") {
			t.Fatalf("after %d characters a part of the secret is seen:\n%s", lead, shown)
		}
	}
}

func TestMixedAlphabets(t *testing.T) {
	tests := []struct{ text, word, alphabets string }{
		{"plain words", "", ""},
		{"обычные слова and words", "", ""},
		{"send it to pаypal now", "pаypal", "Cyrillic and Latin"},
		{"https://аpple.com", "аpple", "Cyrillic and Latin"},
		{"αlpha", "αlpha", "Greek and Latin"},
		{"東京タワーtower", "", ""},
		{"naïve café", "", ""},
		{"a\u0301б", "a\u0301б", "Cyrillic and Latin"},
	}
	for _, test := range tests {
		if word, alphabets := mixed(characters(test.text)); word != test.word || alphabets != test.alphabets {
			t.Errorf("%s: got %q, %q", test.text, word, alphabets)
		}
	}
}

// S3.5: what may be logged of arguments has no secret in it, is short, is one line of visible characters, and can be
// narrowed.
func TestDisplaySafeArguments(t *testing.T) {
	deep := `{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}`
	tests := []struct {
		why, args string
		display   Display
		has, not  []string
	}{
		{"a secret", `{"headers":{"Authorization":"Bearer abc.def"},"api_key":"0123456789abcdef","to":"anna"}`, Display{},
			[]string{`"anna"`, "api_key"}, []string{"abc.def", "0123456789abcdef"}},
		{"a key of one's own", `{"pin":"4711","to":"anna"}`, Display{Keys: []string{"pin"}}, []string{`"anna"`},
			[]string{"4711"}},
		{"a pointer", `{"card":{"number":"4111"}}`, Display{Pointers: []string{"/card/number"}}, []string{"card"},
			[]string{"4111"}},
		{"a header", `{"headers":[{"name":"Authorization","value":"hunter2hunter3"}]}`, Display{}, []string{"Authorization"},
			[]string{"hunter2"}},
		{"a path is no secret", `{"token":"/home/x/token/file"}`, Display{}, []string{"/home/x/token/file"}, nil},
		{"a long text", `{"x":"` + strings.Repeat("long ", 1000) + `end"}`, Display{}, []string{"characters hidden", `end"`},
			[]string{strings.Repeat("long ", 50)}},
		{"a long list", `[` + strings.Repeat("1,", 1000) + `2]`, Display{}, []string{"989 entries hidden"},
			[]string{strings.Repeat("1 ", 100)}},
		{"deep", deep, Display{}, []string{"a"}, []string{`f: 1`}},
		{"narrowed", `{"x":"` + strings.Repeat("y", 100) + `"}`, Display{String: 20}, []string{"hidden"},
			[]string{strings.Repeat("y", 40)}},
		{"control characters", "{\"x\":\"a\\u001b[2J\u202eb\\nc\"}", Display{}, []string{`\n`},
			[]string{"\x1b", "\u202e", "\n"}},
		{"none", ``, Display{}, []string{"none"}, nil},
		{"not JSON", `{"x":`, Display{}, []string{"not strict JSON, 5 bytes"}, nil},
		{"a number", ` 7 `, Display{}, []string{"7"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			got := Shown(json.RawMessage(tt.args), tt.display)
			for _, part := range tt.has {
				if !strings.Contains(got, part) {
					t.Errorf("%q is missing in %s", part, got)
				}
			}
			for _, part := range tt.not {
				if strings.Contains(got, part) {
					t.Errorf("%q is in %s", part, got)
				}
			}
			if len(got) > 2000 || strings.Contains(got, "\n") {
				t.Errorf("%d bytes: %s", len(got), got)
			}
		})
	}
}
