package policy

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/codemode-project/codemode/internal/tools/catalog"
)

// A tool is a tool with what its name, its hints and its schema say about its effect. Servers write all three, so these
// are guesses: they choose attacks, and decide nothing.
type tool struct {
	*catalog.Tool
	words     []string // of its own name, in lower case
	schema    map[string]any
	arguments []argument
	sample    map[string]any // arguments that fit; nil if none are known
	skeleton  string         // what its canonical name looks like
}

func newTool(t *catalog.Tool) *tool {
	x := &tool{Tool: t, words: words(t.Raw), skeleton: skeleton(t.Server) + skeleton(t.Raw)}
	if server := words(t.Server); len(x.words) > 1 && len(server) > 0 && x.words[0] == server[0] {
		x.words = x.words[1:] // git_push of the server git
	}
	_ = json.Unmarshal(t.Input, &x.schema) // nil if it is not an object: then any arguments fit
	x.arguments = argumentsOf(x.schema)
	return x
}

// humps are where a word of a name ends in small letters and the next one begins with a capital.
var humps = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)

// words splits a name: readFile, read_file and read-file are two words.
func words(name string) []string {
	all := strings.FieldsFunc(humps.ReplaceAllString(name, "$1 $2"), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for i, word := range all {
		all[i] = strings.ToLower(word)
	}
	return all
}

// Words in the names of tools.
var (
	readVerbs = []string{"get", "read", "list", "search", "query", "find", "download", "show", "describe", "select",
		"open", "view", "cat", "export", "dump", "lookup", "fetch", "load", "browse", "tail", "head"}
	writeVerbs = []string{"create", "add", "insert", "update", "upsert", "edit", "write", "save", "put", "set", "append",
		"move", "rename", "copy", "merge", "push", "commit", "pay", "transfer", "order", "book", "cancel", "approve", "grant",
		"invite", "assign", "deploy", "start", "stop", "restart", "install", "apply", "patch", "replace"}
	destroyVerbs = []string{"delete", "remove", "drop", "destroy", "purge", "wipe", "truncate", "erase", "unlink", "rm",
		"kill", "terminate", "uninstall", "deprovision", "shutdown"}
	sendVerbs = []string{"send", "post", "publish", "upload", "email", "mail", "share", "webhook", "notify", "tweet",
		"comment", "reply"}
	runVerbs = []string{"exec", "execute", "run", "shell", "bash", "sh", "terminal", "command", "cmd", "eval", "evaluate",
		"python", "powershell"}
)

func (t *tool) has(list []string) bool {
	return slices.ContainsFunc(t.words, func(w string) bool { return slices.Contains(list, w) })
}

// verb reports whether the name begins with one of the verbs.
func (t *tool) verb(list []string) bool { return len(t.words) > 0 && slices.Contains(list, t.words[0]) }

func (t *tool) hint(name string) (value, said bool) {
	value, said = t.Hints[name].(bool)
	return value, said
}

func (t *tool) says(name string, want bool) bool {
	value, said := t.hint(name)
	return said && value == want
}

// reads reports whether the tool returns something of the user's, as far as its name says. What it takes from an
// address that the program chooses is not.
func (t *tool) reads() bool {
	return t.has(readVerbs) && !t.destroys() && !t.verb(writeVerbs) && t.argument(address, website) == nil
}

func (t *tool) destroys() bool {
	switch destructive, said := t.hint("destructiveHint"); {
	case t.says("readOnlyHint", true):
		return false
	case said:
		return destructive
	}
	return t.has(destroyVerbs) && !t.verb(readVerbs)
}

func (t *tool) writes() bool {
	switch {
	case t.says("readOnlyHint", true):
		return false
	case t.says("readOnlyHint", false), t.destroys():
		return true
	}
	return !t.verb(readVerbs) && (t.has(writeVerbs) || t.has(sendVerbs))
}

// sends reports whether what the tool gets leaves for others.
func (t *tool) sends() bool {
	if t.says("openWorldHint", false) {
		return false
	}
	return t.argument(website) != nil || !t.says("readOnlyHint", true) && !t.verb(readVerbs) &&
		(t.says("openWorldHint", true) || t.has(sendVerbs))
}

// runs returns the argument with the command or the code that the tool runs; nil if it runs none.
func (t *tool) runs() *argument {
	if !t.has(runVerbs) || t.says("readOnlyHint", true) {
		return nil
	}
	return t.argument(command)
}

// argument returns the first text of one of the kinds.
func (t *tool) argument(of ...kind) *argument {
	i := slices.IndexFunc(t.arguments, func(a argument) bool { return slices.Contains(of, a.kind) })
	if i < 0 {
		return nil
	}
	return &t.arguments[i]
}

// A kind is what a text argument means.
type kind int

const (
	other   kind = iota
	path         // of a file
	website      // a URL
	address      // of a person, as for mail
	command      // for a shell, or code
	query        // SQL
	prose        // free text, which carries anything
)

func (k kind) String() string {
	return [...]string{"value", "path", "URL", "address", "command", "query", "text"}[k]
}

// kindWords are words in the names of arguments. The first kind that fits counts.
var kindWords = []struct {
	kind
	words []string
}{
	{website, []string{"url", "urls", "uri", "uris", "href", "link", "endpoint", "webhook"}},
	{path, []string{"path", "paths", "file", "files", "filename", "filepath", "directory", "dir", "folder", "source",
		"destination", "src", "dst"}},
	{address, []string{"to", "cc", "bcc", "recipient", "recipients", "email", "emails"}},
	{command, []string{"command", "cmd", "script", "shell", "code", "expression"}},
	{query, []string{"sql", "query", "statement"}},
	{prose, []string{"body", "content", "message", "text", "description", "comment", "data", "value", "note", "subject",
		"title", "payload"}},
}

// An argument is a text somewhere in the arguments of a tool.
type argument struct {
	steps    []string // to it; "*" is any element of an array
	kind     kind
	required bool // with all that it is in
}

func (a *argument) pointer() string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, s := range a.steps {
		b.WriteString("/" + escape.Replace(s))
	}
	return b.String()
}

