package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
)

// shellCommands returns the words of each simple command of a shell script. It knows what the pages use: quotes,
// comments, lines that go on, lists and pipes, here documents. Redirections are left out, and so are variables that
// stand before a command.
func shellCommands(script string) (all [][]string, err error) {
	var words []string
	var word strings.Builder
	begun := false
	endWord := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	endCommand := func() {
		endWord()
		for len(words) > 0 && anAssignment.MatchString(words[0]) {
			words = words[1:]
		}
		for i := 0; i < len(words); {
			if aRedirection.MatchString(words[i]) {
				n := 1
				if strings.HasSuffix(words[i], ">") || strings.HasSuffix(words[i], "<") { // the file is the next word
					n = 2
				}
				words = slices.Delete(words, i, min(i+n, len(words)))
				continue
			}
			i++
		}
		if len(words) > 0 {
			all = append(all, words)
		}
		words = nil
	}
	script = aHereDocument.ReplaceAllString(strings.ReplaceAll(script, "\\\n", " "), " \n")
	for i := 0; i < len(script); i++ {
		switch c := script[i]; {
		case c == '\'' || c == '"':
			n := strings.IndexByte(script[i+1:], c)
			if n < 0 {
				return nil, errors.New("a quotation mark has no partner")
			}
			word.WriteString(script[i+1 : i+1+n])
			begun = true
			i += n + 1
		case c == ' ' || c == '\t':
			endWord()
		case c == '#' && !begun:
			if n := strings.IndexByte(script[i:], '\n'); n >= 0 {
				i += n
			} else {
				i = len(script)
			}
			endCommand()
		case c == '\n' || c == ';' || c == '|' || c == '&':
			endCommand()
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	endCommand()
	return all, nil
}

var (
	anAssignment  = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*=`)
	aRedirection  = regexp.MustCompile(`^\d?[<>]`)
	aHereDocument = regexp.MustCompile(`(?s)<<'?([A-Z]+)'?\n.*?\n([A-Z]+)\n`)
)

func TestShellCommands(t *testing.T) {
	got, err := shellCommands("A=1 codemode run -e 'a # b' \\\n  --x # why\n\ncat f | codemode check - >out && " +
		"b \"c d\"\ncat > f <<EOF\nnot; a command\nEOF\nlast")
	want := `[["codemode" "run" "-e" "a # b" "--x"] ["cat" "f"] ["codemode" "check" "-"] ["b" "c d"] ` +
		`["cat"] ["last"]]`
	if fmt.Sprintf("%q", got) != want || err != nil {
		t.Errorf("got %q %v, want %s", got, err, want)
	}
	if _, err := shellCommands("echo 'a"); err == nil {
		t.Error("a quotation mark without a partner is taken")
	}
}

// understood returns an error unless codemode has the command of these words, with these flags, and takes so many
// arguments. Words such as FILE and [ARGS] stand for values.
func understood(args []string) error { return parsed(args, true) }

// parsed is understood, where whole says that arguments and the value of the last flag may not be left out.
func parsed(args []string, whole bool) error {
	root := newRoot(cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if cmd.Name() == "help" {
		cmd, rest, err = root.Find(rest)
		if err != nil {
			return err
		}
	}
	for i, word := range rest {
		if strings.HasPrefix(word, "[") {
			rest = rest[:i]
			break
		}
	}
	var values []string
	for i := 0; i < len(rest); i++ {
		name, value, given := strings.Cut(rest[i], "=")
		flag := cmd.Flags().Lookup("") // there is none
		switch {
		case rest[i] == "-" || !strings.HasPrefix(rest[i], "-"):
			values = append(values, rest[i])
			continue
		case strings.HasPrefix(name, "--"):
			if flag = cmd.Flags().Lookup(name[2:]); flag == nil {
				flag = cmd.InheritedFlags().Lookup(name[2:])
			}
		case len(name) == 2:
			flag = cmd.Flags().ShorthandLookup(name[1:])
		}
		if flag == nil {
			return fmt.Errorf("%s has no flag %s", cmd.CommandPath(), name)
		}
		if !given && flag.NoOptDefVal == "" {
			if i++; i == len(rest) && !whole {
				break
			} else if i == len(rest) {
				return fmt.Errorf("%s %s needs a value", cmd.CommandPath(), name)
			}
			value, given = rest[i], true
		}
		if given && !aPlaceholder.MatchString(value) {
			if err := flag.Value.Set(value); err != nil {
				return fmt.Errorf("%s %s: %w", cmd.CommandPath(), name, err)
			}
		}
	}
	if len(values) == 0 && !whole {
		return nil
	}
	return cmd.ValidateArgs(values)
}

var aPlaceholder = regexp.MustCompile(`^[A-Z][A-Z/]*$|\$|:PORT$`)

func TestUnderstood(t *testing.T) {
	for _, row := range []struct{ words, problem string }{
		{"run --config x -e 1", ""}, {"serve --http=8808 --shutdown-delay 5s", ""}, {"explain PROFILE TOOL [ARGS]", ""},
		{"help exit-codes", ""}, {"console --confirm", ""},
		{"rum x", `unknown command "rum"`}, {"audit shew x", `unknown command "shew"`},
		{"run --confg x -e 1", "has no flag --confg"}, {"run a b", "accepts at most 1 arg"},
		{"serve --shutdown-delay soon", "invalid duration"}, {"serve --http", "needs a value"}, {"help exit-code", "unknown"},
	} {
		err := understood(strings.Fields(row.words))
		if (err == nil) != (row.problem == "") || err != nil && !strings.Contains(err.Error(), row.problem) {
			t.Errorf("codemode %s: %v, want %q", row.words, err, row.problem)
		}
	}
}

// foreign are the programs of others that the pages mention. Their command lines are only held against the files of
// the repository that they name.
var foreign = []string{"apk", "brew", "cat", "cd", "claude", "cosign", "curl", "cut", "diff", "docker", "dpkg", "echo",
	"export", "gemini", "gh", "git", "grep", "helm", "kubectl", "mkdir", "npm", "openssl", "printf", "rm", "rpm", "scoop",
	"sha256sum", "systemctl", "winget"}

// checkCommand says what is wrong with a command of a page.
func checkCommand(words []string) error {
	for _, word := range words {
		if ourFile.MatchString(word) {
			if _, err := os.Stat(filepath.Join(checkout, strings.TrimSuffix(word, "..."))); err != nil {
				return err
			}
		}
	}
	line := strings.Join(words, " ")
	switch name := words[0]; {
	case name == "codemode":
		return understood(words[1:])
	case strings.HasPrefix(line, "go run ./cmd/codemode "):
		return understood(words[3:])
	case strings.HasPrefix(line, "npx -y @codemode-project/codemode"):
		return understood(words[3:])
	case strings.HasPrefix(line, "go run ./"), line == "go test ./...", strings.HasPrefix(line, "go tool pprof "):
		return nil
	case strings.HasPrefix(line, "go install "):
		path, _, _ := strings.Cut(words[2], "@")
		if folder, ours := strings.CutPrefix(path, "github.com/codemode-project/codemode/"); ours {
			_, err := os.Stat(filepath.Join(checkout, folder))
			return err
		}
		return nil
	case name == "make":
		return hasTarget(words[1:])
	case ourFile.MatchString(name), name == ".ci/run":
		_, err := os.Stat(filepath.Join(checkout, name))
		return err
	case slices.Contains(foreign, name):
		return nil
	}
	return fmt.Errorf("nothing is known about the program %q", words[0])
}

// ourFile is a path of the repository. What a page writes below ./ or elsewhere is none.
var ourFile = regexp.MustCompile(`^(deploy|docs|examples|guest|testdata|\./cmd|\./examples)/`)

// hasTarget says which words of a command "make" are no targets of the Makefile.
func hasTarget(words []string) error {
	text, err := os.ReadFile(filepath.Join(checkout, "Makefile"))
	if err != nil {
		return err
	}
	for _, word := range words {
		if !strings.Contains(word, "=") && !strings.Contains(string(text), "\n"+word+":") {
			return fmt.Errorf("the Makefile has no target %s", word)
		}
	}
	return nil
}

// TestEveryCommandOfThePages: what the pages write of codemode's commands, in blocks and in the text, are commands,
// flags and values that it has.
func TestEveryCommandOfThePages(t *testing.T) {
	pages := readPages(t)
	used := map[string]bool{}
	commands := 0
	for _, b := range pages.blocks {
		script := b.text
		switch b.language {
		case "sh":
		case "console":
			script = strings.Join(typed(b.text), "\n")
		default:
			continue
		}
		all, err := shellCommands(script)
		if err != nil || len(all) == 0 {
			t.Errorf("%s: there is no command, or %v", b.at(), err)
		}
		for _, words := range all {
			used[words[0]] = true
			if words[0] == "codemode" {
				commands++
			}
			if err := checkCommand(words); err != nil {
				t.Errorf("%s: %s: %v", b.at(), strings.Join(words, " "), err)
			}
		}
	}
	everyFlag := flagsOfAll(newRoot(cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}))
	for _, s := range pages.spans {
		words := strings.Fields(s.text)
		if len(words) == 0 {
			continue
		}
		used[words[0]] = true
		switch {
		case words[0] == "codemode" && len(words) > 1 && aWord.MatchString(words[1]),
			strings.HasPrefix(s.text, "npx -y @codemode-project/codemode"), words[0] == "make" && len(words) > 1:
			all, err := shellCommands(s.text)
			switch {
			case err != nil:
			case words[0] == "codemode":
				err = parsed(all[0][1:], false)
			default:
				err = checkCommand(all[0])
			}
			if (err == nil) != (internalCommands[s.text] == "") {
				t.Errorf("%s: `%s`: %v", s.at(), s.text, err)
			}
			commands++
		case aLongFlag.MatchString(words[0]):
			for _, word := range words {
				name, _, _ := strings.Cut(word, "=")
				if aLongFlag.MatchString(name) && !everyFlag[name] && !flagsOfOthers[name] {
					t.Errorf("%s: `%s`: no command has that flag", s.at(), s.text)
				}
				used[name] = true
			}
		}
	}
	if commands < 100 {
		t.Errorf("%d commands of codemode: the pages have more", commands)
	}
	for _, name := range foreign {
		if !used[name] {
			t.Errorf("no page mentions %s: remove it from the list of foreign programs", name)
		}
	}
	for name := range flagsOfOthers {
		if !used[name] {
			t.Errorf("no page mentions %s: remove it from the flags of others", name)
		}
	}
}

var (
	aWord     = regexp.MustCompile(`^[a-z][a-z-]+$`)
	aLongFlag = regexp.MustCompile(`^--[a-z][a-z-]+$`)
)

// internalCommands are commands that the text of the pages mentions, and that people do not use.
var internalCommands = map[string]string{
	"codemode read-programs": "the process that reads programs for another one",
}

// flagsOfOthers are flags of other programs that the text of the pages mentions.
var flagsOfOthers = map[string]bool{}

// flagsOfAll are the flags of a command and of those below it.
func flagsOfAll(cmd *cobra.Command) map[string]bool {
	all := map[string]bool{"--help": true}
	for _, name := range aFlagOfHelp.FindAllString(cmd.LocalFlags().FlagUsages(), -1) {
		all[name] = true
	}
	for _, c := range cmd.Commands() {
		maps.Copy(all, flagsOfAll(c))
	}
	return all
}

var aFlagOfHelp = regexp.MustCompile(`--[a-z][a-z-]*`)

// typed returns the commands of a block "console": what stands behind "$ ", with the lines that it goes on in.
func typed(text string) (commands []string) {
	goesOn := false
	for _, line := range strings.Split(text, "\n") {
		command, begins := strings.CutPrefix(line, "$ ")
		switch {
		case begins:
			commands = append(commands, command)
		case goesOn:
			commands[len(commands)-1] += "\n" + strings.TrimPrefix(line, "> ")
		}
		goesOn = (begins || goesOn) && (strings.HasSuffix(line, "\\") || strings.HasPrefix(line, "> "))
	}
	return commands
}
