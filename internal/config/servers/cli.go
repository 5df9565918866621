package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/jsonschema"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// cliKeys are the keys of "cli".
type cliKeys struct {
	Command string              `key:"command" need:"add the program, such as 'git'"`
	Tools   map[string]lineKeys `key:"tools" by:"text" min:"1" each:"the tool %q" need:"add {'log': {'args': ['log']}}"`
}

// lineKeys are the keys of one of its tools.
type lineKeys struct {
	Description string           `key:"description"`
	Args        strictjson.Value `key:"args" need:"add the words that the program is started with: ['log']"`
	Input       strictjson.Value `key:"input"`
	Required    []string         `key:"required"`
	Stdin       strictjson.Value `key:"stdin"`
	Output      string           `key:"output" words:"text json lines" usual:"text"`
	Effect      string           `key:"effect" words:"reads writes destroys sends" usual:"writes"`
	Timeout     int64            `key:"timeout" usual:"60000" max:"600000"` // in milliseconds
	MaxOutput   int64            `key:"maxOutput" form:"size" usual:"1MiB" max:"32MiB"`
	ExitCodes   []int64          `key:"exitCodes" min:"0" max:"255"`
}

// commandLines reads "cli".
func (e *entry) commandLines(s *Server) {
	n := e.get("cli")
	in := e.inside("cli", n)
	s.CLI = &CommandLines{}
	var keys cliKeys
	if !e.Decode(n, e.sentence(`"cli"`), &keys) {
		return
	}
	if s.Command = in.Expand(keys.Command); keys.Command == "" && in.has("command") {
		in.fail("command", `write the program, such as "git"`, "its command is empty")
	}
	for tool := range settings.Children(settings.Member(n, "tools")) {
		if tool.Kind() == strictjson.Object {
			s.CLI.Tools = append(s.CLI.Tools, in.commandLine(s.Command, tool, keys.Tools[tool.Key()]))
		}
	}
	slices.SortFunc(s.CLI.Tools, func(a, b CommandLine) int { return cmp.Compare(a.Name, b.Name) })
	e.Missing = append(e.Missing, in.Missing...)
}

var toolName = lazily(`^[A-Za-z0-9_-]{1,64}$`)

// A lineReader reads one command line.
type lineReader struct {
	*entry
	line       CommandLine
	properties map[string]strictjson.Value // the schemas of the arguments
	needed     []string                    // arguments without which a word is missing
	named      map[string]bool             // the arguments with a place in the line
}

func (e *entry) commandLine(command string, n strictjson.Value, k lineKeys) CommandLine {
	r := lineReader{entry: e.inside(n.Key(), n), properties: map[string]strictjson.Value{}, named: map[string]bool{}}
	l := &r.line
	*l = CommandLine{Name: n.Key(), Description: k.Description, Output: k.Output, Effect: k.Effect,
		Timeout: time.Duration(k.Timeout) * time.Millisecond, MaxOutput: k.MaxOutput, ExitCodes: k.ExitCodes,
		Defaults: map[string]json.RawMessage{}, AllowAt: map[string]bool{}}
	if l.ExitCodes == nil {
		l.ExitCodes = []int64{0}
	}
	if !toolName().MatchString(n.Key()) {
		e.WrongKey(n, "take letters, digits, - and _, 64 at most", "%s", r.sentence("%q is no name of a tool", n.Key()))
	}
	properties := r.input(k.Input)
	if k.Args.Kind() != strictjson.Array && k.Args.Kind() != strictjson.Missing {
		r.fail("args", `write ["log", "--", "{paths...}"]`, `"args" must be a list, this is %s`, k.Args.Kind())
	}
	for _, a := range k.Args.Elements() {
		l.Args = append(l.Args, r.element(a))
	}
	l.Shown = command + " " + k.Args.Compact()
	if !absent(k.Stdin) {
		l.Stdin = r.word("stdin", k.Stdin, true)
		l.Shown += " < " + k.Stdin.Compact()
	}
	if reader := scriptReader(command, flat(l.Args), l.Stdin != nil); reader != "" {
		r.failAt("args", k.Args, "write the script into the configuration, and give it arguments as words behind it",
			"%s reads an argument as a script: a program's text would be a script", reader)
	}
	for name, at := range r.properties {
		if !r.named[name] {
			r.WrongKey(at, "name it in args as {"+name+"}, or remove it", "%s", r.sentence("the argument %q is used nowhere", name))
		}
	}
	required := slices.Compact(slices.Sorted(slices.Values(r.needed)))
	if r.has("required") {
		required = k.Required
	}
	for _, name := range required {
		if _, ok := r.properties[name]; !ok && r.has("required") {
			r.fail("required", "add it to input", `"required" has %q, which is no argument`, name)
		}
	}
	l.Input, _ = strictjson.Marshal(map[string]any{"type": "object", "properties": properties,
		"required": append([]string{}, required...), "additionalProperties": false}) // it is JSON already
	e.Missing = append(e.Missing, r.Missing...)
	return *l
}

