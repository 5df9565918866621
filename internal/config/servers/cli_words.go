package servers

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"sync"
)

// CommandLines are the tools of a program on this machine, which is [Server.Command]. They are sorted by name.
type CommandLines struct{ Tools []CommandLine }

// A CommandLine is one tool: the words that its program is started with.
type CommandLine struct {
	Name        string `key:"*"`
	Description string `key:"description"`
	Output      string `key:"output" words:"text json lines" usual:"text"`
	Effect      string `key:"effect" words:"reads writes destroys sends" usual:"writes"`
	Timeout     int64  `key:"timeout" usual:"60000" max:"600000"` // in milliseconds
	MaxOutput   int64  `key:"maxOutput" form:"size" usual:"1MiB" max:"32MiB"`
	// ExitCodes are those that are no failure; nil is 0 alone.
	ExitCodes []int64 `key:"exitCodes" min:"0" max:"255"`

	Shown    string // the line as the configuration has it, for people
	Args     []Element
	Stdin    Word            // what the program reads; nil is nothing
	Input    json.RawMessage // the JSON Schema of the arguments
	Defaults map[string]json.RawMessage
	AllowAt  map[string]bool // the arguments that may begin with @
}

// An Element is a part of a line that is there or not as a whole: it is left out without the arguments that it names.
type Element struct {
	If    string // an argument that has to be true; "" is none
	Words []Word
}

// A Word is a word of a line, in pieces.
type Word []Piece

// A Piece is literal text, or the place of an argument.
type Piece struct {
	Text   string
	Name   string // of an argument; "" is a text
	Spread bool   // the argument is a list: each element makes a word of its own
}

// Literal returns the text before the first argument, and whether that is the whole word.
func (w Word) Literal() (text string, whole bool) {
	if len(w) > 0 {
		text = w[0].Text
	}
	return text, len(w) == 0 || len(w) == 1 && w[0].Name == ""
}

func flat(args []Element) (words []Word) {
	for _, e := range args {
		words = append(words, e.Words...)
	}
	return words
}

// placeholder is the place of an argument. Other braces are text, as in {} and {{.Name}}, and so is ${{}name}.
var placeholder = lazily(`\{([A-Za-z_][A-Za-z0-9_-]*)(\.\.\.)?\}`)

// wordOf reads a word; expand replaces the variables in its text.
func wordOf(text string, expand func(string) string) (w Word) {
	from := 0
	add := func(to int) {
		if to > from || to == len(text) && len(w) == 0 {
			w = append(w, Piece{Text: expand(text[from:to])})
		}
	}
	for _, m := range placeholder().FindAllStringSubmatchIndex(text, -1) {
		if m[0] > 0 && text[m[0]-1] == '$' { // a variable
			continue
		}
		add(m[0])
		w, from = append(w, Piece{Name: text[m[2]:m[3]], Spread: m[4] >= 0}), m[1]
	}
	add(len(text))
	return w
}

// Programs that read the text of a program among their words, and the options before it. Others' options of these names
// mean other things, so that only a shell's are looked for among all words.
var (
	shell       = lazily(`(?i)^((ba|da|a|z|m?k|fi|t?c)?sh|cmd|powershell|pwsh)(\.exe)?$`)
	interpreter = lazily(`(?i)^(python[\d.]*|perl|ruby|node|bun|php|lua|osascript)(\.exe)?$`)
	readsAll    = lazily(`(?i)^(cmd|powershell|pwsh)(\.exe)?$`) // all words behind the option
	takesText   = lazily(`(?i)^(-[a-z]*[cepr]|[-/](command|encodedcommand|enc?|[ckr])|--(command|eval|print|run)=?)$`)
)

func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// scriptReader returns the program that would read an argument as the text of a program; "" is none.
func scriptReader(command string, words []Word, stdin bool) string {
	for i, word := range append([]Word{{{Text: command}}}, words...) {
		text, whole := word.Literal()
		base := path.Base(strings.ReplaceAll(text, `\`, "/"))
		isShell := shell().MatchString(base)
		if !whole || !isShell && !interpreter().MatchString(base) {
			continue
		}
		isText, operand := false, false // isText: the next word that is no option is a program
		for _, w := range words[i:] {
			option, whole := w.Literal()
			takes := (isShell || !operand) && takesText().MatchString(option)
			switch {
			case (isText || takes) && !whole:
				return text
			case !takes && !strings.HasPrefix(option, "-"):
				if operand = true; isText && !readsAll().MatchString(base) {
					return ""
				}
			}
			isText = isText || takes
		}
		if stdin && !isText && !operand {
			return text
		}
	}
	return ""
}
