package servers

import (
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/call"
)

// maxName is longer than any name that a person would type.
const maxName = 64

// CheckName says what is wrong with the name of a server, and how to correct it. Both are "" for a good name.
func CheckName(name string) (hint, message string) {
	part := call.Part(name)
	switch {
	case name == "":
		return "give it a name: programs call codemode.<name>__<tool>", "the server has no name"
	case strings.Contains(part, call.Separator):
		return `"__" separates the server from the tool: use one "_"`,
			fmt.Sprintf("the server name %q has two underscores in a row for programs", name)
	case strings.HasSuffix(part, "_"):
		return `rules for "x" would be about "x_" too, whose tools are x___tool: remove the "_" at the end`,
			fmt.Sprintf("the server name %q ends in an underscore for programs", name)
	case len(name) > maxName:
		return "choose a shorter one", fmt.Sprintf("the server name is longer than %d bytes", maxName)
	}
	return "", ""
}