// input reads the schemas of the arguments, and returns them without the keys that are ours.
func (r *lineReader) input(n strictjson.Value) map[string]map[string]json.RawMessage {
	all := map[string]map[string]json.RawMessage{}
	if n.Kind() != strictjson.Object && !absent(n) {
		r.fail("input", `write {"count": {"type": "integer"}}`, `"input" must be an object, this is %s`, n.Kind())
	}
	r.UniqueBelow(n)
	for p := range settings.Children(n) {
		name := p.Key()
		r.properties[name] = p
		if kind := kindOf(p); !slices.Contains([]string{"string", "integer", "number", "boolean"}, kind) {
			r.failAt("input", p, `write {"type": "string"}, "integer", "number" or "boolean", or `+
				`{"type": "array", "items": {"type": "string"}}`, "the argument %q has no type that is a word", name)
			continue
		}
		var keys map[string]json.RawMessage
		_ = json.Unmarshal(settings.Source(p), &keys) // it is an object
		r.line.AllowAt[name] = string(keys["allowAt"]) == "true"
		delete(keys, "allowAt")
		all[name] = keys
		c := jsonschema.Compile(settings.Source(p), jsonschema.NewRoom())
		if c.Note != "" {
			r.failAt("input", p, "", "the schema of the argument %q cannot be used: %s", name, c.Note)
		}
		if keys["default"] == nil {
			continue
		}
		r.line.Defaults[name] = keys["default"]
		is := settings.Member(p, "default")
		bad, err := jsonschema.NewChecker(context.Background(), c, len(keys["default"])).Run(context.Background(),
			jsonschema.FromTree(is))
		if bad != nil || err != nil {
			r.failAt("input", is, "", "the default of %q does not match its schema", name)
		}
	}
	return all
}

// kindOf is the type of an argument, or that of its elements.
func kindOf(schema strictjson.Value) string {
	if kind := settings.Member(schema, "type").Text(); kind != "array" {
		return kind
	}
	return settings.Member(settings.Member(schema, "items"), "type").Text()
}

// element reads a word, a list of words that belong together, or a flag.
func (r *lineReader) element(n strictjson.Value) (e Element) {
	switch n.Kind() {
	case strictjson.String:
		e.Words = []Word{r.word("args", n, true)}
	case strictjson.Array:
		for _, w := range n.Elements() {
			e.Words = append(e.Words, r.word("args", w, false))
		}
	default:
		var flag struct {
			Flag strictjson.Value `key:"flag" need:"add the word"`
			If   string           `key:"if" need:"add an argument that is true or false"`
		}
		if !r.Decode(n, `a part of "args" that is no word and no list of words`, &flag) {
			return e
		}
		if e.If = flag.If; kindOf(r.properties[e.If]) != "boolean" {
			r.failAt("args", n, `give it {"type": "boolean"} in input`, "%q is no argument that is true or false", e.If)
		}
		r.named[e.If] = true
		e.Words = []Word{r.word("args", flag.Flag, false)}
	}
	return e
}

// word reads a word. needed says that the line is not whole without it.
func (r *lineReader) word(key string, n strictjson.Value, needed bool) Word {
	if n.Kind() != strictjson.String {
		r.failAt(key, n, "write it in quotes", "a word must be a string, this is %s", n.Kind())
		return nil
	}
	w, spreads := wordOf(n.Text(), r.Expand), 0
	for _, p := range w {
		if p.Name == "" {
			continue
		}
		r.named[p.Name] = true
		schema, known := r.properties[p.Name]
		isList := settings.Member(schema, "type").Text() == "array"
		if p.Spread {
			spreads++
		} else if needed && r.line.Defaults[p.Name] == nil {
			r.needed = append(r.needed, p.Name)
		}
		switch {
		case !known:
			r.failAt(key, n, "add it to input; a brace that is text is written ${{}", "{%s} names no argument", p.Name)
		case isList && !p.Spread, isList && key == "stdin":
			r.failAt(key, n, fmt.Sprintf("write {%s...} among args", p.Name), "the argument %q is a list", p.Name)
		case p.Spread && !isList, spreads > 1:
			r.failAt(key, n, fmt.Sprintf("write {%s}", p.Name), "{%s...} is no list that can be spread here", p.Name)
		}
	}
	if text, whole := w.Literal(); !whole && (text == "-" || text == "--") {
		r.failAt(key, n, "write the whole option", "an argument would choose the option")
	}
	return w
}
