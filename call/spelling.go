package call

import (
	"strings"
	"unicode"
)

// Fold maps the spellings of one name to one text: list_customers, listCustomers and list-customers are listcustomers.
func Fold(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// IsToolsObject reports whether other systems give programs their tools behind that name, as codemode does behind
// codemode.
func IsToolsObject(name string) bool {
	switch name {
	case "tools", "servers", "mcp", "functions", "client", "default_api":
		return true
	}
	return false
}

// IsCaller reports whether other systems have a function of that name that takes the name of a tool and its arguments.
// global says that it is a global function, and not one behind codemode.
func IsCaller(name string, global bool) bool {
	switch Fold(name) {
	case "codemodecall", "calltool", "invoketool", "executetool", "runtool", "mcpcalltool", "usemcptool":
		return true
	case "call", "invoke", "execute", "run":
		return !global
	}
	return false
}

// WithoutPrefix removes what other systems put before the name of a tool, as in mcp__crm__list.
func WithoutPrefix(name string) string {
	for _, prefix := range []string{"mcp__", "tools__", "functions__", "servers__", "external__", "external_", "codemode__",
		"mcp.", "tools.", "functions.", "servers.", "codemode.", "mcp/"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
			return rest
		}
	}
	return name
}
