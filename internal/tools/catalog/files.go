package catalog

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
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
