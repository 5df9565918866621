package reference

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/tools/catalog"
)

// A section has the blocks of the declarations that begin with one of the names.
type section struct {
	title, about string
	names        []string
}

var sections = []section{
	{"codemode", "The tools of the servers are here too: `codemode.SERVER__TOOL(args)`, and " +
		"`codemode.SERVER.TOOL(args)`.\n" +
		"`codemode types` declares those that you have.",
		[]string{"input", "codemode", "Codemode", "FoundTool", "Handle", "Question", "UserAnswer"}},
	{"Errors", "[Errors](errors.md) says when each is thrown, and the way out.", []string{"ToolCallDeniedError"}},
	{"console", "What a program prints goes into the reply, and is shown while it runs.", []string{"Console"}},
	{"Timers and copies", "", []string{"setTimeout"}},
	{"Time and random numbers", "The clock moves in whole milliseconds. In a [deterministic " +
		"run](../deterministic.md) both are given.",
		[]string{"performance"}},
	{"Text", "", []string{"TextEncoder"}},
	{"URLs", "", []string{"URL"}},
	{"Events and cancelling", "", []string{"Event"}},
}

// declared finds the name that a block of declarations begins with.
var declared = regexp.MustCompile(`(?m)^(?:declare )?(?:const|var|class|function|interface|type) (\w+)`)

// Globals is the page of what a program can use, from the declarations that codemode types writes.
func Globals() (string, error) {
	var b strings.Builder
	b.WriteString("# Globals of a program\n\n" + generated +
		"What a program has besides the standard library of JavaScript: the declarations that `codemode types` writes, " +
		"and that\n" +
		"MCP clients read as `codemode://types/index.d.ts`. There is no `fetch`, no `import`, no file system and no " +
		"process: only\n" +
		"tools reach the outside.\n")
	of := make([]string, len(sections))
	for _, block := range declarations() {
		found := declared.FindStringSubmatch(block)
		if found == nil {
			continue
		}
		at := slices.IndexFunc(sections, func(s section) bool { return slices.Contains(s.names, found[1]) })
		if at < 0 {
			return "", fmt.Errorf("package reference has no section for the global %s", found[1])
		}
		of[at] += "\n" + strings.Trim(block, "\n") + "\n"
	}
	for i, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n", s.title)
		if s.about != "" {
			fmt.Fprintf(&b, "\n%s\n", s.about)
		}
		fmt.Fprintf(&b, "\n```ts%s```\n", of[i])
	}
	return b.String(), nil
}

// declarations are the blocks of the declarations, between empty lines.
func declarations() []string {
	for _, f := range catalog.Files(nil) {
		if f.Name == catalog.Index {
			return strings.Split(f.Text, "\n\n")
		}
	}
	return nil
}
