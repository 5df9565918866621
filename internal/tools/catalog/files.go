package catalog

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/jsonschema"
)

// A File is a file of TypeScript declarations for editors and compilers.
type File struct{ Name, Text string }

// Index is the name of the file that refers to the others and declares the globals of programs.
const Index = "index.d.ts"

// FileOf is the name of the file that declares the tools of a server. Servers with names that differ only in case or
// in characters that cannot stand in a program share a file.
func FileOf(server string) string {
	name := strings.ToLower(call.Part(server)) + ".d.ts"
	if name == Index {
		return "_" + name
	}
	return name
}

// globals declares what a program has besides the standard library of JavaScript and the tools.
//
//go:embed globals.d.ts
var globals string

// Files declares tools as [Declarations] does, in one file for each server, sorted by name, and the Index last. The
// same tools always give the same bytes: types that [Catalog.Learn] learned are left out.
func Files(tools []*Tool) []File {
	of := map[string][]member{}
	var names []string
	for _, t := range tools {
		name := FileOf(t.Server)
		if of[name] == nil {
			names = append(names, name)
		}
		d := t.declares()
		of[name] = append(of[name], member{Tool: t, named: d.named, text: d.about + d.line})
	}
	slices.Sort(names)
	var files []File
	references := ""
	for _, name := range names {
		files = append(files, File{name, membersOf(of[name])})
		references += fmt.Sprintf("/// <reference path=%q />\n", "./"+name)
	}
	return append(files, File{Index, indexHead + references + "\n" + globals})
}

// indexHead names the settings of the compiler: a program is no module, and runs in no browser.
const indexHead = `// What programs can use: one file for each server, and the globals. The tsconfig.json beside programs:
//   {"compilerOptions": {"lib": ["esnext"], "types": [], "strict": true, "noEmit": true, "allowJs": true,
//     "moduleDetection": "force"}}
// Write a program as async () => { ...; return value }: compilers accept return only in a function.

/// <reference lib="esnext" />
`

// Declarations returns TypeScript that declares the tools as members of the global codemode, sorted by server and name.
// The same tools always give the same bytes. Recursive types and named types of a schema come first, with names of
// their own. Descriptions are the servers' words, escaped for comments.
func Declarations(tools []*Tool) string {
	declared := make([]member, len(tools))
	for i, t := range tools {
		declared[i].Tool = t
		declared[i].named, declared[i].text = t.declaration()
	}
	return interfaceOf(declared)
}

// Brief declares as many tools as fit into room bytes, in their order, each with the beginning of its description. It
// returns the others as left.
func Brief(tools []*Tool, room int) (text string, left []*Tool) {
	var declared []member
	used := len(interfaceOf([]member{{Tool: new(Tool), text: jsonschema.UnknownResult}}))
	servers := map[string]bool{}
	for _, t := range tools {
		m := member{Tool: t}
		m.named, m.text = t.declaration()
		if t.Source != nil && len(m.named)+len(m.text) > room/briefTools { // the names of the arguments are what counts
			var line string
			m.named, _, line = jsonschema.Declare(t.Name, t.InputSchema(), json.RawMessage("true"), "", room/briefTools)
			m.text = jsonschema.DocComment(t.about(), "  ") + line
		}
		bare := strings.TrimPrefix(m.text, jsonschema.DocComment(t.about(), "  "))
		m.text = jsonschema.DocComment(beginning(t.about()), "  ") + bare
		size := len(m.named) + len(m.text)
		if !servers[t.Server] {
			size += len(serverLine(t.Server))
		}
		if used+size > room {
			left = append(left, t)
			continue
		}
		used += size
		servers[t.Server] = true
		declared = append(declared, m)
	}
	if len(declared) == 0 {
		return "", left
	}
	return interfaceOf(declared), left
}

// A member is the declaration of one tool, with the named types that it needs.
type member struct {
	*Tool
	named, text string
}

func interfaceOf(list []member) string {
	return membersOf(list) + "\ndeclare const codemode: Codemode;\n"
}

// membersOf is interfaceOf without the global.
func membersOf(list []member) string {
	list = slices.SortedFunc(slices.Values(list), func(a, b member) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Name, b.Name))
	})
	var types, members strings.Builder
	server, unknown := "", false
	for i, m := range list {
		if i > 0 && list[i-1].Name == m.Name && list[i-1].Server == m.Server {
			continue
		}
		if i == 0 || m.Server != server {
			server = m.Server
			members.WriteString(serverLine(server))
		}
		unknown = unknown || strings.HasSuffix(m.text, jsonschema.UnknownResult)
		types.WriteString(m.named)
		members.WriteString(m.text)
	}
	head := ""
	if unknown {
		head = jsonschema.ContentTypes
	}
	return head + types.String() + "interface Codemode {\n" + members.String() + "}\n"
}

func serverLine(server string) string {
	return fmt.Sprintf("  // %s\n", strings.ReplaceAll(jsonschema.Comment(server), "\n", " "))
}

// briefTools is how many tools of a large description Brief has room for.
const briefTools = 3

// briefRunes bounds a description in [Brief].
const briefRunes = 160

// beginning is the first sentences of a description that fit, or a part of the first one.
func beginning(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > briefRunes {
		text = string(runes[:briefRunes])
		if at := strings.LastIndex(text, ". "); at > 0 {
			return text[:at+1]
		}
		return text + "…"
	}
	return text
}