// name is the member that holds it.
func (a *argument) name() string {
	for _, s := range slices.Backward(a.steps) {
		if s != "*" {
			return s
		}
	}
	return ""
}

// deepestArgument bounds the search for arguments in a schema.
const deepestArgument = 4

// argumentsOf lists the texts that a schema describes, in the order of their names, and without those of a fixed list.
func argumentsOf(schema map[string]any) []argument {
	var all []argument
	var walk func(s map[string]any, steps []string, required bool)
	walk = func(s map[string]any, steps []string, required bool) {
		if len(steps) > deepestArgument || s == nil {
			return
		}
		if items, ok := s["items"].(map[string]any); ok {
			walk(items, append(slices.Clone(steps), "*"), required)
		}
		needs, _ := s["required"].([]any)
		members, _ := s["properties"].(map[string]any)
		for _, name := range sortedKeys(members) {
			inner, _ := members[name].(map[string]any)
			walk(inner, append(slices.Clone(steps), name), required && slices.Contains(needs, any(name)))
		}
		if isText(s) && len(steps) > 0 {
			a := argument{steps: steps, required: required}
			a.kind = kindOf(a.name(), s)
			all = append(all, a)
		}
	}
	walk(schema, nil, true)
	return all
}

func isText(s map[string]any) bool {
	if s["enum"] != nil || s["const"] != nil {
		return false
	}
	if types, ok := s["type"].([]any); ok {
		return slices.Contains(types, any("string"))
	}
	return s["type"] == "string"
}

func kindOf(name string, schema map[string]any) kind {
	switch schema["format"] {
	case "uri", "url", "uri-reference", "iri":
		return website
	case "email", "idn-email":
		return address
	case "date", "date-time", "time", "duration", "uuid", "ipv4", "ipv6", "hostname":
		return other
	}
	of := words(name)
	for _, k := range kindWords {
		if slices.ContainsFunc(of, func(w string) bool { return slices.Contains(k.words, w) }) {
			return k.kind
		}
	}
	return other
}
