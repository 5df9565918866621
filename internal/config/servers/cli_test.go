package servers

import (
	"strings"
	"testing"
)

// Where an argument would be the text of a program, the configuration is refused; anywhere else it is not.
func TestArgumentsAreNoScripts(t *testing.T) {
	for _, row := range []struct {
		line  string // < is an argument on standard input
		reads string
	}{
		{"sh -c {x}", "sh"}, {"/bin/bash -lc {x}", "/bin/bash"}, {"bash -c -- {x}", "bash"}, {"bash -o pipefail -c {x}", "bash"},
		{"bash -c a{x}", "bash"}, {"zsh -c{x}", "zsh"}, {"sh -ec {x...}", "sh"}, {"fish --command={x}", "fish"}, {"sh <", "sh"},
		{"sh -s <", "sh"}, {"env -i sh -c {x}", "sh"}, {"busybox sh -c {x}", "sh"}, {"docker exec c bash -c {x}", "bash"},
		{"cmd /c {x}", "cmd"}, {"CMD.EXE /C type {x}", "CMD.EXE"}, {`C:\Windows\cmd.exe /k {x}`, `C:\Windows\cmd.exe`},
		{"powershell -NoProfile -Command Get-Item {x}", "powershell"}, {"pwsh -c {x}", "pwsh"}, {"pwsh -enc {x}", "pwsh"},
		{"python3.12 -u -c {x}", "python3.12"}, {"python -c{x}", "python"}, {"perl -ne {x}", "perl"}, {"node --eval={x}", "node"},
		{"node -p {x}", "node"}, {"ruby -e {x}", "ruby"}, {"php -r {x}", "php"}, {"timeout 5 node -e {x}", "node"}, {"python <", "python"},
		{"sh -c wc sh {x}", ""}, {"bash -c wc <", ""}, {"bash tool.sh {x}", ""}, {"python tool.py -c {x}", ""}, {"node cli.js -e {x} <", ""},
		{"git log -c {x}", ""}, {"git commit -m {x}", ""}, {"jq -c {x}", ""}, {"wc -c <", ""}, {"ssh-add -c {x}", ""}, {"shasum -c {x}", ""},
	} {
		command, rest, _ := strings.Cut(row.line, " ")
		var words []Word
		stdin := false
		for text := range strings.FieldsSeq(rest) {
			if text == "<" {
				stdin = true
				continue
			}
			words = append(words, wordOf(text, func(text string) string { return text }))
		}
		if got := scriptReader(command, words, stdin); got != row.reads {
			t.Errorf("%s: %q reads an argument as a script, want %q", row.line, got, row.reads)
		}
	}
}

// The words of an entry are where others look for files, and variables are no arguments.
func TestTheWordsOfCommandLines(t *testing.T) {
	s, _, err := Parse("s", []byte(`{"cli": {"command": "${HOME}/bin/x", "tools": {
		"b": {"args": ["--dir=${HOME}/{name}", "{name}", "{{.Name}}"], "input": {"name": {"type": "string"}}},
		"a": {"args": ["${NESTED}", "", "${{}name}"]}}}}`), people)
	if err != nil || s.Command != "/home/ada/bin/x" || !s.TrustAnnotations || !s.OwnProcess() {
		t.Fatalf("got %+v, %v", s, err)
	}
	got := strings.Join(s.Words(), "|")
	if want := "${HOME} $(id) `id`|{name}|--dir=/home/ada/|{{.Name}}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, _, err := Parse("s", []byte(`{"cli": {"command": "x", "tools": {"a": {"args": ["${cmd:id}"]}}}}`), people); err == nil {
		t.Error("a secret is among the words")
	}
	s, _, err = Parse("s", []byte(`{"cli": {"command": "x", "tools": {"a": {"args": ["${NONE}"]}}}}`), people)
	if err != nil || !strings.Contains(s.Problem, "the variable NONE is not set") {
		t.Errorf("got %+v, %v", s, err)
	}
}
