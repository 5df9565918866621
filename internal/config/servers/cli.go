package servers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/internal/jsonschema"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// cliKeys are the keys of "cli".
type cliKeys struct {
	Command string              `key:"command" need:"add the program, such as 'git'"`
	Tools   map[string]lineKeys `key:"tools" by:"tool" min:"1" each:"the tool %q" need:"add {'log': {'args': ['log']}}"`
}

// lineKeys are the keys of one of its tools.
type lineKeys struct {
	CommandLine
	Words    strictjson.Value `key:"args" need:"add the words that the program is started with: ['log']"`
	Schemas  strictjson.Value `key:"input"`
	Required []string         `key:"required"`
	Reads    strictjson.Value `key:"stdin"`
}

// A lineReader reads a command line.
type lineReader struct {
	*entry
	lineKeys
	needed []string        // arguments without which a word is missing
	placed map[string]bool // arguments with a place in the line
}

// readCLI reads "cli".
func readCLI(e *entry, s *Server) {
	n := e.get("cli")
	s.CLI = &CommandLines{}
	var keys cliKeys
	if !e.Decode(n, e.sentence(`"cli"`), &keys) {
		return
	}
	in := e.inside("cli", n)
	s.Command = in.Expand(keys.Command)
	for name, tool := range settings.Member(n, "tools").Members() {
		if tool.Kind() == strictjson.Object {
			r := lineReader{in.inside(name, tool), keys.Tools[name], nil, map[string]bool{}}
			r.read(s.Command)
			s.CLI.Tools = append(s.CLI.Tools, r.CommandLine)
			in.Missing = append(in.Missing, r.Missing...)
		}
	}
	slices.SortFunc(s.CLI.Tools, func(a, b CommandLine) int { return cmp.Compare(a.Name, b.Name) })
	e.Missing = append(e.Missing, in.Missing...)
}

func (r *lineReader) read(command string) {
	schemas := r.input()
	if r.Words.Kind() != strictjson.Array && r.Words.Kind() != strictjson.Missing {
		r.fail("args", `write ["log", "--", "{paths...}"]`, `"args" must be a list, this is %s`, r.Words.Kind())
	}
	for _, a := range r.Words.Elements() {
		r.Args = append(r.Args, r.element(a))
	}
	r.Shown = command + " " + r.Words.Compact()
	if !absent(r.Reads) {
		r.Stdin = r.word(r.Reads, true)
		r.Shown += " < " + r.Reads.Compact()
	}
	if reader := scriptReader(command, flat(r.Args), r.Stdin != nil); reader != "" {
		r.failAt("args", r.Words, "write the script into the configuration, and give it arguments as words behind it",
			"%s reads an argument as a script: a program's text would be a script", reader)
	}
	for name, schema := range r.Schemas.Members() {
		if !r.placed[name] {
			r.WrongKey(schema, "name it in args, or remove it", "%s", r.sentence("the argument %q is used nowhere", name))
		}
	}
	if !r.has("required") {
		r.Required = slices.Compact(slices.Sorted(slices.Values(r.needed)))
	} else if i := slices.IndexFunc(r.Required, func(name string) bool { return !r.placed[name] }); i >= 0 {
		r.fail("required", "add it to input", `"required" has %q, which is no argument`, r.Required[i])
	}
	r.Input, _ = strictjson.Marshal(map[string]any{"type": "object", "properties": schemas, "additionalProperties": false,
		"required": append([]string{}, r.Required...)}) // it was JSON
}

// input reads the schemas of the arguments, and returns them without the key that is ours.
func (r *lineReader) input() map[string]map[string]json.RawMessage {
	all := map[string]map[string]json.RawMessage{}
	r.Defaults, r.AllowAt = map[string]json.RawMessage{}, map[string]bool{}
	if r.Schemas.Kind() != strictjson.Object && !absent(r.Schemas) {
		r.fail("input", `write {"count": {"type": "integer"}}`, `"input" must be an object, this is %s`, r.Schemas.Kind())
	}
	r.UniqueBelow(r.Schemas)
	for name, schema := range r.Schemas.Members() {
		if !slices.Contains([]string{"string", "integer", "number", "boolean"}, typeOf(schema)) {
			r.failAt("input", schema, `write {"type": "string"}, "integer", "number" or "boolean", or `+
				`{"type": "array", "items": {"type": "string"}}`, "the argument %q has no type that is a word", name)
		} else if c := jsonschema.Compile(settings.Source(schema), jsonschema.NewRoom()); c.Note != "" {
			r.failAt("input", schema, "", "the schema of the argument %q cannot be used: %s", name, c.Note)
		}
		var keys map[string]json.RawMessage
		_ = json.Unmarshal(settings.Source(schema), &keys)
		if keys["default"] != nil {
			r.Defaults[name] = keys["default"]
		}
		r.AllowAt[name] = string(keys["allowAt"]) == "true"
		delete(keys, "allowAt")
		all[name] = keys
	}
	return all
}

// typeOf is the type of an argument, or that of its elements.
func typeOf(schema strictjson.Value) string {
	if kind := settings.Member(schema, "type").Text(); kind != "array" {
		return kind
	}
	return settings.Member(settings.Member(schema, "items"), "type").Text()
}

// element reads a word, a list of words that belong together, or a flag.
func (r *lineReader) element(n strictjson.Value) (e Element) {
	switch n.Kind() {
	case strictjson.String:
		e.Words = []Word{r.word(n, true)}
	case strictjson.Array:
		for _, w := range n.Elements() {
			e.Words = append(e.Words, r.word(w, false))
		}
	default:
		var flag struct {
			Flag strictjson.Value `key:"flag" need:"add the word"`
			If   string           `key:"if" need:"add an argument that is true or false"`
		}
		if !r.Decode(n, `a part of "args" that is no word and no list of words`, &flag) {
			return e
		}
		if typeOf(settings.Member(r.Schemas, flag.If)) != "boolean" {
			r.failAt("args", n, `give it {"type": "boolean"} in input`, "%q is no argument that is true or false", flag.If)
		}
		r.placed[flag.If] = true
		e = Element{If: flag.If, Words: []Word{r.word(flag.Flag, false)}}
	}
	return e
}

// word reads a word. whole says that the line is not whole without it.
func (r *lineReader) word(n strictjson.Value, whole bool) Word {
	if n.Kind() != strictjson.String {
		r.failAt("args", n, "write it in quotes", "a word must be a string, this is %s", n.Kind())
		return nil
	}
	w, spreads := wordOf(n.Text(), r.Expand), 0
	for _, p := range w {
		if p.Name == "" {
			continue
		}
		schema := settings.Member(r.Schemas, p.Name)
		isList := settings.Member(schema, "type").Text() == "array"
		if r.placed[p.Name] = true; p.Spread {
			spreads++
		} else if whole && r.Defaults[p.Name] == nil {
			r.needed = append(r.needed, p.Name)
		}
		switch {
		case schema.Kind() == strictjson.Missing:
			r.failAt("args", n, "add it to input; a brace that is text is written ${{}", "{%s} names no argument", p.Name)
		case isList != p.Spread, spreads > 1, isList && n == r.Reads:
			r.failAt("args", n, fmt.Sprintf("a list is {%s...} in args, once in a word; anything else is {%[1]s}", p.Name),
				"the argument %q has no place here in this form", p.Name)
		}
	}
	if text, whole := w.Literal(); !whole && (text == "-" || text == "--") {
		r.failAt("args", n, "write the whole option", "an argument would choose the option")
	}
	return w
}
