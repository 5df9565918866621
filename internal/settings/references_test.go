package settings

import (
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for _, row := range []struct {
		command string
		words   []string
	}{
		{`pass show a/b`, []string{"pass", "show", "a/b"}},
		{"  op\tread  'op://My Vault/it/pass'\n", []string{"op", "read", "op://My Vault/it/pass"}},
		{`a "b c" d"e"'f'`, []string{"a", "b c", "def"}},
		{`a '' ""`, []string{"a", "", ""}},
		{`a "x\"y\\z\n"`, []string{"a", `x"y\z\n`}},
		{`a b\ c \'`, []string{"a", "b c", "'"}},
		{`a 'it\s'`, []string{"a", `it\s`}},
		{`sh -c 'echo "$HOME" | cat; exit'`, []string{"sh", "-c", `echo "$HOME" | cat; exit`}},
		{`a $(b) ${c} *.d > /e & ~`, []string{"a", "$(b)", "${c}", "*.d", ">", "/e", "&", "~"}}, // no shell reads it
		{"", nil},
	} {
		words, err := split(row.command)
		if err != nil || !slices.Equal(words, row.words) {
			t.Errorf("%s: got %q, %v; want %q", row.command, words, err, row.words)
		}
	}
	for _, command := range []string{`a 'b`, `a "b`, `a b\`, `a "b\"`} {
		if words, err := split(command); err == nil {
			t.Errorf("%s: got %q, want an error", command, words)
		}
	}
}

func TestCheckSources(t *testing.T) {
	for _, row := range []struct{ text, message string }{
		{"plain", ""}, {"${NAME} {file:/x} ${command:x}", ""},
		{"Bearer ${cmd:pass show x}", ""}, {"${file:/run/secrets/x}", ""}, {"${file:~/x}${cmd:/usr/bin/y 'a}b'}", ""},
		{"${cmd:jq '.a{b}' /x} and ${cmd:y}", ""},
		{"${cmd:}", "names no command"}, {"${cmd:   }", "names no command"}, {"${cmd:''}", "names no command"},
		{"${cmd:pass", "not closed"}, {"${cmd:pass 'a}", "not closed"}, {"${file:/x", "not closed"},
		{"${cmd:./pass}", "found in PATH"}, {"${cmd:tools/pass x}", "found in PATH"}, {"${cmd:../pass}", "found in PATH"},
		{"${file:secret}", "whole path"}, {"${file:./secret}", "whole path"}, {"${file:}", "whole path"},
		{"${file:~other/x}", "whole path"}, {"${file:/a\x00b}", "whole path"},
		{"${cmd:y} ${cmd:./x}", "found in PATH"},
	} {
		message, _ := CheckSources(row.text)
		if row.message == "" && message != "" || !strings.Contains(message, row.message) {
			t.Errorf("%q: got %q, want %q", row.text, message, row.message)
		}
	}
	for text, want := range map[string]bool{"${cmd:a}": true, "${file:/a}": true, "${cmd:a '}'}": true, "${cmd:a} ": false,
		"x${cmd:a}": false, "${cmd:a}${cmd:b}": false, "${A}": false, "${cmd:a": false} {
		if got := OneSource(text); got != want {
			t.Errorf("%s is one source: %v", text, got)
		}
	}
}

func TestSourcesAreExpanded(t *testing.T) {
	values := map[string]string{"cmd:a '}'": "one", "file:/x": "two", "NAME": "three", "cmd:b:-c": "four", "cmd:evil": "${NAME}"}
	env := func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	for _, row := range [][2]string{
		{"${cmd:a '}'}-${file:/x}-${NAME}", "one-two-three"},
		{"${cmd:b:-c}", "four"}, // no default: it belongs to the command
		{"${cmd:evil}", "${NAME}"},
		{"{file:/x} $cmd:a", "{file:/x} $cmd:a"}, // as another client writes it
	} {
		if got, err := Expand(row[0], env); err != nil || got != row[1] {
			t.Errorf("%s: got %q, %v; want %q", row[0], got, err, row[1])
		}
	}
	for _, text := range []string{"${cmd:none}", "${file:/none:-default}", "${env:cmd:evil}", "{env:cmd:evil}", "{env:file:/x}", "${env:file:/x}"} {
		if got, err := Expand(text, env); err == nil {
			t.Errorf("%s: got %q, want an error", text, got)
		}
	}
	if got, err := Expand("${cmd:a '}'} ${NAME}", Unread(env)); err == nil || strings.Contains(err.Error(), "unread") {
		t.Errorf("got %q, %v; want an error without the placeholder", got, err)
	}
}
