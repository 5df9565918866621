package profiles

import (
	"maps"
	"slices"
	"strings"
)

// marks are the usual names of the member of a tool's _meta or annotations, such as codemode/approval, with which a
// server asks for a person's approval of each call. The list has them without the prefix before the last slash, in
// lower case and with letters only.
var marks = []string{
	"approval", "approvalrequired", "requireapproval", "requiresapproval", "needsapproval", "requireuserapproval",
	"requiresuserapproval", "requirehumanapproval", "requireshumanapproval", "humanapproval", "humanintheloop",
	"confirm", "confirmation", "confirmationrequired", "requireconfirmation", "requiresconfirmation",
	"needsconfirmation", "requireuserconfirmation", "requiresuserconfirmation", "requireshuman", "userconfirmation",
	"requireuserinteraction", "requiresuserinteraction",
}

// IsMark reports whether a server uses this member of a tool's _meta or annotations to require a person's approval of
// its calls, such as codemode/approval, anthropic/requiresUserInteraction, requires_confirmation or requireApproval.
func IsMark(key string) bool {
	if slices.Contains(hintNames, key) || key == "title" {
		return false
	}
	name := strings.Map(func(c rune) rune {
		switch {
		case 'A' <= c && c <= 'Z':
			return c - 'A' + 'a'
		case 'a' <= c && c <= 'z':
			return c
		}
		return -1
	}, key[strings.LastIndexByte(key, '/')+1:])
	return slices.Contains(marks, name)
}

// marked returns the tool's mark that requires a person's approval; "" if there is none. An unknown value counts as
// yes: a mark only makes a call stricter.
func marked(annotations map[string]any) string {
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if IsMark(key) && !declines(annotations[key]) {
			return key
		}
	}
	return ""
}

// declines reports whether the value of a mark says no.
func declines(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case bool:
		return !value
	case string:
		return slices.Contains([]string{"", "false", "no", "none", "never", "off", "allow", "auto", "not_required",
			"optional"}, strings.ToLower(value))
	}
	return false
}

// claims reports whether a tool has a hint. A value that is neither true nor false counts as true.
func claims(hint any) bool {
	switch hint {
	case nil, false:
		return false
	default:
		return true
	}
}

// hint words a server's claim about its tool for people.
func hint(name string) string {
	switch name {
	case "destructiveHint":
		return "that it destroys or overwrites (destructiveHint)"
	case "openWorldHint":
		return "that it reaches the outside world (openWorldHint)"
	}
	return "that a person has to approve it (" + name + ")"
}

// Warnings returns the hints and marks with which a server warns of its tool, one sentence each. It omits hints that
// make a tool look harmless.
func Warnings(annotations map[string]any) []string {
	var all []string
	for _, name := range []string{"destructiveHint", "openWorldHint"} {
		if claims(annotations[name]) {
			all = append(all, "its server says "+hint(name))
		}
	}
	if key := marked(annotations); key != "" {
		all = append(all, "its server says "+hint(key))
	}
	return all
}
