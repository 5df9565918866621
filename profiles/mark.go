package profiles

import (
	"maps"
	"slices"
	"strings"
)

// marks are the usual names of the member of a tool's _meta or annotations, such as codemode/approval, with which a
// server asks for a person's approval of each call. They stand here without the prefix before the last slash, in lower
// case and with letters only.
var marks = []string{
	"approval", "approvalrequired", "requireapproval", "requiresapproval", "needsapproval", "requireuserapproval",
	"requiresuserapproval", "requirehumanapproval", "requireshumanapproval", "humanapproval", "humanintheloop",
	"confirm", "confirmation", "confirmationrequired", "requireconfirmation", "requiresconfirmation",
	"needsconfirmation", "requireuserconfirmation", "requiresuserconfirmation", "requireshuman", "userconfirmation",
	"requireuserinteraction", "requiresuserinteraction",
}

// IsMark reports whether a member of a tool's _meta or annotations is one by which servers say that a person has to
// approve its calls, such as codemode/approval, anthropic/requiresUserInteraction, requires_confirmation or
// requireApproval.
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

// marked gives the mark of a tool that says that a person has to approve its calls; "" if none does. What a server says
// in a word that nobody knows counts as yes: a mark only ever makes a call stricter.
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

// hint words for people what a server says about its tool.
func hint(name string) string {
	switch name {
	case "destructiveHint":
		return "that it destroys or overwrites (destructiveHint)"
	case "openWorldHint":
		return "that it reaches the outside world (openWorldHint)"
	}
	return "that a person has to approve it (" + name + ")"
}

// Warnings are the hints and marks with which a server warns of its tool, one sentence each. Hints that make a tool
// look harmless are not among them.
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
